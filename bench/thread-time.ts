/** CPU time of the JavaScript thread: what a save takes away from the agent, waiting not counted. */

import { readFileSync } from 'node:fs'
import { performance } from 'node:perf_hooks'
import process from 'node:process'
import { median } from './statistics.ts'

const SCHEDULER_FILE = `/proc/${process.pid}/task/${process.pid}/schedstat`
const sleeper = new Int32Array(new SharedArrayBuffer(4))

interface Clock {
  readonly source: string
  /** In µs. */
  readonly read: () => number
}

/** How the time is measured here. */
export const threadClock: Clock = chooseClock()

const readingCost = median(Array.from({ length: 41 }, () => -threadClock.read() + threadClock.read()))

function chooseClock(): Clock {
  try {
    readScheduler()
    return { source: `schedstat of the main thread (ns on the CPU, Linux)`, read: readScheduler }
  } catch {
    // Not Linux.
  }
  const { threadCpuUsage } = process as { threadCpuUsage?: () => { user: number; system: number } }
  if (threadCpuUsage !== undefined) {
    const read = (): number => {
      const { user, system } = threadCpuUsage.call(process)
      return user + system
    }
    return { source: 'process.threadCpuUsage', read }
  }
  const read = (): number => performance.eventLoopUtilization().active * 1000
  return { source: 'performance.eventLoopUtilization (waiting inside a turn counts as work)', read }
}

/** The kernel updates the counter of a running thread once per tick; falling asleep brings it up to date. */
function readScheduler(): number {
  Atomics.wait(sleeper, 0, 0, 0.05)
  return Number(readFileSync(SCHEDULER_FILE, 'latin1').split(' ', 1)[0]) / 1000
}

/** µs that the thread was busy since `start`, a value of `threadClock.read()`. */
export function threadTimeSince(start: number): number {
  return Math.max(0, threadClock.read() - start - readingCost)
}
