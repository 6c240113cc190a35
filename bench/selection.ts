/** `npm run bench:selection`: measures `selectContexts` among many outputs, compared with a manager that has only one output. */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import process from 'node:process'
import { setTimeout } from 'node:timers/promises'
import type { ContextManager, ContextPointer, SelectedContext } from '../dist/index.js'
import { runCommand } from './command.ts'
import { memoryManager, queryIdOf } from './pointer-population.ts'
import { figure, Report } from './report.ts'
import { makeOutput, makeQueries } from './search-outputs.ts'

const USAGE = 'npm run bench:selection'
const COUNTS = [1000, 10_000, 100_000]
const LIMIT = 10
/** A limit for which all matching outputs are ranked. */
const FULL = 1001
const QUERIES = 400
const SEED = 24
/** Number of concurrent saves. */
const BATCH = 1024
/** Number of selections before the measured ones. */
const WARM_UP = 50
/** Time in ms for the preparation of the index, which the first selection starts in the background. */
const PREPARATION = 3000

async function main(): Promise<void> {
  const report = new Report()
  report.heading('Selecting among outputs')
  report.lines([
    `µs per call, by quantiles of ${QUERIES} queries of one to six words; limit ${LIMIT}.`,
    'A tool name, which a fifth of the outputs have, is in every other query.',
    'empty: the same call of a manager with one output, which is the round trip to the thread pool.',
    `full: with a limit of ${FULL}, for which all that match are ranked; the first ${LIMIT} have to be the same.`,
  ])
  const directory = mkdtempSync(join(tmpdir(), 'agent-context-selection-'))
  process.once('exit', () => rmSync(directory, { recursive: true, force: true }))
  const empty = memoryManager(join(directory, 'empty'))
  await populate(empty, 1, true)
  const rows: string[][] = []
  for (const isGrouped of [true, false]) {
    for (const count of COUNTS) {
      const manager = memoryManager(join(directory, `${count}-${isGrouped}`))
      await populate(manager, count, isGrouped)
      rows.push(...(await measure(manager, empty, count, isGrouped)))
      await manager.clear()
    }
  }
  report.table({ title: 'selectContexts', columns: ['outputs', 'call', 'p50', 'p90', 'p99'], rows })
}

async function populate(manager: ContextManager, count: number, isGrouped: boolean): Promise<void> {
  for (let first = 0; first < count; first += BATCH) {
    const length = Math.min(BATCH, count - first)
    await Promise.all(Array.from({ length }, (_, offset) => save(manager, first + offset, isGrouped)))
  }
}

function save(manager: ContextManager, number: number, isGrouped: boolean): Promise<string> {
  const { toolName, args, result } = makeOutput(number)
  return manager.saveContext(toolName, args, result, undefined, isGrouped ? queryIdOf(number) : undefined)
}

async function measure(
  manager: ContextManager,
  empty: ContextManager,
  count: number,
  isGrouped: boolean,
): Promise<string[][]> {
  const queries = makeQueries(QUERIES, count, SEED).map(({ text }, index) => (index % 4 < 2 ? text : `${text} file`))
  await manager.selectContexts(queries[0] ?? '', { limit: LIMIT })
  await setTimeout(PREPARATION)
  for (const query of queries.slice(0, WARM_UP)) {
    await manager.selectContexts(query, { limit: LIMIT })
  }
  const times = { empty: [] as number[], limited: [] as number[], full: [] as number[] }
  for (const query of queries) {
    times.empty.push((await timed(() => empty.selectContexts(query, { limit: LIMIT })))[0])
    const [limited, best] = await timed(() => manager.selectContexts(query, { limit: LIMIT }))
    const [full, all] = await timed(() => manager.selectContexts(query, { limit: FULL }))
    times.limited.push(limited)
    times.full.push(full)
    expectSame(query, best, all.slice(0, LIMIT))
  }
  const name = `${count}, ${isGrouped ? 'with' : 'without'} a query id`
  return Object.entries(times).map(([call, of]) => [
    name,
    call,
    ...[0.5, 0.9, 0.99].map((at) => figure(quantile(of, at))),
  ])
}

async function timed<T>(run: () => Promise<T>): Promise<[number, T]> {
  const start = performance.now()
  const result = await run()
  return [(performance.now() - start) * 1000, result]
}

function expectSame(query: string, found: readonly SelectedContext[], expected: readonly ContextPointer[]): void {
  const paths = (pointers: readonly ContextPointer[]): string => pointers.map(({ filepath }) => filepath).join('\n')
  // If nothing matches, the latest outputs are returned, ordered by their saves.
  if ((found[0]?.score ?? 0) > 0 && paths(found) !== paths(expected)) {
    throw new Error(`${JSON.stringify(query)}: the best ${LIMIT} are not the first of all`)
  }
}

function quantile(values: readonly number[], at: number): number {
  const sorted = [...values].sort((left, right) => left - right)
  return sorted[Math.floor(sorted.length * at)] ?? Number.NaN
}

await runCommand('bench:selection', USAGE, main)
