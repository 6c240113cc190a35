/** Compaction of a history: checks the policy, and builds the summary entry that replaces the removed entries. */

import { newUuid } from '#addon'
import { checkFunction, checkWhole, count, duration, optional } from '../arguments/checks.ts'
import { contextError, invalidArgument } from '../arguments/errors.ts'
import { callWithin } from '../arguments/signals.ts'
import { LINE_KEY } from './entry.ts'
import { compactPolicy } from './option-names.ts'
import type { CompactPolicy, ContextEntry } from './types.ts'

/** The request to the native side, as JSON. */
interface Bounds {
  keepLast?: number
  /** Maximum age in ms. */
  maxAge?: number
  maxBytes?: number
  wantsEntries: boolean
}

export interface CheckedPolicy {
  readonly bounds: Bounds
  readonly summarise: NonNullable<CompactPolicy['summarise']> | undefined
  readonly summariseTimeout: number
}

/** The default timeout of the caller's `summarise` function, in ms. */
export const DEFAULT_SUMMARISE_TIMEOUT = 10_000

/** Checks a policy. The caller checks its `signal`. */
export function checkPolicy(policy: CompactPolicy): CheckedPolicy {
  compactPolicy(policy, 'policy')
  const keepLast = optional(policy.keepLast, 'policy.keepLast', checkWhole)
  const maxAge = optional(policy.maxAge, 'policy.maxAge', checkAge)
  const maxBytes = optional(policy.maxBytes, 'policy.maxBytes', checkWhole)
  const summarise = optional(policy.summarise, 'policy.summarise', checkFunction)
  if (keepLast === undefined && maxAge === undefined && maxBytes === undefined) {
    throw contextError('ERR_CONTEXT_INVALID_ARGUMENT', 'policy needs a bound: keepLast, maxAge or maxBytes')
  }
  return {
    bounds: {
      ...(keepLast === undefined ? {} : { keepLast }),
      ...(maxAge === undefined ? {} : { maxAge }),
      ...(maxBytes === undefined ? {} : { maxBytes }),
      wantsEntries: summarise !== undefined,
    },
    summarise,
    summariseTimeout: count(policy.summariseTimeout, 'policy.summariseTimeout', DEFAULT_SUMMARISE_TIMEOUT),
  }
}

/** Converts a duration to whole milliseconds, which is what the native side takes. */
function checkAge(value: string, name: string): number {
  return Math.min(duration(value, name), Number.MAX_SAFE_INTEGER)
}

/** The number of removed entries, and the range of their timestamps. */
export interface Span {
  readonly droppedEntries: number
  readonly from: string | null
  readonly to: string | null
}

export function spanOf(dropped: readonly ContextEntry[]): Span {
  return {
    droppedEntries: dropped.length,
    from: dropped[0]?.timestamp ?? null,
    to: dropped.at(-1)?.timestamp ?? null,
  }
}

/** Calls the caller's `summarise` function. Rejects when the signal is aborted or the timeout (in ms) ends first. */
export async function summarise(
  ask: NonNullable<CompactPolicy['summarise']>,
  dropped: ContextEntry[],
  timeout: number,
  signal: AbortSignal | undefined,
): Promise<string> {
  let summary: string
  try {
    summary = await callWithin(() => ask(dropped), { name: 'policy.summarise', timeout, signal })
  } catch (cause) {
    signal?.throwIfAborted()
    throw contextError('ERR_CONTEXT_INVALID_ARGUMENT', 'policy.summarise failed; nothing was removed', cause)
  }
  if (typeof summary !== 'string') {
    throw invalidArgument('policy.summarise', 'a function that gives a string', summary)
  }
  return summary
}

/** The line of the summary entry, which replaces the removed entries. */
export interface SummaryLine {
  readonly entry: ContextEntry
  readonly line: string
}

export function summaryLine(span: Span, text: string): SummaryLine {
  const entry: ContextEntry = {
    id: newUuid(),
    toolName: 'summary',
    params: { ...span },
    result: null,
    success: true,
    summary: text.toWellFormed(),
    timestamp: new Date().toISOString(),
  }
  const { toolName, params, result, success, summary, timestamp, id } = entry
  return { entry, line: JSON.stringify({ [LINE_KEY]: toolName, params, result, success, summary, timestamp, id }) }
}
