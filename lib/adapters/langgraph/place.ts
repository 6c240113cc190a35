/** The namespaces of LangGraph's data in a `StateStore`, separate from other data. */

const ROOT = 'langgraph'

/** The kinds of data: checkpoints of threads, values of their channels, pending writes, and items of the long-term memory. */
export type Part = 'checkpoints' | 'values' | 'writes' | 'memory'

export function placeOf(part: Part, ...segments: readonly string[]): string[] {
  return [ROOT, part, ...segments]
}

/** The segments below a part. */
export function segmentsBelow(namespace: readonly string[]): string[] {
  return namespace.slice(2)
}
