/** `StateStore` with the option `storage`: in PostgreSQL, which several machines share. */

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { StateStore } from '../dist/index.js'
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
    const changes = other.watch(['a'])[Symbol.asyncIterator]()
    const first = changes.next()
    await other.get(['a'], 'k')
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
