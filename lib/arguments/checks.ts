/** Checks of single arguments. Values are not coerced; an invalid one throws `ERR_CONTEXT_INVALID_ARGUMENT` with the argument's name. */

import { invalidArgument } from './errors.ts'
import type { CancellationOptions, TaskId } from './types.ts'

const UNITS: Record<string, number> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
}

const LINE_BREAK = /[\n\r\u0085\u2028\u2029]/

/** Applies a check unless the value is `undefined` or `null`, which mean absent. */
export function optional<T, R>(
  value: T | null | undefined,
  name: string,
  check: (value: T, name: string) => R,
): R | undefined {
  return value === undefined || value === null ? undefined : check(value, name)
}

export function checkText(value: unknown, name: string): asserts value is string {
  if (typeof value !== 'string') {
    throw invalidArgument(name, 'a string', value)
  }
}

export function checkFilled(value: string, name: string): string {
  if (typeof value !== 'string' || value === '') {
    throw invalidArgument(name, 'a non-empty string', value)
  }
  return value.toWellFormed()
}

/** Checks a text and replaces lone surrogates, because the native side takes UTF-8. */
export function checkString(value: string, name: string): string {
  checkText(value, name)
  return value.toWellFormed()
}

/** Checks a list of tags. */
export function checkTags(tags: readonly string[], name: string): readonly string[] {
  return checkEach(tags, name, checkTag)
}

function checkTag(value: string, name: string): string {
  const tag = typeof value === 'string' ? value.trim() : ''
  if (tag === '' || LINE_BREAK.test(tag)) {
    throw invalidArgument(name, 'a non-empty string of one line', value)
  }
  return tag.toWellFormed()
}

/** Checks an array of strings, and each string in it. */
export function checkEach(
  values: readonly string[],
  name: string,
  check: (value: string, name: string) => string,
): readonly string[] {
  if (!Array.isArray(values)) {
    throw invalidArgument(name, 'an array of strings', values)
  }
  return Array.from(values as readonly string[], (value, index) => check(value, `${name}[${index}]`))
}

export function checkPath(value: string, name: string): string {
  if (typeof value !== 'string' || value === '' || value.includes('\0')) {
    throw invalidArgument(name, 'a non-empty path without NUL characters', value)
  }
  return value
}

export function checkFunction<T>(value: T, name: string): T {
  if (typeof value !== 'function') {
    throw invalidArgument(name, 'a function', value)
  }
  return value
}

export function checkObject<T>(value: T, name: string): T {
  if (typeof value !== 'object' || value === null) {
    throw invalidArgument(name, 'an object', value)
  }
  return value
}

/** Checks the arguments of a tool call. */
export function checkArguments(value: Record<string, unknown>, name: string): void {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalidArgument(name, 'an object', value)
  }
}

export function checkTask(value: TaskId, name: string): TaskId {
  if (typeof value !== 'string' && !(typeof value === 'number' && Number.isFinite(value))) {
    throw invalidArgument(name, 'a string or a finite number', value)
  }
  return value
}

export function checkBoolean(value: boolean, name: string): boolean {
  if (typeof value !== 'boolean') {
    throw invalidArgument(name, 'true or false', value)
  }
  return value
}

/** Checks the options `trustLocks` and `allowShared`. */
export function checkTrust({
  trustLocks,
  allowShared,
}: {
  trustLocks?: boolean | null | undefined
  allowShared?: boolean | null | undefined
}): {
  trustLocks: boolean
  allowShared: boolean
} {
  return {
    trustLocks: optional(trustLocks, 'trustLocks', checkBoolean) ?? false,
    allowShared: optional(allowShared, 'allowShared', checkBoolean) ?? false,
  }
}

export function checkDurability(value: 'process' | 'full', name: string): 'process' | 'full' {
  if (value !== 'process' && value !== 'full') {
    throw invalidArgument(name, "'process' or 'full'", value)
  }
  return value
}

/** Reads the signal from a call's options, if there is one. */
export function readSignal(options: CancellationOptions | null | undefined): AbortSignal | undefined {
  return optional(optional(options, 'options', checkObject)?.signal, 'signal', checkSignal)
}

function checkSignal(signal: AbortSignal, name: string): AbortSignal {
  if (
    typeof signal !== 'object' ||
    typeof signal.addEventListener !== 'function' ||
    typeof signal.aborted !== 'boolean'
  ) {
    throw invalidArgument(name, 'an AbortSignal', signal)
  }
  return signal
}

/** Checks for a whole number, 0 or greater. */
export function checkWhole(value: number, name: string): number {
  if (!(Number.isSafeInteger(value) && value >= 0)) {
    throw invalidArgument(name, 'a whole number from 0 up', value)
  }
  return value
}

/** Returns a check for a whole number from 0 to a maximum. */
export function wholeUpTo(maximum: number): (value: number, name: string) => number {
  return (value, name) => {
    if (!(Number.isSafeInteger(value) && value >= 0 && value <= maximum)) {
      throw invalidArgument(name, `a whole number from 0 to ${maximum}`, value)
    }
    return value
  }
}

/** Checks for a whole number, 0 or greater, or `Infinity`, which means no limit. */
export function count(value: number | null | undefined, name: string, byDefault: number): number {
  const given = value ?? byDefault
  if (given !== Number.POSITIVE_INFINITY && !(Number.isSafeInteger(given) && given >= 0)) {
    throw invalidArgument(name, 'a whole number from 0 up, or Infinity', given)
  }
  return given
}

/** Converts a duration such as `'7d'` to milliseconds. */
export function duration(value: string, name: string): number {
  const match = typeof value === 'string' ? /^(\d+(?:\.\d+)?)\s*(ms|s|m|h|d|w)$/.exec(value.trim()) : null
  const unit = UNITS[match?.[2] ?? '']
  if (match === null || unit === undefined) {
    throw invalidArgument(name, "a duration such as '12h' or '7d'", value)
  }
  return Math.round(Number(match[1]) * unit)
}

/** Checks a task's id and returns it as JSON. */
export function taskToken(value: TaskId, name: string): string {
  return JSON.stringify(checkTask(value, name))
}
