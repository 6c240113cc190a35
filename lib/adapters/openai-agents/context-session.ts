/** `contextSession`: sessions of the OpenAI Agents SDK over `StateStore`. */

import { isDeepStrictEqual } from 'node:util'
import { checkFilled } from '../../arguments/checks.ts'
import { contextError, invalidArgument } from '../../arguments/errors.ts'
import { knownOptions } from '../../arguments/known-options.ts'
import type { JsonValue, StateStore, StateView } from '../../index.ts'
import { checkState, deleteAll } from '../state-items.ts'

/** Options of `contextSession`. */
export interface ContextSessionOptions {
  /** The id of the conversation. */
  sessionId: string
}

/** A change of a session's history by the SDK, which is applied once even if it is retried. */
export interface HistoryTransaction<Item> {
  operationId: string
  transaction:
    | { type: 'append_items'; items: Item[] }
    | { type: 'replace_suffix'; expectedSuffix: Item[]; replacement: Item[] }
}

/** A `Session` of the SDK, with atomic transactions. `Item` is its `AgentInputItem`. */
export interface ContextSession<Item extends object> {
  getSessionId(): Promise<string>
  getItems(limit?: number): Promise<Item[]>
  addItems(items: Item[]): Promise<void>
  popItem(): Promise<Item | undefined>
  clearSession(): Promise<void>
  applyHistoryTransaction(change: HistoryTransaction<Item>): Promise<void>
}

/** The number of items, and the generation, which `clearSession` increases so that earlier operation ids are forgotten. */
type Head = { length: number; generation: number }
const HEAD = 'head'
const INDEX_DIGITS = 12

const sessionOptions = knownOptions<ContextSessionOptions>('ContextSessionOptions', { sessionId: true })

/**
 * Returns a session that stores the history of a conversation in a `StateStore`, for `run(agent, input, { session })`. Any number
 * of processes may share it.
 */
export function contextSession<Item extends object>(
  state: StateStore,
  options: ContextSessionOptions,
): ContextSession<Item> {
  checkState(state)
  const sessionId = checkFilled(sessionOptions(options, 'options').sessionId, 'sessionId')
  const place = ['openai-agents', sessionId]
  const items = [...place, 'items']
  const operations = ({ generation }: Head) => [...place, 'operations', String(generation)]
  const readHead = async (view: Pick<StateView, 'get'>): Promise<Head> =>
    ((await view.get(place, HEAD))?.value as Head | undefined) ?? { length: 0, generation: 0 }
  const append = (view: StateView, head: Head, added: readonly Item[]) => {
    for (const [index, item] of added.entries()) {
      view.put(items, keyOf(head.length + index), item as JsonValue)
    }
    view.put(place, HEAD, { ...head, length: head.length + added.length })
  }

  const replaceSuffix = async (
    view: StateView,
    head: Head,
    expected: readonly Item[],
    replacement: readonly Item[],
  ) => {
    const start = head.length - expected.length
    const keys = expected.map((_, index) => keyOf(start + index))
    const found = start < 0 ? [] : await Promise.all(keys.map((key) => view.get(items, key)))
    if (
      start < 0 ||
      !isDeepStrictEqual(
        found.map((item) => item?.value),
        asStored(expected),
      )
    ) {
      throw contextError('ERR_CONTEXT_CONFLICT', `the history of the session ${sessionId} does not end as was expected`)
    }
    for (const key of keys) {
      view.delete(items, key)
    }
    append(view, { ...head, length: start }, replacement)
  }

  return {
    getSessionId: async () => sessionId,

    async getItems(limit) {
      for (;;) {
        const { length } = await readHead(state)
        const start = limit === undefined ? 0 : Math.max(0, length - Math.max(0, limit))
        const keys = Array.from({ length: length - start }, (_, index) => keyOf(start + index))
        const reads = keys.map((key) => ({ type: 'get', namespace: items, key }) as const)
        const [head, ...found] = await state.batch([{ type: 'get', namespace: place, key: HEAD }, ...reads])
        // Another process may have changed the history in between.
        if (((head?.value as Head | undefined)?.length ?? 0) === length && found.every((item) => item !== undefined)) {
          return found.map((item) => item.value as Item)
        }
      }
    },

    async addItems(added) {
      if (added.length > 0) {
        await state.transaction(async (view) => append(view, await readHead(view), added))
      }
    },

    popItem: () =>
      state.transaction(async (view) => {
        const head = await readHead(view)
        if (head.length === 0) {
          return undefined
        }
        const key = keyOf(head.length - 1)
        const item = await view.get(items, key)
        view.delete(items, key)
        view.put(place, HEAD, { ...head, length: head.length - 1 })
        return item?.value as Item | undefined
      }),

    async clearSession() {
      const cleared = await state.transaction(async (view) => {
        const head = await readHead(view)
        for (let index = 0; index < head.length; index++) {
          view.delete(items, keyOf(index))
        }
        view.put(place, HEAD, { length: 0, generation: head.generation + 1 })
        return head
      })
      await deleteAll(state, operations(cleared))
    },

    applyHistoryTransaction: ({ operationId, transaction }) =>
      state.transaction(async (view) => {
        checkFilled(operationId, 'operationId')
        const head = await readHead(view)
        const done = await view.get(operations(head), operationId)
        if (done !== undefined) {
          if (!isDeepStrictEqual(done.value, asStored(transaction))) {
            throw contextError('ERR_CONTEXT_CONFLICT', `the operation ${operationId} was another transaction before`)
          }
          return
        }
        if (transaction.type === 'append_items') {
          append(view, head, transaction.items)
        } else if (transaction.type === 'replace_suffix') {
          await replaceSuffix(view, head, transaction.expectedSuffix, transaction.replacement)
        } else {
          throw invalidArgument(
            'transaction.type',
            "'append_items' or 'replace_suffix'",
            (transaction as HistoryTransaction<Item>['transaction']).type,
          )
        }
        view.put(operations(head), operationId, asStored(transaction))
      }),
  }
}

function keyOf(index: number): string {
  return String(index).padStart(INDEX_DIGITS, '0')
}

/** The form in which the store returns a value. */
function asStored<T extends object>(value: T): JsonValue {
  return JSON.parse(JSON.stringify(value)) as JsonValue
}
