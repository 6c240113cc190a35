/** Searches with vectors of a caller's embedding model, in all classes: what they find, and what later processes need not embed again. */

import assert from 'node:assert/strict'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { ContextHistory, ContextManager, ContextStore, type Embed, RepoMemory, StateStore } from '../dist/index.js'
import { inDirectory, rejectsWith } from './support/fixtures.ts'
import { PATIENT, run } from './support/processes.ts'

interface Outcome {
  found: unknown[]
  embedded: string[]
  told: string[]
}

async function child(kind: string, directory: string, query: string, model: string): Promise<Outcome> {
  const [line = ''] = await run('embeddings.mjs', [kind, directory, query, model])
  return JSON.parse(line) as Outcome
}

/** The paths of all files of vectors below a directory. */
function filesOfVectors(directory: string): string[] {
  const names = readdirSync(directory, { recursive: true, encoding: 'utf8' })
  return names.filter((name) => /\.vectors[/\\][0-9a-f]{16}\.index$/.test(name)).map((name) => join(directory, name))
}

for (const kind of ['select', 'search', 'store', 'history', 'state', 'memory']) {
  // A pack contains all records; with vectors, the one that means the same comes first.
  const lexical = kind === 'memory' ? ['sunny weather'] : []

  describe(`embeddings: ${kind}`, PATIENT, () => {
    it('find what shares no word with the query, and are reused by other processes under the same name only', () =>
      inDirectory(async (directory) => {
        await child(kind, directory, '', '-')
        assert.deepEqual((await child(kind, directory, 'car', '-')).found, lexical)
        const first = await child(kind, directory, 'car', 'one')
        assert.deepEqual(first.found, ['the automobile is red'])
        assert.equal(first.embedded.length, 4)
        assert.equal(first.embedded.at(-1), 'car')
        assert.equal(filesOfVectors(directory).length, 1)
        const again = await child(kind, directory, 'sign in', 'one')
        assert.deepEqual(again.embedded, ['sign in'])
        assert.deepEqual(again.found[0], 'the login page')
        const other = await child(kind, directory, 'car', 'two')
        assert.deepEqual([other.found, other.embedded.length], [['the automobile is red'], 4])
        assert.equal(filesOfVectors(directory).length, 2)
        const nameless = await child(kind, directory, 'car', '')
        assert.deepEqual([nameless.found, nameless.embedded.length], [['the automobile is red'], 4])
        assert.equal(filesOfVectors(directory).length, 2)
        assert.deepEqual(
          [first, again, other, nameless].flatMap(({ told }) =>
            told.filter((message) => /vectors|embed/.test(message)),
          ),
          [],
        )
      }))

    it('rebuild a damaged file', () =>
      inDirectory(async (directory) => {
        await child(kind, directory, '', '-')
        await child(kind, directory, 'car', 'one')
        const [path = ''] = filesOfVectors(directory)
        if (process.platform !== 'win32') {
          assert.equal(statSync(path).mode & 0o777, 0o600)
        }
        const bytes = readFileSync(path)
        assert.ok(!bytes.includes('automobile') && !bytes.includes('one'), 'no text is stored')
        writeFileSync(path, 'damaged')
        const repaired = await child(kind, directory, 'car', 'one')
        assert.deepEqual([repaired.found, repaired.embedded.length], [['the automobile is red'], 4])
        assert.deepEqual((await child(kind, directory, 'car', 'one')).embedded, ['car'])
      }))
  })
}

interface Searched {
  name: string
  search: (directory: string, options: object, onDebug: (message: string) => void) => Promise<unknown[]>
}

/** Searches that find one text by its word. */
const SEARCHES: readonly Searched[] = [
  {
    name: 'ContextManager.search',
    async search(contextDir, options, onDebug) {
      const manager = new ContextManager({ contextDir, onDebug })
      await manager.saveContext('tool', {}, 'the login page')
      return manager.search('login', options)
    },
  },
  {
    name: 'ContextStore.search',
    async search(path, options, onDebug) {
      const store = new ContextStore({ path, agent: 'tester', onDebug })
      await store.write({ type: 'finding', slug: 'a', content: 'the login page' })
      return store.search({ query: 'login', ranked: true, ...options })
    },
  },
  {
    name: 'ContextHistory.search',
    async search(directory, options, onDebug) {
      const history = new ContextHistory({ path: join(directory, 'context.jsonl'), onDebug })
      await history.append({ toolName: 'tool', params: {}, result: 'the login page' })
      return history.search({ text: 'login', ranked: true, ...options })
    },
  },
  {
    name: 'StateStore.search',
    async search(directory, options, onDebug) {
      const state = new StateStore({ path: join(directory, 'state.db'), onDebug })
      try {
        await state.put(['notes'], 'a', 'the login page')
        return await state.search([], 'login', options)
      } finally {
        await state.close()
      }
    },
  },
  {
    name: 'RepoMemory.contextPack',
    async search(root, options, onDebug) {
      const memory = await RepoMemory.open({ repoHash: '0'.repeat(64), root, onDebug })
      await memory.upsertNote({ content: 'the login page', source: 'manual' })
      return (await memory.contextPack(1000, { query: 'login', ...options })).included
    },
  },
]

for (const { name, search } of SEARCHES) {
  describe(`${name} with embed`, () => {
    const failures: [what: string, embed: unknown][] = [
      ['throws', () => Promise.reject(new Error('no model'))],
      ['answers nothing', () => undefined],
      ['never settles', () => new Promise(() => {})],
      ['gives too many dimensions', (texts: string[]) => texts.map(() => new Float32Array(65_537).fill(1))],
    ]
    for (const [what, embed] of failures) {
      it(`searches by words and reports it when embed ${what}`, () =>
        inDirectory(async (directory) => {
          const told: string[] = []
          const found = await search(directory, { embed, embedTimeout: 20 }, (message) => told.push(message))
          assert.equal(found.length, 1)
          assert.equal(told.filter((message) => message === 'embed failed: searching without vectors').length, 1)
        }))
    }

    it('rejects with the reason of an aborted signal', () =>
      inDirectory(async (directory) => {
        const controller = new AbortController()
        const reason = new Error('no longer needed')
        const embed = () => {
          controller.abort(reason)
          return new Promise(() => {})
        }
        const promise = search(directory, { embed, signal: controller.signal }, () => {})
        await assert.rejects(promise, (error) => error === reason)
      }))

    it('refuses invalid options', () =>
      inDirectory(async (directory) => {
        const embed: Embed = (texts) => texts.map(() => [1])
        const refused: [options: object, message: RegExp][] = [
          [{ embed: 'model' }, /embed must be a function, or \{ model, embed \}/],
          [{ embed: { embed } }, /embed\.model must be a non-empty string/],
          [{ embed: { model: '', embed } }, /embed\.model must be a non-empty string/],
          [{ embed: { model: 'one' } }, /embed\.embed must be a function/],
          [{ embed: { model: 'one', embed, extra: 1 } }, /unknown option '.*embed\.extra'/],
          [{ embed, embedTimeout: -1 }, /embedTimeout must be/],
        ]
        for (const [options, message] of refused) {
          await rejectsWith(() => search(directory, options, () => {}), 'ERR_CONTEXT_INVALID_ARGUMENT', message)
        }
      }))
  })
}

describe('embed of a search', () => {
  const embed: Embed = (texts) => texts.map(() => [1])

  it('needs a ranking', () =>
    inDirectory(async (directory) => {
      const store = new ContextStore({ path: directory, agent: 'tester' })
      await rejectsWith(() => store.search({ query: 'a', embed }), 'ERR_CONTEXT_INVALID_ARGUMENT')
      const history = new ContextHistory({ path: join(directory, 'context.jsonl') })
      await rejectsWith(() => history.search({ text: 'a', embed }), 'ERR_CONTEXT_INVALID_ARGUMENT')
      const manager = new ContextManager({ contextDir: directory })
      await rejectsWith(() => manager.search('a', { sessions: 'all', embed }), 'ERR_CONTEXT_INVALID_ARGUMENT')
    }))

  it('keeps the filters and the exclusions of the query', () =>
    inDirectory(async (contextDir) => {
      const near: Embed = (texts) => texts.map((text) => [/car|automobile/.test(text) ? 1 : 0, 0.1])
      const manager = new ContextManager({ contextDir })
      for (const [tool, text] of [
        ['one', 'a red automobile'],
        ['two', 'a blue automobile'],
        ['one', 'a tree'],
        ['two', 'a house'],
      ]) {
        await manager.saveContext(tool ?? '', {}, text)
      }
      const asked: string[] = []
      const embed: Embed = (texts, options) => {
        asked.push(...texts)
        return near(texts, options)
      }
      const found = async (query: string) =>
        (await manager.search(query, { embed })).map(({ filepath, snippets, score }) => {
          assert.ok(score > 0 && score <= 1 && snippets.length === 0, `${score}`)
          return filepath
        })
      assert.equal((await found('car')).length, 2)
      assert.deepEqual(asked.slice(-1), ['car'])
      assert.equal((await found('car -red')).length, 1)
      assert.equal((await found('car tool:two')).length, 1)
      assert.deepEqual(asked.slice(-1), ['car'], 'without the filter')
      assert.equal((await found('car "no such phrase"')).length, 0)
      await manager.search('tool:one', { embed: () => assert.fail('there is nothing to embed') })
      await manager.clear()
    }))

  it('is told once about equal texts, and not again after their outputs were forgotten', () =>
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir })
      const asked: string[] = []
      const vectorsOf: Embed = (texts) => {
        asked.push(...texts)
        return texts.map(() => [1, 2])
      }
      const embed = { model: 'one', embed: vectorsOf }
      const first = await manager.saveContext('tool', {}, 'the same')
      await manager.saveContext('tool', {}, 'the same')
      await manager.search('a query', { embed })
      await manager.selectContexts('a query', { embed })
      assert.equal(asked.filter((text) => text !== 'a query').length, 1)
      await manager.forget(first)
      await manager.saveContext('tool', {}, 'the same')
      await manager.search('a query', { embed })
      assert.equal(asked.filter((text) => text !== 'a query').length, 1)
      await manager.clear()
    }))
})
