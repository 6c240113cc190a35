/** Threads, messages and working memory of Mastra over `StateStore`. */

import type * as mastra from '@mastra/core/storage'
import type { StateStore } from '../../index.ts'
import { deleteAll } from '../state-items.ts'
import {
  inOrder,
  type Messages,
  messagePage,
  newMessage,
  type SavedMessage,
  toMessage,
  withUpdate,
} from './messages.ts'
import { byTime, nextPosition, placeOf } from './place.ts'
import { type ResourceChange, Resources } from './resources.ts'
import { ThreadMemory } from './thread-memory.ts'

export class StateMemory extends ThreadMemory {
  readonly #state: StateStore
  readonly #resources: Resources

  constructor(state: StateStore) {
    super(state)
    this.#state = state
    this.#resources = new Resources(state)
  }

  async dangerouslyClearAll(): Promise<void> {
    for (const part of ['threads', 'messages', 'message-threads', 'resources'] as const) {
      await deleteAll(this.#state, placeOf(part))
    }
  }

  async listMessages(query: mastra.StorageListMessagesInput): Promise<mastra.StorageListMessagesOutput> {
    const threadIds = Array.isArray(query.threadId) ? query.threadId : [query.threadId]
    if (threadIds.length === 0 || threadIds.some((id) => !id.trim())) {
      throw new Error('threadId must be a non-empty string or array of non-empty strings')
    }
    const lists = await Promise.all([...new Set(threadIds)].map((id) => this.messages.ofThread(id)))
    return this.#page(inOrder(lists.flat()), query, query.resourceId || undefined)
  }

  override async listMessagesByResourceId(
    query: mastra.StorageListMessagesByResourceIdInput,
  ): Promise<mastra.StorageListMessagesOutput> {
    return this.#page(await this.messages.all(), query, query.resourceId)
  }

  async listMessagesById({ messageIds }: { messageIds: string[] }): Promise<Messages> {
    const found = await this.messages.byId(messageIds)
    return { messages: found.map(toMessage).sort((one, other) => byTime(one.createdAt, other.createdAt)) }
  }

  async saveMessages({ messages }: Messages): Promise<Messages> {
    const known = new Map((await this.messages.byId(messages.map(({ id }) => id))).map((saved) => [saved.id, saved]))
    const saved = messages.map((message) => newMessage(message, known.get(message.id)?.at ?? nextPosition()))
    await this.messages.put(saved, [...known.values()])
    await this.threads.touch(messages.map(({ threadId }) => threadId))
    return { messages }
  }

  async updateMessages({ messages }: { messages: mastra.MessageUpdate[] }): Promise<mastra.MastraDBMessage[]> {
    const known = await this.messages.byId(messages.map(({ id }) => id))
    const updates = new Map(messages.map((message) => [message.id, message]))
    const updated = known.map((saved) => withUpdate(saved, updates.get(saved.id) as mastra.MessageUpdate))
    await this.messages.put(updated, known)
    await this.threads.touch([...known, ...updated].map(({ threadId }) => threadId))
    return updated.map(toMessage)
  }

  override async deleteMessages(messageIds: string[]): Promise<void> {
    const known = await this.messages.byId(messageIds ?? [])
    await this.messages.put([], known)
    await this.threads.touch(known.map(({ threadId }) => threadId))
  }

  override getResourceById({ resourceId }: { resourceId: string }): Promise<mastra.StorageResourceType | null> {
    return this.#resources.get(resourceId)
  }

  override saveResource(saved: { resource: mastra.StorageResourceType }): Promise<mastra.StorageResourceType> {
    return this.#resources.save(saved.resource)
  }

  override updateResource(change: ResourceChange): Promise<mastra.StorageResourceType> {
    return this.#resources.update(change)
  }

  /** A page of messages, with those that the query includes. */
  async #page(
    messages: readonly SavedMessage[],
    query: mastra.StorageListMessagesOptions,
    resourceId: string | undefined,
  ): Promise<mastra.StorageListMessagesOutput> {
    const order = this.parseOrderBy(query.orderBy, 'ASC')
    const included = await this.messages.withNeighbours(query.include ?? [], resourceId)
    return messagePage(messages, included, { ...query, resourceId, order })
  }
}
