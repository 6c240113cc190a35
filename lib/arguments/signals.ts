/** Calls callers' functions with a timeout and a signal, because they may ignore signals and may never settle. */

import { clearTimeout, setTimeout } from 'node:timers'

/** The longest delay of a timer, in ms. A longer timeout counts as no timeout. */
export const LONGEST_TIMEOUT = 0x7fffffff

/** The timeout and the signal of a call of a caller's function. */
export interface Wait {
  /** The name of the function, for messages. */
  readonly name: string
  /** The timeout in ms. */
  readonly timeout: number
  readonly signal?: AbortSignal | undefined
}

/**
 * Calls a caller's function and settles as it does. Rejects when the signal is aborted or the timeout expires; the call's later
 * outcome is ignored.
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
