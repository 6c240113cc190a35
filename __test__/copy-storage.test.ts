/** `copyStorage` and `agent-context copy`: from directories to PostgreSQL and back, interrupted, and beside what differs. */

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import {
  type ContextEntry,
  ContextHistory,
  ContextManager,
  ContextStore,
  copyStorage,
  RepoMemory,
  StateStore,
} from '../dist/index.js'
import { agentContext, agentContextJson, schemaProblems } from './support/command-line.ts'
import { rejectsWith } from './support/fixtures.ts'
import { hasPostgres, type PostgresServer, startPostgres } from './support/postgres.ts'
import { contextsIn, holds, PATIENT, run, start } from './support/processes.ts'

const HASH = 'ab'.repeat(32)
const PARTS = ['contextDir', 'history', 'store', 'memory', 'state'] as const
type Place = Readonly<Record<(typeof PARTS)[number], string>> & { readonly storage?: string }

const placesIn = (folder: string, storage?: string): Place => ({
  contextDir: join(folder, 'context'),
  history: join(folder, 'history.jsonl'),
  store: join(folder, 'store'),
  memory: join(folder, 'memory'),
  state: join(folder, 'state.db'),
  ...(storage === undefined ? {} : { storage }),
})

/** What every class can hold. */
async function fill({ storage, ...place }: Place): Promise<void> {
  const manager = new ContextManager({ contextDir: place.contextDir, sessionId: 'paused', resume: true, storage })
  await manager.saveContext('small', { a: 1 }, { text: 'é\u2028', list: [1.5, null] })
  await manager.saveContext('long', {}, 'line\r\nother\n'.repeat(60_000))
  await manager.saveContext('screenshot', {}, { width: 2, image: new Uint8Array([0x89, 0x50, 0, 255]) })
  await manager.offload('offloaded', {}, 'output '.repeat(10_000), { threshold: 100 })
  await manager.close()
  const history = new ContextHistory({ path: place.history, storage })
  for (let index = 0; index < 20; index++) {
    await history.append({
      toolName: 'grep',
      params: { index },
      result: [index],
      operationId: `operation ${index}`,
      note: 'kept',
    })
  }
  await history.compact({ keepLast: 12, summarise: (entries) => `${entries.length} entries` })
  await history.append({ toolName: 'long', result: 'word '.repeat(6000) })
  await history.close()
  const store = new ContextStore({ agent: 'me', path: place.store, sessionId: 'session', storage })
  const one = await store.write({ type: 'finding', slug: 'one', content: '# One\n\nText.', tags: ['a'] })
  await store.supersede(one.path, { type: 'finding', slug: 'two', content: '# Two' }, 'measured')
  await store.close()
  const memory = await RepoMemory.open({ repoHash: HASH, root: place.memory, storage })
  await memory.upsertConvention({ title: 'Tests', content: 'node:test' })
  await memory.appendSummary('run', 'step', 'Done.')
  await memory.close()
  const state = new StateStore({ path: place.state, storage })
  await state.put(['threads', 'a/b'], 'state', { step: 3, text: 'é\u2028', list: [1.5, null] })
  await state.put(['threads'], 'bytes', new Uint8Array([0, 255, 10]), { mediaType: 'image/png', ttl: '1h' })
  await state.put(['long'], 'value', 'y'.repeat(700_000))
  await state.close()
}

interface Contents {
  readonly kept: readonly { readonly key: string }[]
  readonly [part: string]: unknown
}

/** An item that was replaced is the latest one. */
const inKeyOrder = ({ kept, ...contents }: Contents): Contents => ({
  ...contents,
  kept: kept.toSorted((a, b) => (a.key < b.key ? -1 : 1)),
})

/** Everything that the classes return of a place. */
async function contentsOf({ storage, ...place }: Place): Promise<Contents> {
  const manager = new ContextManager({ contextDir: place.contextDir, sessionId: 'reader', storage })
  const pointers = (await manager.listContexts()).sort((a, b) => (a.filename < b.filename ? -1 : 1))
  const outputs = await Promise.all(
    pointers.map(async ({ filepath: _, handle = '', ...pointer }) => {
      return [pointer, handle, await manager.loadContext(handle)]
    }),
  )
  const sessions = (await manager.sessions()).map(({ id, state, contexts }) => ({ id, state, contexts }))
  const found = (await manager.search('other', { sessions: 'all' })).map(({ handle }) => handle)
  await manager.close()
  const history = new ContextHistory({ path: place.history, storage })
  const entries = await history.read(100)
  await history.close()
  const store = new ContextStore({ agent: 'reader', path: place.store, storage })
  // Entries of the same second have no order.
  const summaries = (await store.list()).sort((a, b) => (a.path < b.path ? -1 : 1))
  const stored = await Promise.all(summaries.map(async ({ path }) => ({ ...(await store.read(path)), filePath: '' })))
  const { problems, danglingLinks } = await store.verify()
  await store.close()
  const memory = await RepoMemory.open({ repoHash: HASH, root: place.memory, storage })
  const known = await memory.getRepoMemory()
  await memory.close()
  const state = new StateStore({ path: place.state, storage })
  const { items } = await state.list([], { order: 'updated' })
  const kept = items.map(({ revision: _, createdAt: __, updatedAt: ___, value, ...item }) => ({
    ...item,
    // A failed comparison prints it.
    value: typeof value === 'string' ? createHash('sha256').update(value).digest('hex') : value,
  }))
  await state.close()
  return { outputs, sessions, found, entries, stored, problems, danglingLinks, known, kept }
}

/** The bytes of all files that hold something, by their names. */
function filesOf({ contextDir, store, memory, history }: Place): Record<string, string> {
  const digest = (file: string): string => createHash('sha256').update(readFileSync(file)).digest('hex')
  const files: Record<string, string> = { history: digest(history) }
  for (const folder of [contextDir, store, memory]) {
    for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
      if (/\.(?:json|bin|md|session)$|summaries\.jsonl$/.test(name)) {
        files[name] = digest(join(folder, name))
      }
    }
  }
  return files
}

describe('copyStorage', PATIENT, () => {
  let server: PostgresServer | undefined
  let root = ''

  before(async () => {
    server = hasPostgres() ? await startPostgres() : undefined
    root = mkdtempSync(join(tmpdir(), 'agent-context-copy-'))
  })
  after(() => {
    server?.remove()
    rmSync(root, { recursive: true, force: true })
  })
  const onServer = (name: string, body: (storage: string) => Promise<void>): void => {
    it(name, PATIENT, async (context) => {
      if (server === undefined) {
        context.skip('PostgreSQL is not installed')
        return
      }
      await body(server.url)
    })
  }

  onServer('copies everything into a database and back, so that the classes return the same', async (storage) => {
    const local = placesIn(join(root, 'local'))
    await fill(local)
    const before = await contentsOf(local)
    const shared = placesIn('team/one', storage)
    const preview = await copyStorage({ from: local, to: shared, dryRun: true })
    assert.deepEqual(await copyStorage({ from: local, to: shared }), preview)
    // The answer key is made with the first placeholder.
    const counts = PARTS.map((part) => preview[part]?.copied)
    assert.deepEqual(counts.slice(1), [14, 2, 2, 3])
    assert.deepEqual(await contentsOf(shared), before)

    const again = await copyStorage({ from: local, to: shared })
    assert.deepEqual(
      PARTS.map((part) => again[part]?.copied),
      [0, 0, 0, 0, 0],
    )
    assert.deepEqual(
      PARTS.map((part) => again[part]?.alreadyThere),
      counts,
    )

    const back = placesIn(join(root, 'back'))
    const { storage: _, ...names } = shared
    const report = await copyStorage({ from: { storage, ...names }, to: back })
    assert.deepEqual(
      PARTS.map((part) => report[part]?.conflicts),
      [0, 0, 0, 0, 0],
    )
    assert.deepEqual(await contentsOf(back), before)
    const { history: __, ...files } = filesOf(local)
    const { history: ___, ...copied } = filesOf(back)
    assert.deepEqual(copied, files)
    const verified = await new ContextHistory({ path: back.history }).verify()
    assert.deepEqual([verified.entries, verified.badLines], [14, 0])
  })

  onServer('a paused session is resumed in the database, and known operations stay known', async (storage) => {
    const local = placesIn(join(root, 'paused'))
    await fill(local)
    const shared = placesIn('team/paused', storage)
    await copyStorage({ from: local, to: shared })
    const manager = new ContextManager({ contextDir: shared.contextDir, sessionId: 'paused', resume: true, storage })
    await manager.resume()
    assert.equal(manager.getLatestPointers().length, 4)
    await manager.close()
    for (const [where, history] of [
      ['database', new ContextHistory({ path: shared.history, storage })],
      ['file', new ContextHistory({ path: local.history })],
    ] as const) {
      // The first was removed by the compaction, the other is there.
      for (const operation of ['operation 0', 'operation 15']) {
        const entry: ContextEntry = await history.append({ toolName: 'again', operationId: operation })
        assert.equal(entry.toolName === 'again', false, `${where}: ${operation}`)
      }
      assert.equal((await history.read(100)).length, 14)
    }
  })

  onServer('what differs stays and is reported, unless it may be overwritten', async (storage) => {
    const local = placesIn(join(root, 'differs'))
    await fill(local)
    const shared = placesIn('team/differs', storage)
    await copyStorage({ from: local, to: shared })
    const [name = ''] = contextsIn(local.contextDir)
    const file = join(local.contextDir, name)
    writeFileSync(file, readFileSync(file, 'utf8').replace('"timestamp"', ' "timestamp"'))
    const state = new StateStore({ path: shared.state, storage })
    await state.put(['threads', 'a/b'], 'state', 'changed there')
    const lines = readFileSync(local.history, 'utf8').trimEnd().split('\n')
    writeFileSync(local.history, `${lines.toReversed().join('\n')}\n`)
    const report = await copyStorage({ from: local, to: shared })
    assert.deepEqual(
      PARTS.map((part) => report[part]?.conflicts),
      [1, 1, 0, 0, 1],
    )
    assert.deepEqual(report.contextDir?.conflicting, [name])
    assert.equal((await state.get(['threads', 'a/b'], 'state'))?.value, 'changed there')
    const replaced = await copyStorage({ from: local, to: shared, overwrite: true })
    assert.deepEqual(
      PARTS.map((part) => replaced[part]?.conflicts),
      [0, 0, 0, 0, 0],
    )
    assert.deepEqual(inKeyOrder(await contentsOf(shared)), inKeyOrder(await contentsOf(local)))
    await state.close()
  })

  onServer('a history and summaries that have grown since are continued', async (storage) => {
    const local = placesIn(join(root, 'grown'))
    await fill(local)
    const shared = placesIn('team/grown', storage)
    await copyStorage({ from: local, to: shared })
    const history = new ContextHistory({ path: local.history })
    await history.append({ toolName: 'later' })
    const memory = await RepoMemory.open({ repoHash: HASH, root: local.memory })
    await memory.appendSummary('run', 'next', 'More.')
    const report = await copyStorage({ from: local, to: shared })
    assert.deepEqual(
      PARTS.map((part) => report[part]?.copied),
      [0, 1, 0, 1, 0],
    )
    assert.deepEqual(await contentsOf(shared), await contentsOf(local))
  })

  onServer('killed in the middle, it goes on and copies what is missing', async (storage) => {
    const local = placesIn(join(root, 'killed'))
    const manager = new ContextManager({ contextDir: local.contextDir, sessionId: 'many', persist: 'all' })
    await Promise.all(
      Array.from({ length: 400 }, (_, index) => manager.saveContext('tool', { index }, `result ${index}`)),
    )
    await manager.close()
    const history = new ContextHistory({ path: local.history })
    await Promise.all(
      Array.from({ length: 3000 }, (_, index) => history.append({ toolName: 'tool', params: { index } })),
    )
    const state = new StateStore({ path: local.state })
    await Promise.all(Array.from({ length: 300 }, (_, index) => state.put(['n'], `${index}`, index)))
    await state.close()
    const shared = placesIn('team/killed', storage)
    const { store: _, memory: __, ...parts } = local
    const names = { storage, contextDir: shared.contextDir, history: shared.history, state: shared.state }
    const options = JSON.stringify({ from: parts, to: names })
    let kills = 0
    for (const delay of [150, 300, 450, 600, 750]) {
      const child = start('copy-storage.mjs', [options])
      const timer = setTimeout(() => child.process.kill('SIGKILL'), delay)
      const { signal } = await child.ended
      clearTimeout(timer)
      kills += signal === 'SIGKILL' ? 1 : 0
    }
    holds(kills > 0, 'no copy was killed')
    await run('copy-storage.mjs', [options])
    const copied = new ContextHistory({ path: shared.history, storage })
    assert.deepEqual(await copied.read(5000), await history.read(5000))
    const outputs = new ContextManager({ contextDir: shared.contextDir, storage })
    assert.equal((await outputs.listContexts()).length, 400)
    const items = new StateStore({ path: shared.state, storage })
    assert.equal((await items.stats()).items, 300)
    const report = await copyStorage({ from: parts, to: { storage } })
    assert.equal(report.history?.copied, 3000, 'other names are another copy')
  })

  it('copies between directories, and refuses wrong options', async () => {
    const [one, two] = [placesIn(join(root, 'here')), placesIn(join(root, 'there'))]
    await fill(one)
    await copyStorage({ from: one, to: two })
    assert.deepEqual(await contentsOf(two), await contentsOf(one))
    const invalid = 'ERR_CONTEXT_INVALID_ARGUMENT'
    await rejectsWith(() => copyStorage({ from: one, to: one }), invalid, /same place/)
    await rejectsWith(() => copyStorage({ from: {}, to: two }), invalid, /names nothing/)
    await rejectsWith(() => copyStorage({ from: { state: one.state }, to: two }), invalid, /to\.contextDir/)
    await rejectsWith(() => copyStorage({ from: { directory: 'a' } as never, to: two }), invalid, /directory/)
    await rejectsWith(() => copyStorage(undefined as never), invalid)
    await rejectsWith(
      () => copyStorage({ from: { contextDir: '..' }, to: { storage: 'postgres://h/d' } }),
      invalid,
      /\.\./,
    )
    const aborted = AbortSignal.abort(new Error('stopped'))
    await assert.rejects(copyStorage({ from: one, to: two, signal: aborted }), /stopped/)
    const missing = await copyStorage({ from: placesIn(join(root, 'nowhere')), to: placesIn(join(root, 'nothing')) })
    assert.deepEqual(
      PARTS.map((part) => missing[part]?.copied),
      [0, 0, 0, 0, 0],
    )
    holds(!readdirSync(root).includes('nothing'), 'a directory was made')
  })

  onServer('agent-context copy moves what the library keeps by default, and back', async (storage) => {
    const home = join(root, 'home')
    const places = {
      contextDir: join(home, '.agent', 'context'),
      history: join(home, '.wink', 'context.jsonl'),
      store: join(home, '.local', 'share', 'single-file-agents', 'context'),
      memory: join(home, '.codex-toolloop'),
      state: join(home, '.agent', 'state.db'),
    }
    await fill(places)
    const environment = { AGENT_CONTEXT_STORAGE: storage }
    const copied = await agentContextJson<{ items: { copied: number; conflicts: number }[] }>(
      home,
      ['copy', '--from', home],
      { environment },
    )
    assert.deepEqual(schemaProblems(copied, 'copy'), [])
    assert.equal(copied.items.length, 5)
    holds(copied.items.every((item) => item.copied > 0 && item.conflicts === 0))
    // The defaults of the classes are the names.
    const manager = new ContextManager({ storage })
    assert.equal((await manager.listContexts()).length, 4)
    const words = ['copy', '--from', storage, '--to', join(root, 'restored')]
    const back = await agentContextJson<{ items: { copied: number }[] }>(home, words)
    assert.deepEqual(
      back.items.map(({ copied }) => copied),
      copied.items.map(({ copied }) => copied),
    )
    const state = new StateStore({ storage })
    await state.put(['threads', 'a/b'], 'state', 'changed')
    await state.close()
    const differs = await agentContext(home, [...words, '--state', '~/.agent/state.db'])
    assert.equal(differs.code, 4)
    assert.match(differs.stderr, /differs there and stays/)
    assert.equal((await agentContext(home, [...words, '--state', '.agent/state.db', '--overwrite'])).code, 0)
    assert.equal((await agentContext(home, ['copy'])).code, 2)
    assert.equal((await agentContext(home, ['copy', '--from', home])).code, 2)
  })
})
