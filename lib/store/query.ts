/** Checks the filters and queries for entries of a context store. */

import { checkBoolean, checkString, checkTags, count, optional } from '../arguments/checks.ts'
import { contextError, invalidArgument } from '../arguments/errors.ts'
import { checkTime } from '../arguments/timestamps.ts'
import { type CheckedEmbedder, checkEmbedder } from '../embedding/options.ts'
import type { Redactor } from '../redaction/redactor.ts'
import { checkType } from './entry.ts'
import { relatedOptions, storeFilter, storeQuery, storeTagFilter } from './option-names.ts'
import type { ContextType, RelatedOptions, StoreFilter, StoreQuery } from './types.ts'

const DEFAULT_SEARCH_LIMIT = 50
const DEFAULT_RELATED_LIMIT = 100
const DEFAULT_DEPTH = 1
const DIRECTIONS = ['links', 'backlinks', 'both'] as const

/** The request to the native side, as JSON. Times are ms since 1970; both bounds are inclusive. */
export interface CheckedStoreFilter {
  agents?: readonly string[] | undefined
  sessions?: readonly string[] | undefined
  types?: readonly ContextType[] | undefined
  tagsAll?: readonly string[] | undefined
  tagsAny?: readonly string[] | undefined
  since?: number | undefined
  until?: number | undefined
  superseded?: boolean | undefined
  limit: number
}

export interface CheckedStoreQuery extends CheckedStoreFilter {
  query?: string | undefined
  ranked?: boolean | undefined
}

export interface CheckedRelatedOptions {
  depth: number
  direction: 'links' | 'backlinks' | 'both'
  limit: number
}

/** Checks a filter. The caller checks its `signal`. */
export function checkStoreFilter(filter: StoreFilter): CheckedStoreFilter {
  return checkConditions(storeFilter(filter, 'filter'), 'filter', Number.POSITIVE_INFINITY)
}

function checkConditions(filter: StoreFilter, name: string, defaultLimit: number): CheckedStoreFilter {
  return {
    agents: optional(filter.agent, `${name}.agent`, (value, name) => each(value, name, checkString)),
    sessions: optional(filter.sessionId, `${name}.sessionId`, (value, name) => each(value, name, checkString)),
    types: optional(filter.type, `${name}.type`, (value, name) => each(value, name, checkType)),
    ...optional(filter.tags, `${name}.tags`, checkTagFilter),
    since: optional(filter.since, `${name}.since`, checkTime),
    until: optional(filter.until, `${name}.until`, checkTime),
    superseded: optional(filter.superseded, `${name}.superseded`, checkBoolean),
    limit: limitOf(filter.limit, `${name}.limit`, defaultLimit),
  }
}

/** Checks `embed` of a query, which has to be ranked then. */
export function checkQueryEmbedder(query: StoreQuery): CheckedEmbedder | undefined {
  const embedder = checkEmbedder(query, 'query.')
  if (embedder !== undefined && query.ranked !== true) {
    throw contextError(
      'ERR_CONTEXT_INVALID_ARGUMENT',
      'query.ranked must be true with query.embed: only a ranking uses vectors',
    )
  }
  return embedder
}

/** Checks a query. The caller checks its `signal` and `embed`. */
export function checkStoreQuery(query: StoreQuery): CheckedStoreQuery {
  const filter = checkConditions(storeQuery(query, 'query'), 'query', DEFAULT_SEARCH_LIMIT)
  const text = optional(query.query, 'query.query', checkString)
  const ranked = optional(query.ranked, 'query.ranked', checkBoolean)
  if (ranked === true && text === undefined) {
    throw contextError(
      'ERR_CONTEXT_INVALID_ARGUMENT',
      'query.query is needed with query.ranked: the question to rank by',
    )
  }
  return { ...filter, query: text, ranked }
}

/** Redacts the conditions of a query in the way that stored entries are redacted, so that both can match. */
export function asStored<Filter extends CheckedStoreQuery>(filter: Filter, redactor: Redactor | undefined): Filter {
  if (redactor === undefined) {
    return filter
  }
  const { tagsAll, tagsAny, query } = filter
  const each = (tags: readonly string[] | undefined) => tags?.map((tag) => redactor.asStored(tag))
  return {
    ...filter,
    tagsAll: each(tagsAll),
    tagsAny: each(tagsAny),
    query: query === undefined ? undefined : redactor.asStored(query),
  }
}

/** Whether no entry can match, because the filter has an empty `tags.any`. The native side would treat an empty list as no condition. */
export function meetsNothing({ tagsAny }: CheckedStoreFilter): boolean {
  return tagsAny?.length === 0
}

/** Checks the options of `related`. The caller checks their `signal`. */
export function checkRelatedOptions(options: RelatedOptions | null | undefined): CheckedRelatedOptions {
  const { depth, direction, limit } = optional(options, 'options', relatedOptions) ?? {}
  const wanted = direction ?? 'both'
  if (!DIRECTIONS.includes(wanted)) {
    throw invalidArgument('direction', "'links', 'backlinks' or 'both'", direction)
  }
  return {
    depth: optional(depth, 'depth', checkDepth) ?? DEFAULT_DEPTH,
    direction: wanted,
    limit: limitOf(limit, 'limit', DEFAULT_RELATED_LIMIT),
  }
}

function checkDepth(value: number, name: string): number {
  if (!(Number.isSafeInteger(value) && value >= 1)) {
    throw invalidArgument(name, 'a whole number from 1 up', value)
  }
  return value
}

/** JSON cannot represent `Infinity`. */
function limitOf(value: number | null | undefined, name: string, byDefault: number): number {
  return Math.min(count(value, name, byDefault), Number.MAX_SAFE_INTEGER)
}

function checkTagFilter(
  tags: NonNullable<StoreFilter['tags']>,
  name: string,
): Pick<CheckedStoreFilter, 'tagsAll' | 'tagsAny'> {
  if (isList(tags)) {
    return { tagsAll: checkTags(tags, name) }
  }
  if (typeof tags !== 'object') {
    throw invalidArgument(name, 'an array of tags, or { all, any }', tags)
  }
  storeTagFilter(tags, name)
  return {
    tagsAll: optional(tags.all, `${name}.all`, checkTags),
    tagsAny: optional(tags.any, `${name}.any`, checkTags),
  }
}

function isList<T>(value: unknown): value is readonly T[] {
  return Array.isArray(value)
}

/** Checks one value or an array of values. */
function each<T extends string>(values: T | readonly T[], name: string, check: (value: T, name: string) => T): T[] {
  return isList<T>(values)
    ? Array.from(values, (value, index) => check(value, `${name}[${index}]`))
    : [check(values, name)]
}
