/** Conversion of objects of which `JSON.stringify` writes only `{}` or their own properties, such as errors, maps and sets. */

import {
  isAnyArrayBuffer,
  isDataView,
  isDate,
  isMap,
  isNativeError,
  isPromise,
  isRegExp,
  isSet,
  isWeakMap,
  isWeakSet,
} from 'node:util/types'

const objectToString = Object.prototype.toString

/** The value that is stored instead of an object. */
export interface Conversion {
  /** Plain data, whose members are converted in turn. */
  readonly value: unknown
}

/**
 * The conversion of an object; `undefined` for one that is written as JSON writes it. Its properties are read once, when it is written.
 *
 * - an `Error`: `name`, `message`, `cause`, `errors` and its own members, not its stack
 * - a `Map`: an object where all keys are strings, else an array of its entries; a `Set`: an array
 * - a `RegExp`: its text
 * - `Headers`, `URLSearchParams` and `FormData`: an array of their entries
 * - a `Response` or `Request`: its URL, status or method, and headers; its body is read where the response is the whole result
 * - a `Blob` that is not the whole result, a promise, a `WeakMap` and so on: a text that says what it was
 */
export function conversionOf(value: object): Conversion | undefined {
  if (isNativeError(value) || isErrorOfClass(value)) {
    return { value: ofError(value as Error) }
  }
  if (isMap(value)) {
    const entries = [...value]
    const isObject = entries.every(([key]) => typeof key === 'string')
    return { value: isObject ? { ...Object.fromEntries(entries as [string, unknown][]), ...value } : entries }
  }
  if (isSet(value)) {
    return { value: [...value] }
  }
  if (isRegExp(value)) {
    return { value: String(value) }
  }
  if (isPromise(value) || isWeakMap(value) || isWeakSet(value)) {
    return { value: `[${tagOf(value)}]` }
  }
  if (isAnyArrayBuffer(value) || isDataView(value)) {
    // Bytes that are stored separately were taken out before.
    return { value: `[${tagOf(value)}, ${value.byteLength} bytes]` }
  }
  return isDate(value) ? undefined : ofWebObject(value)
}

/** Errors of other realms and of libraries are errors by their prototypes only. */
function isErrorOfClass(value: object): boolean {
  try {
    return value instanceof Error
  } catch {
    return false // a Proxy trap that JSON.stringify would not have called
  }
}

function ofError(error: Error): Record<string, unknown> {
  const members: Record<string, unknown> = { name: error.name, message: error.message }
  for (const key of ['cause', 'errors'] as const) {
    if (Object.hasOwn(error, key)) {
      members[key] = (error as { cause?: unknown; errors?: unknown })[key]
    }
  }
  for (const key of Object.keys(error)) {
    if (!(key in members)) {
      members[key] = (error as unknown as Record<string, unknown>)[key]
    }
  }
  return members
}

function ofWebObject(value: object): Conversion | undefined {
  switch (tagOf(value)) {
    case 'Headers':
    case 'URLSearchParams':
    case 'FormData':
      return { value: [...(value as Iterable<unknown>)] }
    case 'Response': {
      const { url, status, statusText, headers } = value as Response
      return { value: { url, status, statusText, headers: [...(headers as unknown as Iterable<unknown>)] } }
    }
    case 'Request': {
      const { url, method, headers } = value as Request
      return { value: { url, method, headers: [...(headers as unknown as Iterable<unknown>)] } }
    }
    case 'Blob':
    case 'File': {
      const { size, type } = value as Blob
      return { value: `[${tagOf(value)} ${type || 'application/octet-stream'}, ${size} bytes]` }
    }
    case 'WeakRef':
    case 'ReadableStream':
    case 'AsyncGenerator':
    case 'Generator':
      return { value: `[${tagOf(value)}]` }
    default:
      return undefined
  }
}

function tagOf(value: object): string {
  try {
    return objectToString.call(value).slice(8, -1)
  } catch {
    return '' // as above
  }
}

/**
 * Whether a value contains an instance of a class, whose JSON may be `{}` although it has contents. Calls no getter, and checks
 * no more members than the JSON has characters.
 */
export function holdsObjectOfClass(root: unknown, characters: number): boolean {
  const waiting: unknown[] = [root]
  let left = characters
  try {
    for (let value = waiting.pop(); value !== undefined || waiting.length > 0; value = waiting.pop()) {
      if (typeof value !== 'object' || value === null) {
        continue
      }
      const prototype: unknown = Object.getPrototypeOf(value)
      const isPlain = prototype === Object.prototype || prototype === Array.prototype || prototype === null
      if (!isPlain) {
        return true
      }
      for (const key of Object.keys(value)) {
        left -= 1
        if (left < 0) {
          return false
        }
        const member: unknown = Object.getOwnPropertyDescriptor(value, key)?.value
        if (typeof member === 'object' && member !== null) {
          waiting.push(member)
        }
      }
    }
  } catch {
    // A Proxy trap.
  }
  return false
}

/** The number of members that are checked. */
const LOOKED_AT = 16

/**
 * Whether a value, or one of its first members, is an object whose conversion may differ from its JSON without being recognised in
 * it: an error, map or set with members of its own. No getter is called.
 */
export function mayHoldConverted(root: unknown): boolean {
  try {
    if (typeof root !== 'object' || root === null) {
      return false
    }
    if (hasConvertedMembers(root)) {
      return true
    }
    let left = LOOKED_AT
    for (const key in root) {
      if (hasConvertedMembers(Object.getOwnPropertyDescriptor(root, key)?.value)) {
        return true
      }
      left -= 1
      if (left === 0) {
        break
      }
    }
  } catch {
    // A Proxy trap.
  }
  return false
}

const hasConvertedMembers = (value: unknown): boolean => value instanceof Error || isMap(value) || isSet(value)
