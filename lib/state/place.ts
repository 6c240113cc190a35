/** Checks namespaces and keys, and converts them to the text form that the native side takes. */

import { Buffer } from 'node:buffer'
import { contextError, inspect, invalidArgument } from '../arguments/errors.ts'
import { type Redacting, refuseSecret } from '../redaction/redaction.ts'

/** The longest key, and the longest namespace, in bytes of UTF-8. */
const MAXIMUM_BYTES = 4096
/** The largest number of UTF-8 bytes per UTF-16 code unit. */
const BYTES_PER_UNIT = 3

/** A checked namespace: its segments, and its text form for the native side. */
export interface CheckedNamespace {
  readonly segments: string[]
  readonly text: string
}

/** The empty namespace, of a store without the option `namespace`. */
export const NO_NAMESPACE: CheckedNamespace = { segments: [], text: '' }

/** Checks the namespace of an item. */
export function checkNamespace(value: readonly string[], name: string, redaction?: Redacting): CheckedNamespace {
  const checked = checkPrefix(value, name, redaction)
  if (checked.segments.length === 0) {
    throw invalidArgument(name, 'an array of at least one string', value)
  }
  return checked
}

/** Checks a prefix or suffix of namespaces, which may be empty. */
export function checkPrefix(value: readonly string[], name: string, redaction?: Redacting): CheckedNamespace {
  if (!Array.isArray(value)) {
    throw invalidArgument(name, 'an array of strings', value)
  }
  const segments: string[] = []
  let text = ''
  for (let index = 0; index < value.length; index++) {
    const segment: unknown = value[index]
    if (typeof segment !== 'string' || segment === '') {
      throw invalidArgument(`${name}[${index}]`, 'a non-empty string', segment)
    }
    segments.push(segment)
    text += `${escapeSegment(segment)}\0`
    if (redaction !== undefined) {
      refuseSecret(redaction, segment, `${name}[${index}]`)
    }
  }
  checkLength(text, name)
  return { segments, text }
}

/** Escapes the characters 0 and 1, which have a meaning in the text form; see `crates/core/src/state/name.rs`. */
function escapeSegment(segment: string): string {
  if (!segment.includes('\0') && !segment.includes('\u0001')) {
    return segment
  }
  return segment.replaceAll('\u0001', '\u0001\u0002').replaceAll('\0', '\u0001\u0001')
}

export function checkKey(value: string, name: string, redaction?: Redacting): string {
  if (typeof value !== 'string' || value === '') {
    throw invalidArgument(name, 'a non-empty string', value)
  }
  checkLength(value, name)
  if (redaction !== undefined) {
    refuseSecret(redaction, value, name)
  }
  return value
}

/** The text form of a namespace and a key. */
export function placeOf(root: CheckedNamespace, namespace: CheckedNamespace, key: string): string {
  return `${root.text}${namespace.text}\0${key}`
}

function checkLength(text: string, name: string): void {
  if (text.length * BYTES_PER_UNIT > MAXIMUM_BYTES && Buffer.byteLength(text) > MAXIMUM_BYTES) {
    throw contextError(
      'ERR_CONTEXT_INVALID_ARGUMENT',
      `${name} must have no more than ${MAXIMUM_BYTES} bytes: it begins with ${inspect(text.slice(0, 40))}`,
    )
  }
}
