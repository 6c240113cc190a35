/** `ContextManager`, `ContextStore` and `RepoMemory` on PostgreSQL: the classes as on disk, and processes without a common directory. */

import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { Readable } from 'node:stream'
import { after, before, describe, it } from 'node:test'
import {
  type BlobsOptions,
  ContextHistory,
  ContextManager,
  ContextStore,
  RepoMemory,
  StateStore,
} from '../dist/index.js'
import { MemoryFileSystem, rejectsWith, throwsWith } from './support/fixtures.ts'
import { hasPostgres, type PostgresServer, startPostgres, testBlobs } from './support/postgres.ts'
import { holds, PATIENT, run, start } from './support/processes.ts'

const HASH = '0123456789abcdef'.repeat(4)

describe('storage in place of files', PATIENT, () => {
  let server: PostgresServer | undefined
  let storage = ''
  // `fleet.blobs.test.ts` runs this file once more with a bucket.
  const place = (): { storage: string; blobs?: BlobsOptions } => ({ storage, ...testBlobs })
  const home = process.env['HOME']
  let empty = ''

  before(async () => {
    server = hasPostgres() ? await startPostgres() : undefined
    storage = server?.url ?? ''
    empty = mkdtempSync(join(tmpdir(), 'agent-context-fleet-'))
    // Whatever is written to the home directory by mistake is found there.
    process.env['HOME'] = empty
  })

  after(() => {
    // Runtimes keep caches there.
    const written = readdirSync(empty).filter((name) => name !== '.bun' && name !== '.cache')
    assert.deepEqual(written, [], 'nothing was written to the home directory')
    rmSync(empty, { recursive: true, force: true })
    if (home !== undefined) {
      process.env['HOME'] = home
    }
    server?.remove()
  })

  const onServer = (name: string, body: () => Promise<void>): void => {
    it(name, async (context) => {
      if (server === undefined) {
        context.skip('PostgreSQL is not installed')
        return
      }
      await body()
    })
  }

  it('excludes a file system, and needs a namespace', () => {
    const options = { storage: 'postgres://localhost/db' }
    const fileSystem = new MemoryFileSystem()
    throwsWith(() => new ContextManager({ ...options, fileSystem }), 'ERR_CONTEXT_INVALID_ARGUMENT')
    throwsWith(() => new ContextStore({ ...options, agent: 'a', fileSystem }), 'ERR_CONTEXT_INVALID_ARGUMENT')
    throwsWith(() => new ContextManager({ ...options, contextDir: '../a' }), 'ERR_CONTEXT_INVALID_ARGUMENT')
    throwsWith(() => new ContextManager({ storage: 'mysql://localhost/db' }), 'ERR_CONTEXT_INVALID_ARGUMENT')
    throwsWith(() => new ContextManager({ storage: 7 as never }), 'ERR_CONTEXT_INVALID_ARGUMENT', /a URL or an object/)
  })

  it('refuses a file system of a memory as well', async () => {
    const options = { storage: 'postgres://localhost/db', repoHash: HASH, fileSystem: new MemoryFileSystem() }
    await rejectsWith(() => RepoMemory.open(options), 'ERR_CONTEXT_INVALID_ARGUMENT')
  })

  it('reports a database that cannot be reached', async () => {
    const unreachable = { url: 'postgres://agent@127.0.0.1:1/db', timeout: 300 }
    const manager = new ContextManager({ storage: unreachable, contextDir: 'none' })
    await rejectsWith(() => manager.saveContext('tool', {}, 'x'), 'ERR_CONTEXT_STORAGE')
  })

  it('counts nothing without storage', async () => {
    assert.ok(!('storage' in new ContextManager({ fileSystem: new MemoryFileSystem() }).stats()))
    const memory = await RepoMemory.open({ repoHash: HASH, fileSystem: new MemoryFileSystem() })
    for (const object of [memory, new ContextHistory({ path: 'x' }), new ContextStore({ agent: 'a', path: 'x' })]) {
      assert.deepEqual(object.stats(), {})
    }
  })

  onServer('every class counts what it asks of the database', async () => {
    // Other tests use other connections.
    const counted = { storage: { url: storage, timeout: 28_000 } }
    const manager = new ContextManager({ ...counted, contextDir: 'counted' })
    const state = new StateStore({ ...counted, path: 'counted' })
    const history = new ContextHistory({ ...counted, path: 'counted' })
    const store = new ContextStore({ ...counted, path: 'counted', agent: 'a' })
    const memory = await RepoMemory.open({ ...counted, root: 'counted', repoHash: HASH })
    const none = manager.stats().storage
    assert.deepEqual(none, { requests: 0, retries: 0, conflicts: 0, connections: 0, bytesSent: 0, bytesReceived: 0 })
    const path = await manager.saveContext('tool', {}, 'x'.repeat(100_000))
    const saved = manager.stats().storage
    assert.ok(saved !== undefined && saved.requests > 0 && saved.connections > 0)
    assert.ok(saved.bytesSent > 100_000 && saved.bytesSent < 200_000, `${saved.bytesSent} bytes`)
    await new ContextManager({ ...counted, contextDir: 'counted' }).loadContext(path)
    const { bytesReceived = 0 } = manager.stats().storage ?? {}
    assert.ok(bytesReceived > 100_000 && bytesReceived < 200_000, `${bytesReceived} bytes`)
    assert.ok((await state.stats()).storage)
    for (const object of [history, store, memory]) {
      // Objects with equal options share the counters.
      assert.ok((object.stats().storage?.requests ?? 0) >= saved.requests)
    }
    await Promise.all([manager, state, history, store, memory].map((object) => object.close()))
  })

  onServer('a part of a long output is read without the rest', async () => {
    const line = 'a line with "quotes" and é\n'
    const text = line.repeat(200_000)
    const writer = new ContextManager({ storage, contextDir: 'long', sessionId: 'writer' })
    const stream = Readable.from([text.slice(0, 1_000_000), text.slice(1_000_000)])
    const paths = [await writer.saveContext('tool', {}, text), await writer.saveContext('tool', {}, stream)]
    for (const path of paths) {
      const reader = new ContextManager({ storage: { url: storage, timeout: 27_000 }, contextDir: 'long' })
      const received = (): number => reader.stats().storage?.bytesReceived ?? 0
      await reader.listContexts()
      const before = received()
      const slice = await reader.readContext(path, { lines: { from: 150_001, to: 151_000 }, maxBytes: 32_768 })
      assert.ok(received() - before < 1_100 * 1024, `${received() - before} bytes`)
      assert.equal(slice.text, line.repeat(1000))
      assert.deepEqual([slice.totalLines, slice.totalBytes], [200_000, Buffer.byteLength(text)])
      const context = await reader.loadContext(path)
      assert.equal(context.result, text)
      assert.ok(!('resultBlocks' in context))
      await reader.close()
    }
    await writer.close()
  })

  onServer('outputs and state at once do not wait for the connections of each other', async () => {
    const manager = new ContextManager({ ...place(), contextDir: 'busy', sessionId: 'busy' })
    const state = new StateStore({ ...place(), path: 'busy' })
    const work = async (_: unknown, index: number): Promise<void> => {
      await manager.saveContext('tool', { index }, `result ${index}`)
      await state.transaction(
        async (view) => {
          const count = await view.get(['n'], 'count')
          view.put(['n'], 'count', Number(count?.value ?? 0) + 1)
        },
        { attempts: 1000 },
      )
    }
    await Promise.all(Array.from({ length: 40 }, work))
    assert.equal((await state.get(['n'], 'count'))?.value, 40)
    await Promise.all([manager.close(), state.close()])
  })

  onServer('a context is saved, loaded, read, listed and removed', async () => {
    const options = { ...place(), contextDir: '~/one' }
    await using manager = new ContextManager({ ...options, sessionId: 'one' })
    const small = await manager.saveContext('small', { a: 1 }, { found: [1, 2] }, 1, 'q')
    assert.match(small, /^\/one\/[^/]+\.json$/)
    const long = 'x'.repeat(3_000_000)
    const large = await manager.saveContext('large', {}, long)
    const bytes = new Uint8Array(100_000).fill(7)
    const binary = await manager.saveContext('binary', {}, bytes)
    await using other = new ContextManager(options)
    assert.deepEqual((await other.loadContext(small)).result, { found: [1, 2] })
    assert.equal((await other.loadContext(large)).result, long)
    assert.ok((await other.readContext(binary)) !== undefined)
    const listed = await other.listContexts('one')
    assert.deepEqual(
      listed.map(({ toolName }) => toolName),
      ['small', 'large', 'binary'],
    )
    assert.equal((await manager.search('found')).length, 1)
    await manager.clear()
    await rejectsWith(() => other.loadContext(small), 'ERR_CONTEXT_NOT_FOUND')
    assert.deepEqual(await other.listContexts(), [])
  })

  onServer('a session is paused, listed and resumed', async () => {
    const options = { ...place(), contextDir: 'resumed', sessionId: 'run-1' }
    const first = new ContextManager(options)
    for (let number = 0; number < 20; number += 1) {
      await first.saveContext('tool', { number }, `text ${number}`)
    }
    await first.close()
    await using other = new ContextManager({ ...place(), contextDir: 'resumed' })
    const sessions = await other.sessions()
    assert.deepEqual(
      sessions.map(({ id, state, contexts }) => [id, state, contexts]),
      [['run-1', 'paused', 20]],
    )
    const second = new ContextManager({ ...options, resume: true })
    await second.saveContext('tool', { number: 20 }, 'text 20')
    assert.equal((await second.listContexts('run-1')).length, 21)
    assert.equal((await other.sessions())[0]?.state, 'live')
    assert.equal((await other.sweep({ dryRun: true })).liveSessions, 1)
    await second.clear()
    await second.close()
  })

  onServer('a store keeps entries that several objects change', async () => {
    const options = { ...place(), path: 'store', agent: 'reviewer' }
    await using store = new ContextStore(options)
    await using other = new ContextStore({ ...options, agent: 'fixer' })
    const { path, filePath } = await store.write({ type: 'finding', slug: 'auth', content: 'Tokens are compared.' })
    assert.ok(filePath.startsWith('/store/'))
    await Promise.all(
      [store, other, store, other].map((one, number) => one.update(path, { addTags: [`tag-${number}`] }, 'a change')),
    )
    const read = await other.read(path)
    assert.deepEqual([...read.tags].sort(), ['tag-0', 'tag-1', 'tag-2', 'tag-3'])
    const found = await other.search({ query: 'tokens', ranked: true })
    assert.deepEqual(
      found.map((entry) => entry.path),
      [path],
    )
    const next = await other.supersede(
      path,
      { type: 'finding', slug: 'auth-2', content: 'Compared in constant time.' },
      'It was fixed',
    )
    assert.equal((await store.list()).length, 2)
    assert.ok(next.replacement.path !== path)
    assert.deepEqual((await store.verify()).problems, [])
  })

  onServer('a memory keeps records and summaries of a repository', async () => {
    const options = { ...place(), root: 'memories', repoHash: HASH }
    await using memory = await RepoMemory.open(options)
    await using other = await RepoMemory.open(options)
    assert.equal(memory.directory, `/memories/repos/${HASH}`)
    await Promise.all(
      [memory, other, memory, other].map((one, number) =>
        one.upsertConvention({ title: `Convention ${number}`, content: 'Tabs.' }),
      ),
    )
    const { conventions } = await other.getRepoMemory()
    assert.equal(conventions.length, 4)
  })

  onServer('the source files of a workspace are read from the local disk', async () => {
    const workspace = mkdtempSync(join(tmpdir(), 'agent-context-workspace-'))
    writeFileSync(join(workspace, 'a.ts'), 'export function found(): void {}\n')
    await using memory = await RepoMemory.open({ ...place(), root: 'mapped', workspace })
    const symbols = await memory.symbols('a.ts')
    assert.deepEqual(
      symbols.map(({ name }) => name),
      ['found'],
    )
    rmSync(workspace, { recursive: true })
  })

  onServer('handles of one process redeem in another, without a common directory', async () => {
    const numbers = [0, 1, 2, 3]
    const printed = await Promise.all(numbers.map((number) => run('fleet-files.mjs', [storage, number])))
    const handles = printed.map(([line = '[]']) => JSON.parse(line) as string[])
    assert.equal(new Set(handles.flat()).size, 20)
    await using manager = new ContextManager({ ...place(), contextDir: 'fleet' })
    for (const [number, own] of handles.entries()) {
      for (const [output, handle] of own.entries()) {
        const { result } = await manager.loadContext(handle)
        assert.ok(String(result).endsWith(`of ${number}, ${output}`))
      }
    }
    assert.equal((await manager.listContexts()).length, 20)
    await using store = new ContextStore({ ...place(), path: 'fleet', agent: 'reader' })
    assert.equal((await store.list()).length, 4)
    await using memory = await RepoMemory.open({ ...place(), root: 'fleet', repoHash: HASH })
    assert.equal((await memory.getRepoMemory()).conventions.length, 4)
  })

  onServer('a sweep keeps the contexts of a session in another process, and removes them after its end', async () => {
    const child = start('fleet-files.mjs', [storage, 9, 'waits'])
    const handles = JSON.parse(await child.line()) as string[]
    const retention = { maxFiles: 0, keepPaused: '1s', maxPausedBytes: 0 }
    await using manager = new ContextManager({ ...place(), contextDir: 'fleet', retention })
    await manager.sweep()
    assert.ok(String((await manager.loadContext(handles[0] ?? '')).result).endsWith('of 9, 0'))
    child.process.kill('SIGKILL')
    await child.ended
    const deadline = Date.now() + 60_000
    for (;;) {
      await manager.sweep()
      if (!(await manager.sessions()).some(({ id }) => id === 'worker-9')) {
        break
      }
      holds(Date.now() < deadline, 'the lease of a process that was killed ends')
      await new Promise((resolve) => setTimeout(resolve, 500))
    }
    await rejectsWith(() => manager.loadContext(handles[0] ?? ''), 'ERR_CONTEXT_NOT_FOUND')
  })
})
