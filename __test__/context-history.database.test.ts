import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { ContextHistory } from '../dist/index.js'
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
/** The tests of histories in files that hold for those in a database, too. */
const SUITES = ['', '.bounds', '.operations', '.ranked', '.tail'].map((name) => `context-history${name}`)

describe('the option storage', () => {
  const storage = 'postgres://agent@127.0.0.1:1/none'

  test('makes path a name, and opens no connection', () => {
    assert.equal(new ContextHistory({ storage }).path, '/.wink/context.jsonl')
    assert.equal(new ContextHistory({ storage, path: 'team/log' }).path, '/team/log')
    throwsWith(() => new ContextHistory({ storage, path: '../log' }), INVALID, /^path must be a path without/)
  })

  test('excludes the options of files', () => {
    for (const options of [{ durability: 'full' }, { lockTimeout: 5 }, { trustLocks: true }, { allowShared: false }]) {
      throwsWith(() => new ContextHistory(wrong({ storage, ...options })), INVALID, /and storage exclude each other/)
    }
    throwsWith(() => new ContextHistory({ storage: 'mysql://host' }), INVALID, /^storage\.url/)
  })

  test('rejects with the place of a server that cannot be reached', async () => {
    const history = new ContextHistory({ storage: { url: storage, timeout: 300 } })
    await rejectsWith(() => history.append({ toolName: 'x' }), 'ERR_CONTEXT_STORAGE', /127\.0\.0\.1:1/)
    await rejectsWith(() => history.read(), 'ERR_CONTEXT_STORAGE', /127\.0\.0\.1:1/)
  })
})

// The run of the suites below has a database.
const skip = testDatabase !== undefined || !hasPostgres()

describe('a history in PostgreSQL', { skip }, () => {
  let server: PostgresServer
  before(async () => {
    server = await startPostgres()
  })
  after(() => server.remove())

  test('is shared by all that use the database, under the name of its path', async () => {
    const options = { path: 'team/log', storage: server.url }
    const [one, other] = [new ContextHistory(options), new ContextHistory({ ...options, path: '/team/log' })]
    const elsewhere = new ContextHistory({ ...options, path: 'other' })
    const inSchema = new ContextHistory({ path: 'team/log', storage: { url: server.url, schema: 'tenant' } })
    const { id } = await one.append({ toolName: 'grep', result: { matches: 1 }, operationId: 'o' })
    assert.equal((await other.append({ toolName: 'grep', operationId: 'o' })).id, id)
    await other.append({ toolName: 'edit' }, { ifLast: id })
    await rejectsWith(() => one.append({ toolName: 'edit' }, { ifLast: id }), 'ERR_CONTEXT_CONFLICT', /team\/log/)
    assert.deepEqual(
      (await one.read()).map(({ toolName }) => toolName),
      ['grep', 'edit'],
    )
    assert.deepEqual([await elsewhere.read(), await inSchema.read()], [[], []])
  })

  test('finds by vectors what shares no word with the query', async () => {
    const history = new ContextHistory({ storage: server.url, path: 'vectors' })
    await history.append({ toolName: 'note', result: 'the cat sleeps' })
    await history.append({ toolName: 'note', result: 'the boat sails' })
    const embed = (texts: readonly string[]): number[][] =>
      texts.map((text) => (/cat|feline/.test(text) ? [1, 0] : [0, 1]))
    const filter = { text: 'feline', ranked: true }
    assert.deepEqual(await history.search(filter), [])
    assert.equal((await history.search({ ...filter, embed }))[0]?.result, 'the cat sleeps')
    await history.close()
  })

  test('passes the tests of histories in files', ONE_RUNTIME, () => passesOnDatabase(server.url, SUITES, 41))
})
