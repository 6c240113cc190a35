/** Waiting for callers' functions, which need not know of signals and may never settle. */

import { clearTimeout, setTimeout } from 'node:timers'

/** The longest time that a timer counts, in ms. A longer timeout is none. */
export const LONGEST_TIMEOUT = 0x7fffffff

/** How long to wait for a caller's function. */
export interface Wait {
  /** The function, for messages. */
  readonly name: string
  /** In ms. */
  readonly timeout: number
  readonly signal?: AbortSignal | undefined
}

/**
 * Calls a caller's function and settles as it does. Rejects as soon as the signal is aborted, and when the time is up; what
 * comes of the call after that is ignored.
 */
export function callWithin<T>(call: () => T | PromiseLike<T>, { name, timeout, signal }: Wait): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const abort = (): void => settle(() => reject(signal?.reason))
    const timer =
      timeout <= LONGEST_TIMEOUT ? setTimeout(() => settle(() => reject(timedOut(name, timeout))), timeout) : undefined
    function settle(how: () => void): void {
      clearTimeout(timer)
      signal?.removeEventListener('abort', abort)
      how()
    }
    if (signal?.aborted) {
      abort()
      return
    }
    signal?.addEventListener('abort', abort, { once: true })
    new Promise<T>((answer) => answer(call())).then(
      (value) => settle(() => resolve(value)),
      (error: unknown) => settle(() => reject(error)),
    )
  })
}

function timedOut(name: string, timeout: number): Error {
  return Object.assign(new Error(`${name} did not settle within ${timeout} ms`), { code: 'ETIMEDOUT' })
}
