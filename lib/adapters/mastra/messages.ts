/** The stored form of Mastra's messages, and pages of messages. */

import * as mastra from '@mastra/core/storage'
import { byTime } from './place.ts'

/** A stored message. Its position decides the order among messages with equal times. */
export interface SavedMessage {
  id: string
  threadId: string
  content: mastra.MastraDBMessage['content'] | string
  role: mastra.MastraDBMessage['role']
  type: string
  createdAt: string
  resourceId?: string
  at: number
}

export type Messages = { messages: mastra.MastraDBMessage[] }
type Order = { field: 'createdAt' | 'updatedAt'; direction: 'ASC' | 'DESC' }

const MESSAGES_OF_A_PAGE = 40

export function newMessage(message: mastra.MastraDBMessage, at: number): SavedMessage {
  const { id, threadId, content, role, type, createdAt, resourceId } = message
  return {
    id,
    threadId: threadId || '',
    content,
    role: role || 'user',
    type: type || 'text',
    createdAt: new Date(createdAt).toISOString(),
    ...(resourceId && { resourceId }),
    at,
  }
}

export function toMessage({ at, content, createdAt, ...message }: SavedMessage): mastra.MastraDBMessage {
  const text = typeof content === 'string' ? mastra.safelyParseJSON(content) : content
  // Messages of the first format were texts.
  const parsed = typeof text === 'string' ? { format: 2, content: text, parts: [{ type: 'text', text }] } : text
  return { ...message, content: parsed as mastra.MastraDBMessage['content'], createdAt: new Date(createdAt) }
}

/** The page of messages that a query requests, with the messages that it includes additionally. */
export function messagePage(
  messages: readonly SavedMessage[],
  included: readonly SavedMessage[],
  query: mastra.StorageListMessagesOptions & { resourceId: string | undefined; order: Order },
): mastra.StorageListMessagesOutput {
  const { resourceId, filter, perPage: given, page = 0, order, include = [] } = query
  const metadata = mastra.validateStorageMetadataFilter(filter?.metadata)
  const size = mastra.normalizePerPage(given, MESSAGES_OF_A_PAGE)
  if (page < 0) {
    throw new Error('page must be >= 0')
  }
  if (page * size > Number.MAX_SAFE_INTEGER / 2) {
    throw new Error('page value too large')
  }
  const isMatch = (message: SavedMessage) =>
    (resourceId === undefined || message.resourceId === resourceId) &&
    mastra.storageMessageMatchesMetadataFilter(message.content, metadata)
  const inTime = mastra.filterByDateRange(
    messages.filter(isMatch),
    ({ createdAt }) => new Date(createdAt),
    filter?.dateRange,
  )
  const { items, ...rest } = cut(size === 0 ? [] : sorted(inTime, order), page, given, size)
  const ids = new Set(items.map(({ id }) => id))
  const shown = [...items, ...included.filter(({ id }) => !ids.has(id))]
  const threads = new Set(messages.map(({ threadId }) => threadId))
  const shownOfThreads = shown.filter(({ threadId }) => threads.has(threadId)).length
  const isCounted = include.length > 0 && size > 0 && metadata === undefined
  return {
    messages: sorted(shown, order).map(toMessage),
    ...rest,
    hasMore: isCounted ? shownOfThreads < rest.total : rest.hasMore,
  }
}

/** Cuts a page out of a list, with its position. */
export function cut<T>(all: readonly T[], page: number, given: number | false | undefined, size: number) {
  const { offset, perPage } = mastra.calculatePagination(page, given, size)
  const items = all.slice(offset, offset + size)
  return { items, total: all.length, page, perPage, hasMore: offset + items.length < all.length }
}

/** Sorts messages by the order in which they were first stored. */
export function inOrder(messages: readonly SavedMessage[]): SavedMessage[] {
  return [...messages].sort((one, other) => one.at - other.at)
}

export function timeOf(item: { createdAt: Date; updatedAt: Date }, field: Order['field']): number {
  return item[field].getTime()
}

/** Sorts messages by time; messages with equal times keep their order. */
function sorted(messages: readonly SavedMessage[], { direction }: Order): SavedMessage[] {
  const sign = direction === 'ASC' ? 1 : -1
  return [...messages].sort((one, other) => sign * byTime(new Date(one.createdAt), new Date(other.createdAt)))
}

/** Content is merged member by member, and its metadata as well. */
export function withUpdate(saved: SavedMessage, update: mastra.MessageUpdate): SavedMessage {
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
