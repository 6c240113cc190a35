/**
 * Runs in which writers are killed, connections are cut and the server is stopped as by a loss of power. They count acknowledged
 * writes that are lost, doubled or out of order, and look for what ended processes have left behind.
 */

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { PostgresServer } from '../__test__/support/postgres.ts'
import { ContextHistory, ContextManager, ContextStore, type StateItem, StateStore } from '../dist/index.js'
import { contentOf, type FaultJob, type Kind } from './fleet-faults-process.ts'
import type { DelayingProxy } from './fleet-proxy.ts'

const WRITER = fileURLToPath(new URL('./fleet-faults-process.ts', import.meta.url))
const WRITERS = 8
/** Between two cuts of all connections, in ms. */
const CUT_EVERY = 700
/** When the server is stopped, and when half of the writers are killed: shares of a run. */
const STOPS = [0.25, 0.6]
const KILLS = [0.4, 0.75]
/** A process that is ended loses its locks and its session after this time, in ms. */
const LEASE = 6000

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

export interface FaultPlan {
  readonly server: PostgresServer
  readonly proxy: DelayingProxy
  readonly runs: number
  readonly seconds: number
}

/** Runs the plan and prints the counts. Returns whether nothing was lost, doubled, out of order or left behind. */
export async function runFaults(plan: FaultPlan): Promise<boolean> {
  const total = { ...NOTHING }
  const kinds = new Map<Kind, number>()
  console.log('run  acknowledged   failed     lost  doubled  disordered  killed   cuts  stops')
  for (let run = 1; run <= plan.runs; run++) {
    const counts = await runOnce(plan, `/faults/${run}`, kinds)
    for (const name of Object.keys(total) as (keyof FaultCounts)[]) {
      total[name] += counts[name]
    }
    printRow(String(run), counts)
  }
  printRow('all', total)
  console.log(`acknowledged: ${[...kinds].map(([kind, count]) => `${kind} ${count}`).join(', ')}`)
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

async function runOnce(
  { server, proxy, seconds }: FaultPlan,
  path: string,
  kinds: Map<Kind, number>,
): Promise<FaultCounts> {
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
    const job: FaultJob = { url, path, writer, acknowledged, seconds: Math.max(0.1, (end - Date.now()) / 1000) }
    child.send(job)
    return child
  }
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
  const lines = files.filter(existsSync).flatMap((file) => readFileSync(file, 'utf8').split('\n').slice(0, -1))
  rmSync(directory, { recursive: true, force: true })
  await compare(lines, { path, storage: server.url }, counts, kinds)
  return counts
}

interface Where {
  readonly path: string
  readonly storage: string
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

  const manager = new ContextManager({ contextDir: where.path, storage: where.storage })
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

/** What remains of ended processes beyond the limits, which the tables' times are moved to. */
async function leftBehind({ server, runs }: FaultPlan): Promise<string[]> {
  await setTimeout(LEASE + 1000)
  const storage = server.url
  const past = `(extract(epoch FROM now()) * 1000000)::bigint`
  // Unfinished files are removed after a day, owners of locks an hour after their last heartbeat.
  server.sql(`UPDATE agent_context.file SET modified = modified - 86400000000 WHERE directory = 'unfinished'`)
  server.sql(`UPDATE agent_context.lock_owner SET until = until - 3600000000 WHERE until < ${past}`)
  for (let run = 1; run <= runs; run++) {
    const path = `/faults/${run}`
    const manager = new ContextManager({ contextDir: path, storage, sessionId: 'cleaner' })
    await manager.saveContext('long', {}, 'x'.repeat(2_000_000))
    await manager.sweep()
    await manager.clear()
    await manager.close()
    const [state, store] = [new StateStore({ path, storage }), new ContextStore({ path, storage, agent: 'cleaner' })]
    await state.sweep()
    await store.write({ type: 'finding', slug: 'last', content: 'The locks of the store are free.' })
    await Promise.all([state.close(), store.close()])
  }
  // One heartbeat.
  const manager = new ContextManager({ contextDir: '/faults/1', storage, sessionId: 'cleaner' })
  await manager.saveContext('long', {}, 'x'.repeat(2_000_000))
  await setTimeout(4000)
  await manager.clear()
  await manager.close()
  const queries: Readonly<Record<string, string>> = {
    'parts without a file': 'part AS p WHERE NOT EXISTS (SELECT 1 FROM agent_context.file WHERE id = p.file)',
    'unfinished files': "file WHERE directory = 'unfinished'",
    'leases of ended processes': "file WHERE name LIKE '%.lease'",
    'temporary files': "file WHERE name LIKE '%.tmp'",
    'locks without a file': 'lock AS l WHERE NOT EXISTS (SELECT 1 FROM agent_context.file WHERE id = l.file)',
    'locks of ended processes': `lock AS l WHERE NOT EXISTS (SELECT 1 FROM agent_context.lock_owner WHERE id = l.owner AND until > ${past})`,
    'owners of locks': `lock_owner WHERE until < ${past}`,
    'parts of values without an item':
      'document_chunk AS c WHERE NOT EXISTS (SELECT 1 FROM agent_context.document AS d WHERE d.store = c.store AND d.sequence = c.sequence)',
  }
  return Object.entries(queries).flatMap(([name, from]) => {
    const count = Number(server.sql(`SELECT count(*) FROM agent_context.${from}`))
    return count === 0 ? [] : [`${count} ${name}`]
  })
}
