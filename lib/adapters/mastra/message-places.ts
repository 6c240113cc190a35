/** Stores messages in a `StateStore`: below their thread, with an index from message ids to threads. */

import type { JsonValue, StateItem, StateOperation, StateStore } from '../../index.ts'
import { allItems } from '../state-items.ts'
import { inOrder, type SavedMessage } from './messages.ts'
import { byTime, placeOf } from './place.ts'

/** The number of items that one request reads or writes. */
const BATCH = 1000

export class MessagePlaces {
  readonly #state: StateStore

  constructor(state: StateStore) {
    this.#state = state
  }

  /** The messages of a thread, in the order in which they were stored. */
  ofThread(threadId: string): Promise<SavedMessage[]> {
    return this.#below(placeOfThread(threadId))
  }

  all(): Promise<SavedMessage[]> {
    return this.#below(placeOf('messages'))
  }

  /** The existing messages with these ids, in the order of the ids. */
  async byId(ids: readonly string[]): Promise<SavedMessage[]> {
    const threads = await this.#get([...new Set(ids)].map((id) => ({ namespace: placeOf('message-threads'), key: id })))
    const items = await this.#get(threads.map(({ key, value }) => ({ namespace: placeOfThread(value as string), key })))
    return items.map(messageOf)
  }

  /** Writes messages, and removes those of `before` that were moved or deleted, in one transaction. */
  async put(messages: readonly SavedMessage[], before: readonly SavedMessage[]): Promise<void> {
    const ids = new Set(messages.map(({ id }) => id))
    const moved = before.filter(
      ({ id, threadId }) => !messages.some((one) => one.id === id && one.threadId === threadId),
    )
    const operations: StateOperation[] = [
      ...moved.map(({ id, threadId }) => ({ type: 'delete', namespace: placeOfThread(threadId), key: id }) as const),
      ...before
        .filter(({ id }) => !ids.has(id))
        .map(({ id }) => ({ type: 'delete', namespace: placeOf('message-threads'), key: id }) as const),
    ]
    // The last of several messages with one id is written.
    for (const [id, message] of new Map(messages.map((one) => [one.id, one]))) {
      const value = message as unknown as JsonValue
      operations.push(
        { type: 'put', namespace: placeOfThread(message.threadId), key: id, value },
        { type: 'put', namespace: placeOf('message-threads'), key: id, value: message.threadId },
      )
    }
    await this.#state.batch(operations)
  }

  async deleteThread(threadId: string): Promise<void> {
    for (let isMore = true; isMore; ) {
      const { items } = await this.#state.list(placeOfThread(threadId), { limit: BATCH })
      await this.put([], items.map(messageOf))
      isMore = items.length > 0
    }
  }

  /** Messages with those before and after them in their thread. */
  async withNeighbours(
    include: readonly { id: string; withPreviousMessages?: number; withNextMessages?: number }[],
    resourceId: string | undefined,
  ): Promise<SavedMessage[]> {
    const found = new Map<string, SavedMessage>()
    for (const { id, withPreviousMessages = 0, withNextMessages = 0 } of include) {
      const [target] = await this.byId([id])
      const thread = target === undefined ? [] : await this.ofThread(target.threadId)
      const window = thread
        .filter((message) => resourceId === undefined || message.resourceId === resourceId)
        .sort((one, other) => byTime(new Date(one.createdAt), new Date(other.createdAt)))
      const index = window.findIndex((message) => message.id === id)
      const around = window.slice(Math.max(0, index - withPreviousMessages), index + withNextMessages + 1)
      for (const message of index < 0 ? [] : around) {
        found.set(message.id, message)
      }
    }
    return [...found.values()]
  }

  async #below(prefix: readonly string[]): Promise<SavedMessage[]> {
    const messages: SavedMessage[] = []
    for await (const item of allItems(this.#state, prefix, { limit: BATCH })) {
      messages.push(messageOf(item))
    }
    return inOrder(messages)
  }

  async #get(places: readonly { namespace: string[]; key: string }[]): Promise<StateItem[]> {
    const items: (StateItem | undefined)[] = []
    for (let start = 0; start < places.length; start += BATCH) {
      const reads = places.slice(start, start + BATCH).map((place) => ({ type: 'get', ...place }) as const)
      items.push(...(await this.#state.batch(reads)))
    }
    return items.filter((item) => item !== undefined)
  }
}

/** The namespace of a thread's messages; also for messages without a thread. */
function placeOfThread(threadId: string): string[] {
  return placeOf('messages', `thread:${threadId}`)
}

function messageOf({ value }: StateItem): SavedMessage {
  return value as unknown as SavedMessage
}
