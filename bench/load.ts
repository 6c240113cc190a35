/** Loading: what was used recently, and what only the disk holds. */

import { promises, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ContextManager } from '../dist/index.js'
import { KIND_NAMES, makeRecord, type PayloadKind } from './payloads.ts'
import { figure, type Report, ratio } from './report.ts'
import { medianSample, type Sample, sample } from './sampling.ts'
import { OURS } from './save-contenders.ts'
import { rotated } from './statistics.ts'
import type { Workspace } from './workspace.ts'

interface Payload {
  readonly name: string
  readonly kind: PayloadKind
  readonly bytes: number
}

const ONE_KB: Payload = { name: '1 KB hits', kind: 'hits', bytes: 1000 }
/** Just below the threshold, so that memory keeps them. */
const RECENT: readonly Payload[] = [
  ONE_KB,
  { name: '32 KB hits', kind: 'hits', bytes: 30_500 },
  { name: '32 KB text', kind: 'text', bytes: 31_000 },
  { name: '32 KB CJK', kind: 'CJK', bytes: 31_000 },
]
const COLD: readonly Payload[] = [...RECENT, { name: '256 KB hits', kind: 'hits', bytes: 256_000 }]
const ROUNDS = 7
const QUICK_ROUNDS = 3
const RECENT_CONTEXTS = 64
const RECENT_LOADS = 512
const BATCH = 16
const COLD_BATCHES = 16

const READ_SYNC = 'fs.readFileSync + JSON.parse'
const READ_PROMISE = 'fs.promises.readFile + JSON.parse'
const LISTED = `${OURS}, listed first`
const READ_LISTED = 'fs.readdirSync first'

interface LoadContender {
  readonly name: string
  readonly run: () => Promise<Sample>
}

export const recentCase = (payload: string): string => `recent ${payload}`
export const coldCase = (payload: string): string => `cold ${payload}`
export { READ_SYNC }

export async function benchLoad(report: Report, workspace: Workspace, isQuick: boolean): Promise<void> {
  report.heading('Loading')
  report.lines([
    `µs per context; ×: peer ÷ ours. Cold: batches of ${BATCH}, a fresh manager each, files in the page cache.`,
  ])
  const rounds = isQuick ? QUICK_ROUNDS : ROUNDS
  for (const payload of RECENT) {
    await benchRecent(report, workspace, payload, rounds)
  }
  for (const payload of COLD) {
    await benchCold(report, workspace, payload, rounds)
  }
}

async function benchRecent(report: Report, workspace: Workspace, payload: Payload, rounds: number): Promise<void> {
  const manager = new ContextManager({ contextDir: workspace.fresh() })
  const paths = await saveAll(manager, payload, RECENT_CONTEXTS)
  const path = (index: number): string => paths[index % paths.length] as string
  const series = (operation: (index: number) => PromiseLike<unknown> | undefined): Promise<Sample> =>
    sample({ count: RECENT_LOADS, inFlight: 1, operation })
  const contenders: LoadContender[] = [
    { name: OURS, run: () => series((index) => manager.loadContext(path(index))) },
    { name: READ_SYNC, run: () => series((index) => void parseFile(path(index))) },
    { name: READ_PROMISE, run: () => series((index) => parseFileLater(path(index))) },
  ]
  const samples = await runRounds(contenders, rounds)
  tell(report, recentCase(payload.name), `recently used, ${payload.name} (${KIND_NAMES[payload.kind]})`, samples)
  await manager.close()
}

async function benchCold(report: Report, workspace: Workspace, payload: Payload, rounds: number): Promise<void> {
  const directories: { path: string; files: string[] }[] = []
  for (let index = 0; index < COLD_BATCHES; index++) {
    const path = workspace.fresh()
    const manager = new ContextManager({ contextDir: path })
    directories.push({ path, files: await saveAll(manager, payload, BATCH) })
    await manager.close()
  }
  const contenders: LoadContender[] = [
    {
      name: OURS,
      run: () => {
        const managers = directories.map(({ path }) => new ContextManager({ contextDir: path }))
        return eachDirectory(async ({ files }, index) => (await managers[index]?.loadContexts(files))?.length)
      },
    },
    { name: READ_SYNC, run: () => eachDirectory(async ({ files }) => files.map(parseFile).length) },
    {
      name: READ_PROMISE,
      run: () => eachDirectory(async ({ files }) => (await Promise.all(files.map(parseFileLater))).length),
    },
    {
      name: LISTED,
      run: () =>
        eachDirectory(async ({ path }) => {
          const manager = new ContextManager({ contextDir: path })
          const pointers = await manager.listContexts()
          return (await manager.loadContexts(pointers.map(({ filepath }) => filepath))).length
        }),
    },
    {
      name: READ_LISTED,
      run: () =>
        eachDirectory(async ({ path }) => {
          const names = readdirSync(path).filter((name) => name.endsWith('.json'))
          return names.map((name) => parseFile(join(path, name))).length
        }),
    },
  ]

  async function eachDirectory(
    load: (directory: { path: string; files: string[] }, index: number) => Promise<number | undefined>,
  ): Promise<Sample> {
    const operation = async (index: number): Promise<void> => {
      const directory = directories[index]
      const loaded = directory === undefined ? 0 : await load(directory, index)
      if (loaded !== BATCH) {
        throw new Error(`${loaded} contexts instead of ${BATCH}`)
      }
    }
    const { wall, cpu, p50, p99, delay } = await sample({ count: COLD_BATCHES, inFlight: 1, operation })
    return { wall: wall / BATCH, cpu: cpu / BATCH, p50, p99, delay }
  }

  const samples = await runRounds(contenders, rounds)
  tell(report, coldCase(payload.name), `cold, ${payload.name} (${KIND_NAMES[payload.kind]}), ${BATCH} at once`, samples)
}

function saveAll(manager: ContextManager, { kind, bytes }: Payload, count: number): Promise<string[]> {
  const records = Array.from({ length: count }, (_, seed) => makeRecord(kind, bytes, seed))
  return Promise.all(records.map(({ toolName, args, result }) => manager.saveContext(toolName, args, result)))
}

function parseFile(path: string): unknown {
  return JSON.parse(readFileSync(path, 'utf8'))
}

async function parseFileLater(path: string): Promise<unknown> {
  return JSON.parse(await promises.readFile(path, 'utf8'))
}

async function runRounds(contenders: readonly LoadContender[], rounds: number): Promise<Map<string, Sample>> {
  const samples = new Map<string, Sample[]>(contenders.map(({ name }) => [name, []]))
  // Round 0 warms up.
  for (let round = 0; round <= rounds; round++) {
    for (const { name, run } of rotated(contenders, round)) {
      const one = await run()
      if (round > 0) {
        samples.get(name)?.push(one)
      }
    }
  }
  return new Map([...samples].map(([name, list]) => [name, medianSample(list)]))
}

function tell(report: Report, name: string, title: string, samples: ReadonlyMap<string, Sample>): void {
  const rows: string[][] = []
  for (const [contender, one] of samples) {
    report.measure({ section: 'load', case: name, contender, values: { ...one } })
    // Contenders are compared by their first listing in each round.
    const reference = samples.get(contender === READ_LISTED ? LISTED : OURS)
    const isOurs = contender === OURS || contender === LISTED
    const compared = (key: 'wall' | 'cpu'): string => (isOurs ? '' : ratio(one[key], reference?.[key] ?? Number.NaN))
    rows.push([contender, figure(one.wall), compared('wall'), figure(one.cpu), compared('cpu')])
  }
  report.table({ title, columns: ['', 'wall µs', '×', 'main µs', '×'], rows })
}
