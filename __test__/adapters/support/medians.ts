/** What something costs, measured on a machine that does other things as well. */

/** How often each is run, after once to warm up. */
export const ROUNDS = 25

/** The milliseconds that the second takes more than the first: medians of rounds in which both take turns. */
export async function addedBy(runs: readonly (() => Promise<unknown>)[]): Promise<number> {
  const times = runs.map((): number[] => [])
  for (let round = 0; round <= ROUNDS; round++) {
    for (const [index, run] of runs.entries()) {
      const start = performance.now()
      await run()
      if (round > 0) {
        times[index]?.push(performance.now() - start)
      }
    }
  }
  const [first = 0, second = 0] = times.map(medianOf)
  return second - first
}

export function medianOf(values: readonly number[]): number {
  return [...values].sort((one, other) => one - other)[values.length >> 1] ?? 0
}
