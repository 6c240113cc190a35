/** What callers and agents see of a database that is down, does not answer, or has no connection left. */

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import {
  ContextHistory,
  ContextManager,
  ContextStore,
  createToolRecorder,
  RepoMemory,
  StateStore,
  type StorageOptions,
  type ToolCallContext,
} from '../dist/index.js'
import { type DelayingProxy, startProxy } from './support/database-proxy.ts'
import { hasPostgres, type PostgresServer, startPostgres } from './support/postgres.ts'
import { holds, PATIENT } from './support/processes.ts'
import { startSqlSession } from './support/sql-session.ts'

const HASH = '0123456789abcdef'.repeat(4)
const PATH = 'failures'

interface Failure {
  code?: string
  mayExist?: boolean
  message: string
  cause?: unknown
}

const failureOf = (call: Promise<unknown>): Promise<Failure> =>
  call.then(
    () => assert.fail('the call succeeded'),
    (error: unknown) => error as Failure,
  )

/** An object of each class, and a call of each that writes. */
async function openAll(storage: StorageOptions): Promise<{
  calls: Readonly<Record<string, () => Promise<unknown>>>
  close(): Promise<unknown>
}> {
  const manager = new ContextManager({ storage, contextDir: PATH })
  const history = new ContextHistory({ storage, path: PATH })
  const state = new StateStore({ storage, path: PATH })
  const store = new ContextStore({ storage, path: PATH, agent: 'a' })
  const memory = await RepoMemory.open({ storage, root: PATH, repoHash: HASH })
  return {
    calls: {
      manager: () => manager.saveContext('tool', {}, 'an output'),
      history: () => history.append({ toolName: 'tool' }),
      state: () => state.put(['a'], 'k', 1),
      store: () => store.write({ type: 'finding', slug: 's', content: 'c' }),
      memory: () => memory.upsertNote({ content: 'c' }),
    },
    close: () => Promise.all([manager.close(), history.close(), state.close(), store.close(), memory.close()]),
  }
}

describe('a database that fails', { ...PATIENT, skip: !hasPostgres() }, () => {
  let server: PostgresServer
  let proxy: DelayingProxy
  let url = ''
  before(async () => {
    server = await startPostgres()
    proxy = await startProxy(server.port)
    url = server.url.replace(String(server.port), String(proxy.port))
  })
  after(() => {
    proxy.close()
    server.remove()
  })

  test('says that a write may have been stored when its answer does not come, and stores it once', async () => {
    const { calls, close } = await openAll({ url, schema: 'answers', timeout: 4000 })
    for (const [name, call] of Object.entries(calls)) {
      // An open connection: while a new one is opened, nothing has been sent.
      await call()
      proxy.holdAnswers(true)
      const { code, mayExist, message } = await failureOf(call())
      assert.equal(code, 'ERR_CONTEXT_TIMEOUT', `${name}: ${message}`)
      // A store asks first whether the name is free, and has then written nothing.
      assert.equal(mayExist ?? false, name !== 'store', `${name}: ${message}`)
      proxy.holdAnswers(false)
      proxy.cut()
      await call()
    }
    assert.equal(server.sql('SELECT count(*) FROM answers.entry').trim(), '3')
    const entries = "SELECT count(*) FROM answers.file WHERE directory = '/failures/a' AND name LIKE '%.md'"
    assert.equal(server.sql(entries).trim(), '2')
    await close()
  })

  test('makes calls wait for a connection of the pool, and reject in time without a trace', async () => {
    const storage: StorageOptions = { url: server.url, schema: 'busy', pool: 1, timeout: 4000 }
    const { calls, close } = await openAll(storage)
    for (const call of Object.values(calls)) {
      await call()
    }
    const history = new ContextHistory({ storage, path: PATH })
    const other = new ContextHistory({ storage, path: 'other' })
    const sql = startSqlSession(server.url)
    sql('BEGIN; LOCK TABLE busy.entry')
    // One of the appends gets the only connection, and waits for the lock; the other one may get it at the very end.
    const failures = [history.append({ toolName: 'tool' }), other.append({ toolName: 'tool' }), other.read()].map(
      failureOf,
    )
    const [one, two, reading] = await Promise.all(failures)
    for (const { code, message } of [one, two, reading] as Failure[]) {
      assert.equal(code, 'ERR_CONTEXT_TIMEOUT', message)
    }
    assert.ok(!reading?.mayExist)
    sql('ROLLBACK')
    await other.append({ toolName: 'later' })
    const names = (await other.read()).map(({ toolName }) => toolName)
    assert.deepEqual(
      names.filter((name) => !two?.mayExist || name !== 'tool'),
      ['later'],
    )
    await Promise.all([history.close(), other.close(), close()])
  })

  test('neither blocks nor breaks an agent whose calls are recorded', async () => {
    const storage: StorageOptions = { url: server.url, schema: 'recorded', timeout: 2000 }
    const manager = new ContextManager({ storage, contextDir: PATH })
    const history = new ContextHistory({ storage, path: PATH })
    const reported: string[] = []
    const recorder = createToolRecorder(manager, { history, onError: (_, toolName) => reported.push(toolName) })
    const agent = recorder.wrap({
      onToolEnd: (_context: ToolCallContext, toolName: string): string => `the agent saw ${toolName}`,
    })
    const call = (spanId: string): unknown => {
      const context = { traceId: 'trace', spanId }
      recorder.onToolStart(context, 'tool', { spanId })
      return agent.onToolEnd(context, 'tool', { success: true, result: spanId, message: 'done' })
    }
    call('before')
    await recorder.flush()
    server.stop('fast')
    const calls = 100
    let ticks = 0
    const ticking = setInterval(() => ticks++, 1)
    try {
      for (let number = 0; number < calls; number++) {
        assert.equal(call(`down-${number}`), 'the agent saw tool')
      }
      const failed = (await failureOf(recorder.flush())) as unknown as AggregateError & Failure
      assert.equal(failed.errors.length, 2 * calls)
      assert.ok(failed.errors.every(({ code }: Failure) => code === 'ERR_CONTEXT_STORAGE'))
      assert.equal(failed.code, 'ERR_CONTEXT_STORAGE')
      assert.equal(reported.length, 2 * calls)
      holds(ticks > calls, 'the event loop goes on')
    } finally {
      clearInterval(ticking)
      server.start()
    }
    call('after')
    await recorder.flush()
    assert.deepEqual(
      (await history.read()).map(({ params }) => (params as { spanId?: unknown }).spanId),
      ['before', 'after'],
    )
    assert.deepEqual(
      (await manager.listContexts()).map(({ args }) => args['spanId']),
      ['before', 'after'],
    )
    await Promise.all([manager.close(), history.close()])
  })
})
