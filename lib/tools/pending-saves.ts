/** Saves that run in the background: the pending ones, and the failures that were not reported yet. */

import { contextError } from '../arguments/errors.ts'
import type { ContextErrorCode } from '../arguments/types.ts'
import { approximateSize } from './approximate-size.ts'

const MAXIMUM_FAILURES = 1000
/** The bytes of pending saves from which no other one starts: a database may take `storage.timeout` to fail. */
const MAXIMUM_PENDING = 256 * 1024 * 1024
/** What a save takes beside its value. */
const EACH = 1024

export class PendingSaves {
  readonly #what: string
  readonly #onError: ((error: unknown, toolName: string) => void) | null | undefined
  readonly #saves = new Set<Promise<void>>()
  #failures: unknown[] = []
  /** The bytes of the pending saves. */
  #pending = 0

  /**
   * @param what the name of what is saved, for messages
   * @param onError called for each failure; errors that it throws are ignored
   */
  constructor(what: string, onError: ((error: unknown, toolName: string) => void) | null | undefined) {
    this.#what = what
    this.#onError = onError
  }

  /**
   * Starts a save immediately. Never throws. A save that does not fit beside the pending ones fails, so that an agent keeps working
   * while nothing can be stored.
   *
   * @param value what is saved
   */
  start(toolName: string, value: unknown, save: () => Promise<unknown>): void {
    const size = EACH + approximateSize(value)
    if (this.#saves.size > 0 && this.#pending + size > MAXIMUM_PENDING) {
      this.failed(this.#full(toolName), toolName)
      return
    }
    let started: Promise<unknown>
    try {
      started = Promise.resolve(save())
    } catch (error) {
      this.failed(error, toolName)
      return
    }
    const saving = started
      .then(
        () => {},
        (error: unknown) => this.failed(error, toolName),
      )
      .finally(() => {
        this.#saves.delete(saving)
        this.#pending -= size
      })
    this.#saves.add(saving)
    this.#pending += size
  }

  #full(toolName: string): Error {
    const message = `the output of ${JSON.stringify(toolName)} was not saved, because ${this.#saves.size} ${this.#what} before it wait for storage and take ${MAXIMUM_PENDING / 2 ** 20} MiB of memory; check the disk or the database, and await flush() more often`
    return contextError('ERR_CONTEXT_TIMEOUT', message)
  }

  /** Remembers a failure for the next flush. */
  failed(error: unknown, toolName: string): void {
    if (this.#failures.length < MAXIMUM_FAILURES) {
      this.#failures.push(error)
    }
    try {
      this.#onError?.(error, toolName)
    } catch {
      // An error of the caller's callback must not break the agent.
    }
  }

  /** Waits for all saves that were started. Rejects with an `AggregateError` of the failures since the last flush. */
  async flush(): Promise<void> {
    await Promise.all(this.#saves)
    if (this.#failures.length > 0) {
      const reported = this.#failures
      this.#failures = []
      const error = new AggregateError(reported, `${reported.length} ${this.#what} could not be saved`)
      throw Object.assign(error, { code: codeOf(reported[0]) })
    }
  }
}

/** The code of a failure. A failure without a code was caused by invalid arguments or by a callback. */
function codeOf(failure: unknown): ContextErrorCode {
  const code = failure instanceof Error && 'code' in failure ? failure.code : undefined
  const isOurs = typeof code === 'string' && code.startsWith('ERR_CONTEXT_')
  return isOurs ? (code as ContextErrorCode) : 'ERR_CONTEXT_INVALID_ARGUMENT'
}
