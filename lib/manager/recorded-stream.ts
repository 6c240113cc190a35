/** `recordStream`: passes a stream through to its reader and stores the chunks that were read. */

import { asText } from '../tools/tool-response.ts'
import { type Kept, type LongStreams, StreamKeeper } from './stream-keeper.ts'
import type { ToolOutcome } from './types.ts'

/** A stream that is stored while it is read. */
export interface RecordedStream<T> extends AsyncIterableIterator<T> {
  /** Resolves to the path of the context after the stream has ended, failed or was abandoned, and the read part is stored. */
  readonly stored: Promise<string>
}

/** Stores the read part of a stream. */
type Store = (kept: Kept, isCut: boolean, outcome: ToolOutcome | undefined) => Promise<string>

/** Passes a stream through. The reader gets all of it, even if only a part is stored. */
export function recordedStream<T>(
  stream: AsyncIterable<T>,
  maxBytes: number,
  long: LongStreams | undefined,
  store: Store,
): RecordedStream<T> {
  const keeper = new StreamKeeper(maxBytes, long)
  const source = stream[Symbol.asyncIterator]()
  let settle: (stored: Promise<string>) => void = () => {}
  const stored = new Promise<string>((resolve) => {
    settle = resolve
  })
  // A caller that ignores `stored` must not get an unhandled rejection.
  stored.catch(() => {})
  let isOver = false
  function end(isCut: boolean, outcome?: ToolOutcome): void {
    if (!isOver) {
      isOver = true
      settle(keeper.finish().then((kept) => store(kept, isCut || kept.isCut, outcome)))
    }
  }
  return {
    stored,
    async next() {
      try {
        const step = await source.next()
        if (step.done === true) {
          end(false)
        } else if (!isOver) {
          const adding = keeper.add(step.value)
          if (adding !== undefined) {
            // Backpressure: the reader continues when there is room for the next chunk.
            await adding
          }
        }
        return step
      } catch (error) {
        end(true, { success: false, error: asText(error) })
        throw error
      }
    },
    async return(value?: unknown) {
      end(true)
      return (await source.return?.(value)) ?? { done: true, value: undefined }
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}
