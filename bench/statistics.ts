/** Order statistics, and the collector that must not run inside a measurement. */

import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

export function median(values: readonly number[]): number {
  return percentile(values, 50)
}

/** The nearest-rank percentile; `NaN` of nothing. */
export function percentile(values: readonly number[], percent: number): number {
  const sorted = Float64Array.from(values).sort()
  const rank = Math.ceil((percent / 100) * sorted.length)
  return sorted[Math.max(0, rank - 1)] ?? Number.NaN
}

/** A full collection, so that no round pays for the garbage of the one before. */
export const collectGarbage: () => void = exposedCollector()

function exposedCollector(): () => void {
  const given: unknown = (globalThis as { gc?: unknown }).gc
  if (typeof given === 'function') {
    return given as () => void
  }
  try {
    setFlagsFromString('--expose-gc')
    return runInNewContext('gc') as () => void
  } catch {
    return () => {}
  }
}

/** `items`, beginning with another one in every round: none is always first. */
export function rotated<T>(items: readonly T[], round: number): T[] {
  const start = items.length === 0 ? 0 : round % items.length
  return [...items.slice(start), ...items.slice(0, start)]
}
