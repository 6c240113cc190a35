/** Which contexts a selection or a search wants. */

import { checkText, optional, taskToken } from '../arguments/checks.ts'
import { checkTime } from '../arguments/timestamps.ts'
import type { ContextFilter } from './retrieval-types.ts'

/** What the native side is told, as JSON: see `ContextFilter` in `crates/core/src/context/filter.rs`. */
export interface CheckedContextFilter {
  /** JSON tokens. */
  queries?: readonly string[] | undefined
  /** JSON tokens. */
  tasks?: readonly string[] | undefined
  tools?: readonly string[] | undefined
  /** Milliseconds since 1970, as `until`; both are included. */
  since?: number | undefined
  until?: number | undefined
}

/**
 * Checks a filter.
 *
 * @param name the parameter that holds it, for messages
 */
export function checkContextFilter(filter: ContextFilter, name: string): CheckedContextFilter {
  return {
    queries: optional(filter.queryId, `${name}.queryId`, each(queryToken)),
    tasks: optional(filter.taskId, `${name}.taskId`, each(taskToken)),
    tools: optional(filter.toolName, `${name}.toolName`, each(wellFormed)),
    since: optional(filter.since, `${name}.since`, checkTime),
    until: optional(filter.until, `${name}.until`, checkTime),
  }
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
