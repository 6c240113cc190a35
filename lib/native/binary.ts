/**
 * Binary data that is text. JSON makes numbers of it, in which redaction finds no secret: it is stored as the text instead.
 */

import { Buffer } from 'node:buffer'
import { isAnyArrayBuffer, isUint8Array } from 'node:util/types'

/** What `JSON.stringify` leaves of binary data: JSON without a match holds none. Inside a text, the quotes are escaped. */
const TRACE = /"type":"Buffer"|\{"0":/
/** A visible character. Bytes that have none hold no secret: they are taken for numbers. */
const VISIBLE = /\P{Cc}/u

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Whether JSON text may hold binary data. */
export function mayHoldBinary(json: string): boolean {
  return TRACE.test(json)
}

/** The text of a `Buffer` or `Uint8Array`, or of what JSON makes of a `Buffer`; `undefined` when it is no text in UTF-8. */
export function textOfBinary(value: object): string | undefined {
  try {
    const bytes = isUint8Array(value) ? ownBytes(value) : serialisedBytes(value)
    const text = bytes === undefined ? '' : decoder.decode(bytes)
    return VISIBLE.test(text) ? text : undefined
  } catch {
    return undefined // a getter, invalid UTF-8, or more than a string can hold
  }
}

/** The JSON of binary data: of its text, or as the engine writes it; `undefined` for any other value. */
export function jsonOfBinary(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null) {
    return undefined
  }
  const text = textOfBinary(value)
  if (text !== undefined) {
    return JSON.stringify(text)
  }
  try {
    return isUint8Array(value) && ownBytes(value) !== undefined ? JSON.stringify(value) : undefined
  } catch {
    return undefined // members of its own that JSON cannot hold
  }
}

/** The least number of bytes that the JSON of a value takes, as far as it is known without making it. */
export function leastBytes(value: unknown): number {
  if (typeof value === 'string') {
    return value.length
  }
  try {
    if (isAnyArrayBuffer(value)) {
      return value.byteLength
    }
    return isUint8Array(value) && ownBytes(value) !== undefined ? value.byteLength : 0
  } catch {
    return 0 // a getter
  }
}

/** A value, unless its class says how it is written. */
function ownBytes(value: Uint8Array): Uint8Array | undefined {
  const { toJSON } = value as { toJSON?: unknown }
  return toJSON === undefined || toJSON === Buffer.prototype.toJSON ? value : undefined
}

/** The bytes of `{"type":"Buffer","data":[…]}`. */
export function serialisedBytes(value: object): Uint8Array | undefined {
  const { type, data } = value as { type?: unknown; data?: unknown }
  const isSerialised = type === 'Buffer' && Array.isArray(data) && Object.keys(value).length === 2
  return isSerialised && (data as unknown[]).every(isByte) ? Uint8Array.from(data as number[]) : undefined
}

function isByte(value: unknown): boolean {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= 0xff
}
