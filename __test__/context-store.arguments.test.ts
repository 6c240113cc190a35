/** Wrong arguments of `ContextStore`: refused with the parameter's name, before anything happens. */

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { ContextStore } from '../dist/index.js'
import { checkStoreOptions } from '../lib/store/options.ts'
import { inDirectory, MemoryFileSystem, rejectsWith, throwsWith, wrong } from './support/fixtures.ts'
import { holds } from './support/processes.ts'
import { existsSync } from './support/stored-files.ts'
import { entry, storeIn } from './support/stores.ts'

const PATH = 'code-reviewer/20260221T143022-auth.md'
type Call = (store: ContextStore) => Promise<unknown>
type Case = [call: Call, message: RegExp]

/** `write` and `supersede` with an entry of which one thing is wrong. */
function entryCases(member: string, value: unknown, message: string): Case[] {
  const made = { ...entry(), [member]: value }
  return [
    [(store) => store.write(wrong(made)), new RegExp(`^entry\\.${message}`)],
    [(store) => store.supersede(PATH, wrong(made), 'why'), new RegExp(`^replacement\\.${message}`)],
  ]
}

/** `search` and `list` with one wrong condition. */
function filterCases(member: string, value: unknown, message: string): Case[] {
  const filter = { [member]: value }
  return [
    [(store) => store.search(wrong(filter)), new RegExp(`^query\\.${message}`)],
    [(store) => store.list(wrong(filter)), new RegExp(`^filter\\.${message}`)],
  ]
}

const changes = (member: string, value: unknown, message: RegExp): Case => [
  (store) => store.update(PATH, wrong({ [member]: value }), 'why'),
  message,
]

const housekeeping = (policy: unknown, message: RegExp): Case => [(store) => store.housekeep(wrong(policy)), message]

const CASES: Case[] = [
  [(store) => store.write(wrong(undefined)), /^entry must be an object/],
  [(store) => store.write(wrong('text')), /^entry must be an object/],
  ...entryCases('type', undefined, 'type must be one of'),
  ...entryCases('type', 'note', "type must be one of 'finding', 'decision', 'artifact', 'reference', 'summary'"),
  ...entryCases('type', ['finding'], 'type must be one of'),
  ...entryCases('slug', undefined, 'slug must be a string'),
  ...entryCases('slug', 5, 'slug must be a string'),
  ...entryCases('content', undefined, 'content must be a string'),
  ...entryCases('content', { text: 'x' }, 'content must be a string'),
  ...entryCases('tags', 'security', 'tags must be an array'),
  ...entryCases('tags', ['a', ''], 'tags\\[1\\] must be a non-empty string of one line'),
  ...entryCases('tags', [' \t'], 'tags\\[0\\] must be'),
  ...entryCases('tags', ['a\nb'], 'tags\\[0\\] must be'),
  ...entryCases('tags', ['a\u2028b'], 'tags\\[0\\] must be'),
  ...entryCases('tags', [5], 'tags\\[0\\] must be'),
  ...entryCases('tags', new Array(1), 'tags\\[0\\] must be'),
  ...entryCases('links', PATH, 'links must be an array'),
  ...entryCases('links', [PATH, ''], 'links\\[1\\] must be the path of an entry'),
  ...entryCases('links', [null], 'links\\[0\\] must be'),
  ...entryCases('links', ['a/\ud800.md'], 'links\\[0\\] must be'),
  [(store) => store.read(wrong(undefined)), /^path must be the path of an entry/],
  [(store) => store.read(''), /^path must be/],
  [(store) => store.read(wrong(['a/b.md'])), /^path must be/],
  [(store) => store.read('a/\udc00.md'), /^path must be/],
  [(store) => store.update('', {}, 'why'), /^path must be/],
  [(store) => store.update(PATH, wrong(undefined), 'why'), /^change must be an object/],
  [(store) => store.update(PATH, {}, wrong(undefined)), /^description must be a non-empty string/],
  [(store) => store.update(PATH, {}, ''), /^description must be/],
  [(store) => store.update(PATH, {}, ' \n '), /^description must be/],
  [(store) => store.update(PATH, {}, 'why', wrong('revision')), /^options must be an object/],
  [(store) => store.update(PATH, {}, 'why', { ifRevision: '' }), /^ifRevision must be/],
  [(store) => store.update(PATH, {}, 'why', wrong({ ifRevision: 5 })), /^ifRevision must be/],
  changes('content', 5, /^change\.content must be a string/),
  changes('type', 'note', /^change\.type must be one of/),
  changes('tags', 'a', /^change\.tags must be an array/),
  changes('addTags', [''], /^change\.addTags\[0\] must be/),
  changes('removeTags', [5], /^change\.removeTags\[0\] must be/),
  changes('links', [''], /^change\.links\[0\] must be/),
  changes('removeLinks', 'a', /^change\.removeLinks must be an array/),
  [(store) => store.link('', PATH), /^path must be/],
  [(store) => store.link(PATH, ''), /^target must be the path of an entry/],
  [(store) => store.link(PATH, wrong(undefined)), /^target must be/],
  [(store) => store.supersede('', entry(), 'why'), /^path must be/],
  [(store) => store.supersede(PATH, wrong(null), 'why'), /^replacement must be an object/],
  [(store) => store.supersede(PATH, entry(), ''), /^reason must be a non-empty string/],
  [(store) => store.supersede(PATH, entry(), wrong(undefined)), /^reason must be/],
  [(store) => store.search(wrong(undefined)), /^query must be an object/],
  [(store) => store.search(wrong('words')), /^query must be an object/],
  [(store) => store.list(wrong('words')), /^filter must be an object/],
  [(store) => store.search(wrong({ query: 5 })), /^query\.query must be a string/],
  [(store) => store.search(wrong({ query: 'x', ranked: 'yes' })), /^query\.ranked must be true or false/],
  [(store) => store.search({ ranked: true }), /^query\.query is needed with query\.ranked/],
  ...filterCases('agent', 5, 'agent must be a string'),
  ...filterCases('agent', ['a', 5], 'agent\\[1\\] must be a string'),
  ...filterCases('sessionId', {}, 'sessionId must be a string'),
  ...filterCases('type', 'note', 'type must be one of'),
  ...filterCases('type', ['finding', ''], 'type\\[1\\] must be one of'),
  ...filterCases('tags', 'security', 'tags must be an array of tags, or'),
  ...filterCases('tags', ['a', ' '], 'tags\\[1\\] must be'),
  ...filterCases('tags', { all: 'a' }, 'tags\\.all must be an array'),
  ...filterCases('tags', { any: [5] }, 'tags\\.any\\[0\\] must be'),
  ...filterCases('since', 'yesterday', 'since must be a valid date'),
  ...filterCases('since', new Date(Number.NaN), 'since must be a valid date'),
  ...filterCases('until', true, 'until must be a valid date'),
  ...filterCases('limit', -1, 'limit must be a whole number from 0 up'),
  ...filterCases('limit', 1.5, 'limit must be'),
  ...filterCases('limit', '5', 'limit must be'),
  ...filterCases('superseded', 'no', 'superseded must be true or false'),
  [(store) => store.search(wrong({ signal: true })), /^signal must be an AbortSignal/],
  [(store) => store.list(wrong({ signal: {} })), /^signal must be an AbortSignal/],
  [(store) => store.related(''), /^path must be/],
  [(store) => store.related(PATH, wrong(5)), /^options must be an object/],
  [(store) => store.related(PATH, { depth: 0 }), /^depth must be a whole number from 1 up/],
  [(store) => store.related(PATH, { depth: 1.5 }), /^depth must be/],
  [(store) => store.related(PATH, { depth: Number.POSITIVE_INFINITY }), /^depth must be/],
  [(store) => store.related(PATH, wrong({ direction: 'up' })), /^direction must be 'links', 'backlinks' or 'both'/],
  [(store) => store.related(PATH, { limit: -1 }), /^limit must be/],
  [(store) => store.related(PATH, wrong({ signal: 1 })), /^signal must be/],
  housekeeping('30d', /^policy must be an object/),
  housekeeping({ olderThan: 30 }, /^olderThan must be a duration/),
  housekeeping({ olderThan: '30' }, /^olderThan must be a duration/),
  housekeeping({ olderThan: '-1d' }, /^olderThan must be a duration/),
  housekeeping({ retention: '30d' }, /^retention must be an object/),
  housekeeping({ retention: { a: 30 } }, /^retention\["a"\] must be/),
  housekeeping({ retention: { a: 'never' } }, /^retention\["a"\] must be a duration/),
  housekeeping(
    { retention: { a: { contextRetention: 30 } } },
    /^retention\["a"\]\.contextRetention must be a duration/,
  ),
  housekeeping({ agents: 'a' }, /^agents must be an array/),
  housekeeping({ agents: ['a', 5] }, /^agents\[1\] must be a string/),
  housekeeping({ dryRun: 'yes' }, /^dryRun must be true or false/),
  housekeeping({ includeLinked: 1 }, /^includeLinked must be true or false/),
  housekeeping({ onProgress: {} }, /^onProgress must be a function/),
  housekeeping({ signal: {} }, /^signal must be an AbortSignal/),
  [(store) => store.verify(wrong({ signal: {} })), /^signal must be/],
]

describe('wrong arguments', () => {
  it('reject with their names, and nothing is written', () =>
    inDirectory(async (directory) => {
      const path = join(directory, 'store')
      const store = storeIn(path)
      for (const [call, message] of CASES) {
        await rejectsWith(() => call(store), 'ERR_CONTEXT_INVALID_ARGUMENT', message)
      }
      assert.equal(existsSync(path), false)
    }))

  it('throw in the constructor and in contextFiles()', () => {
    const cases: [options: unknown, message: RegExp][] = [
      [undefined, /^options must be an object/],
      ['code-reviewer', /^options must be an object/],
      [{}, /^agent must be a string/],
      [{ agent: 'a', path: 5 }, /^path must be/],
      [{ agent: 'a', path: '' }, /^path must be/],
      [{ agent: 'a', path: 'a\0b' }, /^path must be/],
      [{ agent: 'a', durability: 'none' }, /^durability must be 'process' or 'full'/],
      [{ agent: 'a', lockTimeout: -1 }, /^lockTimeout must be/],
      [{ agent: 'a', lockTimeout: '5s' }, /^lockTimeout must be/],
      [{ agent: 'a', maxEntryBytes: 1.5 }, /^maxEntryBytes must be/],
      [{ agent: 'a', fileSystem: {} }, /^fileSystem\.readFile must be a function/],
      [{ agent: 'a', redaction: 'none' }, /^redaction must be false or an object/],
      [{ agent: 'a', onDebug: 'log' }, /^onDebug must be a function/],
    ]
    for (const [options, message] of cases) {
      throwsWith(() => new ContextStore(wrong(options)), 'ERR_CONTEXT_INVALID_ARGUMENT', message)
    }
    const store = storeIn('/virtual')
    throwsWith(() => store.contextFiles(wrong(5)), 'ERR_CONTEXT_INVALID_ARGUMENT', /^sessionId must be a string/)
  })

  it('that are absent have the defaults that the types name', () => {
    const { checked } = checkStoreOptions({ agent: 'a', path: '/virtual' }, undefined)
    const { isDurable, lockTimeout, maxEntryBytes, hasDebug } = checked
    assert.deepEqual(
      { isDurable, lockTimeout, maxEntryBytes, hasDebug },
      { isDurable: true, lockTimeout: 10_000, maxEntryBytes: 16 * 1024 * 1024, hasDebug: false },
    )
    assert.equal(checkStoreOptions({ agent: 'a', durability: 'process' }, undefined).checked.isDurable, false)
    assert.equal(checkStoreOptions({ agent: 'a', durability: 'full' }, undefined).checked.isDurable, true)
  })

  it('undefined and null mean absent where something is optional', () =>
    inDirectory(async (path) => {
      for (const absent of [undefined, null]) {
        const names = [
          'sessionId',
          'config',
          'durability',
          'fileSystem',
          'redaction',
          'lockTimeout',
          'maxEntryBytes',
          'onDebug',
        ]
        const options = Object.fromEntries(names.map((name) => [name, absent]))
        const store = new ContextStore(wrong({ agent: 'a', path, ...options }))
        const written = await store.write(wrong({ ...entry(), tags: absent, links: absent }))
        assert.deepEqual([written.tags, written.links], [[], []])
        const change = Object.fromEntries(
          ['content', 'type', 'tags', 'addTags', 'removeTags', 'links', 'removeLinks'].map((name) => [name, absent]),
        )
        const updated = await store.update(written.path, wrong(change), 'seen', wrong({ ifRevision: absent }))
        assert.deepEqual([updated.content, updated.type], [written.content, written.type])
        const conditions = ['agent', 'sessionId', 'type', 'tags', 'since', 'until', 'superseded', 'limit', 'signal']
        const filter = Object.fromEntries([...conditions, 'query', 'ranked'].map((name) => [name, absent]))
        const finds = (entries: readonly { path: string }[]): boolean =>
          entries.some(({ path }) => path === updated.path)
        holds(finds(await store.search(wrong(filter))), 'search() finds it')
        holds(finds(await store.list(wrong(filter))), 'list() finds it')
        holds(finds(await store.search(wrong({ tags: { all: absent, any: absent } }))), 'tags find it')
        assert.deepEqual(
          await store.related(written.path, wrong({ depth: absent, direction: absent, limit: absent, signal: absent })),
          [],
        )
        const policy = ['olderThan', 'retention', 'agents', 'dryRun', 'includeLinked', 'onProgress', 'signal']
        const report = await store.housekeep(wrong(Object.fromEntries(policy.map((name) => [name, absent]))))
        assert.deepEqual([report.removed, report.dryRun], [[], false])
        holds((await store.verify(wrong(absent))).entries > 0, 'verify() sees it')
        assert.deepEqual(store.contextFiles(absent), [written.path])
      }
    }))

  it('that throw while they are read reject with a code', () =>
    inDirectory(async (path) => {
      const store = storeIn(path)
      const hostile = new Proxy(
        {},
        {
          get() {
            throw new Error('a getter that throws')
          },
        },
      )
      for (const call of [
        () => store.write(wrong(hostile)),
        () => store.update(PATH, wrong(hostile), 'why'),
        () => store.supersede(PATH, wrong(hostile), 'why'),
        () => store.search(wrong(hostile)),
        () => store.list(wrong(hostile)),
        () => store.related(PATH, wrong(hostile)),
        () => store.housekeep(wrong(hostile)),
        () => store.verify(wrong(hostile)),
      ]) {
        const error = await rejectsWith(call, 'ERR_CONTEXT_INVALID_ARGUMENT')
        assert.equal((error.cause as Error).message, 'a getter that throws')
      }
    }))

  it('refuse lone surrogates, which contents may have', async () => {
    const fileSystem = new MemoryFileSystem()
    const store = storeIn('/store', { fileSystem })
    const written = await store.write(entry({ slug: 'a\ud800b', content: 'x\udc00y', tags: ['t\ud800'] }))
    assert.deepEqual([written.content, written.tags], ['x\ufffdy', ['t\ufffd']])
  })
})
