/** Errors with a stable `code`. */

import { constants } from 'node:os'
import { type Redactor, standardRedactor } from '../redaction/redactor.ts'
import type { ContextError, ContextErrorCode } from './types.ts'

/** How much of a text is redacted before a shorter beginning of it is shown, so that a secret at the end of that beginning is recognised. */
const MAXIMUM_INSPECTED = 1000
const MAXIMUM_SHOWN = 50

/** Makes an `Error` with a code and, if given, a cause. */
export function contextError(code: ContextErrorCode, message: string, cause?: unknown): ContextError {
  const error = cause === undefined ? new Error(message) : new Error(message, { cause })
  return Object.assign(error, { code })
}

/** Makes the error for an invalid argument, with its name and what was expected. */
export function invalidArgument(name: string, expected: string, given: unknown): ContextError {
  return contextError('ERR_CONTEXT_INVALID_ARGUMENT', `${name} must be ${expected}, not ${inspect(given)}`)
}

/**
 * Converts any error that stopped a call before it started to one with a code.
 *
 * @param call the method, for messages
 * @param stored the parameter whose value was to be stored
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

/** Whether the error was made by this package. A caller's getter may throw an error with a code too. */
function isOurs(error: Partial<ContextError>): boolean {
  return typeof error.code === 'string' && error.code.startsWith('ERR_CONTEXT_')
}

/** Describes a value in a few words for a message, without secrets and without running its code. */
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

/** The native side's description of a failure. */
interface NativeError {
  code: ContextErrorCode
  message: string
  cause: SystemFailure | { handle: number } | null
  mayExist?: boolean
}

interface SystemFailure {
  message: string
  errno: number | null
  syscall: string
  path: string
}

/** Values that injected file systems threw, kept until the error that they caused is built. */
const thrownValues = new Map<number, unknown>()
const MAXIMUM_THROWN_VALUES = 1000
let nextHandle = 1

/** Keeps a thrown value for the error that it causes. Some failures cause no error, so the oldest values are dropped. */
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
 * Makes the error that the native side describes.
 *
 * @param redactor redacts the message, which may contain values that the caller passed
 */
export function fromNative(text: string, redactor?: Redactor): ContextError {
  const native = JSON.parse(text) as NativeError
  const quote = (text: string): string => redactor?.quote(text) ?? text
  const error = contextError(native.code, quote(native.message), causeOf(native.cause, quote))
  return native.mayExist === true ? Object.assign(error, { mayExist: true }) : error
}

function causeOf(cause: NativeError['cause'], quote: (text: string) => string): unknown {
  if (cause === null) {
    return undefined
  }
  if ('handle' in cause) {
    // The value is kept, because several operations may have failed with it.
    return thrownValues.get(cause.handle)
  }
  return systemError({ ...cause, message: quote(cause.message), path: quote(cause.path) })
}

/** Makes an error like Node's system errors, with `code`, `errno`, `syscall` and `path`. */
function systemError({ message, errno, syscall, path }: SystemFailure): Error {
  const error = new Error(message)
  if (errno === null) {
    return Object.assign(error, { syscall, path })
  }
  return Object.assign(error, { code: systemErrorName(errno), errno: -errno, syscall, path })
}

/** The name of an error number. If several names share a number, Node.js uses the first one of the table. */
function systemErrorName(errno: number): string | undefined {
  // The error numbers of Windows have no entry in Node's table.
  return process.platform === 'win32'
    ? undefined
    : Object.entries(constants.errno).find(([, number]) => number === errno)?.[0]
}
