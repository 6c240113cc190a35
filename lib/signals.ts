/** Waiting for callers' functions, which need not know of signals. */

/** Settles as the promise does, or rejects as soon as the signal is aborted. */
export function untilAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) {
    return promise
  }
  return new Promise<T>((resolve, reject) => {
    const abort = (): void => reject(signal.reason)
    signal.addEventListener('abort', abort, { once: true })
    if (signal.aborted) {
      abort()
    }
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}
