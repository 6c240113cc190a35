/** Errors with a stable `code`. */

import { constants } from 'node:os'
import { type Redactor, standardRedactor } from '../redaction/redactor.ts'
import type { ContextError, ContextErrorCode } from './types.ts'

/** What is looked at of a text that is to be shown: a secret that begins in the part shown is known by it. */
const MAXIMUM_INSPECTED = 1000
const MAXIMUM_SHOWN = 50

/** An `Error` with a code, and with a cause where there is one. */
export function contextError(code: ContextErrorCode, message: string, cause?: unknown): ContextError {
  const error = cause === undefined ? new Error(message) : new Error(message, { cause })
  return Object.assign(error, { code })
}

/** An argument is wrong: its name, and what it should be. */
export function invalidArgument(name: string, expected: string, given: unknown): ContextError {
  return contextError('ERR_CONTEXT_INVALID_ARGUMENT', `${name} must be ${expected}, not ${inspect(given)}`)
}

/**
 * Whatever stopped a call before it began, with a code.
 *
 * @param call the method, for messages
 * @param stored what it was to store
 */
export function asContextError(error: unknown, call: string, stored: string): unknown {
  if (error instanceof RangeError) {
    return contextError(
      'ERR_CONTEXT_TOO_LARGE',
      `the ${stored} takes more JSON than a string can hold; store less of it`,
      error,
    )
  }
  if (error instanceof Error && isOurs(error)) {
    return error
  }
  return contextError('ERR_CONTEXT_INVALID_ARGUMENT', `the arguments of ${call} could not be read`, error)
}

/** What a getter throws may have a code as well. */
function isOurs(error: Partial<ContextError>): boolean {
  return typeof error.code === 'string' && error.code.startsWith('ERR_CONTEXT_')
}

/** A value in a few words, for messages, without secrets; runs none of its code. */
export function inspect(value: unknown): string {
  if (typeof value === 'string') {
    const text = standardRedactor().quote(value.slice(0, MAXIMUM_INSPECTED))
    return JSON.stringify(text.length > MAXIMUM_SHOWN ? `${text.slice(0, MAXIMUM_SHOWN)}…` : text)
  }
  if (value === null || (typeof value !== 'object' && typeof value !== 'function')) {
    return String(value)
  }
  return `a value of type ${typeof value}`
}

/** What the native side says of a failure. */
interface NativeError {
  code: ContextErrorCode
  message: string
  cause: SystemFailure | { handle: number } | null
}

interface SystemFailure {
  message: string
  errno: number | null
  syscall: string
  path: string
}

/** Thrown values of injected file systems, until the error that they caused is built. */
const thrownValues = new Map<number, unknown>()
const MAXIMUM_THROWN_VALUES = 1000
let nextHandle = 1

/** Keeps a thrown value for the error that it will cause. Some failures cause none: the oldest go. */
export function keepThrown(value: unknown): number {
  const handle = nextHandle++
  thrownValues.set(handle, value)
  if (thrownValues.size > MAXIMUM_THROWN_VALUES) {
    for (const oldest of thrownValues.keys()) {
      thrownValues.delete(oldest)
      break
    }
  }
  return handle
}

/**
 * The error that the native side describes.
 *
 * @param redactor takes the secrets out of its message, which may name what the caller passed
 */
export function fromNative(text: string, redactor?: Redactor): ContextError {
  const { code, message: told, cause } = JSON.parse(text) as NativeError
  const quote = (text: string): string => redactor?.quote(text) ?? text
  const message = quote(told)
  if (cause === null) {
    return contextError(code, message)
  }
  if ('handle' in cause) {
    // It stays: several operations may have failed by it.
    return contextError(code, message, thrownValues.get(cause.handle))
  }
  return contextError(code, message, systemError({ ...cause, message: quote(cause.message), path: quote(cause.path) }))
}

/** As Node's own errors look: `code`, `errno`, `syscall`, `path`. */
function systemError({ message, errno, syscall, path }: SystemFailure): Error {
  const error = new Error(message)
  if (errno === null) {
    return Object.assign(error, { syscall, path })
  }
  return Object.assign(error, { code: systemErrorName(errno), errno: -errno, syscall, path })
}

/** Of names with one number the first is Node's own. */
function systemErrorName(errno: number): string | undefined {
  // Windows numbers its errors differently.
  return process.platform === 'win32'
    ? undefined
    : Object.entries(constants.errno).find(([, number]) => number === errno)?.[0]
}
