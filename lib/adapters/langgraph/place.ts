/** Where LangGraph's data is in a `StateStore`: below segments of its own, beside the data of others. */

const ROOT = 'langgraph'

/** What is at a place: the checkpoints of threads, the values of their channels, pending writes; the items of the memory. */
export type Part = 'checkpoints' | 'values' | 'writes' | 'memory'

export function placeOf(part: Part, ...segments: readonly string[]): string[] {
  return [ROOT, part, ...segments]
}

/** The segments below a part. */
export function segmentsBelow(namespace: readonly string[]): string[] {
  return namespace.slice(2)
}
