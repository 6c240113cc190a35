/** Makes entries fit into a number of bytes of JSON. */

import { Buffer } from 'node:buffer'
import type { ContextEntry } from '../history/types.ts'
import { stringify } from '../native/stringify.ts'

const BRACKETS_BYTES = 2
const COMMA_BYTES = 1
const NULL_BYTES = 4
const QUOTES_BYTES = 2
const CUT_MARK = '…'
const CUT_MARK_BYTES = 3
/** The smallest useful preview, in bytes. */
const MINIMUM_PREVIEW_BYTES = 32
const SHORT_TEXT_BYTES = 256

/** The size of the JSON of the smallest entry, in bytes. */
export const MINIMUM_ENTRY_BYTES = Buffer.byteLength(
  JSON.stringify({ id: '', toolName: '', params: 0, result: 0, success: true, summary: '', timestamp: '' }),
)

/** A part of an entry with its JSON, which is built only once. */
interface Part {
  readonly value: unknown
  readonly text: string
  readonly bytes: number
}

/**
 * Returns the most recent entries (oldest first) whose JSON array takes at most `maxBytes`; the oldest are left out first. An
 * entry that is larger than the whole limit is cut: to half of the free bytes, so that others fit too, or to all of them if it is
 * the only one.
 */
export function fitEntries(
  entries: readonly ContextEntry[],
  maxBytes: number,
): { entries: ContextEntry[]; cutEntries: number } {
  const fitting: ContextEntry[] = []
  let cutEntries = 0
  let free = maxBytes - BRACKETS_BYTES
  for (const [age, entry] of entries.toReversed().entries()) {
    const params = measure(entry.params)
    const result = measure(entry.result)
    const bytes = shellBytes(entry) + params.bytes + result.bytes
    if (bytes <= free) {
      fitting.push(entry)
      free -= bytes + COMMA_BYTES
      continue
    }
    const fitsAlone = bytes <= maxBytes - BRACKETS_BYTES
    const isOldest = age === entries.length - 1
    const cut = fitsAlone ? undefined : cutEntry(entry, params, result, isOldest ? free : Math.floor(free / 2))
    if (cut === undefined) {
      break
    }
    fitting.push(cut)
    free -= measure(cut).bytes + COMMA_BYTES
    cutEntries++
  }
  return { entries: fitting.reverse(), cutEntries }
}

function measure(value: unknown): Part {
  try {
    const text = JSON.stringify(value) ?? 'null'
    return { value, text, bytes: Buffer.byteLength(text) }
  } catch {
    // `JSON.parse` accepts deeper nesting than `JSON.stringify`: the receiver of this value could not write it either.
    return { value, text: stringify(value), bytes: Number.POSITIVE_INFINITY }
  }
}

/** The bytes of an entry's JSON without its parameters and its result. */
function shellBytes(entry: ContextEntry): number {
  return measure({ ...entry, params: null, result: null }).bytes - 2 * NULL_BYTES
}

/** Cuts the result of an entry, then its parameters, then the rest; `undefined` if it still does not fit. */
function cutEntry(entry: ContextEntry, params: Part, result: Part, bytes: number): ContextEntry | undefined {
  for (const shell of [{ ...entry, truncated: true }, bareEntry(entry)]) {
    const room = bytes - shellBytes(shell)
    if (room >= 2 * MINIMUM_PREVIEW_BYTES) {
      const paramsRoom =
        params.bytes <= room - MINIMUM_PREVIEW_BYTES
          ? params.bytes
          : room - Math.min(result.bytes, Math.floor(room / 2))
      return { ...shell, params: cutPart(params, paramsRoom), result: cutPart(result, room - paramsRoom) }
    }
  }
  return undefined
}

/** The entry without the caller's additional members, with shortened texts. */
function bareEntry({ id, toolName, params, result, success, summary, timestamp }: ContextEntry): ContextEntry {
  const short = (text: string): string => cutText(text, SHORT_TEXT_BYTES)
  return {
    id: short(id),
    toolName: short(toolName),
    params,
    result,
    success,
    summary: summary === null ? null : short(summary),
    timestamp: timestamp === null ? null : short(timestamp),
    truncated: true,
  }
}

function cutPart({ value, text, bytes }: Part, room: number): unknown {
  return bytes <= room ? value : cutText(typeof value === 'string' ? value : text, room)
}

/** The beginning of a text whose JSON takes at most `room` bytes, with a suffix if it is cut. */
function cutText(text: string, room: number): string {
  let free = room - QUOTES_BYTES - CUT_MARK_BYTES
  let end = 0
  while (end < text.length) {
    const point = text.codePointAt(end) as number
    free -= bytesInJson(point)
    if (free < 0) {
      return text.slice(0, end) + CUT_MARK
    }
    end += point > 0xffff ? 2 : 1
  }
  return text
}

/** Bytes of a code point within a JSON string. */
function bytesInJson(point: number): number {
  if (point < 0x80) {
    const character = String.fromCodePoint(point)
    return point < 0x20 || character === '"' || character === '\\' ? JSON.stringify(character).length - QUOTES_BYTES : 1
  }
  if (point < 0x800) {
    return 2
  }
  if (point > 0xffff) {
    return 4
  }
  const isLoneSurrogate = point >= 0xd800 && point <= 0xdfff
  return isLoneSurrogate ? 6 : 3
}
