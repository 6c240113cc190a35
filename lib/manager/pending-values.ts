/** Waits for results that are promises, responses or streams. */

import { Buffer } from 'node:buffer'
import { setImmediate } from 'node:timers'
import { asText } from '../tools/tool-response.ts'
import type { SpooledStream } from './spooled-stream.ts'
import { type LongStreams, StreamKeeper } from './stream-keeper.ts'
import type { ToolOutcome } from './types.ts'

/** The member of a stored response that holds its body. */
export const BODY = 'body'
/** The size of this member without the body, in bytes. */
const BODY_MEMBER = 64

const PENDING_TAGS: ReadonlySet<string> = new Set(['[object Response]', '[object Blob]', '[object File]'])

/** A result that has arrived. */
export interface Arrived {
  readonly result: unknown
  /** The result (or its body) if it is a stream in temporary files. */
  readonly spooled: SpooledStream | undefined
  /** Whether the result is only the beginning of a stream. */
  readonly isCut: boolean
  /** The outcome with the error, if a failure ended the stream. */
  readonly outcome: ToolOutcome | undefined
  /** The media type that the result itself declares. */
  readonly mediaType: string | undefined
  /** The error because of which the stream could not be stored. */
  readonly lost?: { readonly error: unknown }
}

/** Whether a result is a promise, a response or a stream. */
export function isPending(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) {
    return false
  }
  try {
    return isThenable(value) || isStream(value) || PENDING_TAGS.has(Object.prototype.toString.call(value))
  } catch {
    // A throwing getter or Proxy trap: the value is stored like any other.
    return false
  }
}

function isThenable(value: object): boolean {
  return typeof (value as { then?: unknown }).then === 'function'
}

/** Whether a value is an async iterable, such as a `ReadableStream` or a readable stream of Node. */
export function isStream(value: object): value is AsyncIterable<unknown> {
  return typeof (value as Partial<AsyncIterable<unknown>>)[Symbol.asyncIterator] === 'function'
}

function isResponse(value: object): value is Response {
  return Object.prototype.toString.call(value) === '[object Response]'
}

function isBlob(value: object): value is Blob {
  return /^\[object (?:Blob|File)\]$/.test(Object.prototype.toString.call(value))
}

/** The media type of a blob, without parameters. */
function mediaTypeOf({ type }: Blob): string | undefined {
  return type.split(';')[0]?.trim() || undefined
}

/**
 * Waits for a result. Rejects if the promise rejects. A stream is read until it ends or fails, the signal is aborted, or it
 * exceeds `maxBytes` of JSON; the result is the part that was read. The unread body of a response becomes its member `body`.
 *
 * @param long the options for keeping a long stream in temporary files; without them, it is kept in memory
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
    // For a stream in temporary files, the result is the object around it.
    result: around === undefined ? result : { ...around, ...(spooled === undefined ? { [BODY]: result } : {}) },
    spooled,
    mediaType: isBlob(given) ? mediaTypeOf(given) : undefined,
    isCut: isCut || failure !== undefined,
    outcome: failure === undefined ? undefined : { success: false, error: asText(failure.error) },
  }
}

/** Reads a stream to its end; returns the reason if it ended early. */
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

/** Calls `return()` of a stream that is not read to its end. Does not wait, because a stream that never yields does not answer. */
function letGo(iterator: AsyncIterator<unknown> | undefined): void {
  try {
    Promise.resolve(iterator?.return?.()).catch(() => {})
  } catch {
    // A failure of the stream itself is irrelevant now.
  }
}

/** Waits for a value; rejects with the signal's reason if the signal is aborted first. A value that is already available takes precedence. */
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

/** Returns the members of a response without its body, which can be read only once. */
function ofResponse({ url, status, statusText, headers }: Response): Record<string, unknown> {
  return { url, status, statusText, headers: Object.fromEntries(headers as unknown as Iterable<[string, string]>) }
}
