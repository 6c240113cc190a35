/** Saving: this package beside what a user would pick instead. */

import { KIND_NAMES, makeRecord, type PayloadKind, type ToolRecord } from './payloads.ts'
import type { Peers } from './peer-packages.ts'
import type { Report } from './report.ts'
import { tellSamples } from './sample-table.ts'
import { medianSample, type Sample, sample } from './sampling.ts'
import { durableContenders, processContenders, type SaveContender } from './save-contenders.ts'
import { benchIndexedSave } from './save-indexed.ts'
import { rotated } from './statistics.ts'
import type { Workspace } from './workspace.ts'

interface Size {
  readonly name: string
  readonly bytes: number
  /** Distinct payloads. */
  readonly pool: number
  /** Saves per sample, by saves in flight. */
  readonly counts: Readonly<Record<number, number>>
  readonly rounds: number
}

const SIZES: readonly Size[] = [
  { name: '1 KB', bytes: 1000, pool: 256, counts: { 1: 128, 8: 256, 64: 512 }, rounds: 7 },
  { name: '32 KB', bytes: 32_000, pool: 128, counts: { 1: 64, 8: 128, 64: 256 }, rounds: 5 },
  { name: '256 KB', bytes: 256_000, pool: 64, counts: { 1: 16, 8: 32, 64: 128 }, rounds: 5 },
  { name: '4 MB', bytes: 4_000_000, pool: 8, counts: { 1: 4, 8: 8, 64: 64 }, rounds: 3 },
]
const QUICK_SIZES = 2
const QUICK_ROUNDS = 3
const KINDS: readonly PayloadKind[] = ['hits', 'text', 'CJK']
const IN_FLIGHT = [1, 8, 64]
/** From this size on a round's room is given back. */
const EMPTIED_BYTES = 32_000
const MAX_WARM_UP = 16

export const DURABLE_CASE = '1 KB hits × 64, durability full'

/** How the report calls a case. */
export function saveCase(size: string, kind: PayloadKind, inFlight: number): string {
  return `${size} ${kind} × ${inFlight}`
}

export async function benchSave(report: Report, peers: Peers, workspace: Workspace, isQuick: boolean): Promise<void> {
  report.heading('Saving')
  report.lines([
    'µs per save; ×: peer ÷ ours, over ×1 this package wins. main: CPU time of the JavaScript thread.',
    'p50, p99: from handing a batch over to the end of a save. delay: the longest event-loop delay.',
    'All save the record { toolName, args, timestamp, result }; peers as JSON text under a name of its own.',
  ])
  const contenders = processContenders(peers)
  for (const size of isQuick ? SIZES.slice(0, QUICK_SIZES) : SIZES) {
    for (const kind of KINDS) {
      const records = Array.from({ length: size.pool }, (_, seed) => makeRecord(kind, size.bytes, seed))
      for (const inFlight of IN_FLIGHT) {
        const name = saveCase(size.name, kind, inFlight)
        const rounds = isQuick ? QUICK_ROUNDS : size.rounds
        const samples = await runCase(contenders, records, size, inFlight, rounds, workspace)
        tellSamples(report, 'save', name, `${size.name}, ${KIND_NAMES[kind]}, ${inFlight} in flight`, samples)
      }
    }
  }
  await benchDurable(report, peers, workspace, isQuick)
  await benchIndexedSave(report, workspace, isQuick)
}

async function benchDurable(report: Report, peers: Peers, workspace: Workspace, isQuick: boolean): Promise<void> {
  const [size] = SIZES
  if (size === undefined) {
    return
  }
  const records = Array.from({ length: size.pool }, (_, seed) => makeRecord('hits', size.bytes, seed))
  const rounds = isQuick ? QUICK_ROUNDS : size.rounds
  const samples = await runCase(durableContenders(peers), records, size, 64, rounds, workspace)
  tellSamples(
    report,
    'save',
    DURABLE_CASE,
    '1 KB, an array of search hits, 64 in flight, surviving the loss of power',
    samples,
  )
}

async function runCase(
  contenders: readonly SaveContender[],
  records: readonly ToolRecord[],
  size: Size,
  inFlight: number,
  rounds: number,
  workspace: Workspace,
): Promise<Map<string, Sample>> {
  const samples = new Map<string, Sample[]>(contenders.map(({ name }) => [name, []]))
  for (const contender of contenders) {
    contender.prepare?.(records)
  }
  // Round 0 warms code and memory up.
  for (let round = 0; round <= rounds; round++) {
    for (const contender of rotated(contenders, round)) {
      const one = await runRound(contender, records, size, inFlight, workspace)
      if (round > 0) {
        samples.get(contender.name)?.push(one)
      }
    }
  }
  return new Map([...samples].map(([name, list]) => [name, medianSample(list)]))
}

async function runRound(
  contender: SaveContender,
  records: readonly ToolRecord[],
  size: Size,
  inFlight: number,
  workspace: Workspace,
): Promise<Sample> {
  const directory = workspace.fresh()
  const store = contender.open(directory)
  const record = (index: number): ToolRecord => records[index % records.length] as ToolRecord
  const count = size.counts[inFlight] ?? inFlight
  const warmUp = Math.min(size.bytes > EMPTIED_BYTES ? 1 : MAX_WARM_UP, inFlight)
  await Promise.all(Array.from({ length: warmUp }, (_, index) => store.save(`warm-up-${index}`, record(index))))
  const one = await sample({
    count,
    inFlight,
    needsTurn: contender.isSynchronous,
    operation: (index) => store.save(`search_text-${index}`, record(index)),
  })
  await store.close()
  if (size.bytes >= EMPTIED_BYTES) {
    workspace.empty(directory)
  }
  return one
}
