/** `StateBaseStore`: LangGraph's long-term memory over `StateStore`. */

import * as langgraph from '@langchain/langgraph-checkpoint'
import type { JsonValue, StateFilter, StateItem, StateOperation, StateStore } from '../../index.ts'
import { unsupportedFramework } from '../call-recorder.ts'
import { allItems, checkState } from '../state-items.ts'
import { placeOf, segmentsBelow } from './place.ts'
import { SUPPORTED_VERSIONS } from './supported-versions.ts'

const DEFAULT_LIMIT = 10
const PAGE = 1000
/** The media type of items that were stored with `index: false`, which searches by words do not find. */
const UNSEARCHED = 'application/json; index=false'

/**
 * Stores the long-term memory of agents across threads: `new StateGraph(…).compile({ store: new StateBaseStore(state) })`.
 *
 * `search` with a `query` returns the items that share a word with it first, best first, with a score; it needs no embeddings. It
 * searches the words of the whole value, whatever paths `index` names; an item stored with `index: false` has no score.
 */
export class StateBaseStore extends langgraph.BaseStore {
  readonly #state: StateStore

  constructor(state: StateStore) {
    super()
    if (typeof langgraph.validateNamespace !== 'function') {
      throw unsupportedFramework('langgraph', SUPPORTED_VERSIONS, 'the installed one does not check namespaces')
    }
    this.#state = checkState(state)
  }

  /** The reads of a batch see the state before it; all its writes are one transaction. */
  async batch<Op extends langgraph.Operation[]>(operations: Op): Promise<langgraph.OperationResults<Op>> {
    operations.forEach(checkNamespace)
    const results = await Promise.all(operations.map((operation) => this.#read(operation)))
    // The last of several writes of a key takes effect.
    const writes = new Map<string, StateOperation>()
    for (const operation of operations.filter(isPut)) {
      const { namespace, key, value, index } = operation
      const place = { namespace: placeOf('memory', ...namespace), key }
      const mediaType = index === false ? UNSEARCHED : undefined
      const write: StateOperation =
        value === null ? { type: 'delete', ...place } : { type: 'put', ...place, value: value as JsonValue, mediaType }
      writes.set(JSON.stringify([namespace, key]), write)
    }
    await this.#state.batch([...writes.values()])
    return results as langgraph.OperationResults<Op>
  }

  async #read(operation: langgraph.Operation): Promise<unknown> {
    if ('namespacePrefix' in operation) {
      return this.#search(operation)
    }
    if (isPut(operation)) {
      return null
    }
    if ('key' in operation) {
      const item = await this.#state.get(placeOf('memory', ...operation.namespace), operation.key)
      return item === undefined ? null : itemOf(item)
    }
    return this.#namespaces(operation)
  }

  async #search(operation: langgraph.SearchOperation): Promise<langgraph.SearchItem[]> {
    const { query, limit = DEFAULT_LIMIT, offset = 0 } = operation
    const prefix = placeOf('memory', ...operation.namespacePrefix)
    const { filter, isMatch } = filterOf(operation.filter ?? {})
    const wanted = offset + limit
    const found = new Map<string, langgraph.SearchItem>()
    const add = (item: StateItem, score: number | undefined) => {
      const place = JSON.stringify([item.namespace, item.key])
      if (!found.has(place) && isMatch(item)) {
        found.set(place, score === undefined ? itemOf(item) : { ...itemOf(item), score })
      }
    }
    for (let asked = wanted, isMore = Boolean(query); isMore; asked *= 2) {
      const hits = await this.#state.search(prefix, query ?? '', { filter, limit: asked })
      for (const hit of hits.filter(({ mediaType }) => mediaType !== UNSEARCHED)) {
        add(hit, hit.score)
      }
      // Continues if excluded items leave room for more.
      isMore = found.size < wanted && hits.length === asked
    }
    if (found.size < wanted) {
      for await (const item of allItems(this.#state, prefix, { filter, limit: Math.min(wanted, PAGE) })) {
        add(item, undefined)
        if (found.size >= wanted) {
          break
        }
      }
    }
    return [...found.values()].slice(offset, wanted)
  }

  async #namespaces(operation: langgraph.ListNamespacesOperation): Promise<string[][]> {
    const { matchConditions = [], maxDepth, limit, offset = 0 } = operation
    const found = new Map<string, string[]>()
    for (let cursor: string | undefined | null = null; cursor !== undefined; ) {
      const page = await this.#state.namespaces({ prefix: placeOf('memory'), limit: PAGE, cursor })
      for (const namespace of page.namespaces.map(segmentsBelow)) {
        if (matchConditions.every((condition) => matches(condition, namespace))) {
          const cut = namespace.slice(0, maxDepth)
          found.set(JSON.stringify(cut), cut)
        }
      }
      cursor = page.cursor
    }
    const sorted = [...found.values()].sort((one, other) => one.join(':').localeCompare(other.join(':')))
    return sorted.slice(offset, limit === undefined ? undefined : offset + limit)
  }
}

/** Applies the checks of LangGraph's own store, whose methods do not check the operations of a batch. */
function checkNamespace(operation: langgraph.Operation): void {
  if ('namespacePrefix' in operation) {
    langgraph.validateNamespace(operation.namespacePrefix, { allowEmpty: true, allowReservedRoot: true })
  } else if ('namespace' in operation) {
    langgraph.validateNamespace(operation.namespace, { allowReservedRoot: true })
  }
}

function isPut(operation: langgraph.Operation): operation is langgraph.PutOperation {
  return 'value' in operation
}

function itemOf({ namespace, key, value, createdAt, updatedAt }: StateItem): langgraph.Item {
  return {
    namespace: segmentsBelow(namespace),
    key,
    value: value as Record<string, JsonValue>,
    createdAt: new Date(createdAt),
    updatedAt: new Date(updatedAt),
  }
}

function matches({ matchType, path }: langgraph.MatchCondition, namespace: readonly string[]): boolean {
  const start = matchType === 'prefix' ? 0 : namespace.length - path.length
  return path.length <= namespace.length && path.every((label, at) => label === '*' || label === namespace[start + at])
}

/** Splits conditions into those that the store supports and a check of the others (`$nin`). */
function filterOf(given: Record<string, unknown>): { filter: StateFilter; isMatch: (item: StateItem) => boolean } {
  const excluded: [string, readonly unknown[]][] = []
  const filter = Object.entries(given).map(([member, condition]) => {
    if (typeof condition !== 'object' || condition === null || !('$nin' in condition)) {
      return [member, condition]
    }
    const { $nin, ...rest } = condition
    excluded.push([member, Array.isArray($nin) ? $nin : []])
    return [member, rest]
  })
  const known = filter.filter(([, condition]) => !isEmpty(condition))
  const isMatch = ({ value }: StateItem) =>
    excluded.every(([member, values]) => !values.includes((value as Record<string, unknown>)[member]))
  return { filter: Object.fromEntries(known) as StateFilter, isMatch }
}

/** Whether a condition is an empty object, which the store would compare as a value. */
function isEmpty(condition: unknown): boolean {
  return typeof condition === 'object' && condition !== null && Object.keys(condition).length === 0
}
