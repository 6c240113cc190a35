/** Relevance as the specification sketches it: count the query's words in each description. */

import type { ContextPointer } from '../index.js'

export function naiveOverlap(query: string, pointers: readonly ContextPointer[]): string[] {
  const words = query
    .toLowerCase()
    .split(/\W+/)
    .filter((word) => word.length > 2)
  const scored: { filepath: string; score: number }[] = []
  for (const { filepath, toolDescription } of pointers) {
    const description = toolDescription.toLowerCase()
    const score = words.filter((word) => description.includes(word)).length
    if (score > 0) {
      scored.push({ filepath, score })
    }
  }
  if (scored.length === 0) {
    return pointers.map(({ filepath }) => filepath)
  }
  return scored.sort((a, b) => b.score - a.score).map(({ filepath }) => filepath)
}
