/** Checks the filters of selections and searches. */

import { checkText, optional, taskToken } from '../arguments/checks.ts'
import { invalidArgument } from '../arguments/errors.ts'
import { checkTime } from '../arguments/timestamps.ts'
import type { ContextFilter } from './retrieval-types.ts'
import type { SessionScope } from './types.ts'

/** The request to the native side, as JSON: see `ContextFilter` in `crates/core/src/context/filter.rs`. */
export interface CheckedContextFilter {
  /** JSON tokens. */
  queries?: readonly string[] | undefined
  /** JSON tokens. */
  tasks?: readonly string[] | undefined
  tools?: readonly string[] | undefined
  /** JSON tokens. */
  calls?: readonly string[] | undefined
  /** JSON tokens. */
  sessions?: readonly string[] | undefined
  /** Milliseconds since 1970, inclusive; likewise `until`. */
  since?: number | undefined
  until?: number | undefined
}

/**
 * Checks a filter.
 *
 * @param name the parameter that holds it, for messages
 * @param timeNames the names of `since` and `until` in that parameter
 */
export function checkContextFilter(
  filter: ContextFilter,
  name: string,
  timeNames: { readonly since: string; readonly until: string } = { since: 'since', until: 'until' },
): CheckedContextFilter {
  return {
    queries: optional(filter.queryId, `${name}.queryId`, each(queryToken)),
    tasks: optional(filter.taskId, `${name}.taskId`, each(taskToken)),
    tools: optional(filter.toolName, `${name}.toolName`, each(wellFormed)),
    calls: optional(filter.callId, `${name}.callId`, each(queryToken)),
    since: optional(filter.since, `${name}.${timeNames.since}`, checkTime),
    until: optional(filter.until, `${name}.${timeNames.until}`, checkTime),
  }
}

/**
 * Checks a session scope.
 *
 * @returns the ids of their sessions; `undefined` for all
 */
export function checkSessionScope(scope: SessionScope, name: string, own: string): readonly string[] | undefined {
  if (scope === 'all') {
    return undefined
  }
  if (scope === 'own') {
    return [own]
  }
  if (!Array.isArray(scope)) {
    throw invalidArgument(name, "'own', 'all' or an array of session ids", scope)
  }
  return Array.from(scope as readonly string[], (id, index) => wellFormed(id, `${name}[${index}]`))
}

/** Converts session ids to the form that the native side compares. */
export function sessionTokens(ids: readonly string[] | undefined): readonly string[] | undefined {
  return ids?.map((id) => JSON.stringify(id))
}

/** Checks one value or an array of values. */
function each<T>(check: (value: T, name: string) => string): (values: T | readonly T[], name: string) => string[] {
  return (values, name) =>
    Array.isArray(values)
      ? Array.from(values, (value: T, index) => check(value, `${name}[${index}]`))
      : [check(values as T, name)]
}

/** Checks a query id and converts it to JSON; lone surrogates are replaced, as the native side stores strings as UTF-8. */
function queryToken(value: string, name: string): string {
  return JSON.stringify(wellFormed(value, name))
}

function wellFormed(value: string, name: string): string {
  checkText(value, name)
  return value.toWellFormed()
}
