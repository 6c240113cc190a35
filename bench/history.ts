/** The history: appending to a log, with one and with several processes, and reading and searching entries. */

import type { ContextEntry } from '../dist/index.js'
import { type AppendContender, appendContenders, type Durability } from './history-contenders.ts'
import { lineOf, makeEntry } from './history-entries.ts'
import { Logs, type ReadContender } from './history-logs.ts'
import { benchLongHistory } from './history-long.ts'
import { Writers, type WritersSample } from './history-writers.ts'
import type { Peers } from './peer-packages.ts'
import { figure, type Report, ratio } from './report.ts'
import { tellSamples } from './sample-table.ts'
import { medianSample, type Sample, sample } from './sampling.ts'
import { OURS } from './save-contenders.ts'
import { median, rotated } from './statistics.ts'
import type { Workspace } from './workspace.ts'

interface Size {
  readonly name: string
  readonly bytes: number
}

const SIZES: readonly Size[] = [
  { name: '300 B', bytes: 300 },
  { name: '4 KB', bytes: 4096 },
]
const DURABILITIES: Readonly<Record<Durability, string>> = {
  process: 'surviving the process',
  full: 'surviving the loss of power',
}
/** Appends per sample, by durability and appends in flight. */
const COUNTS: Readonly<Record<Durability, Readonly<Record<number, number>>>> = {
  process: { 1: 512, 64: 2048 },
  full: { 1: 128, 64: 512 },
}
const IN_FLIGHT = [64, 1]
const WRITERS = 8
/** Appends of each of several writers per sample. */
const WRITER_COUNTS: Readonly<Record<Durability, number>> = { process: 512, full: 256 }
const WRITER_IN_FLIGHT = 64
const ROUNDS = 5
const QUICK_ROUNDS = 3
/** Distinct entries. */
const POOL = 512
const WARM_UP = 16
const TAIL_SIZES = [1000, 100_000, 1_000_000]
const QUICK_TAIL_SIZES = 2
const SEARCHED_SIZE = 100_000
const LIMIT = 20
/** Of the entries that are read and searched. */
const READ_BYTES = 300
const RARE_TOOL = 'deploy'
/** One entry in so many is of the rare tool. */
const RARITY = 2000

/** How the report calls a case. */
export const appendCase = (size: string, writers: string, durability: Durability): string =>
  `append ${size}, ${writers}, ${durability}`
export const tailCase = (entries: number): string => `read(${LIMIT}) of ${entries.toLocaleString('en')}`

export async function benchHistory(
  report: Report,
  peers: Peers,
  workspace: Workspace,
  isQuick: boolean,
): Promise<void> {
  report.heading('History')
  const lengths = SIZES.map(({ name, bytes }) => `${name}: ${Math.round(averageLength(bytes))} bytes a line`)
  report.lines([
    'µs per operation; ×: peer ÷ ours, over ×1 this package wins. main: CPU time of the JavaScript thread.',
    'p50, p99: from handing a batch over to the end of an append. delay: the longest event-loop delay.',
    `All store entries as JSON text and give them back parsed. ${lengths.join(', ')}.`,
    'appendFile in flight writes in any order, and glues records to what a crash left.',
  ])
  const rounds = isQuick ? QUICK_ROUNDS : ROUNDS
  await benchAppend(report, peers, workspace, rounds)
  await benchWriters(report, peers, workspace, rounds)
  for (const size of isQuick ? TAIL_SIZES.slice(0, QUICK_TAIL_SIZES) : TAIL_SIZES) {
    await benchTail(report, peers, workspace, size, rounds)
  }
  await benchSearch(report, peers, workspace, rounds)
  benchLongHistory(report, workspace, isQuick)
}

function averageLength(bytes: number): number {
  const lengths = Array.from({ length: POOL }, (_, seed) => lineOf(makeEntry(bytes, seed)).length)
  return lengths.reduce((sum, length) => sum + length, 0) / POOL
}

const durabilities = Object.entries(DURABILITIES) as [Durability, string][]

async function benchAppend(report: Report, peers: Peers, workspace: Workspace, rounds: number): Promise<void> {
  for (const [durability, meaning] of durabilities) {
    const contenders = appendContenders(peers, durability)
    for (const { name, bytes } of SIZES) {
      const entries = Array.from({ length: POOL }, (_, seed) => makeEntry(bytes, seed))
      for (const inFlight of IN_FLIGHT) {
        const count = COUNTS[durability][inFlight] ?? inFlight
        const samples = await alternate(contenders, rounds, (contender) =>
          appendSample(contender, entries, count, inFlight, workspace),
        )
        const medians = new Map([...samples].map(([contender, list]) => [contender, medianSample(list)]))
        const title = `append, ${name}, ${inFlight} in flight, ${meaning}`
        tellSamples(report, 'history', appendCase(name, `× ${inFlight}`, durability), title, medians)
      }
    }
  }
}

/** Samples of each contender, in alternating rounds. */
async function alternate<Contender extends { readonly name: string }, One>(
  contenders: readonly Contender[],
  rounds: number,
  take: (contender: Contender) => Promise<One>,
): Promise<Map<string, One[]>> {
  const samples = new Map<string, One[]>(contenders.map(({ name }) => [name, []]))
  // Round 0 warms code and memory up.
  for (let round = 0; round <= rounds; round++) {
    for (const contender of rotated(contenders, round)) {
      const one = await take(contender)
      if (round > 0) {
        samples.get(contender.name)?.push(one)
      }
    }
  }
  return samples
}

async function appendSample(
  contender: AppendContender,
  entries: readonly ContextEntry[],
  count: number,
  inFlight: number,
  workspace: Workspace,
): Promise<Sample> {
  const directory = workspace.fresh()
  const log = await contender.open(directory, 0)
  const entry = (index: number): ContextEntry => entries[index % entries.length] as ContextEntry
  await Promise.all(Array.from({ length: Math.min(WARM_UP, inFlight) }, (_, index) => log.append(entry(index))))
  const needsTurn = contender.isSynchronous
  const one = await sample({ count, inFlight, needsTurn, operation: (index) => log.append(entry(index)) })
  await log.close()
  workspace.empty(directory)
  return one
}

async function benchWriters(report: Report, peers: Peers, workspace: Workspace, rounds: number): Promise<void> {
  const writers = await Writers.start(WRITERS)
  try {
    for (const [durability, meaning] of durabilities) {
      for (const size of SIZES) {
        const samples = await alternate(appendContenders(peers, durability), rounds, (contender) =>
          writersSample(writers, contender, durability, size.bytes, workspace),
        )
        const title = `append, ${size.name}, ${WRITERS} processes with ${WRITER_IN_FLIGHT} in flight each, ${meaning}`
        tellWriters(report, appendCase(size.name, `${WRITERS} processes`, durability), title, samples)
      }
    }
  } finally {
    writers.stop()
  }
}

async function writersSample(
  writers: Writers,
  contender: AppendContender,
  durability: Durability,
  bytes: number,
  workspace: Workspace,
): Promise<WritersSample> {
  const directory = workspace.fresh()
  const count = WRITER_COUNTS[durability]
  const one = await writers.sample({
    contender: contender.name,
    durability,
    directory,
    bytes,
    count,
    inFlight: WRITER_IN_FLIGHT,
  })
  workspace.empty(directory)
  return one
}

function tellWriters(
  report: Report,
  name: string,
  title: string,
  samples: ReadonlyMap<string, readonly WritersSample[]>,
): void {
  const of = (contender: string, key: keyof WritersSample): number =>
    median((samples.get(contender) ?? []).map((one) => one[key]))
  const rows: string[][] = []
  for (const contender of samples.keys()) {
    const row = [contender]
    const values: Record<string, number> = {}
    for (const key of ['wall', 'cpu', 'longestWait'] as const) {
      values[key] = of(contender, key)
      row.push(figure(values[key]), contender === OURS ? '' : ratio(values[key], of(OURS, key)))
    }
    report.measure({ section: 'history', case: name, contender, values })
    rows.push(row)
  }
  report.table({ title, columns: ['', 'wall µs', '×', 'main µs', '×', 'longest wait ms', '×'], rows })
}

async function benchTail(
  report: Report,
  peers: Peers,
  workspace: Workspace,
  size: number,
  rounds: number,
): Promise<void> {
  const entryOf = (seed: number): ContextEntry => makeEntry(READ_BYTES, seed)
  const logs = await Logs.build(peers, workspace.fresh(), size, entryOf)
  const expected = Array.from({ length: LIMIT }, (_, index) => entryOf(size - LIMIT + index).id)
  const title = `the last ${LIMIT} of ${size.toLocaleString('en')} entries of ${READ_BYTES} B`
  await benchReaders(report, tailCase(size), title, logs.tailReaders(LIMIT), expected, rounds)
  await logs.close()
}

async function benchSearch(report: Report, peers: Peers, workspace: Workspace, rounds: number): Promise<void> {
  const isRare = (seed: number): boolean => seed % RARITY === 0
  const entryOf = (seed: number): ContextEntry => {
    const entry = makeEntry(READ_BYTES, seed)
    return isRare(seed) ? { ...entry, toolName: RARE_TOOL } : entry
  }
  const logs = await Logs.build(peers, workspace.fresh(), SEARCHED_SIZE, entryOf)
  const seeds = Array.from({ length: SEARCHED_SIZE }, (_, seed) => seed).filter(isRare)
  const expected = seeds.slice(-LIMIT).map((seed) => entryOf(seed).id)
  const what = `the last ${LIMIT} entries of a rare tool among ${SEARCHED_SIZE.toLocaleString('en')}`
  const tell = (state: string, contenders: ReadContender[]): Promise<void> =>
    benchReaders(report, `search, ${state}`, `${what}, ${state}`, contenders, expected, rounds)
  await tell('searched before', logs.warmSearchers(RARE_TOOL, LIMIT))
  await tell('just opened', logs.coldSearchers(RARE_TOOL, LIMIT))
  await logs.close()
}

async function benchReaders(
  report: Report,
  name: string,
  title: string,
  contenders: readonly ReadContender[],
  expected: readonly string[],
  rounds: number,
): Promise<void> {
  const check = (entries: readonly unknown[]): void => {
    const ids = (entries as readonly ContextEntry[]).map(({ id }) => id)
    if (ids.join() !== expected.join()) {
      throw new Error('a contender gave other entries')
    }
  }
  const samples = await alternate(contenders, rounds, (contender) => {
    contender.prepare?.()
    const operation = (): PromiseLike<void> | undefined => {
      const found = contender.read()
      return 'then' in found ? found.then(check) : void check(found)
    }
    return sample({ count: contender.most, inFlight: 1, operation })
  })
  const medians = new Map([...samples].map(([contender, list]) => [contender, medianSample(list)]))
  tellSamples(report, 'history', name, title, medians)
}
