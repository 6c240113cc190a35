/** Checks the filter of a history search. */

import { checkBoolean, checkText, checkWhole, optional } from '../arguments/checks.ts'
import { contextError, invalidArgument } from '../arguments/errors.ts'
import { checkTime } from '../arguments/timestamps.ts'
import { type CheckedEmbedder, checkEmbedder } from '../embedding/options.ts'
import { historyFilter } from './option-names.ts'
import type { HistoryFilter } from './types.ts'

/** The request to the native side, as JSON. Times are ms since 1970; both bounds are inclusive. */
export interface CheckedFilter {
  toolNames?: readonly string[] | undefined
  success?: boolean | undefined
  since?: number | undefined
  until?: number | undefined
  text?: string | undefined
  ranked?: boolean | undefined
  limit: number
}

/** Checks `embed` of a filter, which has to be ranked then. */
export function checkFilterEmbedder(filter: HistoryFilter): CheckedEmbedder | undefined {
  const embedder = checkEmbedder(filter, 'filter.')
  if (embedder !== undefined && filter.ranked !== true) {
    throw contextError(
      'ERR_CONTEXT_INVALID_ARGUMENT',
      'filter.ranked must be true with filter.embed: only a ranking uses vectors',
    )
  }
  return embedder
}

/** Checks a filter. The caller checks its `signal` and `embed`. */
export function checkFilter(filter: HistoryFilter, defaultLimit: number): CheckedFilter {
  historyFilter(filter, 'filter')
  const text = optional(filter.text, 'filter.text', checkSearchText)
  const ranked = optional(filter.ranked, 'filter.ranked', checkBoolean)
  if (ranked === true && text === undefined) {
    throw contextError(
      'ERR_CONTEXT_INVALID_ARGUMENT',
      'filter.text is needed with filter.ranked: the question to rank by',
    )
  }
  return {
    toolNames: optional(filter.toolName, 'filter.toolName', checkToolNames),
    success: optional(filter.success, 'filter.success', checkBoolean),
    since: optional(filter.since, 'filter.since', checkTime),
    until: optional(filter.until, 'filter.until', checkTime),
    text,
    ranked,
    limit: optional(filter.limit, 'filter.limit', checkWhole) ?? defaultLimit,
  }
}

function checkToolNames(value: string | readonly string[], name: string): readonly string[] {
  const names: readonly unknown[] = Array.isArray(value) ? value : [value]
  return names.map((toolName) => {
    if (typeof toolName !== 'string') {
      throw invalidArgument(name, 'a string or an array of strings', toolName)
    }
    return toolName.toWellFormed()
  })
}

function checkSearchText(value: string, name: string): string {
  checkText(value, name)
  return value.toWellFormed()
}
