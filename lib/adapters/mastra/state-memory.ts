/** Threads, messages and working memory of Mastra over `StateStore`. */

import { randomUUID } from 'node:crypto'
import * as mastra from '@mastra/core/storage'
import type { JsonValue, StateItem, StateStore } from '../../index.ts'
import { allItems, deleteAll } from '../state-items.ts'
import { MessagePlaces } from './message-places.ts'
import {
  cut,
  inOrder,
  type Messages,
  messagePage,
  newMessage,
  type SavedMessage,
  timeOf,
  toMessage,
} from './messages.ts'
import { byTime, nextPosition, placeOf } from './place.ts'

/** A thread with its position among the others. */
type SavedThread = Omit<mastra.StorageThreadType, 'createdAt' | 'updatedAt'> & {
  at: number
  createdAt: string
  updatedAt: string
}

const THREADS_OF_A_PAGE = 100

export class StateMemory extends mastra.MemoryStorage {
  override readonly supportsPartialThreadUpdate = true
  readonly #state: StateStore
  readonly #messages: MessagePlaces

  constructor(state: StateStore) {
    super()
    this.#state = state
    this.#messages = new MessagePlaces(state)
  }

  async dangerouslyClearAll(): Promise<void> {
    for (const part of ['threads', 'messages', 'message-threads', 'resources'] as const) {
      await deleteAll(this.#state, placeOf(part))
    }
  }

  async getThreadById(query: { threadId: string; resourceId?: string }): Promise<mastra.StorageThreadType | null> {
    const item = await this.#state.get(placeOf('threads'), query.threadId)
    const thread = item && threadOf(item)
    return thread && (query.resourceId === undefined || thread.resourceId === query.resourceId) ? thread : null
  }

  async saveThread({ thread }: { thread: mastra.StorageThreadType }): Promise<mastra.StorageThreadType> {
    await this.#state.transaction(async (view) => {
      const existing = (await view.get(placeOf('threads'), thread.id))?.value as unknown as SavedThread | undefined
      view.put(placeOf('threads'), thread.id, savedThread(thread, existing?.at ?? nextPosition()))
    })
    return thread
  }

  updateThread(change: {
    id: string
    title?: string
    metadata?: Record<string, unknown>
  }): Promise<mastra.StorageThreadType> {
    const { id, title, metadata } = change
    return this.#changeThread(id, (thread) => ({
      ...thread,
      ...(title === undefined ? {} : { title }),
      metadata: { ...thread.metadata, ...metadata },
      updatedAt: new Date(),
    }))
  }

  /** A transaction, so that concurrent changes of other processes are not lost. */
  override async updateThreadMetadata(change: {
    id: string
    resourceId?: string
    update: (thread: mastra.StorageThreadType) => Record<string, unknown> | undefined
  }): Promise<mastra.StorageThreadType | null> {
    const { id, resourceId, update } = change
    const item = await this.#state.get(placeOf('threads'), id)
    if (item === undefined || (resourceId !== undefined && threadOf(item).resourceId !== resourceId)) {
      return null
    }
    return this.#changeThread(id, (thread) => {
      const metadata = update(thread)
      return metadata === undefined ? thread : { ...thread, metadata, updatedAt: new Date() }
    })
  }

  async deleteThread({ threadId }: { threadId: string }): Promise<void> {
    await this.#state.delete(placeOf('threads'), threadId)
    await this.#messages.deleteThread(threadId)
    // The file contains copies of deleted data until it is swept.
    await this.#state.sweep()
  }

  async listMessages(query: mastra.StorageListMessagesInput): Promise<mastra.StorageListMessagesOutput> {
    const threadIds = Array.isArray(query.threadId) ? query.threadId : [query.threadId]
    if (threadIds.length === 0 || threadIds.some((id) => !id.trim())) {
      throw new Error('threadId must be a non-empty string or array of non-empty strings')
    }
    const lists = await Promise.all([...new Set(threadIds)].map((id) => this.#messages.ofThread(id)))
    return this.#page(inOrder(lists.flat()), query, query.resourceId || undefined)
  }

  override async listMessagesByResourceId(
    query: mastra.StorageListMessagesByResourceIdInput,
  ): Promise<mastra.StorageListMessagesOutput> {
    return this.#page(await this.#messages.all(), query, query.resourceId)
  }

  async listMessagesById({ messageIds }: { messageIds: string[] }): Promise<Messages> {
    const found = await this.#messages.byId(messageIds)
    return { messages: found.map(toMessage).sort((one, other) => byTime(one.createdAt, other.createdAt)) }
  }

  async saveMessages({ messages }: Messages): Promise<Messages> {
    const known = new Map((await this.#messages.byId(messages.map(({ id }) => id))).map((saved) => [saved.id, saved]))
    const saved = messages.map((message) => newMessage(message, known.get(message.id)?.at ?? nextPosition()))
    await this.#messages.put(saved, [...known.values()])
    await this.#touch(messages.map(({ threadId }) => threadId))
    return { messages }
  }

  async updateMessages({ messages }: { messages: mastra.MessageUpdate[] }): Promise<mastra.MastraDBMessage[]> {
    const known = await this.#messages.byId(messages.map(({ id }) => id))
    const updates = new Map(messages.map((message) => [message.id, message]))
    const updated = known.map((saved) => withUpdate(saved, updates.get(saved.id) as mastra.MessageUpdate))
    await this.#messages.put(updated, known)
    await this.#touch([...known, ...updated].map(({ threadId }) => threadId))
    return updated.map(toMessage)
  }

  override async deleteMessages(messageIds: string[]): Promise<void> {
    const known = await this.#messages.byId(messageIds ?? [])
    await this.#messages.put([], known)
    await this.#touch(known.map(({ threadId }) => threadId))
  }

  async listThreads(query: mastra.StorageListThreadsInput): Promise<mastra.StorageListThreadsOutput> {
    const { page = 0, perPage: given, filter } = query
    const { field, direction } = this.parseOrderBy(query.orderBy)
    this.validatePaginationInput(page, given ?? THREADS_OF_A_PAGE)
    this.validateMetadataKeys(filter?.metadata)
    const threads: { at: number; thread: mastra.StorageThreadType }[] = []
    for await (const item of allItems(this.#state, placeOf('threads'))) {
      const thread = threadOf(item)
      const isMatch = Object.entries(filter?.metadata ?? {}).every(([name, value]) =>
        mastra.jsonValueEquals(thread.metadata?.[name], value),
      )
      if ((!filter?.resourceId || thread.resourceId === filter.resourceId) && isMatch) {
        threads.push({ at: (item.value as unknown as SavedThread).at, thread })
      }
    }
    const sign = direction === 'ASC' ? 1 : -1
    threads.sort((one, other) => sign * (timeOf(one.thread, field) - timeOf(other.thread, field)) || one.at - other.at)
    const { items, ...rest } = cut(threads, page, given, mastra.normalizePerPage(given, THREADS_OF_A_PAGE))
    return { threads: items.map(({ thread }) => thread), ...rest }
  }

  /** Copies a thread inside the store; the caller does not receive its messages. */
  override async copyThread(copy: mastra.StorageCloneThreadInput): Promise<mastra.StorageCopyThreadOutput> {
    const { sourceThreadId, newThreadId: id = randomUUID(), resourceId, title, metadata, options } = copy
    const source = await this.getThreadById({ threadId: sourceThreadId })
    if (source === null) {
      throw new Error(`Source thread with id ${sourceThreadId} not found`)
    }
    if ((await this.#state.get(placeOf('threads'), id)) !== undefined) {
      throw new Error(`Thread with id ${id} already exists`)
    }
    const { startDate, endDate, messageIds = [] } = options?.messageFilter ?? {}
    const messages = (await this.#messages.ofThread(sourceThreadId))
      .filter((message) => messageIds.length === 0 || messageIds.includes(message.id))
      .filter(({ createdAt }) => !startDate || new Date(createdAt) >= startDate)
      .filter(({ createdAt }) => !endDate || new Date(createdAt) <= endDate)
      .sort((one, other) => byTime(new Date(one.createdAt), new Date(other.createdAt)))
      .slice(-(options?.messageLimit || Number.MAX_SAFE_INTEGER))
    const now = new Date()
    const lastMessageId = messages.at(-1)?.id
    const name = title || (source.title ? `Clone of ${source.title}` : undefined)
    const thread: mastra.StorageThreadType = {
      id,
      resourceId: resourceId || source.resourceId,
      ...(name === undefined ? {} : { title: name }),
      metadata: { ...metadata, clone: { sourceThreadId, clonedAt: now, ...(lastMessageId && { lastMessageId }) } },
      createdAt: now,
      updatedAt: now,
    }
    await this.saveThread({ thread })
    const copies = messages.map((message): SavedMessage => {
      const owner = resourceId || message.resourceId
      return { ...message, id: randomUUID(), threadId: id, at: nextPosition(), ...(owner && { resourceId: owner }) }
    })
    await this.#messages.put(copies, [])
    const messageIdMap = Object.fromEntries(messages.map((message, index) => [message.id, copies[index]?.id ?? '']))
    return { thread, messageIdMap }
  }

  override async updateThreadResourceId(change: {
    threadId: string
    resourceId: string
  }): Promise<mastra.StorageThreadType> {
    const { threadId, resourceId } = change
    const thread = await this.#changeThread(threadId, (existing) =>
      existing.resourceId === resourceId ? existing : { ...existing, resourceId, updatedAt: new Date() },
    )
    const messages = await this.#messages.ofThread(threadId)
    await this.#messages.put(
      messages.map((message) => ({ ...message, resourceId })),
      messages,
    )
    return thread
  }

  override async getResourceById({ resourceId }: { resourceId: string }): Promise<mastra.StorageResourceType | null> {
    const item = await this.#state.get(placeOf('resources'), resourceId)
    return item === undefined ? null : withDates<mastra.StorageResourceType>(item.value)
  }

  override async saveResource({
    resource,
  }: {
    resource: mastra.StorageResourceType
  }): Promise<mastra.StorageResourceType> {
    await this.#state.put(placeOf('resources'), resource.id, resource as unknown as JsonValue)
    return resource
  }

  override updateResource(change: {
    resourceId: string
    workingMemory?: string
    metadata?: Record<string, unknown>
  }): Promise<mastra.StorageResourceType> {
    const { resourceId, workingMemory, metadata } = change
    return this.#state.transaction(async (view) => {
      const item = await view.get(placeOf('resources'), resourceId)
      const now = new Date()
      const existing = item && withDates<mastra.StorageResourceType>(item.value)
      const resource = {
        ...(existing ?? { id: resourceId, createdAt: now }),
        ...(workingMemory === undefined ? {} : { workingMemory }),
        metadata: { ...existing?.metadata, ...metadata },
        updatedAt: now,
      }
      view.put(placeOf('resources'), resourceId, resource as unknown as JsonValue)
      return resource
    })
  }

  /** A page of messages, with those that the query includes. */
  async #page(
    messages: readonly SavedMessage[],
    query: mastra.StorageListMessagesOptions,
    resourceId: string | undefined,
  ): Promise<mastra.StorageListMessagesOutput> {
    const order = this.parseOrderBy(query.orderBy, 'ASC')
    const included = await this.#messages.withNeighbours(query.include ?? [], resourceId)
    return messagePage(messages, included, { ...query, resourceId, order })
  }

  #changeThread(
    id: string,
    change: (thread: mastra.StorageThreadType) => mastra.StorageThreadType,
  ): Promise<mastra.StorageThreadType> {
    return this.#state.transaction(async (view) => {
      const item = await view.get(placeOf('threads'), id)
      if (item === undefined) {
        throw new Error(`Thread with id ${id} not found`)
      }
      const changed = change(threadOf(item))
      view.put(placeOf('threads'), id, savedThread(changed, (item.value as unknown as SavedThread).at))
      return changed
    })
  }

  /** Updates the times of threads whose messages have changed; times strictly increase. */
  async #touch(threadIds: readonly (string | undefined)[]): Promise<void> {
    for (const id of new Set(threadIds)) {
      if (!id) {
        continue
      }
      await this.#state.transaction(async (view) => {
        const item = await view.get(placeOf('threads'), id)
        if (item !== undefined) {
          const { at } = item.value as unknown as SavedThread
          const thread = threadOf(item)
          const updatedAt = new Date(Math.max(Date.now(), thread.updatedAt.getTime() + 1))
          view.put(placeOf('threads'), id, savedThread({ ...thread, updatedAt }, at))
        }
      })
    }
  }
}

function savedThread(thread: mastra.StorageThreadType, at: number): JsonValue {
  return { ...thread, at } as unknown as JsonValue
}

function threadOf({ value }: StateItem): mastra.StorageThreadType {
  const { at, ...thread } = value as unknown as SavedThread
  return withDates(thread)
}

function withDates<T extends { createdAt: Date; updatedAt: Date }>(value: unknown): T {
  const { createdAt, updatedAt } = value as { createdAt: string; updatedAt: string }
  return { ...(value as T), createdAt: new Date(createdAt), updatedAt: new Date(updatedAt) }
}

/** Content is merged member by member, and its metadata as well. */
function withUpdate(saved: SavedMessage, update: mastra.MessageUpdate): SavedMessage {
  const { content, createdAt, ...members } = update
  const isMerged = typeof content === 'object' && typeof saved.content === 'object'
  const [before, after] = [saved.content, content] as { metadata?: object }[]
  const metadata =
    isMerged && before?.metadata && after?.metadata ? { ...before.metadata, ...after.metadata } : undefined
  const merged = isMerged
    ? { ...(saved.content as object), ...content, ...(metadata && { metadata }) }
    : (content ?? saved.content)
  const changed = Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined))
  return {
    ...saved,
    ...changed,
    threadId: update.threadId || saved.threadId,
    content: merged as SavedMessage['content'],
    ...(createdAt && { createdAt: new Date(createdAt).toISOString() }),
  }
}
