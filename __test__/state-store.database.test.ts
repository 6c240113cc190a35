/** `StateStore` with the option `storage`: in PostgreSQL, which several machines share. */

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { type StateSearchOptions, StateStore } from '../dist/index.js'
import { rejectsWith, throwsWith, wrong } from './support/fixtures.ts'
import {
  hasPostgres,
  ONE_RUNTIME,
  type PostgresServer,
  passesOnDatabase,
  startPostgres,
  testDatabase,
} from './support/postgres.ts'

const INVALID = 'ERR_CONTEXT_INVALID_ARGUMENT'
/** The tests of stores in files that hold for those in a database, too. */
const SUITES = ['state-store']

describe('the option storage', () => {
  const storage = 'postgres://agent@127.0.0.1:1/none'

  test('makes path a name, and opens no connection', () => {
    assert.equal(new StateStore({ storage }).path, '/.agent/state.db')
    assert.equal(new StateStore({ storage, path: 'team/state' }).path, '/team/state')
    throwsWith(() => new StateStore({ storage, path: '../state' }), INVALID, /^path must be a path without/)
  })

  test('excludes the options of files', () => {
    for (const options of [{ durability: 'full' }, { lockTimeout: 5 }, { trustLocks: true }, { allowShared: false }]) {
      throwsWith(() => new StateStore(wrong({ storage, ...options })), INVALID, /and storage exclude each other/)
    }
    throwsWith(() => new StateStore({ storage: 'mysql://host' }), INVALID, /^storage\.url/)
  })

  test('rejects with the place of a server that cannot be reached', async () => {
    const store = new StateStore({ storage: { url: storage, timeout: 300 } })
    for (const call of [
      () => store.get(['a'], 'k'),
      () => store.put(['a'], 'k', 1),
      () => store.delete(['a'], 'k'),
      () => store.list([]),
      () => store.stats(),
      () => store.watch([])[Symbol.asyncIterator]().next(),
    ]) {
      await rejectsWith(call, 'ERR_CONTEXT_STORAGE', /127\.0\.0\.1:1/)
    }
    await store.close()
  })
})

// The run of the suites below has a database.
const skip = testDatabase !== undefined || !hasPostgres()

describe('a state store in PostgreSQL', { skip }, () => {
  let server: PostgresServer
  before(async () => {
    server = await startPostgres()
  })
  after(() => server.remove())

  test('is shared by all that use the database, under the name of its path', async () => {
    const options = { path: 'team/state', storage: server.url }
    const one = new StateStore(options)
    // Different settings share no connection, as if they were on two machines.
    const other = new StateStore({ path: '/team/state', storage: { url: server.url, timeout: 29_000 } })
    const elsewhere = new StateStore({ ...options, path: 'other' })
    const inSchema = new StateStore({ path: 'team/state', storage: { url: server.url, schema: 'tenant' } })
    // Without a cursor, the watcher might only begin after the change.
    const { cursor } = await other.stats()
    const first = other.watch(['a'], { since: cursor })[Symbol.asyncIterator]().next()
    const { revision } = await one.put(['a'], 'k', { n: 1 })
    assert.equal((await other.get(['a'], 'k'))?.revision, revision)
    assert.equal((await first).value?.revision, revision)
    await other.put(['a'], 'k', { n: 2 }, { ifRevision: revision })
    await rejectsWith(() => one.put(['a'], 'k', 3, { ifRevision: revision }), 'ERR_CONTEXT_CONFLICT', /"k"/)
    for (const store of [elsewhere, inSchema]) {
      assert.equal(await store.get(['a'], 'k'), undefined)
    }
    await Promise.all([one, other, elsewhere, inSchema].map((store) => store.close()))
  })

  test('finds by vectors what shares no word with the query', async () => {
    const store = new StateStore({ storage: server.url, path: 'vectors' })
    await store.batch([
      { type: 'put', namespace: ['a'], key: 'pet', value: 'the cat sleeps' },
      { type: 'put', namespace: ['a'], key: 'ship', value: 'the boat sails' },
    ])
    const embed = (texts: readonly string[]): number[][] =>
      texts.map((text) => (/cat|feline/.test(text) ? [1, 0] : [0, 1]))
    assert.deepEqual(await store.search(['a'], 'feline'), [])
    assert.equal((await store.search(['a'], 'feline', { embed }))[0]?.key, 'pet')
    await store.close()
  })

  describe('searches many items by the full-text index of the database', () => {
    const ITEMS = 1000
    const TEXT = 'shared words '.repeat(100)
    const path = 'many'
    /** A store that shares nothing with others, as in another process. */
    let processes = 0
    const open = (): StateStore => new StateStore({ path, storage: { url: server.url, timeout: 25_000 + processes++ } })
    const keysOf = async (store: StateStore, query: string, options?: StateSearchOptions): Promise<string[]> =>
      (await store.search(['notes'], query, options)).map(({ key }) => key)
    const received = async (store: StateStore): Promise<number> =>
      (await store.stats()).storage?.bytesReceived ?? Number.NaN
    let writer: StateStore
    before(async () => {
      writer = open()
      const all = Array.from({ length: ITEMS }, (_, n) => n)
      for (let start = 0; start < ITEMS; start += 200) {
        await writer.batch(
          all.slice(start, start + 200).map((n) => {
            const value = { text: `${TEXT} ${n % 100 === 7 ? 'elephant' : 'bread'}`, n }
            return { type: 'put', namespace: ['notes', 'all'], key: `item ${n}`, value } as const
          }),
        )
      }
    })
    after(() => writer.close())

    test('and reads only candidates in another process', async () => {
      assert.equal((await keysOf(writer, 'elephant')).length, 10)
      const other = open()
      const before = await received(other)
      assert.equal((await keysOf(other, 'elephant')).length, 10)
      const bytes = (await received(other)) - before
      assert.ok(bytes < (ITEMS * TEXT.length) / 20, `received ${bytes} bytes`)
      await other.close()
    })

    test('and finds what was just put, but nothing that was replaced, deleted or has expired', async () => {
      const other = open()
      const place = [['notes', 'new'], 'k'] as const
      await writer.put(...place, 'the giraffe')
      assert.deepEqual(await keysOf(other, 'giraffe'), ['k'])
      await writer.put(...place, 'the zebra')
      assert.deepEqual([await keysOf(other, 'giraffe'), await keysOf(other, 'zebra')], [[], ['k']])
      await writer.delete(...place)
      await writer.put(['notes', 'new'], 'short', 'the leopard', { ttl: 1 })
      await setTimeout(5)
      assert.deepEqual([await keysOf(other, 'zebra'), await keysOf(other, 'leopard')], [[], []])
      await other.close()
    })

    test('and takes further candidates until enough pass a filter', async () => {
      assert.deepEqual(await keysOf(writer, 'shared', { filter: { n: 3 } }), ['item 3'])
      assert.deepEqual(await keysOf(writer, 'elephant', { filter: { n: 3 } }), [])
    })

    test('and finds the oldest of more than 20 000, once their words were added', async () => {
      const store = new StateStore({ path: 'very-many', storage: server.url })
      await store.put(['notes'], 'oldest', 'the elephant')
      // Written with SQL, because a call for each takes long.
      server.sql(`INSERT INTO agent_context.document (store, namespace, key, sequence, nonce, created_at, updated_at, kind, media_type, length, value)
        SELECT d.store, d.namespace, convert_to('item ' || n, 'UTF8'), n, 1, d.created_at, d.updated_at, d.kind, d.media_type, 7, convert_to('"bread"', 'UTF8')
        FROM agent_context.document AS d, generate_series(2, 20500) AS n
        WHERE d.store = (SELECT store FROM agent_context.document_store WHERE name = '/very-many');
        UPDATE agent_context.document_store SET sequence = 20500 WHERE name = '/very-many'`)
      assert.deepEqual(await keysOf(store, 'elephant'), [])
      assert.deepEqual(await keysOf(store, 'elephant'), ['oldest'])
      await store.close()
    })
  })

  test('is backed up by the tools of the database', async () => {
    const store = new StateStore({ storage: server.url })
    await rejectsWith(() => store.backup('copy.db'), 'ERR_CONTEXT_UNSUPPORTED', /pg_dump/)
    await store.close()
  })

  test('refuses places that an index cannot hold', async () => {
    const store = new StateStore({ storage: server.url })
    await rejectsWith(() => store.put(['a'], 'é'.repeat(1300), 1), INVALID, /use shorter ones/)
    await store.close()
  })

  test('passes the tests of stores in files', ONE_RUNTIME, () => passesOnDatabase(server.url, SUITES, 21))
})
