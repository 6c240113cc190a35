/** `readContext`: checks the options, and builds the slice from the native side's answer. */

import { checkBoolean, checkText, checkWhole, optional, readSignal } from '../arguments/checks.ts'
import { invalidArgument } from '../arguments/errors.ts'
import { checkSessionScope } from './filter.ts'
import { grepOptions, sliceOptions, sliceRange } from './option-names.ts'
import type { ContextSlice, GrepOptions, SliceOptions, SliceRange } from './retrieval-types.ts'

const DEFAULT_MAXIMUM_BYTES = 32_768
/** The smallest `maxBytes`, so that any character fits. */
const LEAST_MAXIMUM_BYTES = 4

/** The checked options of `readContext`. */
export interface CheckedSlice {
  /** The request to the native side, as JSON. */
  readonly request: string
  readonly signal: AbortSignal | undefined
  /** The options that are the same for the following part. */
  readonly lasting: Pick<SliceOptions, 'jsonPath' | 'maxBytes' | 'sessions'>
  /** The options of `grep` as an object. */
  readonly grep: GrepOptions | undefined
}

/** Checks the options of `readContext`. */
export function checkSlice(options: SliceOptions | null | undefined, ownSession: string): CheckedSlice {
  const given = optional(options, 'options', sliceOptions) ?? {}
  const signal = readSignal(given)
  const [part, other] = (['lines', 'bytes', 'grep'] as const).filter((name) => (given[name] ?? undefined) !== undefined)
  if (other !== undefined) {
    throw invalidArgument(other, `absent beside ${part}`, given[other])
  }
  const jsonPath = optional(given.jsonPath, 'jsonPath', asText)
  const maxBytes = optional(given.maxBytes, 'maxBytes', checkMaximum)
  const grep = optional(given.grep, 'grep', checkGrep)
  const request = {
    jsonPath,
    lines: optional(given.lines, 'lines', (range, name) => checkRange(range, name, 1)),
    bytes: optional(given.bytes, 'bytes', (range, name) => checkRange(range, name, 0)),
    grep: grep === undefined ? undefined : readGrep(grep),
    maxBytes: maxBytes ?? DEFAULT_MAXIMUM_BYTES,
    sessions: optional(given.sessions, 'sessions', (scope, name) => checkSessionScope(scope, name, ownSession)),
  }
  return {
    request: JSON.stringify(request),
    signal,
    lasting: {
      ...(jsonPath === undefined ? {} : { jsonPath }),
      ...(maxBytes === undefined ? {} : { maxBytes }),
      ...((given.sessions ?? undefined) === undefined ? {} : { sessions: given.sessions }),
    },
    grep,
  }
}

function asText(value: string, name: string): string {
  checkText(value, name)
  return value
}

function checkMaximum(value: number, name: string): number {
  if (!(Number.isSafeInteger(value) && value >= LEAST_MAXIMUM_BYTES)) {
    throw invalidArgument(name, `a whole number from ${LEAST_MAXIMUM_BYTES} up`, value)
  }
  return value
}

/** Checks for a whole number, `least` or greater. */
function checkFrom(value: number, name: string, least: number): number {
  if (!(Number.isSafeInteger(value) && value >= least)) {
    throw invalidArgument(name, `a whole number from ${least} up`, value)
  }
  return value
}

function checkRange(range: SliceRange, name: string, least: number): { from: number; to?: number } {
  sliceRange(range, name)
  const from = optional(range.from, `${name}.from`, (value, name) => checkFrom(value, name, least)) ?? least
  const to = optional(range.to, `${name}.to`, (value, name) => checkFrom(value, name, least))
  if (to === undefined) {
    return { from }
  }
  if (to < from) {
    throw invalidArgument(`${name}.to`, `at least ${name}.from, which is ${from}`, to)
  }
  return { from, to }
}

/** The options of `grep` as an object. */
function checkGrep(grep: NonNullable<SliceOptions['grep']>, name: string): GrepOptions {
  if (typeof grep === 'string' || grep instanceof RegExp) {
    return { pattern: grep }
  }
  return grepOptions(grep, name)
}

/** Converts the options of `grep` for the native side. `names` are the parameters' names, for messages. */
export function readGrep(grep: GrepOptions, names = { pattern: 'grep.pattern', prefix: 'grep.' }): object {
  const { pattern } = grep
  const { prefix } = names
  if (typeof pattern !== 'string' && !(pattern instanceof RegExp)) {
    throw invalidArgument(names.pattern, 'a string or a RegExp', pattern)
  }
  const expression = typeof pattern === 'string' ? { pattern } : { pattern: pattern.source, flags: pattern.flags }
  return {
    ...expression,
    ignoreCase: optional(grep.ignoreCase, `${prefix}ignoreCase`, checkBoolean) ?? false,
    before: optional(grep.before, `${prefix}before`, checkWhole) ?? 0,
    after: optional(grep.after, `${prefix}after`, checkWhole) ?? 0,
    from: optional(grep.from, `${prefix}from`, (value, name) => checkFrom(value, name, 1)) ?? 1,
    fromByte: optional(grep.fromByte, `${prefix}fromByte`, checkWhole) ?? 0,
  }
}

/** The native side's answer. */
type Said = Omit<ContextSlice, 'filepath' | 'text' | 'next'> & {
  next?: Omit<SliceOptions, 'grep'> & { grep?: Pick<GrepOptions, 'from' | 'fromByte'> }
}

/** Builds the slice from the native side's answer. */
export function readSlice(filepath: string, slice: CheckedSlice, texts: readonly string[]): ContextSlice {
  const [said = '{}', text = ''] = texts
  const { next, ...rest } = JSON.parse(said) as Said
  if (next === undefined) {
    return { filepath, text, ...rest }
  }
  const { grep: place, ...going } = next
  const { from, fromByte, ...lasting } = slice.grep ?? { pattern: '' }
  const grep = place === undefined ? {} : { grep: { ...lasting, ...place } }
  return { filepath, text, ...rest, next: { ...slice.lasting, ...going, ...grep } }
}
