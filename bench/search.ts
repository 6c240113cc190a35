/** Searching many outputs: building the index, asking it, and its memory. */

import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import process from 'node:process'
import { firstLine, type Peers } from './peer-packages.ts'
import { figure, type Report, ratio } from './report.ts'
import { OURS } from './save-contenders.ts'
import { SELECT, searchContenders } from './search-contenders.ts'
import type { Building, Searching, SearchRun } from './search-process.ts'
import { median, rotated } from './statistics.ts'
import type { Workspace } from './workspace.ts'

const COUNTS = [1000, 10_000, 100_000]
const QUICK_COUNTS = [1000, 10_000]
const ROUNDS = 3
const QUICK_ROUNDS = 1
/** Who takes longer than that in a round gets no other, in ms. */
const LONG = 60_000
/** Who takes longer than that is stopped, in ms. */
const TOO_LONG = 300_000
const MEGABYTE = 2 ** 20
/** Ours once more, with outputs that have no words: what is missing then is the indexing. */
const BLANK = `${OURS}, nothing to index`
/** The cost of indexing only. */
export const INDEXING = `${OURS}: indexing`

export const searchCase = (count: number): string => `${count} outputs`
export const buildCase = (count: number): string => `${count} outputs, building`

export function benchSearch(report: Report, peers: Peers, workspace: Workspace, isQuick: boolean): void {
  report.heading('Searching outputs')
  report.lines([
    'Outputs of about 850 bytes, 200 queries of 1 to 6 words, rare and common. Every contender in a process of its own, in turn.',
    `Built: until all outputs are acknowledged and the first search returned. ${OURS} saves them as well (persist: 'large', in memory);`,
    'indexing: CPU time of all threads, for this package less that of saving as many bytes without a word in them.',
    'found: share of the queries with words of one output that have it among the ten best; – where time ran out.',
    `×: peer ÷ ours. Whose round takes over ${LONG / 1000} s gets no other; who takes over ${TOO_LONG / 1000} s is stopped.`,
  ])
  const names = [...searchContenders(peers).map(({ name }) => name), BLANK]
  for (const count of isQuick ? QUICK_COUNTS : COUNTS) {
    const runs = runRounds(report, workspace, names, count, isQuick ? QUICK_ROUNDS : ROUNDS)
    tellBuilding(report, count, runs)
    tellSearching(report, count, runs)
  }
}

function runRounds(
  report: Report,
  workspace: Workspace,
  names: readonly string[],
  count: number,
  rounds: number,
): Map<string, SearchRun[]> {
  const runs = new Map<string, SearchRun[]>(names.map((name) => [name, []]))
  const over = new Set<string>()
  for (let round = 0; round < rounds; round++) {
    for (const name of rotated(names, round).filter((one) => !over.has(one))) {
      const start = performance.now()
      const run = runProcess(workspace.fresh(), name, count)
      if (typeof run === 'string') {
        report.lines([`${name}, ${count} outputs: skipped: ${run}`])
        over.add(name)
        continue
      }
      runs.get(name)?.push(run)
      if (performance.now() - start > LONG) {
        over.add(name)
      }
    }
  }
  return runs
}

/** The figures, or why there are none. */
function runProcess(directory: string, name: string, count: number): SearchRun | string {
  const script = join(import.meta.dirname, 'search-process.ts')
  const contender = name === BLANK ? [OURS, String(count), 'blank'] : [name, String(count)]
  const parameters = ['--expose-gc', '--import', 'tsx', script, directory, ...contender]
  const child = spawnSync(process.execPath, parameters, { encoding: 'utf8', timeout: TOO_LONG })
  if (child.status === 0) {
    return JSON.parse(child.stdout) as SearchRun
  }
  if (child.error !== undefined && 'code' in child.error && child.error.code === 'ETIMEDOUT') {
    return `not done after ${TOO_LONG / 1000} s`
  }
  return firstLine(child.stderr?.trim() || child.error || 'the process failed')
}

type Figures<Measured> = { readonly [Key in keyof Measured]-?: number }

function medians<Measured extends object>(measured: readonly Measured[], keys: readonly (keyof Measured)[]) {
  const of = (key: keyof Measured): number => median(measured.map((one) => Number(one[key] ?? Number.NaN)))
  return Object.fromEntries(keys.map((key) => [key, of(key)])) as Figures<Measured>
}

function tellBuilding(report: Report, count: number, runs: ReadonlyMap<string, SearchRun[]>): void {
  const keys = ['wall', 'acknowledged', 'cpu', 'allThreads', 'memory', 'kept'] as const
  const buildings = new Map<string, Figures<Building>>()
  for (const [name, ofName] of runs) {
    if (ofName.length > 0) {
      const building = medians(
        ofName.map((run) => run.building),
        keys,
      )
      buildings.set(name, building)
      report.measure({ section: 'search', case: buildCase(count), contender: name, values: { ...building } })
    }
  }
  const [ours, blank] = [buildings.get(OURS), buildings.get(BLANK)]
  const difference = (ours?.allThreads ?? Number.NaN) - (blank?.allThreads ?? Number.NaN)
  // Of few outputs it may be lost in the noise.
  const indexing = difference > 0 ? difference : Number.NaN
  report.measure({
    section: 'search',
    case: buildCase(count),
    contender: INDEXING,
    values: { allThreads: indexing },
  })
  const rows = [...buildings].map(([name, building]) => {
    const compared = (key: keyof Building, value = ours?.[key]): string =>
      name === OURS || name === BLANK ? '' : ratio(building[key], value ?? Number.NaN)
    const work = name === OURS ? indexing : name === BLANK ? Number.NaN : building.allThreads
    return [
      name,
      figure(building.wall),
      compared('wall'),
      figure(building.cpu),
      compared('cpu'),
      figure(work),
      compared('allThreads', indexing),
      figure(building.memory / MEGABYTE),
      compared('memory'),
      figure(building.kept / MEGABYTE),
    ]
  })
  report.table({
    title: `${count.toLocaleString('en')} outputs: building`,
    columns: ['', 'built ms', '×', 'main ms', '×', 'indexing ms', '×', 'memory MiB', '×', 'of it outputs'],
    rows,
  })
}

function tellSearching(report: Report, count: number, runs: ReadonlyMap<string, SearchRun[]>): void {
  const byWay = new Map<string, Searching[]>()
  for (const { searching } of [...runs.values()].flat()) {
    for (const [way, figures] of Object.entries(searching)) {
      byWay.set(way, [...(byWay.get(way) ?? []), figures])
    }
  }
  const searchings = new Map(
    [...byWay].map(([way, list]) => [way, medians(list, ['queries', 'p50', 'p99', 'cpu', 'found'])]),
  )
  const ours = searchings.get(SELECT)
  const rows = [...searchings].map(([way, searching]) => {
    report.measure({ section: 'search', case: searchCase(count), contender: way, values: { ...searching } })
    const row = [way]
    for (const key of ['p50', 'p99', 'cpu'] as const) {
      row.push(figure(searching[key]), way === SELECT ? '' : ratio(searching[key], ours?.[key] ?? Number.NaN))
    }
    const found = Number.isNaN(searching.found) ? '–' : `${Math.round(100 * searching.found)} %`
    return [...row, found, String(searching.queries)]
  })
  report.table({
    title: `${count.toLocaleString('en')} outputs: searching`,
    columns: ['', 'p50 µs', '×', 'p99 µs', '×', 'main µs', '×', 'found', 'queries'],
    rows,
  })
}
