/**
 * The process behind `search.ts`: `search-process.ts DIRECTORY CONTENDER OUTPUTS [blank]`; prints a `SearchRun` as JSON.
 * `blank`: outputs without words are added, and nothing is searched.
 */

import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import process from 'node:process'
import { setImmediate, setTimeout } from 'node:timers/promises'
import { Peers } from './peer-packages.ts'
import { type Search, type SearchContender, type SearchIndex, searchContenders } from './search-contenders.ts'
import { makeOutput, makeQueries, withoutWords } from './search-outputs.ts'
import { collectGarbage, percentile } from './statistics.ts'
import { threadClock, threadTimeSince } from './thread-time.ts'

export interface Building {
  /** ms until all outputs are there and the first search returned. */
  readonly wall: number
  /** Of it the time until all were acknowledged. */
  readonly acknowledged: number
  /** ms of the JavaScript thread. */
  readonly cpu: number
  /** ms of all threads. */
  readonly allThreads: number
  /** Growth of the process in bytes. */
  readonly memory: number
  /** Of it outputs kept beside the index, where known. */
  readonly kept: number | undefined
}

export interface Searching {
  readonly queries: number
  /** µs. */
  readonly p50: number
  readonly p99: number
  /** µs of the JavaScript thread per query. */
  readonly cpu: number
  /** The share of queries with words of one output that found it among the ten best; absent unless all were asked. */
  readonly found?: number
}

export interface SearchRun {
  readonly building: Building
  readonly searching: Readonly<Record<string, Searching>>
}

/** Outputs handed over at once. */
const BATCH = 1000
const QUERIES = 200
/** So that a slow one ends: fewer queries then. */
const BUDGET = 30_000 // ms per way to search
const WARM_UP_OUTPUTS = 1000
const WARM_UP_QUERIES = 50

const isSearched = process.argv[5] !== 'blank'

async function settledMemory(): Promise<number> {
  collectGarbage()
  await setTimeout(200) // what finishes in the background
  collectGarbage()
  return process.memoryUsage().rss
}

/** Outputs are made batch by batch: their making is not timed, and nothing keeps them that does not have to. */
async function build(index: SearchIndex, count: number): Promise<Omit<Building, 'memory' | 'kept'>> {
  let [wall, cpu, allThreads] = [0, 0, 0]
  async function timed(step: () => unknown): Promise<void> {
    const [cpuStart, allStart, start] = [threadClock.read(), process.cpuUsage(), performance.now()]
    await step()
    wall += performance.now() - start
    const { user, system } = process.cpuUsage(allStart)
    allThreads += (user + system) / 1000
    cpu += threadTimeSince(cpuStart) / 1000
  }
  for (let first = 0; first < count; first += BATCH) {
    const outputs = Array.from({ length: Math.min(BATCH, count - first) }, (_, offset) => {
      const output = makeOutput(first + offset)
      return isSearched ? output : withoutWords(output)
    })
    await timed(() => index.add(outputs))
    await setImmediate()
  }
  const acknowledged = wall
  const [search] = Object.values(index.searches())
  await timed(() => search?.('zero'))
  return { wall, acknowledged, cpu, allThreads }
}

async function search(run: Search, count: number): Promise<Searching> {
  const queries = makeQueries(QUERIES, count, 2)
  const latencies: number[] = []
  const known: boolean[] = []
  collectGarbage()
  const cpuStart = threadClock.read()
  const start = performance.now()
  for (const { text, source } of queries) {
    const queryStart = performance.now()
    const found = await run(text)
    const end = performance.now()
    latencies.push((end - queryStart) * 1000)
    if (source !== undefined) {
      known.push(found.includes(source))
    }
    if (end - start > BUDGET) {
      break
    }
  }
  const isComplete = latencies.length === queries.length
  return {
    queries: latencies.length,
    p50: percentile(latencies, 50),
    p99: percentile(latencies, 99),
    cpu: threadTimeSince(cpuStart) / latencies.length,
    // Shares of different queries do not compare.
    ...(isComplete && { found: known.filter(Boolean).length / known.length }),
  }
}

async function measure(contender: SearchContender, directory: string, count: number): Promise<SearchRun> {
  const warmUp = contender.open(join(directory, 'warm-up'))
  await build(warmUp, WARM_UP_OUTPUTS)
  for (const run of Object.values(warmUp.searches())) {
    for (const { text } of makeQueries(WARM_UP_QUERIES, WARM_UP_OUTPUTS, 1)) {
      await run(text)
    }
  }
  await warmUp.close()
  const before = await settledMemory()
  const index = contender.open(join(directory, 'index'))
  const cost = await build(index, count)
  const memory = (await settledMemory()) - before
  const building = { ...cost, memory, kept: index.keptBytes?.() }
  const searching: Record<string, Searching> = {}
  for (const [name, run] of Object.entries(isSearched ? index.searches() : {})) {
    searching[name] = await search(run, count)
  }
  return { building, searching }
}

const [, , directory = '', name = '', outputs = '0'] = process.argv
const contenders = searchContenders(await Peers.load(['minisearch', '@orama/orama', 'flexsearch', 'better-sqlite3']))
const contender = contenders.find((one) => one.name === name)
if (contender === undefined) {
  throw new Error(`no contender ${name}`)
}
process.stdout.write(`${JSON.stringify(await measure(contender, directory, Number(outputs)))}\n`)
process.exit()
