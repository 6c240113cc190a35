/** Entries of a history on their way out and in. */

import { checkBoolean, checkFilled, checkText, optional } from '../arguments/checks.ts'
import { contextError, invalidArgument } from '../arguments/errors.ts'
import { checkTimestamp } from '../arguments/timestamps.ts'
import { readMember, stringify } from '../native/stringify.ts'
import type { ContextEntry, ContextEntryInput } from './types.ts'

/** The keys with a meaning. Everything else in an entry is its author's. */
const KNOWN = new Set(['toolName', 'params', 'result', 'success', 'summary', 'timestamp', 'id'])
/** How lines spell `toolName`. */
export const LINE_KEY = 'tool_name'

/** An entry ready to be written. */
export interface CheckedEntry {
  readonly entry: ContextEntry
  /** The members of its line that follow the result, as a JSON object. */
  readonly rest: string
}

/** Checks and completes an entry. Each property is read once. */
export function checkEntry(input: ContextEntryInput): CheckedEntry {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) {
    throw invalidArgument('entry', 'an object', input)
  }
  const toolName = checkFilled(input.toolName, 'entry.toolName')
  const known = {
    success: optional(input.success, 'entry.success', checkBoolean) ?? true,
    summary: optional(input.summary, 'entry.summary', checkSummary) ?? null,
    timestamp: optional(input.timestamp, 'entry.timestamp', checkTimestamp) ?? new Date().toISOString(),
    id: optional(input.id, 'entry.id', checkFilled) ?? globalThis.crypto.randomUUID(),
  }
  const extras = readExtras(input)
  const extrasText = stringify(extras).slice(1)
  return {
    entry: {
      id: known.id,
      toolName,
      params: readMember(input, 'params') ?? null,
      result: readMember(input, 'result') ?? null,
      success: known.success,
      summary: known.summary,
      timestamp: known.timestamp,
      ...extras,
    },
    rest: `${JSON.stringify(known).slice(0, -1)}${extrasText === '}' ? '' : ','}${extrasText}`,
  }
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

/** The entries in JSON arrays. */
export function parseEntries(texts: readonly string[], path: string): ContextEntry[] {
  try {
    return texts.flatMap((text) => JSON.parse(text) as ContextEntry[])
  } catch (cause) {
    throw contextError('ERR_CONTEXT_CORRUPT', `the entries of ${path} could not be parsed; ask for fewer`, cause)
  }
}
