/** `search({ explain: true })`: why each hit was found. */

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { SearchHit } from '../dist/index.js'
import { inDirectory, only, rejectsWith, wrong } from './support/fixtures.ts'
import { ContextManager } from './support/managers.ts'
import { holds } from './support/processes.ts'

const fieldsOf = ({ explain = [] }: SearchHit): Record<string, string[]> =>
  Object.fromEntries(explain.map(({ term, fields }) => [term, fields]))

describe('search with explain', () => {
  it('names the terms that counted and their fields, which share the score', () =>
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir })
      await manager.saveContext('login', { user: 'ada' }, 'the session token expired')
      await manager.saveContext('fetch', { token: 'none' }, 'no page')
      const hits = await manager.search('token login expired', { explain: true })
      assert.deepEqual(
        hits
          .map(fieldsOf)
          .map(Object.keys)
          .map((terms) => terms.length),
        [3, 1],
      )
      const [best, second] = hits as [SearchHit, SearchHit]
      assert.deepEqual(fieldsOf(best)['login'], ['name', 'description'])
      assert.deepEqual(fieldsOf(best)['token'], ['result'])
      assert.deepEqual(fieldsOf(second), { token: ['arguments'] })
      for (const { explain = [] } of hits) {
        const shares = explain.map(({ share }) => share)
        holds(Math.abs(shares.reduce((sum, share) => sum + share, 0) - 1) < 1e-3)
        assert.deepEqual(
          [...shares].sort((one, other) => other - one),
          shares,
        )
      }
    }))

  it('explains hits of other sessions, texts beyond the index and similar words', () =>
    inDirectory(async (contextDir) => {
      const other = new ContextManager({ contextDir, persist: 'all' })
      await other.saveContext('deploy', {}, 'kubernetes rollout failed')
      const long = `${'words of a very long log\n'.repeat(60_000)}zanzibar\n${'more words of a log\n'.repeat(60_000)}`
      const manager = new ContextManager({ contextDir, persist: 'all' })
      await manager.saveContext('build', {}, long)
      const foreign = only(await manager.search('kubernetes', { sessions: 'all', explain: true }))
      assert.deepEqual(only(foreign.explain ?? []).fields, ['result'])
      const scanned = only(await manager.search('zanzibar', { explain: true }))
      assert.deepEqual([scanned.matchedBy, only(scanned.explain ?? []).fields], [undefined, ['result']])
      const similar = only(await manager.search('kuberntes', { sessions: 'all', explain: true }))
      assert.equal(similar.matchedBy, 'fuzzy')
      assert.equal(only(similar.explain ?? []).term, only(foreign.explain ?? []).term)
      await Promise.all([other.clear(), manager.clear()])
    }))

  it('has nothing to say where no word is looked for, and says nothing unasked', () =>
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir })
      await manager.saveContext('login', {}, 'it is the one')
      for (const query of ['tool:login', 'it is']) {
        assert.deepEqual(only(await manager.search(query, { explain: true })).explain, [])
      }
      for (const options of [null, { explain: false }, { explain: null }]) {
        holds(!('explain' in only(await manager.search('one', options))))
      }
      await rejectsWith(
        () => manager.search('one', wrong({ explain: 'yes' })),
        'ERR_CONTEXT_INVALID_ARGUMENT',
        /^options\.explain must be/,
      )
    }))
})
