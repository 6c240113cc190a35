/** Saves that run in the background: the pending ones, and the failures that were not reported yet. */

import type { ContextErrorCode } from '../arguments/types.ts'

const MAXIMUM_FAILURES = 1000

export class PendingSaves {
  readonly #what: string
  readonly #onError: ((error: unknown, toolName: string) => void) | null | undefined
  readonly #saves = new Set<Promise<void>>()
  #failures: unknown[] = []

  /**
   * @param what the name of what is saved, for messages
   * @param onError called for each failure; errors that it throws are ignored
   */
  constructor(what: string, onError: ((error: unknown, toolName: string) => void) | null | undefined) {
    this.#what = what
    this.#onError = onError
  }

  /** Starts a save immediately. Never throws. */
  start(toolName: string, save: () => Promise<unknown>): void {
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
      .finally(() => this.#saves.delete(saving))
    this.#saves.add(saving)
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
