/** How much of the evidence reaches a prompt of so many tokens. */

import { mean } from './retrieval-scores.ts'
import type { JudgedQuery, Row } from './retrieval-sets.ts'
import { indexed } from './retrieval-systems.ts'

export const BUDGETS = [500, 1000, 4000, 16_000] as const

const CHARACTERS_PER_TOKEN = 4

/** The share of the relevant rows that each budget holds, by `BUDGETS`; `undefined` where no row is relevant. */
export type Evidence = readonly number[] | undefined

/** What a row takes in a prompt, by its description and its text. */
export function tokensOf(row: Row): number {
  const { description, text } = indexed(row)
  return Math.ceil((description.length + text.length) / CHARACTERS_PER_TOKEN)
}

/** Fills each budget with rows, best first; one that does not fit is passed over. */
export function evidence(
  ranked: readonly string[],
  tokens: ReadonlyMap<string, number>,
  { grades }: Pick<JudgedQuery, 'grades'>,
  leastGrade: number,
): Evidence {
  const relevant = [...grades].filter(([, grade]) => grade >= leastGrade).map(([row]) => row)
  if (relevant.length === 0) {
    return undefined
  }
  return BUDGETS.map((budget) => {
    const taken = new Set<string>()
    let rest: number = budget
    for (const row of ranked) {
      const cost = tokens.get(row) ?? Number.POSITIVE_INFINITY
      if (cost <= rest) {
        rest -= cost
        taken.add(row)
      }
    }
    return relevant.filter((row) => taken.has(row)).length / relevant.length
  })
}

/** The mean of each budget over the queries that have evidence. */
export function meanEvidence(queries: readonly Evidence[]): number[] {
  const judged = queries.filter((one) => one !== undefined)
  return BUDGETS.map((_, index) => mean(judged.map((shares) => shares[index] as number)))
}
