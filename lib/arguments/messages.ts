/** Redacts the values of callers that debug messages and error messages show. */

import type { Redactor } from '../redaction/redactor.ts'
import { contextError } from './errors.ts'

/** The largest nesting depth of payloads and of chains of causes; deeper parts are not shown. */
const MAXIMUM_DEPTH = 8

/**
 * Redacts a value: returns the value itself if it contains no secret, otherwise a redacted copy. Values other than errors and
 * plain data are returned unchanged.
 */
export function quoteValue(redactor: Redactor, value: unknown, depth = 0): unknown {
  if (typeof value === 'string') {
    return redactor.quote(value)
  }
  if (typeof value !== 'object' || value === null) {
    return value
  }
  if (depth === MAXIMUM_DEPTH) {
    return '[Too deep]'
  }
  try {
    if (value instanceof Error) {
      return quoteError(redactor, value, depth)
    }
    const prototype: unknown = Object.getPrototypeOf(value)
    const isPlain = Array.isArray(value) || prototype === Object.prototype || prototype === null
    return isPlain ? quoteMembers(redactor, value, depth) : value
  } catch {
    return '[a value that could not be read]'
  }
}

function quoteMembers(redactor: Redactor, holder: object, depth: number): unknown {
  const members = Object.entries(holder).map(([key, member]) => [key, member, quoteValue(redactor, member, depth + 1)])
  if (members.every(([, member, quoted]) => member === quoted)) {
    return holder
  }
  const quoted = members.map(([key, , quoted]) => [key, quoted] as [string, unknown])
  return Array.isArray(holder) ? quoted.map(([, member]) => member) : Object.fromEntries(quoted)
}

function quoteError(redactor: Redactor, error: Error, depth: number): Error {
  const { message, stack, cause } = error
  const quotedMessage = redactor.quote(message)
  const quotedStack = stack === undefined ? undefined : redactor.quote(stack)
  const quotedCause = quoteValue(redactor, cause, depth + 1)
  if (quotedMessage === message && quotedStack === stack && quotedCause === cause) {
    return error
  }
  const copy = new Error(quotedMessage, cause === undefined ? {} : { cause: quotedCause })
  const { code } = error as { code?: unknown }
  if (code !== undefined) {
    Object.assign(copy, { code })
  }
  for (const [key, value] of [
    ['name', error.name],
    ['stack', quotedStack],
  ] as const) {
    Object.defineProperty(copy, key, { value, configurable: true, writable: true, enumerable: false })
  }
  return copy
}

/** Makes the error for a part of a call that is larger than an option allows. */
export function tooLarge(
  redactor: Redactor | undefined,
  what: 'result' | 'entry',
  toolName: string,
  maximum: number,
  option: string,
): Error {
  const name = JSON.stringify(redactor?.quote(toolName) ?? toolName)
  return contextError(
    'ERR_CONTEXT_TOO_LARGE',
    `the ${what} of ${name} takes more than ${maximum} bytes of JSON; raise ${option} or store less of it`,
  )
}
