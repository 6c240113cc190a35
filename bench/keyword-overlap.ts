/** Relevance as the specification sketches it: count the query's words in each description. */

import type { ContextPointer } from '../dist/index.js'

type Described = Pick<ContextPointer, 'filepath' | 'toolDescription'>

/** The paths that the specification wants: every one where nothing matches. */
export function naiveOverlap(query: string, pointers: readonly Described[]): string[] {
  const matching = overlapping(query, pointers)
  return matching.length === 0 ? pointers.map(({ filepath }) => filepath) : matching
}

/** The paths that share a word with the query, best first. */
export function overlapping(query: string, pointers: readonly Described[]): string[] {
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
  return scored.sort((a, b) => b.score - a.score).map(({ filepath }) => filepath)
}
