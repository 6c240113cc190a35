/** `ContextManager`: construction, options, `hashQuery`, `onDebug`. */

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { describe, it } from 'node:test'
import { type ContextManagerOptions, DEFAULT_CONTEXT_DIRECTORY, DEFAULT_PERSIST_THRESHOLD } from '../dist/index.js'
import {
  debugLog,
  deletedCounts,
  filesIn,
  inDirectory,
  only,
  rejectsWith,
  throwsWith,
  wrong,
} from './support/fixtures.ts'
import { ContextManager } from './support/managers.ts'
import { onDisk } from './support/postgres.ts'

describe('constructor', () => {
  it('keeps contexts in ~/.agent/context by default and touches no file', () => {
    const manager = new ContextManager()
    assert.equal(DEFAULT_CONTEXT_DIRECTORY, '~/.agent/context')
    assert.equal(DEFAULT_PERSIST_THRESHOLD, 32_768)
    assert.equal(manager.getContextDir(), join(homedir(), '.agent', 'context'))
    assert.equal(manager.size, 0)
    assert.deepEqual(manager.getAllPointers(), [])
  })

  it('takes a directory of its own, made absolute, and does not create it', onDisk('paths of a disk'), () =>
    inDirectory((directory) => {
      const contextDir = join(directory, 'contexts')
      assert.equal(new ContextManager({ contextDir }).getContextDir(), contextDir)
      assert.equal(new ContextManager({ contextDir: `${contextDir}/a/../` }).getContextDir(), contextDir)
      assert.equal(new ContextManager({ contextDir: 'relative/dir' }).getContextDir(), resolve('relative/dir'))
      assert.deepEqual(filesIn(directory), [])
    }),
  )

  it('expands ~ only at the beginning', onDisk('paths of a disk'), () => {
    assert.equal(new ContextManager({ contextDir: '~/some/dir' }).getContextDir(), join(homedir(), 'some/dir'))
    assert.equal(new ContextManager({ contextDir: '~' }).getContextDir(), homedir())
    assert.equal(new ContextManager({ contextDir: '~other/x' }).getContextDir(), resolve('~other/x'))
    assert.equal(new ContextManager({ contextDir: '/a/~/x' }).getContextDir(), resolve('/a/~/x'))
  })

  it('takes undefined and null for the default of every option', async () => {
    const names = [
      'contextDir',
      'persistThreshold',
      'persist',
      'memoryBudget',
      'sessionId',
      'shouldPersist',
      'retention',
      'durability',
      'fileSystem',
      'describe',
      'onDebug',
    ]
    for (const absent of [undefined, null]) {
      assert.equal(
        new ContextManager(wrong(absent)).getContextDir(),
        new ContextManager().getContextDir(),
        String(absent),
      )
      const options = Object.fromEntries(names.map((name) => [name, absent]))
      const manager = new ContextManager(wrong(options))
      assert.equal(manager.getContextDir(), join(homedir(), '.agent', 'context'))
      assert.notEqual(manager.sessionId, new ContextManager().sessionId)
      const bounds = { maxAge: absent, maxFiles: absent, maxBytes: absent, maxResultBytes: absent }
      await inDirectory(async (contextDir) => {
        const bounded = new ContextManager({ ...wrong<object>(options), contextDir, retention: wrong(bounds) })
        await bounded.saveContext('tool', {}, 1)
        assert.equal(bounded.size, 1)
        await bounded.clear()
      })
    }
  })

  it('gives every manager a new session, or the one of its option', () => {
    const first = new ContextManager()
    assert.ok(first.sessionId.length >= 16)
    assert.notEqual(first.sessionId, new ContextManager().sessionId)
    assert.equal(new ContextManager({ sessionId: 'agent-7' }).sessionId, 'agent-7')
  })

  const somethingElse = (...allowed: string[]): unknown[] =>
    [5, -1, 1.5, Number.NaN, true, 'text', {}, [], () => {}, Symbol('s'), 10n].filter(
      (value) => !allowed.includes(Array.isArray(value) ? 'array' : typeof value),
    )
  const wrongCount = [-1, 1.5, Number.NaN, Number.NEGATIVE_INFINITY, '5', true, {}, 5n, () => {}]
  const table: [name: string, values: unknown[]][] = [
    ['contextDir', [...somethingElse('string'), '', 'a\0b']],
    ['persistThreshold', wrongCount],
    ['memoryBudget', wrongCount],
    ['persist', [...somethingElse(), 'All', '', 'none']],
    ['durability', [...somethingElse(), 'Full', '']],
    ['sessionId', [...somethingElse('string'), '', 'a\0b', 'a\nb', '\ud800', 'x'.repeat(100_000)]],
    ['shouldPersist', somethingElse('function')],
    ['describe', somethingElse('function')],
    ['onDebug', somethingElse('function')],
    ['fileSystem', [5, 'text', true, {}, Symbol('s')]],
    ['retention', [5, 'text', true, Symbol('s')]],
  ]
  for (const [name, values] of table) {
    it(`refuses a wrong ${name} and names it`, () => {
      for (const value of values) {
        const options = wrong<ContextManagerOptions>({ [name]: value })
        throwsWith(() => new ContextManager(options), 'ERR_CONTEXT_INVALID_ARGUMENT', new RegExp(name))
      }
    })
  }

  it('refuses wrong bounds of the retention and names them', () => {
    const wrongDuration = [5, '', '7', '7 years', '-1d', 'd', {}, true, 'NaNd']
    const bounds: [string, unknown[]][] = [
      ['maxAge', wrongDuration],
      ['maxFiles', wrongCount],
      ['maxBytes', wrongCount],
      ['maxResultBytes', wrongCount],
    ]
    for (const [name, values] of bounds) {
      for (const value of values) {
        throwsWith(
          () => new ContextManager({ retention: wrong({ [name]: value }) }),
          'ERR_CONTEXT_INVALID_ARGUMENT',
          new RegExp(`retention\\.${name}`),
        )
      }
    }
  })

  it('refuses options that are no object', () => {
    for (const options of [5, 'text', true, () => {}, Symbol('s'), 1n]) {
      throwsWith(() => new ContextManager(wrong(options)), 'ERR_CONTEXT_INVALID_ARGUMENT', /options/)
    }
  })

  it('accepts the documented extremes', () => {
    for (const count of [0, 1, Number.MAX_SAFE_INTEGER, Number.POSITIVE_INFINITY]) {
      const retention = { maxFiles: count, maxBytes: count, maxResultBytes: count, maxAge: '1.5h' }
      assert.ok(new ContextManager({ persistThreshold: count, memoryBudget: count, retention }))
    }
    for (const maxAge of ['0ms', '5s', '10m', '12h', '7d', '2w']) {
      assert.ok(new ContextManager({ retention: { maxAge } }))
    }
  })
})

describe('hashQuery', () => {
  it('is q_ and 16 hex digits of the SHA-256 of the trimmed, lower-cased text', () => {
    const expected = createHash('sha256').update('how does login work?').digest('hex').slice(0, 16)
    assert.equal(ContextManager.hashQuery('how does login work?'), `q_${expected}`)
    assert.equal(ContextManager.hashQuery('  How does LOGIN work?\n'), `q_${expected}`)
    assert.notEqual(ContextManager.hashQuery('how does login  work?'), `q_${expected}`)
    const greek = createHash('sha256').update('äß 東京 😀').digest('hex').slice(0, 16)
    assert.equal(ContextManager.hashQuery('ÄSS 東京 😀'.replace('SS', 'ß')), `q_${greek}`)
    assert.match(ContextManager.hashQuery(''), /^q_[0-9a-f]{16}$/)
  })

  it('refuses what is no string', () => {
    for (const query of [undefined, null, 5, {}, ['a']]) {
      throwsWith(() => ContextManager.hashQuery(wrong(query)), 'ERR_CONTEXT_INVALID_ARGUMENT', /query/)
    }
  })
})

describe('onDebug', () => {
  it('hears of the construction at once', () => {
    const log = debugLog()
    new ContextManager({ contextDir: '/tmp/never-created', sessionId: 'told', onDebug: log })
    const { message, data } = only(log.entries)
    assert.equal(message, 'ContextManager initialized')
    assert.equal((data as { contextDir: string }).contextDir, resolve('/tmp/never-created'))
  })

  it('hears of every step before its promise settles', () =>
    inDirectory(async (contextDir) => {
      const log = debugLog()
      const manager = new ContextManager({ contextDir, onDebug: log })
      let before = log.entries.length
      const path = await manager.saveContext('tool', { a: 1 }, 'x').then((saved) => {
        assert.ok(log.entries.length > before, 'nothing said about the save')
        return saved
      })
      before = log.entries.length
      await manager.loadContexts([`${path}.missing.json`]).then(() => {
        assert.match(log.messages.slice(before).join(), /not found/)
      })
      await manager.clear().then(() => assert.deepEqual(deletedCounts(log), [1]))
    }))

  it('may throw without consequences', () =>
    inDirectory(async (contextDir) => {
      let calls = 0
      const manager = new ContextManager({
        contextDir,
        onDebug: () => {
          calls++
          throw new Error('a log that fails')
        },
      })
      const path = await manager.saveContext('tool', {}, { a: 1 })
      assert.deepEqual((await manager.loadContext(path)).result, { a: 1 })
      assert.deepEqual(await manager.loadContexts(['missing.json', path]).then((found) => found.length), 1)
      assert.equal(await manager.forget(path), true)
      manager.clearPointers()
      await manager.clearContextDir()
      await manager.clear()
      assert.ok(calls >= 4)
    }))

  it('may call the manager', () =>
    inDirectory(async (contextDir) => {
      const sizes: number[] = []
      const manager: ContextManager = new ContextManager({
        contextDir,
        onDebug: (message) => {
          if (message !== 'ContextManager initialized') {
            sizes.push(manager.getAllPointers().length)
          }
        },
      })
      await Promise.all(Array.from({ length: 20 }, (_, index) => manager.saveContext('tool', { index }, index)))
      assert.ok(sizes.length >= 20)
      await manager.clear()
    }))
})

describe('wrong arguments of asynchronous methods', () => {
  it('reject with a coded error that names the parameter, and never throw', () =>
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir })
      const calls: [() => Promise<unknown>, RegExp][] = [
        ...[undefined, null, 5, {}, Symbol('s')].flatMap((value): [() => Promise<unknown>, RegExp][] => [
          [() => manager.saveContext(wrong(value), {}, 1), /toolName/],
          [() => manager.loadContext(wrong(value)), /filepath/],
          [() => manager.loadContexts(wrong(value)), /filepaths/],
          [() => manager.forget(wrong(value)), /filepath/],
          [() => manager.selectContexts(wrong(value)), /query/],
        ]),
        ...[undefined, null, 5, 'text', [], () => {}, true].map((value): [() => Promise<unknown>, RegExp] => [
          () => manager.saveContext('tool', wrong(value), 1),
          /args/,
        ]),
        ...[Number.NaN, Number.POSITIVE_INFINITY, {}, [], true, 5n, Symbol('s')].map(
          (value): [() => Promise<unknown>, RegExp] => [
            () => manager.saveContext('tool', {}, 1, wrong(value)),
            /taskId/,
          ],
        ),
        ...[5, {}, [], true].map((value): [() => Promise<unknown>, RegExp] => [
          () => manager.saveContext('tool', {}, 1, 1, wrong(value)),
          /queryId/,
        ]),
        ...[5, {}, [], true].map((value): [() => Promise<unknown>, RegExp] => [
          () => manager.listContexts(wrong(value)),
          /sessionId/,
        ]),
        ...[-1, 1.5, Number.NaN, '5', {}, true].map((value): [() => Promise<unknown>, RegExp] => [
          () => manager.selectContexts('query', { limit: wrong(value) }),
          /limit/,
        ]),
        [() => manager.selectContexts('query', wrong(5)), /options/],
        [() => manager.sweep(wrong('x')), /options/],
      ]
      for (const [call, pattern] of calls) {
        await rejectsWith(call, 'ERR_CONTEXT_INVALID_ARGUMENT', pattern)
      }
      assert.equal(manager.size, 0)
      assert.deepEqual(filesIn(contextDir), [])
    }))

  it('throw a coded error in synchronous methods', () => {
    const manager = new ContextManager()
    for (const value of [5, {}, [], true]) {
      throwsWith(() => manager.getPointersForQuery(wrong(value)), 'ERR_CONTEXT_INVALID_ARGUMENT', /queryId/)
    }
    for (const value of [Number.NaN, {}, [], true]) {
      throwsWith(() => manager.getPointersForTask(wrong(value)), 'ERR_CONTEXT_INVALID_ARGUMENT', /taskId/)
    }
  })
})
