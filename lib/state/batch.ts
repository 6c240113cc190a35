/** Operations of a batch: their checks, their form for the native side, and their results. */

import { optional } from '../arguments/checks.ts'
import { contextError, inspect, invalidArgument } from '../arguments/errors.ts'
import { type Redacting, reportRedaction } from '../redaction/redaction.ts'
import {
  completeItems,
  conditionsOf,
  contentOf,
  type PartialItem,
  partsOf,
  type SeparateValue,
  separateValue,
  type WrittenItem,
} from './item.ts'
import { stateOperation } from './option-names.ts'
import { type CheckedNamespace, checkKey, checkNamespace, placeOf } from './place.ts'
import type { StateItem, StateOperation, StateValue } from './types.ts'

/** A condition of a transaction's commit: an item that it read still has the same revision, or still does not exist. */
export interface CheckOperation {
  readonly type: 'check'
  readonly namespace: readonly string[]
  readonly key: string
  readonly ifRevision: string | null
}

/** The place of an item, and the conditions of its change. */
export interface OperationItem {
  readonly type: 'get' | 'put' | 'delete' | 'check'
  readonly namespace: string[]
  readonly key: string
  readonly value?: StateValue
  readonly mediaType?: string | undefined
}

/** An operation in the form for the native side. */
export interface CrossingOperation {
  readonly request: object
  readonly place: string
  readonly content: SeparateValue | undefined
  readonly item: OperationItem
}

export function checkOperations(
  operations: readonly (StateOperation | CheckOperation)[],
  root: CheckedNamespace,
  redaction: Redacting | undefined,
  maximum: number,
): CrossingOperation[] {
  if (!Array.isArray(operations)) {
    throw invalidArgument('operations', 'an array of operations', operations)
  }
  return Array.from(operations as readonly (StateOperation | CheckOperation)[], (operation, index) =>
    checkOperation(operation, `operations[${index}]`, root, redaction, maximum),
  )
}

function checkOperation(
  operation: StateOperation | CheckOperation,
  name: string,
  root: CheckedNamespace,
  redaction: Redacting | undefined,
  maximum: number,
): CrossingOperation {
  const given = stateOperation(operation as StateOperation, name) as StateOperation | CheckOperation
  const { type } = given
  if (type !== 'get' && type !== 'put' && type !== 'delete' && type !== 'check') {
    throw invalidArgument(`${name}.type`, "'get', 'put' or 'delete'", type)
  }
  const namespace = checkNamespace(given.namespace, `${name}.namespace`, redaction)
  const key = checkKey(given.key, `${name}.key`, redaction)
  const { ifRevision, ttl, expiresAt, mediaType, value } = given as Partial<Extract<StateOperation, { type: 'put' }>>
  const written = { ttl, expiresAt, mediaType, value }
  const unused = { get: { ifRevision, ...written }, delete: written, put: {}, check: {} }[type]
  const wrong = Object.entries(unused).find(([, value]) => (value ?? undefined) !== undefined)
  if (wrong !== undefined) {
    throw contextError(
      'ERR_CONTEXT_INVALID_ARGUMENT',
      `${name}.${wrong[0]} must be absent of a '${type}', not ${inspect(wrong[1])}`,
    )
  }
  const conditions = conditionsOf({ ifRevision, ttl, expiresAt, mediaType })
  return {
    request: { type, ...conditions },
    place: placeOf(root, namespace, key),
    content: type === 'put' ? contentOf(value as StateValue, key, maximum) : undefined,
    item: {
      type,
      namespace: namespace.segments,
      key,
      ...(type === 'put' ? { value: value as StateValue, mediaType: optional(mediaType, 'mediaType', String) } : {}),
    },
  }
}

/** Builds the results of the operations from the native side's answer. */
export function operationResults(
  items: readonly OperationItem[],
  text: string,
  parts: readonly SeparateValue[],
  redaction: Redacting | undefined,
  path: string,
): unknown[] {
  const { json, rest } = partsOf(text, parts)
  const answers = JSON.parse(json) as (PartialItem | WrittenItem | boolean | null)[]
  let next = 0
  return answers.map((answer, index) => {
    const item = items[index] as OperationItem
    if (item.type === 'put') {
      const { findings, ...written } = answer as WrittenItem
      let { value } = item
      if (findings !== undefined) {
        value = separateValue(rest[next++] as SeparateValue)
        reportRedaction(redaction, { kind: 'state', key: item.key, filepath: path, findings })
      }
      const { namespace, key, mediaType } = item
      return { namespace, key, value, ...written, ...(mediaType === undefined ? {} : { mediaType }) }
    }
    if (item.type === 'get') {
      if (answer === null) {
        return undefined
      }
      const found = { namespace: item.namespace, key: item.key, ...(answer as PartialItem) }
      const isSeparate = found.value === undefined
      return completeItems<StateItem>([found], isSeparate ? [rest[next++] as SeparateValue] : [])[0]
    }
    return answer
  })
}
