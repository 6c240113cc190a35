/** Stores Mastra's threads in a `StateStore`. */

import * as mastra from '@mastra/core/storage'
import type { StateStore } from '../../index.ts'
import { MessagePlaces } from './message-places.ts'
import { cut, timeOf } from './messages.ts'
import { copiedMessages, messageCopies, threadCopy } from './thread-copy.ts'
import { Threads } from './threads.ts'

type Thread = mastra.StorageThreadType

const THREADS_OF_A_PAGE = 100

/** The thread methods of Mastra's memory storage. */
export abstract class ThreadMemory extends mastra.MemoryStorage {
  override readonly supportsPartialThreadUpdate = true
  protected readonly threads: Threads
  protected readonly messages: MessagePlaces
  readonly #state: StateStore

  constructor(state: StateStore) {
    super()
    this.#state = state
    this.threads = new Threads(state)
    this.messages = new MessagePlaces(state)
  }

  async getThreadById({ threadId, resourceId }: { threadId: string; resourceId?: string }): Promise<Thread | null> {
    const thread = await this.threads.get(threadId)
    return thread && (resourceId === undefined || thread.resourceId === resourceId) ? thread : null
  }

  async saveThread({ thread }: { thread: Thread }): Promise<Thread> {
    await this.threads.save(thread)
    return thread
  }

  updateThread(change: { id: string; title?: string; metadata?: Record<string, unknown> }): Promise<Thread> {
    const { id, title, metadata } = change
    return this.threads.change(id, (thread) => ({
      ...thread,
      ...(title === undefined ? {} : { title }),
      metadata: { ...thread.metadata, ...metadata },
      updatedAt: new Date(),
    }))
  }

  override async updateThreadMetadata(change: {
    id: string
    resourceId?: string
    update: (thread: Thread) => Record<string, unknown> | undefined
  }): Promise<Thread | null> {
    const { id, resourceId, update } = change
    const existing = await this.threads.get(id)
    if (existing === undefined || (resourceId !== undefined && existing.resourceId !== resourceId)) {
      return null
    }
    return this.threads.change(id, (thread) => {
      const metadata = update(thread)
      return metadata === undefined ? thread : { ...thread, metadata, updatedAt: new Date() }
    })
  }

  async deleteThread({ threadId }: { threadId: string }): Promise<void> {
    await this.threads.delete(threadId)
    await this.messages.deleteThread(threadId)
    // The file contains copies of deleted data until it is swept.
    await this.#state.sweep()
  }

  async listThreads(query: mastra.StorageListThreadsInput): Promise<mastra.StorageListThreadsOutput> {
    const { page = 0, perPage: given, filter } = query
    const { field, direction } = this.parseOrderBy(query.orderBy)
    this.validatePaginationInput(page, given ?? THREADS_OF_A_PAGE)
    this.validateMetadataKeys(filter?.metadata)
    const threads = await this.threads.matching(filter)
    const sign = direction === 'ASC' ? 1 : -1
    threads.sort((one, other) => sign * (timeOf(one.thread, field) - timeOf(other.thread, field)) || one.at - other.at)
    const { items, ...rest } = cut(threads, page, given, mastra.normalizePerPage(given, THREADS_OF_A_PAGE))
    return { threads: items.map(({ thread }) => thread), ...rest }
  }

  /** Copies a thread inside the store; the caller does not receive its messages. */
  override async copyThread(copy: mastra.StorageCloneThreadInput): Promise<mastra.StorageCopyThreadOutput> {
    const source = await this.threads.get(copy.sourceThreadId)
    if (source === undefined) {
      throw new Error(`Source thread with id ${copy.sourceThreadId} not found`)
    }
    if (copy.newThreadId !== undefined && (await this.threads.get(copy.newThreadId)) !== undefined) {
      throw new Error(`Thread with id ${copy.newThreadId} already exists`)
    }
    const messages = copiedMessages(await this.messages.ofThread(source.id), copy.options)
    const thread = threadCopy(source, copy, messages)
    await this.threads.save(thread)
    const copies = messageCopies(messages, thread.id, copy.resourceId)
    await this.messages.put(copies, [])
    const messageIdMap = Object.fromEntries(messages.map((message, index) => [message.id, copies[index]?.id ?? '']))
    return { thread, messageIdMap }
  }

  override async updateThreadResourceId(change: { threadId: string; resourceId: string }): Promise<Thread> {
    const { threadId, resourceId } = change
    const thread = await this.threads.change(threadId, (existing) =>
      existing.resourceId === resourceId ? existing : { ...existing, resourceId, updatedAt: new Date() },
    )
    const messages = await this.messages.ofThread(threadId)
    const moved = messages.map((message) => ({ ...message, resourceId }))
    await this.messages.put(moved, messages)
    return thread
  }
}
