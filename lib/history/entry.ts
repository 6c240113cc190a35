/** Conversion of history entries between the public form and the lines of the file. */

import { newUuid } from '#addon'
import { checkBoolean, checkFilled, checkString, checkText, optional } from '../arguments/checks.ts'
import { contextError, invalidArgument } from '../arguments/errors.ts'
import { checkTimestamp } from '../arguments/timestamps.ts'
import { readMember, stringify } from '../native/stringify.ts'
import { appendOptions } from './option-names.ts'
import type { AppendOptions, ContextEntry, ContextEntryInput } from './types.ts'

/** The keys that this package defines. All other keys of an entry are the caller's. */
const KNOWN = new Set([
  'toolName',
  'params',
  'result',
  'success',
  'summary',
  'timestamp',
  'id',
  'error',
  'sessionId',
  'queryId',
  'spanId',
  'callId',
  'durationMs',
  'operationId',
])
/** The maximum length of an operation id. Compactions keep the ids of removed entries. */
const MAXIMUM_OPERATION_ID = 256
/** The key of `toolName` in a line of the file. */
export const LINE_KEY = 'tool_name'

/** A checked entry, ready to be sent to the native side. */
export interface CheckedEntry {
  readonly entry: ContextEntry
  /** The members of its line that follow the result, as a JSON object. */
  readonly rest: string
  readonly operationId: string | undefined
}

/** Checks an entry and adds the defaults. Reads each property once, because a getter may return different values. */
export function checkEntry(input: ContextEntryInput): CheckedEntry {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) {
    throw invalidArgument('entry', 'an object', input)
  }
  const toolName = checkFilled(input.toolName, 'entry.toolName')
  const known = {
    success: optional(input.success, 'entry.success', checkBoolean) ?? true,
    summary: optional(input.summary, 'entry.summary', checkSummary) ?? null,
    timestamp: optional(input.timestamp, 'entry.timestamp', checkTimestamp) ?? new Date().toISOString(),
    id: optional(input.id, 'entry.id', checkFilled) ?? newUuid(),
    ...checkOrigin(input),
  }
  const { success, summary, timestamp, id, ...origin } = known
  const extras = readExtras(input)
  const extrasText = stringify(extras).slice(1)
  return {
    entry: {
      id,
      toolName,
      params: readMember(input, 'params') ?? null,
      result: readMember(input, 'result') ?? null,
      success,
      summary,
      timestamp,
      ...origin,
      ...extras,
    },
    rest: `${JSON.stringify(known).slice(0, -1)}${extrasText === '}' ? '' : ','}${extrasText}`,
    operationId: origin.operationId,
  }
}

/** The optional members about an entry's origin, in the order in which a line has them; absent ones have no key. */
type Origin = Pick<ContextEntry, 'error' | 'sessionId' | 'queryId' | 'spanId' | 'callId' | 'durationMs' | 'operationId'>

function checkOrigin(input: ContextEntryInput): Origin {
  const error = optional(input.error, 'entry.error', checkString)
  const sessionId = optional(input.sessionId, 'entry.sessionId', checkFilled)
  const queryId = optional(input.queryId, 'entry.queryId', checkFilled)
  const spanId = optional(input.spanId, 'entry.spanId', checkFilled)
  const callId = optional(input.callId, 'entry.callId', checkFilled)
  const durationMs = optional(input.durationMs, 'entry.durationMs', checkMilliseconds)
  const operationId = optional(input.operationId, 'entry.operationId', checkOperationId)
  return {
    ...(error === undefined ? {} : { error }),
    ...(sessionId === undefined ? {} : { sessionId }),
    ...(queryId === undefined ? {} : { queryId }),
    ...(spanId === undefined ? {} : { spanId }),
    ...(callId === undefined ? {} : { callId }),
    ...(durationMs === undefined ? {} : { durationMs }),
    ...(operationId === undefined ? {} : { operationId }),
  }
}

function checkMilliseconds(value: number, name: string): number {
  if (!(Number.isFinite(value) && value >= 0)) {
    throw invalidArgument(name, 'a finite number from 0 up', value)
  }
  return value
}

/** Checks an operation id, by which a repeated append is recognised. */
export function checkOperationId(value: string, name: string): string {
  if (checkFilled(value, name).length > MAXIMUM_OPERATION_ID) {
    throw invalidArgument(name, `a string of at most ${MAXIMUM_OPERATION_ID} characters`, value)
  }
  return value.toWellFormed()
}

/** The conditions of an append (`operationId`, `ifLast`) as JSON for the native side; an empty text where there are none. */
export function checkConditions(operationId: string | undefined, options: AppendOptions | null | undefined): string {
  const { ifLast } = optional(options, 'options', appendOptions) ?? {}
  if (operationId === undefined && ifLast === undefined) {
    return ''
  }
  const previous = ifLast === undefined ? undefined : { id: optional(ifLast, 'options.ifLast', checkFilled) }
  return JSON.stringify({ operationId, previous })
}

function readExtras(input: ContextEntryInput): Record<string, unknown> {
  // Without a prototype, `__proto__` is a key like any other.
  const extras: Record<string, unknown> = Object.create(null) as Record<string, unknown>
  for (const key of Object.keys(input)) {
    if (key === LINE_KEY) {
      throw invalidArgument(`entry.${LINE_KEY}`, 'absent: the key is toolName', input[key])
    }
    if (!KNOWN.has(key)) {
      const value = readMember(input, key)
      if (value !== undefined && typeof value !== 'function' && typeof value !== 'symbol') {
        extras[key] = value
      }
    }
  }
  return extras
}

function checkSummary(value: string, name: string): string {
  checkText(value, name)
  return value.toWellFormed()
}

/** Parses entries from texts that each hold a JSON array. */
export function parseEntries(texts: readonly string[], path: string): ContextEntry[] {
  try {
    return texts.flatMap((text) => JSON.parse(text) as ContextEntry[])
  } catch (cause) {
    throw contextError('ERR_CONTEXT_CORRUPT', `the entries of ${path} could not be parsed; ask for fewer`, cause)
  }
}
