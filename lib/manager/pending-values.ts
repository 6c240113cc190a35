/** Results that are not there yet: promises, responses and streams. */

import { Buffer } from 'node:buffer'
import { setImmediate } from 'node:timers'
import { asText } from '../tools/tool-response.ts'
import type { SpooledStream } from './spooled-stream.ts'
import { type LongStreams, StreamKeeper } from './stream-keeper.ts'
import type { ToolOutcome } from './types.ts'

/** The member of a response that its body becomes. */
export const BODY = 'body'
/** What that takes beside the body, in bytes. */
const BODY_MEMBER = 64

/** A result that came. */
export interface Arrived {
  readonly result: unknown
  /** The stream that the result is, or its body, where it is kept in files. */
  readonly spooled: SpooledStream | undefined
  /** The result is the beginning of what there was. */
  readonly isCut: boolean
  /** Why it is, where that was a failure. */
  readonly outcome: ToolOutcome | undefined
  /** The media type that it says of itself. */
  readonly mediaType: string | undefined
  /** Why a stream that came could not be kept. */
  readonly lost?: { readonly error: unknown }
}

/** Whether a result is to be waited for. */
export function isPending(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) {
    return false
  }
  try {
    return isThenable(value) || isStream(value) || isResponse(value) || isBlob(value)
  } catch {
    // A Proxy whose traps throw, or a getter: it is stored as any other value.
    return false
  }
}

function isThenable(value: object): boolean {
  return typeof (value as { then?: unknown }).then === 'function'
}

/** An async iterable: a `ReadableStream` and a stream of Node are. */
export function isStream(value: object): value is AsyncIterable<unknown> {
  return typeof (value as Partial<AsyncIterable<unknown>>)[Symbol.asyncIterator] === 'function'
}

function isResponse(value: object): value is Response {
  return Object.prototype.toString.call(value) === '[object Response]'
}

function isBlob(value: object): value is Blob {
  return /^\[object (?:Blob|File)\]$/.test(Object.prototype.toString.call(value))
}

/** Without its parameters. */
function mediaTypeOf({ type }: Blob): string | undefined {
  return type.split(';')[0]?.trim() || undefined
}

/**
 * Waits for a result. A promise that rejects, rejects. A stream is read to its end; beyond `maxBytes` of JSON, once it fails or the signal
 * is aborted, the result is what came until then. The body of a response that was not read yet becomes its member `body`.
 *
 * @param long how a long stream is kept in files; without it, it stays in memory
 */
export async function arrival(
  value: unknown,
  maxBytes: number,
  signal: AbortSignal | undefined,
  long: LongStreams | undefined,
): Promise<Arrived> {
  const given: unknown = await untilAborted(value, signal)
  if (typeof given !== 'object' || given === null || !(isStream(given) || isResponse(given) || isBlob(given))) {
    return { result: given, spooled: undefined, isCut: false, outcome: undefined, mediaType: undefined }
  }
  const around = isResponse(given) ? ofResponse(given) : undefined
  const aroundBytes = around === undefined ? 0 : Buffer.byteLength(JSON.stringify(around)) + BODY_MEMBER
  const keeper = new StreamKeeper(Math.max(0, maxBytes - aroundBytes), long)
  const failure = await readAll(streamOf(given), keeper, signal)
  const kept = await keeper.finish().catch((error: unknown) => ({ error }))
  if ('error' in kept) {
    return { result: undefined, spooled: undefined, isCut: true, outcome: undefined, mediaType: undefined, lost: kept }
  }
  const { result, spooled, isCut } = kept
  return {
    // Of a stream in files, what is around it.
    result: around === undefined ? result : { ...around, ...(spooled === undefined ? { [BODY]: result } : {}) },
    spooled,
    mediaType: isBlob(given) ? mediaTypeOf(given) : undefined,
    isCut: isCut || failure !== undefined,
    outcome: failure === undefined ? undefined : { success: false, error: asText(failure.error) },
  }
}

/** Reads a stream to its end; returns why it ended before. */
async function readAll(
  stream: AsyncIterable<unknown> | null | undefined,
  keeper: StreamKeeper,
  signal: AbortSignal | undefined,
): Promise<{ readonly error: unknown } | undefined> {
  let iterator: AsyncIterator<unknown> | undefined
  let isRunning = false
  try {
    iterator = stream?.[Symbol.asyncIterator]()
    while (iterator !== undefined) {
      isRunning = false
      const step: IteratorResult<unknown> = await untilAborted(iterator.next(), signal)
      if (step.done === true) {
        break
      }
      isRunning = true
      const adding = keeper.add(step.value)
      if (adding !== undefined) {
        await adding
      }
      signal?.throwIfAborted()
    }
    return undefined
  } catch (error) {
    if (isRunning || signal?.aborted === true) {
      letGo(iterator)
    }
    return { error }
  }
}

/** Calls `return()` of a stream that is not read any further, without waiting: one that never yields does not answer. */
function letGo(iterator: AsyncIterator<unknown> | undefined): void {
  try {
    Promise.resolve(iterator?.return?.()).catch(() => {})
  } catch {
    // Its own failure comes too late to matter.
  }
}

/** Waits for a value until the signal is aborted: rejects with its reason then. What is there already is taken first. */
function untilAborted<T>(value: T | PromiseLike<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) {
    return Promise.resolve(value)
  }
  return new Promise<T>((resolve, reject) => {
    const abort = (): void => {
      setImmediate(() => reject(signal.reason))
    }
    const settled = (): void => signal.removeEventListener('abort', abort)
    signal.addEventListener('abort', abort, { once: true })
    if (signal.aborted) {
      abort()
    }
    Promise.resolve(value).then(resolve, reject).finally(settled)
  })
}

function streamOf(value: AsyncIterable<unknown> | Response | Blob): AsyncIterable<unknown> | null | undefined {
  if (isBlob(value)) {
    return value.stream() as unknown as AsyncIterable<unknown>
  }
  if (!isResponse(value)) {
    return value
  }
  return value.bodyUsed ? undefined : (value.body as AsyncIterable<unknown> | null)
}

/** A response without its body, which can be read once only. */
function ofResponse({ url, status, statusText, headers }: Response): Record<string, unknown> {
  return { url, status, statusText, headers: Object.fromEntries(headers as unknown as Iterable<[string, string]>) }
}
