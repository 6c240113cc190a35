/** One sample: a series of batches of operations, timed. */

import { performance } from 'node:perf_hooks'
import { setImmediate } from 'node:timers/promises'
import { watchLoopDelay } from './loop-delay.ts'
import { collectGarbage, percentile } from './statistics.ts'
import { threadClock, threadTimeSince } from './thread-time.ts'

export interface Sample {
  /** µs per operation. */
  readonly wall: number
  /** µs of the JavaScript thread per operation. */
  readonly cpu: number
  /** µs from the moment the batch was handed over. */
  readonly p50: number
  readonly p99: number
  /** Longest event-loop delay in ms. */
  readonly delay: number
}

export interface Series {
  readonly count: number
  /** Operations handed over at once; the next batch begins when all are done. */
  readonly inFlight: number
  /** Whether operations finish without a turn of the event loop: then each batch gets one, as the others' have. */
  readonly needsTurn?: boolean
  readonly operation: (index: number) => PromiseLike<unknown> | undefined
}

/** Runs a series once. */
export async function sample(series: Series): Promise<Sample> {
  const latencies = new Float64Array(series.count)
  collectGarbage()
  const stopWatching = await watchLoopDelay()
  const cpuStart = threadClock.read()
  const wallStart = performance.now()
  for (let first = 0; first < series.count; first += series.inFlight) {
    const end = Math.min(first + series.inFlight, series.count)
    await runBatch(series, first, end, latencies)
    if (series.needsTurn) {
      await setImmediate()
    }
  }
  const wall = performance.now() - wallStart
  const cpu = threadTimeSince(cpuStart)
  const delay = await stopWatching()
  return {
    wall: (wall * 1000) / series.count,
    cpu: cpu / series.count,
    p50: percentile([...latencies], 50),
    p99: percentile([...latencies], 99),
    delay,
  }
}

function runBatch(series: Series, first: number, end: number, latencies: Float64Array): Promise<void> {
  return new Promise((resolve, reject) => {
    const start = performance.now()
    let missing = end - first
    const finish = (index: number): void => {
      latencies[index] = (performance.now() - start) * 1000
      missing--
      if (missing === 0) {
        resolve()
      }
    }
    for (let index = first; index < end; index++) {
      const pending = series.operation(index)
      if (pending === undefined) {
        finish(index)
      } else {
        pending.then(() => finish(index), reject)
      }
    }
  })
}

/** The median of each figure. */
export function medianSample(samples: readonly Sample[]): Sample {
  const of = (key: keyof Sample): number =>
    percentile(
      samples.map((one) => one[key]),
      50,
    )
  return { wall: of('wall'), cpu: of('cpu'), p50: of('p50'), p99: of('p99'), delay: of('delay') }
}
