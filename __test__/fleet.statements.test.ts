/** The number of statements that searches take on PostgreSQL: entries and contexts are read many at a time. */

import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { ContextManager, ContextStore } from '../dist/index.js'
import { hasPostgres, type PostgresServer, startPostgres } from './support/postgres.ts'
import { PATIENT } from './support/processes.ts'

const ENTRIES = 300
const CONTEXTS = 60

/** The statements that `work` takes. */
async function statements<Result>(
  object: ContextManager | ContextStore,
  work: () => Promise<Result>,
): Promise<[Result, number]> {
  const count = (): number => object.stats().storage?.requests ?? 0
  const start = count()
  const result = await work()
  return [result, count() - start]
}

describe('statements of searches on a database', PATIENT, () => {
  let server: PostgresServer | undefined
  let timeout = 20_000

  /** Options whose connections and counters no other object has. */
  const alone = (): { storage: { url: string; timeout: number } } => {
    timeout += 1
    return { storage: { url: server?.url ?? '', timeout } }
  }

  before(async () => {
    server = hasPostgres() ? await startPostgres() : undefined
  })

  after(() => server?.remove())

  it('entries are read many at a time', async (context) => {
    if (server === undefined) {
      context.skip('PostgreSQL is not installed')
      return
    }
    const options = { path: 'entries', agent: 'writer' }
    const writer = new ContextStore({ ...options, ...alone() })
    const paths: string[] = []
    // Longer than what is read of an entry together with others.
    const long = `The login form is slow.\n\n${'A long entry has many words. '.repeat(4000)}.`
    for (let number = 0; number < ENTRIES; number += 1) {
      const text = number % 2 === 0 ? 'The login form is slow.' : 'The form of the login page is slow.'
      const content = number === 8 ? long : text
      paths.push((await writer.write({ type: 'finding', slug: `entry-${number}`, content })).path)
    }

    await using store = new ContextStore({ ...options, agent: 'reader', ...alone() })
    const ranked = { query: 'login', ranked: true, limit: 50 }
    const [first, ofFirst] = await statements(store, () => store.search(ranked))
    assert.equal(first.length, 50)
    assert.ok(ofFirst <= 30, `${ofFirst} statements`)

    // Whether the words are next to each other is decided by reading the entries.
    const phrase = { query: '"login form"', limit: 50 }
    for (const query of [ranked, phrase]) {
      const [hits, ofSearch] = await statements(store, () => store.search(query))
      assert.equal(hits.length, 50)
      assert.ok(hits.every(({ content }) => content.includes('slow')))
      assert.ok(ofSearch <= 15, `${ofSearch} statements`)
    }
    const all = await store.search({ query: '"login form"', limit: ENTRIES })
    const even = paths.filter((_, number) => number % 2 === 0)
    assert.deepEqual(all.map(({ path }) => path).sort(), even.sort())
    assert.equal(all.find(({ path }) => path === paths[8])?.content, long)

    const [removed = '', replaced = ''] = even
    const name = removed.slice(removed.lastIndexOf('/') + 1)
    server.sql(`DELETE FROM agent_context.file WHERE name = '${name}'`)
    await writer.update(replaced, { content: 'Nothing to see.' }, 'a change')
    const left = await store.search({ query: '"login form"', limit: ENTRIES })
    assert.deepEqual(left.map(({ path }) => path).sort(), even.slice(2))
    await writer.close()
  })

  it('the hits of a search of all sessions are read at once', async (context) => {
    if (server === undefined) {
      context.skip('PostgreSQL is not installed')
      return
    }
    const options = { contextDir: 'contexts', persist: 'all' as const }
    const writer = new ContextManager({ ...options, ...alone(), sessionId: 'writer' })
    for (let number = 0; number < CONTEXTS; number += 1) {
      // Too long to be read together with others, every tenth.
      const long = number % 10 === 0 ? 'many words '.repeat(30_000) : ''
      await writer.saveContext('tool', { number }, `the login form ${number} ${long}`)
    }
    await writer.close()
    await using manager = new ContextManager({ ...options, ...alone(), sessionId: 'searcher' })
    const search = (query: string, limit: number): Promise<number[]> =>
      manager
        .search(query, { sessions: 'all', limit })
        .then((hits) => hits.map(({ args }) => Number(args['number'])).sort((one, other) => one - other))
    assert.equal((await search('login', 10)).length, 10)
    const [found, taken] = await statements(manager, () => search('"login form"', 20))
    assert.equal(found.length, 20)
    assert.ok(taken <= 12, `${taken} statements`)
    assert.deepEqual(await search('login', CONTEXTS), [...Array(CONTEXTS).keys()])
  })
})
