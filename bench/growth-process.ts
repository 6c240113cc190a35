/** The process behind `growth.ts`: `growth-process.ts DIRECTORY POINTERS`; prints a `Growth` as JSON. */

import { performance } from 'node:perf_hooks'
import process from 'node:process'
import { setTimeout } from 'node:timers/promises'
import type { ContextManager } from '../dist/index.js'
import { memoryManager, populate, saveOne } from './pointer-population.ts'
import { collectGarbage } from './statistics.ts'
import { threadClock, threadTimeSince } from './thread-time.ts'

export interface Growth {
  readonly pointers: number
  /** The number of sessions: the memory of a few pointers is smaller than the measurement noise. */
  readonly sessions: number
  /** µs per save. */
  readonly wall: number
  readonly cpu: number
  readonly allThreads: number
  /** Bytes per pointer, with its record. */
  readonly rss: number
  readonly record: number
  readonly heap: number
}

const IN_FLIGHT = 64
/** The saves that are timed: the last ones of a session. */
const TIMED = 960
const WARM_UP = 2000
/** Pointers in all sessions together, at least. */
const LEAST_TOTAL = 200_000

interface Memory {
  readonly rss: number
  readonly heap: number
}

async function settledMemory(): Promise<Memory> {
  collectGarbage()
  await setTimeout(200) // the index finishes in the background
  collectGarbage()
  const { rss, heapUsed } = process.memoryUsage()
  return { rss, heap: heapUsed }
}

async function timedSaves(
  manager: ContextManager,
  start: number,
): Promise<{ wall: number; cpu: number; allThreads: number }> {
  const usage = process.cpuUsage()
  const cpu = threadClock.read()
  const begin = performance.now()
  for (let first = start; first < start + TIMED; first += IN_FLIGHT) {
    await Promise.all(Array.from({ length: IN_FLIGHT }, (_, offset) => saveOne(manager, first + offset)))
  }
  const wall = ((performance.now() - begin) * 1000) / TIMED
  const main = threadTimeSince(cpu) / TIMED
  const { user, system } = process.cpuUsage(usage)
  return { wall, cpu: main, allThreads: (user + system) / TIMED }
}

const [directory = '', pointers = '0'] = process.argv.slice(2)
const count = Number(pointers)
const sessions = Math.ceil(LEAST_TOTAL / count)
const warmUp = memoryManager(directory)
await populate(warmUp, 0, WARM_UP)
await warmUp.clear()

const before = await settledMemory()
const managers = Array.from({ length: sessions }, () => memoryManager(directory))
let cost = { wall: 0, cpu: 0, allThreads: 0 }
for (const manager of managers) {
  await populate(manager, 0, count - TIMED)
  cost = await timedSaves(manager, count - TIMED)
}
const after = await settledMemory()
const total = sessions * count
const growth: Growth = {
  pointers: count,
  sessions,
  ...cost,
  rss: (after.rss - before.rss) / total,
  record: managers.reduce((bytes, manager) => bytes + manager.stats().memoryBytes, 0) / total,
  heap: (after.heap - before.heap) / total,
}
process.stdout.write(`${JSON.stringify(growth)}\n`)
process.exit()
