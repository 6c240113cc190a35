/** Calls of tools that give results on the way: `async *execute`. */

import type { CallRecorder, ToolCall } from '../call-recorder.ts'

/** The results on the way pass unchanged; the last one, when it is large, is followed by its placeholder. */
export async function* streamed(
  outputs: AsyncIterable<unknown>,
  calls: CallRecorder,
  call: ToolCall,
  start: number,
  settle: (call: ToolCall, output: unknown, durationMs: number) => Promise<unknown>,
  signal: AbortSignal | undefined,
): AsyncGenerator<unknown> {
  let isRecorded = false
  const fail = async (error: unknown): Promise<void> => {
    if (!isRecorded) {
      isRecorded = true
      await calls.failure(call, error, performance.now() - start)
    }
  }
  // The SDK may leave the results of an aborted call where they are, without a return().
  const onAbort = () => void fail(signal?.reason)
  signal?.addEventListener('abort', onAbort, { once: true })
  try {
    let last: unknown
    for await (const output of outputs) {
      last = output
      yield output
    }
    if (!isRecorded) {
      isRecorded = true
      const settled = await settle(call, last, performance.now() - start)
      if (settled !== last) {
        yield settled
      }
    }
  } catch (error) {
    await fail(error)
    throw error
  } finally {
    signal?.removeEventListener('abort', onAbort)
    await fail('the results of the call were not read to their end')
  }
}
