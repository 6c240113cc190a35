/** Conversion of values and items between JavaScript and the native side. */

import { isUint8Array } from 'node:util/types'
import { duration } from '../arguments/checks.ts'
import { contextError, invalidArgument } from '../arguments/errors.ts'
import { checkTime } from '../arguments/timestamps.ts'
import type { RedactionFinding } from '../redaction/types.ts'
import type { StateItem, StatePutOptions, StateValue } from './types.ts'

/** The longest time to live, in ms: the latest time that a `Date` can represent. */
const MAXIMUM_TTL = 8_640_000_000_000_000

/** A text of more UTF-16 code units is passed in pieces in both directions, because the engine would copy the whole text more than once. */
const LONG_TEXT = 1024 * 1024
const PIECE = 256 * 1024

/** A value that is passed after the JSON of its item: bytes, JSON, or the pieces of a JSON string without its quotes. */
export type SeparateValue = Uint8Array | string | readonly string[]

/** An item from the native side. If its value is missing, the value follows separately. */
export type PartialItem = Omit<StateItem, 'namespace' | 'key' | 'value'> & { value?: StateValue }

/** The native side's answer for a written item. */
export interface WrittenItem {
  revision: string
  createdAt: string
  updatedAt: string
  expiresAt?: string
  /** What was redacted in its value; the redacted value follows. */
  findings?: RedactionFinding[]
}

/** The conditions of a change in the form for the native side; empty if there are none. */
export function conditionsOf(options: StatePutOptions | undefined): Record<string, unknown> | undefined {
  if (options === undefined) {
    return undefined
  }
  const { ifRevision, ttl, expiresAt, mediaType } = options
  if ((ttl ?? undefined) !== undefined && (expiresAt ?? undefined) !== undefined) {
    throw invalidArgument('expiresAt', 'absent beside ttl', expiresAt)
  }
  return {
    ...(ifRevision === undefined ? {} : { expected: { revision: checkRevision(ifRevision) } }),
    ...(ttl === undefined || ttl === null ? {} : { ttl: checkTtl(ttl) }),
    ...(expiresAt === undefined || expiresAt === null ? {} : { expiresAt: checkTime(expiresAt, 'expiresAt') }),
    ...(mediaType === undefined || mediaType === null ? {} : { mediaType: checkMediaType(mediaType) }),
  }
}

function checkRevision(value: string | null): string | null {
  if (value !== null && typeof value !== 'string') {
    throw invalidArgument('ifRevision', 'a revision, or null', value)
  }
  return value === null ? null : value.toWellFormed()
}

function checkTtl(value: string | number): number {
  const ttl = typeof value === 'string' ? duration(value, 'ttl') : value
  if (!(Number.isSafeInteger(ttl) && ttl >= 1 && ttl <= MAXIMUM_TTL)) {
    throw invalidArgument('ttl', "a whole number of ms from 1 up, or a duration such as '12h'", value)
  }
  return ttl
}

function checkMediaType(value: string): string {
  if (typeof value !== 'string' || value === '' || !value.isWellFormed()) {
    throw invalidArgument('mediaType', 'a non-empty string', value)
  }
  return value
}

/**
 * Converts a value for the native side: JSON text, the bytes, or the pieces of a long text.
 *
 * @param maximum the largest size in bytes
 */
export function contentOf(value: StateValue, key: string, maximum: number): SeparateValue {
  if (isUint8Array(value)) {
    if (value.byteLength > maximum) {
      throw tooLarge(key, maximum)
    }
    return value
  }
  if (typeof value === 'string' && value.length > LONG_TEXT) {
    if (value.length > maximum) {
      throw tooLarge(key, maximum)
    }
    return piecesOf(value)
  }
  let text: string | undefined
  try {
    text = JSON.stringify(value)
  } catch (cause) {
    if (cause instanceof RangeError) {
      throw cause
    }
    throw contextError(
      'ERR_CONTEXT_INVALID_ARGUMENT',
      'value must be a Uint8Array, or a value that JSON can hold',
      cause,
    )
  }
  if (text === undefined) {
    throw invalidArgument('value', 'a Uint8Array, or a value that JSON can hold', value)
  }
  // Each UTF-16 code unit takes at least one byte: a text that is too long is refused before it is copied.
  if (text.length > maximum) {
    throw tooLarge(key, maximum)
  }
  return text
}

/** Splits a text. The pieces share its memory, and none ends within a surrogate pair. */
function piecesOf(text: string): string[] {
  const pieces: string[] = []
  for (let from = 0; from < text.length; ) {
    const to = from + PIECE
    const unit = text.charCodeAt(to)
    const end = unit >= 0xdc00 && unit <= 0xdfff ? to + 1 : to
    pieces.push(text.slice(from, end))
    from = end
  }
  return pieces
}

/** Decodes a value that followed its item. */
export function separateValue(separate: SeparateValue): StateValue {
  if (typeof separate === 'string') {
    return JSON.parse(separate) as StateValue
  }
  return separate instanceof Uint8Array ? separate : joined(separate)
}

function joined(pieces: readonly string[]): string {
  let text = ''
  for (const piece of pieces) {
    text += piece.includes('\\') ? (JSON.parse(`"${piece}"`) as string) : piece
  }
  return text
}

function tooLarge(key: string, maximum: number): Error {
  return contextError(
    'ERR_CONTEXT_TOO_LARGE',
    `the value of ${JSON.stringify(key)} takes more than ${maximum} bytes; raise maxValueBytes or store less of it`,
  )
}

/** Joins the text of an answer that may come in parts, and returns the bytes that follow it. */
export function partsOf(text: string, parts: readonly SeparateValue[]): { json: string; rest: SeparateValue[] } {
  if (parts.length === 0) {
    return { json: text, rest: [] }
  }
  const [json, ...rest] = parts
  return { json: json as string, rest }
}

/** Completes the items of an answer: each item without a value gets the next one of the separate values. */
export function completeItems<Item extends StateItem>(
  items: readonly (Omit<Item, 'value'> & { value?: StateValue })[],
  values: readonly SeparateValue[],
): Item[] {
  let next = 0
  return items.map(({ value, namespace, key, ...rest }) => {
    const complete = value === undefined ? separateValue(values[next++] as SeparateValue) : value
    return { namespace, key, value: complete, ...rest } as unknown as Item
  })
}
