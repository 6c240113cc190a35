/** Copies threads with their messages. */

import { randomUUID } from 'node:crypto'
import type * as mastra from '@mastra/core/storage'
import type { SavedMessage } from './messages.ts'
import { byTime, nextPosition } from './place.ts'

/** The messages of a thread that the options of a copy select, ordered by time. */
export function copiedMessages(
  messages: readonly SavedMessage[],
  options: mastra.StorageCloneThreadInput['options'],
): SavedMessage[] {
  const { startDate, endDate, messageIds = [] } = options?.messageFilter ?? {}
  return messages
    .filter((message) => messageIds.length === 0 || messageIds.includes(message.id))
    .filter(({ createdAt }) => !startDate || new Date(createdAt) >= startDate)
    .filter(({ createdAt }) => !endDate || new Date(createdAt) <= endDate)
    .sort((one, other) => byTime(new Date(one.createdAt), new Date(other.createdAt)))
    .slice(-(options?.messageLimit || Number.MAX_SAFE_INTEGER))
}

/** The new thread, with a reference to its source. */
export function threadCopy(
  source: mastra.StorageThreadType,
  { newThreadId: id = randomUUID(), resourceId, title, metadata }: mastra.StorageCloneThreadInput,
  messages: readonly SavedMessage[],
): mastra.StorageThreadType {
  const now = new Date()
  const lastMessageId = messages.at(-1)?.id
  const name = title || (source.title ? `Clone of ${source.title}` : undefined)
  const clone = { sourceThreadId: source.id, clonedAt: now, ...(lastMessageId && { lastMessageId }) }
  return {
    id,
    resourceId: resourceId || source.resourceId,
    ...(name === undefined ? {} : { title: name }),
    metadata: { ...metadata, clone },
    createdAt: now,
    updatedAt: now,
  }
}

/** Copies of the messages with new ids, for another thread. */
export function messageCopies(
  messages: readonly SavedMessage[],
  threadId: string,
  resourceId: string | undefined,
): SavedMessage[] {
  return messages.map((message) => {
    const owner = resourceId || message.resourceId
    return { ...message, id: randomUUID(), threadId, at: nextPosition(), ...(owner && { resourceId: owner }) }
  })
}
