/** Converts filters of callers to the conditions that the native side takes. */

import { contextError, invalidArgument } from '../arguments/errors.ts'
import { stateComparison } from './option-names.ts'
import type { StateComparison, StateFilter } from './types.ts'

/** A condition, checked; see `crates/core/src/state/filter.rs`. */
export interface Condition {
  readonly path: readonly string[]
  readonly operator: string
  readonly value: unknown
}

/** The operators, and for each whether an operand of `null` means that the operator is absent. */
const OPERATORS: ReadonlyMap<string, boolean> = new Map([
  ['$eq', false],
  ['$ne', false],
  ['$gt', false],
  ['$gte', false],
  ['$lt', false],
  ['$lte', false],
  ['$in', true],
  ['$exists', true],
])

/** Checks a filter and returns its conditions. */
export function checkStateFilter(filter: StateFilter, name: string): readonly Condition[] {
  if (typeof filter !== 'object' || filter === null || Array.isArray(filter)) {
    throw invalidArgument(name, 'an object', filter)
  }
  return Object.entries(filter).flatMap(([member, comparison]) => {
    const place = `${name}.${member}`
    const path = memberPath(member, place)
    if (!isComparison(comparison)) {
      return [{ path, operator: '$eq', value: checkComparable(comparison, place) }]
    }
    stateComparison(comparison, place)
    return Object.entries(comparison)
      .filter(([operator, value]) => value !== undefined && !(value === null && (OPERATORS.get(operator) ?? true)))
      .map(([operator, value]) => {
        const name = `${place}.${operator}`
        if (operator === '$in' && !Array.isArray(value)) {
          throw invalidArgument(name, 'an array', value)
        }
        if (operator === '$exists' && typeof value !== 'boolean') {
          throw invalidArgument(name, 'true or false', value)
        }
        return { path, operator, value: checkComparable(value, name) }
      })
  })
}

/** The keys on the path to a member: its name, or the parts of a path that begins with `$.`. */
export function memberPath(member: string, name: string): readonly string[] {
  const path = member.startsWith('$.') ? member.slice(2).split('.') : [member]
  if (path.includes('') || !member.isWellFormed()) {
    throw invalidArgument(name, "the name of a member, or a path such as '$.type'", member)
  }
  return path
}

/** Whether an object holds operators. An empty object is a value to compare with. */
function isComparison(value: unknown): value is StateComparison {
  return (
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    Object.keys(value).some((key) => key.startsWith('$'))
  )
}

function checkComparable(value: unknown, name: string): unknown {
  let json: string | undefined
  try {
    json = JSON.stringify(value)
  } catch (cause) {
    throw contextError('ERR_CONTEXT_INVALID_ARGUMENT', `${name} must be a value that JSON can hold`, cause)
  }
  if (json === undefined) {
    throw invalidArgument(name, 'a value that JSON can hold', value)
  }
  return value
}
