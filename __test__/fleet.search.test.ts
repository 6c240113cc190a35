/** Searches of all sessions on PostgreSQL: the index of the database narrows them, in processes without a common directory. */

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { ContextManager, type ContextManagerOptions, type SearchOptions } from '../dist/index.js'
import { hasPostgres, type PostgresServer, startPostgres } from './support/postgres.ts'
import { PATIENT, run } from './support/processes.ts'

const CONTEXTS = 300

const words = (number: number): string =>
  Array.from({ length: 200 }, (_, word) => `word${(number * 7 + word * 13) % 700}`).join(' ')

/** Saves contexts, most of whose words are in many of them. */
async function fill(options: ContextManagerOptions): Promise<string[]> {
  const manager = new ContextManager({ ...options, persist: 'all' })
  const paths: string[] = []
  for (let number = 0; number < CONTEXTS; number += 1) {
    const phrase = number % 50 === 7 ? 'a login form was found in the connections' : ''
    const rare = number === 123 ? 'kubernetes' : ''
    const toolName = number % 100 === 99 ? 'rare_tool' : 'tool'
    const text = `report ${number} about topic${number % 40} ${words(number)} ${phrase} ${rare}`
    paths.push(await manager.saveContext(toolName, { number }, text, number % 3))
  }
  await manager.close()
  return paths
}

describe('a search of all sessions on a database', PATIENT, () => {
  let server: PostgresServer | undefined
  let storage = ''
  let directory = ''

  before(async () => {
    server = hasPostgres() ? await startPostgres() : undefined
    storage = server?.url ?? ''
    directory = mkdtempSync(join(tmpdir(), 'agent-context-fleet-search-'))
  })

  after(() => {
    rmSync(directory, { recursive: true, force: true })
    server?.remove()
  })

  it('reads few contexts, and finds what a search on disk finds', async (context) => {
    if (server === undefined) {
      context.skip('PostgreSQL is not installed')
      return
    }
    const onDisk = { contextDir: directory }
    const inDatabase = { storage, contextDir: 'searched' }
    await fill({ ...onDisk, sessionId: 'own' })
    const paths = await fill({ ...inDatabase, sessionId: 'own' })
    const search = async (query: string): Promise<{ found: unknown[][]; received: number }> => {
      const [line = ''] = await run('fleet-search.mjs', [storage, 'searched', JSON.stringify([query])])
      return JSON.parse(line) as { found: unknown[][]; received: number }
    }
    const first = await search('kubernetes')
    const second = await search('kubernetes')
    assert.deepEqual(second.found, [[['tool', { number: 123 }]]])
    assert.deepEqual(second.found, first.found)
    assert.ok(second.received * 10 < first.received, `${second.received} and ${first.received} bytes`)

    await using local = new ContextManager({ ...onDisk, sessionId: 'searches' })
    await using remote = new ContextManager({ ...inDatabase, sessionId: 'searches' })
    // In the order of the numbers: equal hits may have any order.
    const find = async (manager: ContextManager, query: string, options: SearchOptions): Promise<number[]> => {
      const hits = await manager.search(query, { sessions: 'all', limit: CONTEXTS, ...options })
      return hits.map(({ args }) => Number(args['number'])).sort((one, other) => one - other)
    }
    const cases: [string, SearchOptions][] = [
      ['login form', {}],
      ['"login form"', {}],
      ['"form login"', {}],
      ['connecti*', {}],
      ['topic1* login', {}],
      ['topic3 -"login form"', {}],
      ['report tool:rare_tool', {}],
      ['report', { taskId: 2, sessions: ['own'] }],
      ['report', { sessions: ['other'] }],
      ['kubrnetes', {}],
      ['-report', {}],
    ]
    for (const [query, options] of cases) {
      const expected = await find(local, query, options)
      assert.deepEqual(await find(remote, query, options), expected, `${query} ${JSON.stringify(options)}`)
    }
    const [path = ''] = paths.slice(123, 124)
    const name = path.slice(path.lastIndexOf('/') + 1)
    server.sql(`DELETE FROM agent_context.file WHERE name = '${name}'`)
    assert.deepEqual(await find(remote, '"kubernetes"', {}), [])
    await using other = new ContextManager({ ...inDatabase, sessionId: 'other', persist: 'all' })
    await other.saveContext('tool', { number: 1000 }, 'a zeppelin')
    assert.deepEqual(await find(remote, 'zeppelin', {}), [1000])
    await other.clear()
    assert.deepEqual(await find(remote, '"zeppelin"', {}), [])
  })
})
