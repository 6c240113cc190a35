/**
 * The process behind `hostile-saves.ts`: `hostile-saves-process.ts DIRECTORY TARGET TEXT MEGABYTES SAVES`; prints a
 * `HostileRun` as JSON. Small calls of every kind go on, one at a time of each, while texts that are slow to redact
 * are saved.
 */

import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import process from 'node:process'
import { setTimeout } from 'node:timers/promises'
import { ContextHistory, ContextManager, ContextStore, RepoMemory } from '../dist/index.js'
import { watchLoopDelay } from './loop-delay.ts'
import { collectGarbage } from './statistics.ts'

export interface HostileRun {
  /** The longest call of each kind in ms, without large saves and beside them. */
  readonly idle: Readonly<Record<string, number>>
  readonly beside: Readonly<Record<string, number>>
  /** Calls of each kind that were timed beside large saves. */
  readonly calls: Readonly<Record<string, number>>
  /** ms of the JavaScript thread inside the call that starts a large save, the longest. */
  readonly start: number
  /** ms until all large saves were acknowledged. */
  readonly saved: number
  /** The event loop's longest delay in ms. */
  readonly delay: number
  /** Peak RSS in MB. */
  readonly rss: number
}

export const TEXTS: Readonly<Record<string, (bytes: number) => string>> = {
  ampersands: (bytes) => 'token='.repeat(2700) + '&'.repeat(bytes - 16_200),
  signatures: (bytes) => 'sig='.repeat(bytes / 4),
  commands: (bytes) => 'curl '.repeat(bytes / 5),
  prose: (bytes) => 'The build failed: two of 31 tests ended with an error.\n'.repeat(bytes / 55),
}

/** Where the large texts go. */
export type Target = 'manager' | 'history' | 'store'

const PAUSE = 3
const IDLE_TIME = 1000
const KILOBYTES = 1000
const NOTE = '00000000-0000-4000-8000-000000000000'
const SEED_TEXT = 'A short output that is searched for: the walrus.'

const [directory = '', target = 'manager', textName = '', megabytes = '0', saves = '0'] = process.argv.slice(2)
const makeText = TEXTS[textName]
if (makeText === undefined) {
  throw new Error(`no text is called ${textName}`)
}
// From bytes, as tools read it: repeated strings would be joined inside the call that is timed.
const text = Buffer.from(makeText(Number(megabytes) * 2 ** 20)).toString()

const manager = new ContextManager({ contextDir: join(directory, 'context') })
const otherManager = new ContextManager({ contextDir: join(directory, 'other-context') })
const history = new ContextHistory({ path: join(directory, 'history.jsonl') })
const otherHistory = new ContextHistory({ path: join(directory, 'other-history.jsonl') })
const store = new ContextStore({ agent: 'agent', path: join(directory, 'store') })
const otherStore = new ContextStore({ agent: 'agent', path: join(directory, 'other-store') })
const memory = await RepoMemory.open({ repoHash: 'a'.repeat(64), root: join(directory, 'memory') })

const entry = { toolName: 'run', params: {}, result: 'done', success: true }
const finding = { type: 'finding', slug: 'walrus', content: SEED_TEXT } as const
const path = await manager.saveContext('read', { path: 'notes.txt' }, SEED_TEXT.repeat(1000))
await Promise.all([history.append(entry), otherHistory.append(entry), otherManager.saveContext('read', {}, SEED_TEXT)])
const { path: entryPath } = await store.write(finding)
await otherStore.write(finding)

let number = 0
/** Small calls by their names: on the object that takes the large texts, and on others. */
const PROBES: Readonly<Record<string, () => Promise<unknown>>> = {
  'saveContext, same': () => manager.saveContext('run', { number: number++ }, 'fine.'),
  'saveContext, other': () => otherManager.saveContext('run', { number: number++ }, 'fine.'),
  readContext: () => manager.readContext(path, { lines: { from: 1, to: 2 } }),
  loadContext: () => manager.loadContext(path),
  search: () => manager.search('walrus', { limit: 1 }),
  'append, same': () => history.append(entry),
  'append, other': () => otherHistory.append(entry),
  'history.read': () => history.read(1),
  'history.search': () => history.search({ toolName: 'run', limit: 1 }),
  'write, same': () => store.write({ ...finding, slug: `number ${number++}` }),
  'write, other': () => otherStore.write({ ...finding, slug: `number ${number++}` }),
  'store.read': () => store.read(entryPath),
  upsertNote: () => memory.upsertNote({ id: NOTE, content: `number ${number++}`, source: 'agent' }),
}

/** Makes calls of each kind until `until` settles; the longest of each, and how many there were. */
async function probe(until: Promise<unknown>): Promise<[Record<string, number>, Record<string, number>]> {
  const longest: Record<string, number> = {}
  const calls: Record<string, number> = {}
  let isOver = false
  const over = until.finally(() => {
    isOver = true
  })
  const probes = Object.entries(PROBES).map(async ([name, call]) => {
    while (!isOver) {
      const begin = performance.now()
      await call()
      longest[name] = Math.max(longest[name] ?? 0, performance.now() - begin)
      calls[name] = (calls[name] ?? 0) + 1
      await setTimeout(PAUSE)
    }
  })
  await Promise.all([over, ...probes])
  return [longest, calls]
}

function saveLarge(): Promise<unknown> {
  switch (target as Target) {
    case 'manager':
      return manager.saveContext('fetch', { number: number++ }, text)
    case 'history':
      return history.append({ ...entry, toolName: 'fetch', result: text })
    case 'store':
      return store.write({ ...finding, slug: `large ${number++}`, content: text })
  }
}

let start = 0
async function saveAll(): Promise<void> {
  await setTimeout(PAUSE)
  const saved: Promise<unknown>[] = []
  for (let index = 0; index < Number(saves); index++) {
    const begin = performance.now()
    saved.push(saveLarge())
    start = Math.max(start, performance.now() - begin)
    await setTimeout(PAUSE)
  }
  await Promise.all(saved)
}

await probe(setTimeout(IDLE_TIME)) // warms up
collectGarbage()
const [idle] = await probe(setTimeout(IDLE_TIME))
collectGarbage()
const stopWatching = await watchLoopDelay()
const begin = performance.now()
let saved = 0
const all = saveAll().then(() => {
  saved = performance.now() - begin
})
const [beside, calls] = await probe(all)
const delay = await stopWatching()
const rss = process.resourceUsage().maxRSS / KILOBYTES
const run: HostileRun = { idle, beside, calls, start, saved, delay, rss }
process.stdout.write(`${JSON.stringify(run)}\n`)
process.exit()
