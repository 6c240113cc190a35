/** How good a ranking is, by what the judges said. */

import type { JudgedQuery } from './retrieval-sets.ts'

/** From 0 to 1, more is better. `undefined`: not defined for this query. */
export interface Scores {
  /** Gains 2^grade − 1, discounted by the logarithm of the rank, of what the best ranking has. */
  readonly ndcg10: number
  /** Share of the relevant rows among the first five. */
  readonly recall5: number | undefined
  /** Share of the relevant rows among the first ten. */
  readonly recall10: number | undefined
  /** One divided by the rank of the first relevant row. */
  readonly reciprocalRank: number
  /** Share of the values used later that the first three rows hold. */
  readonly coverage3: number | undefined
}

const RESAMPLINGS = 1000

/** Scores rows, best first, without repetitions. */
export function score(
  ranked: readonly string[],
  { grades, values }: Pick<JudgedQuery, 'grades' | 'values'>,
  leastGrade: number,
): Scores {
  const relevant = new Set([...grades].filter(([, grade]) => grade >= leastGrade).map(([row]) => row))
  const recall = (depth: number): number | undefined =>
    relevant.size === 0 ? undefined : ranked.slice(0, depth).filter((row) => relevant.has(row)).length / relevant.size
  const first = ranked.findIndex((row) => relevant.has(row))
  return {
    ndcg10: normalisedGain(ranked, grades, 10),
    recall5: recall(5),
    recall10: recall(10),
    reciprocalRank: first < 0 ? 0 : 1 / (first + 1),
    coverage3: values && coverage(ranked.slice(0, 3), Object.values(values)),
  }
}

function normalisedGain(ranked: readonly string[], grades: ReadonlyMap<string, number>, depth: number): number {
  const ideal = discountedGain([...grades.values()].sort((one, other) => other - one).slice(0, depth))
  return ideal === 0 ? 0 : discountedGain(ranked.slice(0, depth).map((row) => grades.get(row) ?? 0)) / ideal
}

function discountedGain(grades: readonly number[]): number {
  return grades.reduce((sum, grade, index) => sum + (2 ** grade - 1) / Math.log2(index + 2), 0)
}

function coverage(shown: readonly string[], holders: readonly (readonly string[])[]): number {
  return holders.filter((rows) => rows.some((row) => shown.includes(row))).length / holders.length
}

/** The mean of each score over the queries that have it; `NaN` where none has. */
export function meanScores(scores: readonly Scores[]): Record<keyof Scores, number> {
  const of = (key: keyof Scores): number => mean(scores.map((one) => one[key]).filter((value) => value !== undefined))
  return {
    ndcg10: of('ndcg10'),
    recall5: of('recall5'),
    recall10: of('recall10'),
    reciprocalRank: of('reciprocalRank'),
    coverage3: of('coverage3'),
  }
}

export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

/** The 95 % confidence interval of the mean, by resampling the queries (bootstrap). It is deterministic. */
export function confidence(values: readonly number[]): [low: number, high: number] {
  return confidenceOfMean([values])
}

/** The same of the mean over sets, each of which counts as much as any other: queries are drawn within their sets. */
export function confidenceOfMean(sets: readonly (readonly number[])[]): [low: number, high: number] {
  let state = 12345
  const below = (limit: number): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0 // a linear congruential generator
    return Math.floor((state / 2 ** 32) * limit)
  }
  const means = new Float64Array(RESAMPLINGS)
  for (let drawing = 0; drawing < RESAMPLINGS; drawing++) {
    let sumOfMeans = 0
    for (const values of sets) {
      let sum = 0
      for (let draw = 0; draw < values.length; draw++) {
        sum += values[below(values.length)] as number
      }
      sumOfMeans += sum / values.length
    }
    means[drawing] = sumOfMeans / sets.length
  }
  means.sort()
  return [means[RESAMPLINGS * 0.025] as number, means[RESAMPLINGS * 0.975] as number]
}

/** What one ranking has above another, query by query: the mean and its 95 % interval. */
export interface Difference {
  readonly mean: number
  readonly low: number
  readonly high: number
}

/** Two rankings of the same queries, set by set; of several sets the mean over them. */
export function pairedDifference(
  ours: readonly (readonly number[])[],
  others: readonly (readonly number[])[],
): Difference {
  const differences = ours.map((values, set) => {
    const paired = others[set] ?? []
    if (values.length !== paired.length) {
      throw new Error('other queries were asked: the rankings cannot be compared')
    }
    return values.map((value, query) => value - (paired[query] as number))
  })
  const [low, high] = confidenceOfMean(differences)
  return { mean: mean(differences.map(mean)), low, high }
}
