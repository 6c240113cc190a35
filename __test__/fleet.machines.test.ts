/** Processes as on machines of their own: many at once, with other clocks, versions, roles and poolers. */

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { after, before, describe, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { inspect } from 'node:util'
import { ContextHistory, ContextManager, ContextStore, RepoMemory, StateStore } from '../dist/index.js'
import { debugLog } from './support/fixtures.ts'
import {
  hasPooler,
  hasPostgres,
  type PostgresServer,
  restoreDump,
  startPooler,
  startPostgres,
} from './support/postgres.ts'
import { type Child, holds, PATIENT, run, start } from './support/processes.ts'
import { randomText } from './support/secrets.ts'

const HASH = '0123456789abcdef'.repeat(4)
const CHILD = 'fleet-all.mjs'
const PATH = 'all'
const DAY = 24 * 60 * 60 * 1000

interface Printed {
  filepath: string
  id: string
  now: number
  code?: string
  message?: string
}

type Storage = string | { url: string; schema?: string }

/** Runs a process that uses all classes, and returns what it printed. */
async function useAll(storage: Storage, name: string): Promise<Printed> {
  const [line = ''] = await run(CHILD, [JSON.stringify(storage), name])
  return JSON.parse(line) as Printed
}

/** As `useAll`; everything that the process did must have succeeded. */
async function worksWithAll(storage: Storage, name: string): Promise<void> {
  assert.equal((await useAll(storage, name)).message, undefined)
}

/** What a process that waits has printed; everything that it did must have succeeded. */
async function printedBy(child: Child): Promise<Printed> {
  const printed = JSON.parse(await child.line()) as Printed
  assert.equal(printed.message, undefined)
  return printed
}

/** Asserts that the data of these processes are in all classes, each once. */
async function assertAll(storage: Storage, names: readonly string[]): Promise<void> {
  const expected = [...names].sort()
  const manager = new ContextManager({ storage, contextDir: PATH })
  const listed = await manager.listContexts()
  assert.deepEqual(listed.map(({ args }) => String(args['name'])).sort(), expected)
  const outputs = await manager.loadContexts(listed.map(({ filepath }) => filepath))
  assert.deepEqual(
    outputs.map(({ result }) => String(result)).sort(),
    expected.map((name) => `output of ${name}`),
  )
  const history = new ContextHistory({ storage, path: PATH })
  assert.deepEqual((await history.read(1000)).map(({ toolName }) => toolName).sort(), expected)
  const state = new StateStore({ storage, path: PATH })
  assert.deepEqual((await state.list(['names'])).items.map(({ key }) => key).sort(), expected)
  const store = new ContextStore({ storage, path: PATH, agent: 'reader' })
  assert.deepEqual((await store.list()).map(({ agent }) => agent).sort(), expected)
  const memory = await RepoMemory.open({ storage, root: PATH, repoHash: HASH })
  const { notes } = await memory.getRepoMemory()
  assert.deepEqual(
    notes.map(({ content }) => content).sort(),
    expected.map((name) => `note of ${name}`),
  )
  await Promise.all([manager.close(), history.close(), state.close(), store.close(), memory.close()])
}

/** Calls of all classes, each in a new object. */
function callsOf(
  storage: Storage,
  onDebug: (message: string, data?: unknown) => void,
): Record<string, () => Promise<unknown>> {
  return {
    manager: () => new ContextManager({ storage, contextDir: PATH, onDebug }).saveContext('tool', {}, 1),
    history: () => new ContextHistory({ storage, path: PATH, onDebug }).append({ toolName: 'tool' }),
    state: () => new StateStore({ storage, path: PATH, onDebug }).put(['a'], 'k', 1),
    store: () =>
      new ContextStore({ storage, path: PATH, agent: 'a', onDebug }).write({
        type: 'finding',
        slug: 's',
        content: 'c',
      }),
    memory: async () =>
      (await RepoMemory.open({ storage, root: PATH, repoHash: HASH, onDebug })).upsertNote({ content: 'c' }),
  }
}

describe('processes without a common directory', { ...PATIENT, skip: !hasPostgres() }, () => {
  let server: PostgresServer
  before(async () => {
    server = await startPostgres()
  })
  after(() => server.remove())

  test('create the tables of all classes, 20 at once', async () => {
    const names = Array.from({ length: 20 }, (_, number) => `process-${number}`)
    await Promise.all(names.map((name) => worksWithAll(server.url, name)))
    await assertAll(server.url, names)
    assert.equal(server.sql('SELECT count(*) = max(version) FROM agent_context.migration').trim(), 't')
  })

  test('find everything in a database into which a dump of the schema was restored', async () => {
    const storage = { url: server.url, schema: 'dumped' }
    await worksWithAll(storage, 'before')
    server.sql('CREATE DATABASE restored')
    const url = server.url.replace(/postgres$/, 'restored')
    restoreDump(server.url, 'dumped', url)
    await worksWithAll({ ...storage, url }, 'after')
    await assertAll({ ...storage, url }, ['before', 'after'])
  })

  test('of an older version change nothing, and go on where they were before', async () => {
    const storage = { url: server.url, schema: 'newer' }
    const old = new StateStore({ storage, path: PATH })
    await old.put(['a'], 'k', 1)
    server.sql('INSERT INTO newer.migration (version) VALUES (99)')
    assert.equal((await useAll(storage, 'old')).code, 'ERR_CONTEXT_UNSUPPORTED')
    const other = { ...storage, timeout: 29_000 }
    for (const [name, call] of Object.entries(callsOf(other, () => {}))) {
      await assert.rejects(call, { code: 'ERR_CONTEXT_UNSUPPORTED', message: /version 99/ }, name)
    }
    assert.equal(server.sql('SELECT count(*) FROM newer.file').trim(), '0')
    // Its connections were checked when they were opened: newer tables must do for those that are open.
    assert.equal((await old.get(['a'], 'k'))?.value, 1)
    await old.close()
  })

  test('need no more than a role that owns its schema', async () => {
    server.sql(`CREATE ROLE tenant LOGIN; CREATE SCHEMA of_tenant AUTHORIZATION tenant;
      REVOKE CREATE ON DATABASE postgres FROM PUBLIC; REVOKE ALL ON SCHEMA public FROM PUBLIC`)
    const url = server.url.replace('agent@', 'tenant@')
    await worksWithAll({ url, schema: 'of_tenant' }, 'tenant')
    await assertAll({ url, schema: 'of_tenant' }, ['tenant'])
    // What another user of the same process has in memory is not shared with this role.
    const open = new ContextStore({ storage: server.url, path: PATH, agent: 'a' })
    await open.list()
    for (const schema of ['agent_context', 'of_nobody']) {
      for (const [name, call] of Object.entries(callsOf({ url, schema }, () => {}))) {
        await assert.rejects(call, { code: 'ERR_CONTEXT_ACCESS' }, `${name} in ${schema}`)
      }
    }
    await open.close()
  })

  test('keep passwords out of messages, causes, debug output and inspection', async () => {
    const password = randomText(24)
    server.sql(`CREATE ROLE guarded LOGIN PASSWORD '${password}'`)
    const place = server.url.slice(server.url.indexOf('@'))
    const wrong = `postgres://guarded:${password}@127.0.0.1:1/none`
    const urls = [
      `postgres://guarded:${password}${place}`,
      `postgres://nobody:${password}${place}`,
      `postgres://guarded:${password}${place.replace(/postgres$/, 'missing')}`,
      wrong,
      `postgres://guarded:${password}@[`,
      `mysql://guarded:${password}${place}`,
      `postgres://guarded:${password}${place}?sslmode=${password}`,
    ]
    const log = debugLog()
    const texts: string[] = []
    for (const url of urls) {
      const storage = { url, timeout: 500 }
      for (const call of Object.values(callsOf(storage, log))) {
        await (async () => call())().then(
          () => assert.fail(`${url.replace(password, '')} was accepted`),
          (error: unknown) => texts.push(inspect(error, { depth: 10, showHidden: true }), String(error)),
        )
      }
    }
    const manager = new ContextManager({ storage: wrong, contextDir: PATH })
    texts.push(
      inspect(manager, { depth: 10, showHidden: true }),
      JSON.stringify(log.entries),
      inspect(log.entries, { depth: 10 }),
    )
    assert.equal(texts.filter((text) => text.includes('ERR_CONTEXT_')).length >= urls.length * 5, true)
    for (const text of texts) {
      holds(!text.includes(password), text.replaceAll(password, '<the password>'))
    }
  })

  for (const [what, offset] of [
    ['behind', '-1d'],
    ['ahead', '+1d'],
  ] as const) {
    test(`a process whose clock is a day ${what} is one like any other`, { skip: lacksFaketime() }, async () => {
      const storage = { url: server.url, schema: `clock_${what}` }
      await worksWithAll(storage, 'before')
      const child = start(CHILD, [JSON.stringify(storage), 'clock', 'waits'], {
        executable: 'faketime',
        flags: ['-m', '--exclude-monotonic', '-f', offset, process.execPath],
      })
      const { now, filepath } = await printedBy(child)
      holds(Math.abs(Math.abs(now - Date.now()) - DAY) < DAY / 24, 'its clock is a day off')
      await worksWithAll(storage, 'after')
      await assertAll(storage, ['before', 'clock', 'after'])
      const history = new ContextHistory({ storage, path: PATH })
      assert.deepEqual(
        (await history.read()).map(({ toolName }) => toolName),
        ['before', 'clock', 'after'],
      )
      // It keeps its session and its output, of which its own clock says that it is a day older or younger.
      await setTimeout(7000)
      const retention = { maxAge: '1h', keepPaused: '1h' } as const
      const manager = new ContextManager({ storage, contextDir: PATH, retention })
      assert.equal((await manager.sweep()).liveSessions, 1)
      child.process.stdin?.end()
      await child.ended
      assert.deepEqual((await manager.sweep()).deletedFiles, 0)
      assert.equal((await manager.loadContext(filepath)).result, 'output of clock')
      const state = new StateStore({ storage, path: PATH })
      assert.equal((await state.list(['names'])).items.length, 3, 'items expire by the server’s clock')
      await Promise.all([manager.close(), history.close(), state.close()])
    })
  }

  test('go through PgBouncer in transaction mode', { skip: !hasPooler() }, async () => {
    const pooler = await startPooler(server)
    try {
      const storage = { url: pooler.url, schema: 'pooled' }
      const names = Array.from({ length: 4 }, (_, number) => `pooled-${number}`)
      const kept = start(CHILD, [JSON.stringify(storage), 'kept', 'waits'])
      await printedBy(kept)
      await Promise.all(names.map((name) => worksWithAll(storage, name)))
      await assertAll(storage, ['kept', ...names])
      // Heartbeats go through it as well.
      await setTimeout(7000)
      const manager = new ContextManager({ storage, contextDir: PATH })
      assert.equal((await manager.sessions()).find(({ id }) => id === 'kept')?.state, 'live')
      kept.process.stdin?.end()
      await kept.ended
      await manager.close()
    } finally {
      pooler.stop()
    }
  })
})

test('without storage, no connection is opened and no thread of the engine starts', {
  skip: process.platform !== 'linux' || 'Deno' in globalThis,
}, async () => {
  const directory = mkdtempSync(join(tmpdir(), 'agent-context-'))
  const script = `
    import { ContextHistory, ContextManager, ContextStore, RepoMemory, StateStore } from ${JSON.stringify(new URL('../dist/index.js', import.meta.url).href)}
    import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
    const path = ${JSON.stringify(directory)}
    const manager = new ContextManager({ contextDir: path + '/contexts' })
    await manager.saveContext('tool', {}, 1)
    const history = new ContextHistory({ path: path + '/log' })
    await history.append({ toolName: 'tool' })
    const state = new StateStore({ path: path + '/state' })
    await state.put(['a'], 'k', 1)
    await new ContextStore({ path: path + '/store', agent: 'a' }).write({ type: 'finding', slug: 's', content: 'c' })
    await (await RepoMemory.open({ root: path + '/memory', repoHash: '${HASH}' })).upsertNote({ content: 'c' })
    const threads = readdirSync('/proc/self/task').map((id) => readFileSync('/proc/self/task/' + id + '/comm', 'utf8').trim())
    const linkOf = (id) => { try { return readlinkSync('/proc/self/fd/' + id) } catch { return '' } }
    const sockets = readdirSync('/proc/self/fd').filter((id) => Number(id) > 2 && linkOf(id).startsWith('socket:'))
    console.log(JSON.stringify({ threads, sockets }))
    process.exit(0)`
  const ran = spawnSync(process.execPath, ['--input-type=module', '--eval', script], { encoding: 'utf8' })
  rmSync(directory, { recursive: true })
  const printed = ran.stdout || JSON.stringify({ threads: [ran.stderr], sockets: [] })
  const { threads, sockets } = JSON.parse(printed) as { threads: string[]; sockets: string[] }
  assert.deepEqual(sockets, [])
  holds(threads.length > 1 && threads.every((name) => !name.startsWith('agent-context-d')), threads.join())
})

function lacksFaketime(): string | false {
  if (process.platform !== 'win32' && spawnSync('faketime', ['--version']).status === 0) {
    return false
  }
  assert.notEqual(process.env['CI'], 'true', 'CI has faketime')
  return 'needs the program faketime (Debian package faketime)'
}
