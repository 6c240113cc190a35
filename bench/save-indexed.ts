/** What indexing costs the JavaScript thread when saving: nothing, if it is done elsewhere. And whether it is done. */

import process from 'node:process'
import { ContextManager } from '../dist/index.js'
import { makeRecord, type ToolRecord } from './payloads.ts'
import { figure, type Report } from './report.ts'
import { tellSamples } from './sample-table.ts'
import { medianSample, type Sample, sample } from './sampling.ts'
import { OURS } from './save-contenders.ts'
import { makeOutput, type Output, withoutWords } from './search-outputs.ts'
import { median, rotated } from './statistics.ts'
import type { Workspace } from './workspace.ts'

interface Size {
  readonly name: string
  readonly bytes: number
  /** Saves per round. */
  readonly count: number
}

interface Contender {
  readonly name: string
  /** Outputs in the index before. */
  readonly indexedBefore: number
  readonly hasWords: boolean
}

interface Round {
  readonly sample: Sample
  /** µs of all threads per save, until the saves can be found. */
  readonly allThreads: number
  /** The share of the saves that a search for words of their results finds right after. */
  readonly found: number
}

const SIZES: readonly Size[] = [
  { name: '1 KB', bytes: 1000, count: 512 },
  { name: '32 KB', bytes: 32_000, count: 256 },
]
const WARM_INDEX = 5000
const IN_FLIGHT = 64
const WARM_UP = 16
const POOL = 128
const ROUNDS = 5
const QUICK_ROUNDS = 2
const CONTENDERS: readonly Contender[] = [
  { name: OURS, indexedBefore: 0, hasWords: true },
  { name: `${OURS}, ${WARM_INDEX} outputs indexed before`, indexedBefore: WARM_INDEX, hasWords: true },
  { name: `${OURS}, nothing to index`, indexedBefore: 0, hasWords: false },
]
/** Every payload has one of them in its result, and in nothing else. */
const RESULT_WORDS = 'return await export function import interface readonly'

export const FOUND_CASE = 'found right after saving'

export async function benchIndexedSave(report: Report, workspace: Workspace, isQuick: boolean): Promise<void> {
  let leastFound = 1
  for (const size of SIZES) {
    const rounds = await runSize(size, workspace, isQuick ? QUICK_ROUNDS : ROUNDS)
    const samples = new Map([...rounds].map(([name, list]) => [name, medianSample(list.map((one) => one.sample))]))
    const title = `${size.name}, one file's text, ${IN_FLIGHT} in flight, with and without something to index`
    tellSamples(report, 'save', `${size.name} text × ${IN_FLIGHT}, indexing`, title, samples)
    for (const [name, list] of rounds) {
      const found = Math.min(...list.map((one) => one.found))
      const share = Number.isNaN(found) ? '' : `; ${figure(100 * found)} % found by their results right after`
      report.lines([`${name}: ${figure(median(list.map((one) => one.allThreads)))} µs of all threads per save${share}`])
      leastFound = Math.min(leastFound, Number.isNaN(found) ? 1 : found)
    }
  }
  report.measure({ section: 'save', case: FOUND_CASE, contender: OURS, values: { percent: 100 * leastFound } })
}

async function runSize(size: Size, workspace: Workspace, rounds: number): Promise<Map<string, Round[]>> {
  const records = Array.from({ length: POOL }, (_, seed) => asOutput(makeRecord('text', size.bytes, seed)))
  const blanks = records.map(withoutWords)
  const results = new Map<string, Round[]>(CONTENDERS.map(({ name }) => [name, []]))
  // Round 0 warms code and memory up.
  for (let round = 0; round <= rounds; round++) {
    for (const contender of rotated(CONTENDERS, round)) {
      const directory = workspace.fresh()
      const one = await runRound(contender, contender.hasWords ? records : blanks, size, directory)
      workspace.empty(directory)
      if (round > 0) {
        results.get(contender.name)?.push(one)
      }
    }
  }
  return results
}

function asOutput({ toolName, args, result }: ToolRecord): Output {
  return { toolName, args: { path: String(args['path']) }, result: String(result) }
}

async function runRound(
  contender: Contender,
  outputs: readonly Output[],
  size: Size,
  directory: string,
): Promise<Round> {
  const manager = new ContextManager({ contextDir: directory })
  const save = ({ toolName, args, result }: Output): Promise<string> => manager.saveContext(toolName, args, result)
  const outputOf = (index: number): Output => outputs[index % outputs.length] as Output
  // Does not match: were nothing found, every context would be given, this one among them.
  const other = await manager.saveContext('other', {}, null)
  const { indexedBefore } = contender
  for (let first = 0; first < indexedBefore; first += IN_FLIGHT) {
    const length = Math.min(IN_FLIGHT, indexedBefore - first)
    await Promise.all(Array.from({ length }, (_, offset) => save(makeOutput(first + offset))))
  }
  await Promise.all(Array.from({ length: WARM_UP }, (_, index) => save(outputOf(index))))
  const saved = new Set<string>()
  const usage = process.cpuUsage()
  const one = await sample({
    count: size.count,
    inFlight: IN_FLIGHT,
    operation: (index) => save(outputOf(index)).then((path) => saved.add(path)),
  })
  const chosen = await manager.selectContexts(RESULT_WORDS)
  const { user, system } = process.cpuUsage(usage)
  const paths = chosen.map(({ filepath }) => filepath)
  const found = paths.includes(other) ? 0 : paths.filter((path) => saved.has(path)).length / size.count
  await manager.close()
  return { sample: one, allThreads: (user + system) / size.count, found: contender.hasWords ? found : Number.NaN }
}
