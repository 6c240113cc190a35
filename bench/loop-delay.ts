/** The longest time for which the event loop did not turn. */

import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout } from 'node:timers/promises'

const RESOLUTION = 1 // ms, the shortest there is

/** Starts watching. The answer stops it and gives the longest delay in ms. */
export async function watchLoopDelay(): Promise<() => Promise<number>> {
  const histogram = monitorEventLoopDelay({ resolution: RESOLUTION })
  histogram.enable()
  // A block before the first interval is not seen; `reset` would bring that back.
  while (histogram.count === 0) {
    await setTimeout(RESOLUTION)
  }
  return async () => {
    // The interval that a block at the end made longer has to end first.
    const seen = histogram.count
    while (histogram.count === seen) {
      await setTimeout(RESOLUTION)
    }
    histogram.disable()
    return Math.max(0, histogram.max / 1e6 - RESOLUTION)
  }
}
