/**
 * Recognises binary data that is UTF-8 text. It is stored as text, because `JSON.stringify` writes it as numbers, in which
 * redaction cannot find secrets.
 */

import { Buffer } from 'node:buffer'
import { isAnyArrayBuffer, isUint8Array } from 'node:util/types'

/** The traces of binary data in the output of `JSON.stringify`: JSON without a match contains none. Inside a string the quotes are escaped. */
const TRACE = /"type":"Buffer"|\{"0":/
/** A visible character. Bytes without one contain no secret and are treated as binary. */
const VISIBLE = /\P{Cc}/u

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Whether JSON text may contain binary data. */
export function mayHoldBinary(json: string): boolean {
  return TRACE.test(json)
}

/** The text of a `Buffer` or `Uint8Array`, or of the JSON form of a `Buffer`; `undefined` if it is not UTF-8. */
export function textOfBinary(value: object): string | undefined {
  try {
    const bytes = isUint8Array(value) ? ownBytes(value) : serialisedBytes(value)
    const text = bytes === undefined ? undefined : decoder.decode(bytes)
    return text !== undefined && VISIBLE.test(text) ? text : undefined
  } catch {
    return undefined // a getter, invalid UTF-8, or more than a string can hold
  }
}

/** The JSON of binary data: that of its text, or the form of `JSON.stringify`; `undefined` for any other value. */
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

/** A lower bound of the bytes of a value's JSON that is known without building the JSON. */
export function leastBytes(value: unknown): number {
  if (typeof value === 'string') {
    return value.length
  }
  try {
    if (typeof value !== 'object' || Array.isArray(value)) {
      return 0
    }
    if (isAnyArrayBuffer(value)) {
      return value.byteLength
    }
    return isUint8Array(value) && ownBytes(value) !== undefined ? value.byteLength : 0
  } catch {
    return 0 // a getter
  }
}

/** The value itself, unless its class has a `toJSON` of its own. */
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
