/** Which contexts a selection or a search wants. */

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
  /** Milliseconds since 1970, as `until`; both are included. */
  since?: number | undefined
  until?: number | undefined
}

/**
 * Checks a filter.
 *
 * @param name the parameter that holds it, for messages
 * @param timeNames what the bounds of time are called there
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
 * Checks whose contexts are wanted.
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

/** As the native side compares them. */
export function sessionTokens(ids: readonly string[] | undefined): readonly string[] | undefined {
  return ids?.map((id) => JSON.stringify(id))
}

/** One value, or an array of them. */
function each<T>(check: (value: T, name: string) => string): (values: T | readonly T[], name: string) => string[] {
  return (values, name) =>
    Array.isArray(values)
      ? Array.from(values, (value: T, index) => check(value, `${name}[${index}]`))
      : [check(values as T, name)]
}

/** As the native side keeps it: it takes strings as UTF-8. */
function queryToken(value: string, name: string): string {
  return JSON.stringify(wellFormed(value, name))
}

function wellFormed(value: string, name: string): string {
  checkText(value, name)
  return value.toWellFormed()
}
