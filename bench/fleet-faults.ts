/**
 * Runs in which writers are killed, connections are cut, the server is stopped as by a loss of power, and uploads to a bucket fail or
 * lose their answer. They count acknowledged writes that are lost, doubled or out of order.
 */

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import {
  type BlobsOptions,
  ContextHistory,
  ContextManager,
  ContextStore,
  type StateItem,
  StateStore,
} from '../dist/index.js'
import { contentOf, type FaultJob, type Kind } from './fleet-faults-process.ts'
import { leftBehind } from './fleet-left-behind.ts'
import { blobsOf, type FaultPlan, pathOf } from './fleet-plan.ts'

const WRITER = fileURLToPath(new URL('./fleet-faults-process.ts', import.meta.url))
const WRITERS = 8
/** Between two cuts of all connections, in ms. */
const CUT_EVERY = 700
/** When the server is stopped, and when half of the writers are killed: shares of a run. */
const STOPS = [0.25, 0.6]
const KILLS = [0.4, 0.75]

/** What a run, or several, came to. */
export interface FaultCounts {
  acknowledged: number
  failed: number
  lost: number
  doubled: number
  disordered: number
  killed: number
  cuts: number
  stops: number
}

const NOTHING: Readonly<FaultCounts> = {
  acknowledged: 0,
  failed: 0,
  lost: 0,
  doubled: 0,
  disordered: 0,
  killed: 0,
  cuts: 0,
  stops: 0,
}

/** Runs the plan and prints the counts. Returns whether nothing was lost, doubled, out of order or left behind. */
export async function runFaults(plan: FaultPlan): Promise<boolean> {
  const total = { ...NOTHING }
  const kinds = new Map<Kind, number>()
  console.log('run  acknowledged   failed     lost  doubled  disordered  killed   cuts  stops')
  for (let run = 1; run <= plan.runs; run++) {
    const counts = await runOnce(plan, pathOf(run), kinds)
    for (const name of Object.keys(total) as (keyof FaultCounts)[]) {
      total[name] += counts[name]
    }
    printRow(String(run), counts)
  }
  printRow('all', total)
  console.log(`acknowledged: ${[...kinds].map(([kind, count]) => `${kind} ${count}`).join(', ')}`)
  const { uploads, refused, lost } = plan.bucketProxy.counts()
  console.log(`uploads to the bucket: ${uploads}, of which ${refused} were refused and ${lost} lost their answer`)
  const left = await leftBehind(plan)
  console.log(left.length === 0 ? 'nothing was left behind' : `left behind: ${left.join(', ')}`)
  return total.lost + total.doubled + total.disordered + left.length === 0
}

function printRow(name: string, counts: FaultCounts): void {
  const { acknowledged, failed, lost, doubled, disordered, killed, cuts, stops } = counts
  const columns: [number, number][] = [
    [acknowledged, 12],
    [failed, 8],
    [lost, 8],
    [doubled, 8],
    [disordered, 11],
    [killed, 7],
    [cuts, 6],
    [stops, 6],
  ]
  console.log(name.padStart(3), ...columns.map(([count, width]) => String(count).padStart(width)))
}

async function runOnce(plan: FaultPlan, path: string, kinds: Map<Kind, number>): Promise<FaultCounts> {
  const { server, proxy, bucketProxy, seconds } = plan
  const blobs = blobsOf(plan)
  const directory = mkdtempSync(join(tmpdir(), 'agent-context-faults-'))
  const counts = { ...NOTHING }
  const url = `postgres://agent@127.0.0.1:${proxy.port}/postgres`
  const begin = Date.now()
  const end = begin + seconds * 1000
  const files: string[] = []
  const start = (): ChildProcess => {
    const writer = files.length
    const acknowledged = join(directory, String(writer))
    files.push(acknowledged)
    const child = fork(WRITER, { execArgv: ['--import', 'tsx'] })
    const rest = Math.max(0.1, (end - Date.now()) / 1000)
    const job: FaultJob = { url, blobs, path, writer, acknowledged, seconds: rest }
    child.send(job)
    return child
  }
  bucketProxy.setFaults(true)
  const writers = Array.from({ length: WRITERS }, start)
  const due = (shares: readonly number[], done: number): boolean =>
    done < shares.length && Date.now() > begin + (shares[done] ?? 1) * seconds * 1000
  let kills = 0
  while (Date.now() < end) {
    await setTimeout(CUT_EVERY)
    proxy.cut()
    counts.cuts++
    if (due(KILLS, kills)) {
      for (let place = kills % 2; place < WRITERS; place += 2) {
        writers[place]?.kill('SIGKILL')
        writers[place] = start()
        counts.killed++
      }
      kills++
    }
    if (due(STOPS, counts.stops)) {
      server.stop('immediate')
      server.start()
      counts.stops++
    }
  }
  await Promise.all(writers.map((writer) => (writer.exitCode === null ? once(writer, 'exit') : undefined)))
  bucketProxy.setFaults(false)
  const lines = files.filter(existsSync).flatMap((file) => readFileSync(file, 'utf8').split('\n').slice(0, -1))
  rmSync(directory, { recursive: true, force: true })
  await compare(lines, { path, storage: server.url, blobs }, counts, kinds)
  return counts
}

interface Where {
  readonly path: string
  readonly storage: string
  readonly blobs: BlobsOptions
}

/** Compares what was acknowledged with what is stored. */
async function compare(
  lines: readonly string[],
  where: Where,
  counts: FaultCounts,
  kinds: Map<Kind, number>,
): Promise<void> {
  const acknowledged = new Map<Kind | 'failed', Map<string, string>>()
  for (const line of lines) {
    const [kind, id = '', answer = ''] = line.split(' ')
    const known = acknowledged.get(kind as Kind) ?? new Map<string, string>()
    acknowledged.set(kind as Kind, known.set(id, answer))
  }
  const of = (kind: Kind | 'failed'): Map<string, string> => acknowledged.get(kind) ?? new Map()
  counts.failed += of('failed').size
  counts.acknowledged += lines.length - of('failed').size

  const count = (kind: Kind, stored: readonly string[]): void => {
    const known = new Set(stored)
    kinds.set(kind, (kinds.get(kind) ?? 0) + of(kind).size)
    counts.lost += [...of(kind).keys()].filter((id) => !known.has(id)).length
    counts.doubled += stored.length - known.size
  }
  const history = new ContextHistory(where)
  const entries = (await history.read(Number.MAX_SAFE_INTEGER)).map(({ summary }) => summary ?? '')
  await history.close()
  count('entry', entries)
  counts.disordered += disordered(entries)

  const manager = new ContextManager({ contextDir: where.path, storage: where.storage, blobs: where.blobs })
  const contexts = await manager.listContexts()
  count(
    'context',
    contexts.map(({ args }) => String(args['id'])),
  )
  for (const [id, path] of of('context')) {
    const { result } = await manager.loadContext(path).catch(() => ({ result: undefined }))
    counts.lost += result === contentOf(id) ? 0 : 1
  }
  await manager.close()

  const store = new ContextStore({ ...where, agent: 'reader' })
  count(
    'finding',
    (await store.search({ limit: Number.MAX_SAFE_INTEGER })).map(({ content }) => content.trim()),
  )
  await store.close()

  const state = new StateStore(where)
  const items = await itemsOf(state)
  const keys = (kind: Kind): string[] => items.filter(({ namespace }) => namespace[0] === kind).map(({ key }) => key)
  for (const kind of ['put', 'batch', 'transaction'] as const) {
    count(kind, keys(kind))
  }
  for (const { namespace, key, value } of items) {
    const below = (kind: Kind): string[] =>
      items.filter((item) => item.namespace[0] === kind && item.namespace[1] === key).map((item) => item.key)
    if (namespace[0] === 'latest') {
      // Another batch was written after the latest one of the caller.
      counts.disordered += numberOf((value as { id: string }).id) < Math.max(...below('batch').map(numberOf)) ? 1 : 0
    } else if (namespace[0] === 'count') {
      // A transaction that was carried out twice counted twice.
      counts.doubled += (value as { count: number }).count - below('transaction').length
    }
  }
  await state.close()
}

async function itemsOf(state: StateStore): Promise<StateItem[]> {
  const found: StateItem[] = []
  for (let cursor: string | undefined; ; ) {
    const page = await state.list([], { limit: 1000, ...(cursor === undefined ? {} : { cursor }) })
    found.push(...page.items)
    cursor = page.cursor
    if (cursor === undefined) {
      return found
    }
  }
}

const numberOf = (id: string): number => Number(id.split('-').at(-1))

/** How many ids of a caller come after one of the caller's later calls. */
function disordered(ids: readonly string[]): number {
  const last = new Map<string, number>()
  return ids.filter((id) => {
    const caller = id.slice(0, id.lastIndexOf('-'))
    const before = last.get(caller) ?? -1
    last.set(caller, Math.max(before, numberOf(id)))
    return numberOf(id) < before
  }).length
}
