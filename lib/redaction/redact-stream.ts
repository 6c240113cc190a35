/** Redacts a stream, off the JavaScript thread. */

import { isUint8Array } from 'node:util/types'
import { NativeRedactionStream } from '#addon'
import { invalidArgument } from '../arguments/errors.ts'
import { type Hooks, operate, outbox } from '../native/border.ts'
import { checkRedaction, type Redacting } from './redaction.ts'
import type { RedactedStream, RedactionFinding, RedactionOptions } from './types.ts'

type Source<T> = AsyncIterable<T> | Iterable<T>

/**
 * Redacts a stream of text or bytes in bounded memory and off the JavaScript thread: a log of any length, the output of a process,
 * a file. The chunks of the result have the type of the source's chunks, but not their lengths. Bytes are decoded as UTF-8; bytes that
 * are not UTF-8 pass unchanged. A lone surrogate in a text becomes U+FFFD.
 *
 * For up to 4 MiB (UTF-8), the result is that of `redact` for the complete text. A longer stream is redacted in parts of about 2 MiB,
 * as text even if it is JSON. The stream is cut between two parts only where redacting 72 KiB before the cut and 72 KiB after it
 * together gives the same result as redacting them separately, so that no secret of up to 64 KiB is divided; line ends are preferred.
 * If a part has no such place, for example because a secret takes several megabytes, `[REDACTED:unscanned]` replaces everything up to
 * the next place for a cut.
 *
 * @param source read once, a chunk at a time. It is closed when the caller stops reading.
 * @param options with `false`, the chunks pass unchanged
 * @throws `ERR_CONTEXT_INVALID_ARGUMENT`. Reading rejects with this error for a chunk of another type than the first, with
 * `ERR_CONTEXT_REDACTION` if secrets cannot be determined, and with errors of the source; the rest of the stream is not returned in
 * these cases.
 * @example
 * ```ts
 * await pipeline(process.stdin, (source) => redactStream(source), process.stdout)
 * ```
 */
export function redactStream(
  source: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  options?: RedactionOptions | false | null,
): RedactedStream<Uint8Array>
export function redactStream(
  source: AsyncIterable<string> | Iterable<string>,
  options?: RedactionOptions | false | null,
): RedactedStream<string>
export function redactStream<T extends string | Uint8Array>(
  source: AsyncIterable<T> | Iterable<T>,
  options?: RedactionOptions | false | null,
): RedactedStream<T>
export function redactStream(
  source: Source<string | Uint8Array>,
  options?: RedactionOptions | false | null,
): RedactedStream<string | Uint8Array> {
  if (!isIterable(source)) {
    throw invalidArgument('source', 'an iterable or async iterable of strings or Uint8Arrays', source)
  }
  const redacting = checkRedaction(options, 'options')
  const findings: RedactionFinding[] = []
  const chunks = redacting === undefined ? checked(source) : redacted(source, redacting, findings)
  return Object.assign(chunks, { findings }) as RedactedStream<string | Uint8Array>
}

function isIterable(source: unknown): boolean {
  const { [Symbol.asyncIterator]: asynchronous, [Symbol.iterator]: synchronous } = Object(source) as Partial<
    AsyncIterable<unknown> & Iterable<unknown>
  >
  return typeof source !== 'string' && !isUint8Array(source) && (asynchronous ?? synchronous) !== undefined
}

/** Returns the chunks of a stream; fails if they are not all of the same type. */
async function* checked(source: Source<string | Uint8Array>): AsyncGenerator<string | Uint8Array> {
  let isText: boolean | undefined
  let index = 0
  for await (const chunk of source) {
    isText ??= typeof chunk === 'string'
    if (isText ? typeof chunk !== 'string' : !isUint8Array(chunk)) {
      throw invalidArgument(`source[${index}]`, isText ? 'a string, as the first chunk' : 'a Uint8Array', chunk)
    }
    index++
    yield chunk
  }
}

async function* redacted(
  source: Source<string | Uint8Array>,
  redacting: Redacting,
  findings: RedactionFinding[],
): AsyncGenerator<string | Uint8Array> {
  redacting.redactor.refresh()
  const native = new NativeRedactionStream(outbox, redacting.redactor.native)
  const hooks: Hooks = { fileSystem: undefined, onDebug: undefined, redaction: redacting }
  let texts: TextChunks | undefined
  for await (const chunk of checked(source)) {
    if (typeof chunk === 'string') {
      texts ??= new TextChunks()
    }
    const bytes = typeof chunk === 'string' ? texts?.encode(chunk) : chunk
    const part = await operate(
      hooks,
      (operation) => native.push(operation, bytes ?? EMPTY),
      (_, [out]) => out as unknown as Uint8Array,
    )
    if (part.length > 0) {
      yield texts?.decode(part) ?? part
    }
  }
  const last = texts?.encode('', true) ?? EMPTY
  if (last.length > 0) {
    // The stream ends with a lone surrogate.
    await operate(
      hooks,
      (operation) => native.push(operation, last),
      () => {},
    )
  }
  const { rest, found } = await operate(
    hooks,
    (operation) => native.finish(operation),
    (_, [rest, found = '[]']) => ({ rest: rest as unknown as Uint8Array, found }),
  )
  findings.push(...(JSON.parse(found) as RedactionFinding[]))
  const text = texts?.decode(rest, true)
  if ((text ?? rest).length > 0) {
    yield text ?? rest
  }
}

const EMPTY = new Uint8Array(0)
const encoder = new TextEncoder()

/** Encodes texts as UTF-8, and decodes them. A character may begin in one chunk and end in the next. */
class TextChunks {
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  /** The first half of a surrogate pair at the end of the last chunk. */
  #half = ''

  encode(chunk: string, isLast = false): Uint8Array {
    const text = this.#half + chunk
    const end = text.charCodeAt(text.length - 1)
    this.#half = !isLast && end >= 0xd800 && end <= 0xdbff ? text.slice(-1) : ''
    return encoder.encode(this.#half === '' ? text : text.slice(0, -1))
  }

  decode(bytes: Uint8Array, isLast = false): string {
    return this.#decoder.decode(bytes, { stream: !isLast })
  }
}
