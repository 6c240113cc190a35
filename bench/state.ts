/**
 * `StateStore` beside other keyed stores: `npm run bench:state [-- --quick]`. Per operation: wall time, and CPU time of the JavaScript
 * thread, in µs; the median of several rounds that take turns, and how many times that of `StateStore` it is.
 */

import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import process from 'node:process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { describeMachine, loadLine } from './machine.ts'
import { Peers } from './peer-packages.ts'
import { CONTENDERS, type Contender, PEERS } from './state-contenders.ts'
import { median } from './statistics.ts'
import { threadClock, threadTimeSince } from './thread-time.ts'

const isQuick = process.argv.includes('--quick')
const ROUNDS = isQuick ? 3 : 9
const SIZES = { '300 B': 300, '4 KB': 4096, '64 KB': 65_536 }
const LISTED = 1000
const PROCESSES = 8
/** Of each process, with 8 puts and 8 gets each. */
const CALLS = isQuick ? 20 : 100

interface Sample {
  readonly wall: number[]
  readonly thread: number[]
}

type Work = (contender: Contender, round: number) => Promise<void>

/** Lines of a table: what every contender takes for one operation. */
function printLines(title: string, samples: ReadonlyMap<string, Sample>): void {
  const [own] = [...samples.values()]
  const ownWall = median(own?.wall ?? [])
  const ownThread = median(own?.thread ?? [])
  for (const [name, { wall, thread }] of samples) {
    const [wallMedian, threadMedian] = [median(wall), median(thread)]
    const ratios = `${(wallMedian / ownWall).toFixed(2)} | ${(threadMedian / ownThread).toFixed(2)}`
    console.log(`| ${title} | ${name} | ${wallMedian.toFixed(1)} | ${threadMedian.toFixed(1)} | ${ratios} |`)
  }
}

async function measure(title: string, count: number, contenders: readonly Contender[], work: Work): Promise<void> {
  const samples = new Map(contenders.map(({ name }) => [name, { wall: [] as number[], thread: [] as number[] }]))
  for (let round = -1; round < ROUNDS; round++) {
    for (const contender of contenders) {
      const [start, threadStart] = [performance.now(), threadClock.read()]
      await work(contender, round + 1)
      const [busy, elapsed] = [threadTimeSince(threadStart), performance.now() - start]
      // The first round warms up.
      if (round >= 0) {
        samples.get(contender.name)?.wall.push((elapsed * 1000) / count)
        samples.get(contender.name)?.thread.push(busy / count)
      }
    }
  }
  printLines(title, samples)
}

/** Several processes on one store; `undefined` where one of them fails. */
async function runProcesses(
  contender: number,
  directory: string,
): Promise<{ wall: number; thread: number } | undefined> {
  const script = fileURLToPath(new URL('./state-process.ts', import.meta.url))
  const children = Array.from({ length: PROCESSES }, (_, number) => {
    const parameters = [contender, directory, number, CALLS].map(String)
    const child = spawn(process.execPath, ['--import', 'tsx', script, ...parameters], {
      stdio: ['pipe', 'pipe', 'ignore'],
    })
    const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
    const ended = new Promise<boolean>((resolve) => child.once('close', (code) => resolve(code === 0)))
    return { child, lines, ended }
  })
  await Promise.all(children.map(({ lines }) => lines.next()))
  const start = performance.now()
  for (const { child } of children) {
    child.stdin.write('go\n')
  }
  const busy = await Promise.all(children.map(async ({ lines }) => Number((await lines.next()).value)))
  const elapsed = performance.now() - start
  const isWell = (await Promise.all(children.map(({ ended }) => ended))).every(Boolean)
  const count = PROCESSES * CALLS * 16
  const thread = busy.reduce((sum, time) => sum + time, 0) / count
  return isWell ? { wall: (elapsed * 1000) / count, thread } : undefined
}

async function measureProcesses(directory: string, names: ReadonlyMap<number, string>): Promise<void> {
  const samples = new Map([...names.values()].map((name) => [name, { wall: [] as number[], thread: [] as number[] }]))
  const title = `put and get of 4 KB, 8 in flight, ${PROCESSES} processes`
  for (let round = 0; round < Math.ceil(ROUNDS / 3); round++) {
    for (const [number, name] of names) {
      const taken = await runProcesses(number, directory)
      if (taken === undefined) {
        samples.delete(name)
        console.log(`| ${title} | ${name} | failed | | | |`)
        continue
      }
      samples.get(name)?.wall.push(taken.wall)
      samples.get(name)?.thread.push(taken.thread)
    }
  }
  printLines(title, samples)
}

async function main(): Promise<void> {
  const peers = await Peers.load(PEERS)
  for (const line of describeMachine(peers)) {
    console.log(line)
  }
  const directory = mkdtempSync(join(tmpdir(), 'agent-context-bench-'))
  const contenders: Contender[] = []
  const names = new Map<number, string>()
  for (const [number, make] of CONTENDERS.entries()) {
    const contender = await make(directory, peers)
    if (contender !== undefined) {
      contenders.push(contender)
      names.set(number, contender.name)
    }
  }
  console.log('\n| operation | store | wall, µs | JavaScript thread, µs | wall, ratio | thread, ratio |')
  console.log('|---|---|--:|--:|--:|--:|')
  for (const [size, bytes] of Object.entries(SIZES)) {
    const value = { role: 'assistant', text: 'word '.repeat(bytes / 5) }
    for (const inFlight of [1, 64]) {
      const calls = Math.max(1, Math.floor((isQuick ? 128 : 512) / inFlight))
      const count = calls * inFlight
      const keysOf = (round: number, call: number): string[] =>
        Array.from({ length: inFlight }, (_, index) => `${size}-${inFlight}-${round % 2}-${call * inFlight + index}`)
      await measure(`put ${size}, ${inFlight} in flight`, count, contenders, async (contender, round) => {
        for (let call = 0; call < calls; call++) {
          await contender.put(keysOf(round, call), value)
        }
      })
      await measure(`get ${size}, ${inFlight} in flight`, count, contenders, async (contender, round) => {
        for (let call = 0; call < calls; call++) {
          await contender.get(keysOf(round, call))
        }
      })
    }
  }
  const listing = contenders.filter(({ list }) => list !== undefined)
  for (const contender of listing) {
    await contender.put(
      Array.from({ length: LISTED }, (_, index) => `listed-${index}`),
      { text: 'x'.repeat(300) },
    )
  }
  await measure(`list ${LISTED} of 300 B`, 1, listing, async (contender) => {
    const found = await contender.list?.('listed-', LISTED)
    if (found?.length !== LISTED) {
      throw new Error(`${contender.name} lists ${found?.length} items`)
    }
  })
  await measureProcesses(directory, names)
  console.log(`\n${loadLine()}`)
  for (const contender of contenders) {
    await contender.close()
  }
  rmSync(directory, { recursive: true })
}

await main()
