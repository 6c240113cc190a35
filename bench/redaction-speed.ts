/** How fast secrets are found, and what it costs the JavaScript thread. */

import { redactValue } from '../dist/index.js'
import { makeRecord } from './payloads.ts'
import type { Redact } from './redaction-cases.ts'
import { type RedactionContender, RULES_ALONE } from './redaction-contenders.ts'
import { asValues, denseTexts, ordinaryTexts } from './redaction-texts.ts'
import { figure, type Report, ratio } from './report.ts'
import { tellSamples } from './sample-table.ts'
import { medianSample, type Sample, sample } from './sampling.ts'
import { OURS, type SaveContender, savingWith } from './save-contenders.ts'
import { collectGarbage, median, rotated } from './statistics.ts'
import { threadClock, threadTimeSince } from './thread-time.ts'
import type { Workspace } from './workspace.ts'

export const ORDINARY = 'ordinary output'
export const DENSE = 'secret-dense text'
const MEGABYTE = 2 ** 20
const DENSE_BYTES = 4 * MEGABYTE
const ROUNDS = 5
const QUICK_ROUNDS = 2
/** Of the texts, in a quick run. */
const QUICK_SHARE = 0.25

interface Load {
  readonly name: string
  readonly texts: readonly string[]
  /** The same as values. */
  readonly values: readonly object[]
}

/** A way from texts or values to what may be stored. */
interface Way {
  readonly name: string
  readonly megabytes: number
  readonly run: () => Promise<void>
}

export async function benchSpeed(
  report: Report,
  contenders: readonly RedactionContender[],
  isQuick: boolean,
): Promise<void> {
  report.heading('Speed')
  report.lines([`MB/s of UTF-8 on one core: CPU time of the JavaScript thread, on which all of them work here`])
  const share = isQuick ? QUICK_SHARE : 1
  const [ordinary, dense] = [ordinaryTexts(share), denseTexts(DENSE_BYTES * share)]
  const loads: readonly Load[] = [
    { name: ORDINARY, texts: ordinary, values: asValues(ordinary) },
    { name: DENSE, texts: dense, values: asValues(dense) },
  ]
  for (const load of loads) {
    await tellSpeeds(report, load.name, textWays(load, contenders), isQuick)
    await tellSpeeds(report, `${load.name} as JSON values`, valueWays(load, contenders), isQuick)
  }
}

function textWays({ texts }: Load, contenders: readonly RedactionContender[]): Way[] {
  const megabytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0) / MEGABYTE
  return contenders.map(({ name, redact }) => ({ name, megabytes, run: () => runAll(texts, redact) }))
}

async function runAll(texts: readonly string[], redact: Redact): Promise<void> {
  for (const text of texts) {
    await redact(text)
  }
}

/** Peers get the JSON text, in which escapes hide parts of secrets from them. */
function valueWays({ values }: Load, contenders: readonly RedactionContender[]): Way[] {
  const megabytes = values.reduce((sum, value) => sum + Buffer.byteLength(JSON.stringify(value)), 0) / MEGABYTE
  return contenders.map(({ name, redact }) => ({
    name,
    megabytes,
    run: async () => {
      for (const value of values) {
        await (name === OURS ? redactValue(value, RULES_ALONE) : redact(JSON.stringify(value)))
      }
    },
  }))
}

async function tellSpeeds(report: Report, title: string, ways: readonly Way[], isQuick: boolean): Promise<void> {
  const times = new Map<string, number[]>(ways.map(({ name }) => [name, []]))
  // Round 0 warms code and memory up.
  for (let round = 0; round <= (isQuick ? QUICK_ROUNDS : ROUNDS); round++) {
    for (const { name, run } of rotated(ways, round)) {
      collectGarbage()
      const start = threadClock.read()
      await run()
      const time = threadTimeSince(start)
      if (round > 0) {
        times.get(name)?.push(time)
      }
    }
  }
  const speeds = ways.map(({ name, megabytes }) => ({ name, speed: megabytes / (median(times.get(name) ?? []) / 1e6) }))
  const ours = speeds.find(({ name }) => name === OURS)?.speed ?? Number.NaN
  for (const { name, speed } of speeds) {
    report.measure({ section: 'redaction', case: title, contender: name, values: { megabytesPerSecond: speed } })
  }
  report.table({
    title: `${title}, ${figure(ways[0]?.megabytes ?? 0)} MB`,
    columns: ['', 'MB/s', '×'],
    rows: speeds.map(({ name, speed }) => [name, figure(speed), name === OURS ? '' : ratio(ours, speed)]),
  })
}

interface Saves {
  readonly name: string
  readonly bytes: number
  readonly count: number
}

const SAVES: readonly Saves[] = [
  { name: '1 KB', bytes: 1000, count: 512 },
  { name: '32 KB', bytes: 32_000, count: 256 },
]
const IN_FLIGHT = 64
const SAVE_ROUNDS = 7
const OFF = `${OURS}, redaction: false`

/** What a save costs with redaction and without. */
export async function benchRedactedSaves(report: Report, workspace: Workspace, isQuick: boolean): Promise<void> {
  report.heading('Saving')
  report.lines(['µs per save; main: CPU time of the JavaScript thread; ×: without ÷ with redaction'])
  const contenders = [savingWith(OURS, {}), savingWith(OFF, { redaction: false })]
  for (const size of SAVES) {
    for (const kind of ['hits', 'text'] as const) {
      const records = Array.from({ length: 64 }, (_, seed) => makeRecord(kind, size.bytes, seed))
      const samples = new Map<string, Sample[]>(contenders.map(({ name }) => [name, []]))
      for (let round = 0; round <= (isQuick ? QUICK_ROUNDS : SAVE_ROUNDS); round++) {
        for (const contender of rotated(contenders, round)) {
          const one = await runSaves(contender, records, size, workspace)
          if (round > 0) {
            samples.get(contender.name)?.push(one)
          }
        }
      }
      const medians = new Map([...samples].map(([name, list]) => [name, medianSample(list)]))
      const title = `${size.name} ${kind} × ${IN_FLIGHT}`
      tellSamples(report, 'redaction', title, title, medians)
    }
  }
}

async function runSaves(
  contender: SaveContender,
  records: readonly ReturnType<typeof makeRecord>[],
  { count }: Saves,
  workspace: Workspace,
): Promise<Sample> {
  const directory = workspace.fresh()
  const store = contender.open(directory)
  const record = (index: number) => records[index % records.length] as ReturnType<typeof makeRecord>
  await Promise.all(records.map((_, index) => store.save('', record(index))))
  const one = await sample({ count, inFlight: IN_FLIGHT, operation: (index) => store.save('', record(index)) })
  await store.close()
  workspace.empty(directory)
  return one
}
