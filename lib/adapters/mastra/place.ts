/** The namespaces of Mastra's data in a `StateStore`, separate from other data. */

const ROOT = 'mastra'

/**
 * The kinds of data: threads by id; messages by id below their thread; the thread of each message; working memory by resource;
 * runs by id below their workflow.
 */
export type Part = 'threads' | 'messages' | 'message-threads' | 'resources' | 'workflows'

export function placeOf(part: Part, ...segments: readonly string[]): string[] {
  return [ROOT, part, ...segments]
}

let last = 0

/** Returns increasing positions for new items; between processes, the clock decides the order. */
export function nextPosition(): number {
  last = Math.max(last + 1, Date.now() * 1000)
  return last
}

export function byTime(one: Date, other: Date): number {
  return one.getTime() - other.getTime()
}

/** Converts the times of a stored value, which are texts, to dates. */
export function withDates<T extends { createdAt: Date; updatedAt: Date }>(value: unknown): T {
  const { createdAt, updatedAt } = value as { createdAt: string; updatedAt: string }
  return { ...(value as T), createdAt: new Date(createdAt), updatedAt: new Date(updatedAt) }
}
