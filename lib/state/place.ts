/** Where items are: namespaces and keys, as callers give them and as they cross to the native side. */

import { Buffer } from 'node:buffer'
import { contextError, inspect, invalidArgument } from '../arguments/errors.ts'
import { type Redacting, refuseSecret } from '../redaction/redaction.ts'

/** The longest key, and the longest namespace, in bytes of UTF-8. */
const MAXIMUM_BYTES = 4096
/** Each UTF-16 unit takes no more bytes than these. */
const BYTES_PER_UNIT = 3

/** A namespace that was checked: the segments, and the text in which it crosses. */
export interface CheckedNamespace {
  readonly segments: string[]
  readonly text: string
}

/** No namespace: that of a store without one of its own. */
export const NO_NAMESPACE: CheckedNamespace = { segments: [], text: '' }

/** A namespace that holds items. */
export function checkNamespace(value: readonly string[], name: string, redaction?: Redacting): CheckedNamespace {
  const checked = checkPrefix(value, name, redaction)
  if (checked.segments.length === 0) {
    throw invalidArgument(name, 'an array of at least one string', value)
  }
  return checked
}

/** What namespaces begin with, or end with; it may be empty. */
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

/** The characters 0 and 1 have a meaning where namespaces cross; see `crates/core/src/state/name.rs`. */
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

/** The place of a key, as it crosses. */
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
