/** Where Mastra's data is in a `StateStore`: below segments of its own, beside the data of others. */

const ROOT = 'mastra'

/**
 * What is at a place: threads by id; messages by id below their thread; the thread of each message; working memory by resource;
 * runs by id below their workflow.
 */
export type Part = 'threads' | 'messages' | 'message-threads' | 'resources' | 'workflows'

export function placeOf(part: Part, ...segments: readonly string[]): string[] {
  return [ROOT, part, ...segments]
}

let last = 0

/** Positions of items that are made one after the other; between processes, the clock decides. */
export function nextPosition(): number {
  last = Math.max(last + 1, Date.now() * 1000)
  return last
}

export function byTime(one: Date, other: Date): number {
  return one.getTime() - other.getTime()
}

/** What is stored with times as texts, with dates. */
export function withDates<T extends { createdAt: Date; updatedAt: Date }>(value: unknown): T {
  const { createdAt, updatedAt } = value as { createdAt: string; updatedAt: string }
  return { ...(value as T), createdAt: new Date(createdAt), updatedAt: new Date(updatedAt) }
}
