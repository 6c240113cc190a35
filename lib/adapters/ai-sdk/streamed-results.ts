/** Calls of tools that yield preliminary results: `async *execute`. */

import type { CallRecorder, ToolCall } from '../call-recorder.ts'

/** Preliminary results are passed on unchanged; a large last one is followed by its placeholder. */
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
  // The SDK may stop reading the results of an aborted call without calling `return()`.
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
