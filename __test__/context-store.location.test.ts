/** Where a context store is, and what an agent and a session may be called. */

import assert from 'node:assert/strict'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import process from 'node:process'
import { describe, it } from 'node:test'
import { ContextStore, DEFAULT_CONTEXT_STORE } from '../dist/index.js'
import { inDirectory, rejectsWith, throwsWith, wrong } from './support/fixtures.ts'
import { inTestPlace, isOnDisk } from './support/postgres.ts'
import { holds } from './support/processes.ts'
import { Canaries } from './support/secrets.ts'
import { existsSync, readdirSync } from './support/stored-files.ts'
import { entry, entryText, filesBelow, plant, storeIn, withEnvironment } from './support/stores.ts'

const DEFAULT = join(homedir(), '.local', 'share', 'single-file-agents', 'context')
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

const configured = (path: string) => ({ contextStore: { path } })

describe('ContextStore.resolvePath()', () => {
  it('takes the environment, then the configuration, then the default', async () => {
    const cases: [variable: string | undefined, config: unknown, expected: string][] = [
      [undefined, undefined, DEFAULT],
      [undefined, null, DEFAULT],
      [undefined, {}, DEFAULT],
      [undefined, { contextStore: null }, DEFAULT],
      [undefined, { contextStore: {} }, DEFAULT],
      [undefined, configured(''), DEFAULT],
      [undefined, configured('/from/config'), resolve('/from/config')],
      [undefined, configured('~/notes'), join(homedir(), 'notes')],
      ['', undefined, DEFAULT],
      ['', configured('/from/config'), resolve('/from/config')],
      ['/from/environment', undefined, resolve('/from/environment')],
      ['/from/environment', configured('/from/config'), resolve('/from/environment')],
      ['~', undefined, homedir()],
      ['~/notes', undefined, join(homedir(), 'notes')],
      ['~notes', undefined, resolve('~notes')],
      ['relative/notes', undefined, resolve('relative/notes')],
    ]
    for (const [variable, config, expected] of cases) {
      await withEnvironment({ SFA_CONTEXT_STORE: variable }, () => {
        assert.equal(ContextStore.resolvePath(wrong(config)), expected, JSON.stringify([variable, config]))
        assert.equal(new ContextStore({ agent: 'a', config: wrong(config) }).path, expected)
      })
    }
    assert.equal(DEFAULT_CONTEXT_STORE, '~/.local/share/single-file-agents/context')
  })

  it('refuses a wrong configuration, whether it counts or not', async () => {
    const cases: [config: unknown, name: RegExp][] = [
      ['/path', /^config must be an object/],
      [{ contextStore: '/path' }, /^config\.contextStore must be an object/],
      [{ contextStore: { path: 5 } }, /^config\.contextStore\.path must be/],
      [{ contextStore: { path: 'a\0b' } }, /^config\.contextStore\.path must be/],
    ]
    for (const variable of [undefined, '/from/environment']) {
      await withEnvironment({ SFA_CONTEXT_STORE: variable }, () => {
        for (const [config, name] of cases) {
          throwsWith(() => ContextStore.resolvePath(wrong(config)), 'ERR_CONTEXT_INVALID_ARGUMENT', name)
          throwsWith(
            () => new ContextStore({ agent: 'a', config: wrong(config) }),
            'ERR_CONTEXT_INVALID_ARGUMENT',
            name,
          )
        }
      })
    }
  })

  it('reads the environment when it is called, and touches no file', () =>
    inDirectory(async (directory) => {
      const path = join(directory, 'store')
      await withEnvironment({ SFA_CONTEXT_STORE: path }, () => {
        assert.equal(ContextStore.resolvePath(), path)
        assert.equal(existsSync(path), false)
      })
      assert.equal(ContextStore.resolvePath(), DEFAULT)
    }))
})

describe('a store', () => {
  it('is where the constructor says before all else', () =>
    inDirectory((directory) =>
      withEnvironment({ SFA_CONTEXT_STORE: join(directory, 'environment') }, async () => {
        const path = join(directory, 'given')
        const store = storeIn(path, { config: configured(join(directory, 'config')) })
        await store.write(entry())
        assert.equal(store.path, path)
        assert.deepEqual(readdirSync(directory), ['given'])
      }),
    ))

  it('is created with its parents only by the first write', () =>
    inDirectory((directory) => {
      const path = join(directory, 'deep', 'down')
      return withEnvironment({ SFA_CONTEXT_STORE: path }, async () => {
        const store = new ContextStore({ agent: 'code-reviewer', ...inTestPlace({}) })
        assert.deepEqual([await store.list(), await store.search({ query: 'x' })], [[], []])
        assert.deepEqual(await store.verify(), { entries: 0, problems: [], danglingLinks: [] })
        await rejectsWith(() => store.read('code-reviewer/x.md'), 'ERR_CONTEXT_NOT_FOUND')
        assert.deepEqual((await store.housekeep()).removed, [])
        // In a database, the lock of the store is a row, which needs no directory.
        assert.deepEqual(readdirSync(directory), isOnDisk ? [] : ['deep'])
        const { filePath } = await store.write(entry())
        holds(filePath.startsWith(join(path, 'code-reviewer')), filePath)
        holds(existsSync(filePath), filePath)
      })
    }))
})

describe('a session', () => {
  it('that is named has a directory, one that is not has none', () =>
    inDirectory(async (path) => {
      const cases: [option: string | null | undefined, variable: string | undefined, named: string | undefined][] = [
        ['s1', undefined, 's1'],
        ['s1', 'from-environment', 's1'],
        [undefined, 'from-environment', 'from-environment'],
        [null, 'from-environment', 'from-environment'],
        [undefined, '', undefined],
        [undefined, undefined, undefined],
      ]
      for (const [option, variable, named] of cases) {
        await withEnvironment({ SFA_SESSION_ID: variable }, async () => {
          const store = storeIn(path, { sessionId: wrong(option) })
          const { path: written, sessionId } = await store.write(entry())
          assert.equal(sessionId, store.sessionId)
          if (named === undefined) {
            assert.match(store.sessionId, UUID)
            assert.match(written, /^code-reviewer\/[^/]+\.md$/)
          } else {
            assert.equal(store.sessionId, named)
            holds(written.startsWith(`code-reviewer/${named}/`), written)
          }
        })
      }
    }))

  it('that is not named is another for each store, and stays', () => {
    const [one, two] = [storeIn('/virtual'), storeIn('/virtual')]
    holds(one.sessionId !== two.sessionId, 'the same id')
    assert.equal(one.sessionId, one.sessionId)
  })

  it('is read from the environment once', async () => {
    const store = await withEnvironment({ SFA_SESSION_ID: 's1' }, () => storeIn('/virtual'))
    assert.equal(store.sessionId, 's1')
    assert.equal(process.env['SFA_SESSION_ID'], undefined)
  })
})

describe('names of agents and sessions', () => {
  const refused = [
    '',
    '.',
    '..',
    '.hidden',
    'a/b',
    '../a',
    '/a',
    'a\\b',
    'C:',
    'a:b',
    'a\0b',
    'a\nb',
    'a?',
    'a*b',
    '<a>',
    'a|b',
    'a"b',
    'x.',
    'x ',
    ' x',
    'x'.repeat(101),
    'é'.repeat(51),
    '\ud800',
    'a\udc00',
  ]
  const reserved = ['con', 'CON', 'Nul', 'aux', 'prn', 'com1', 'LPT9', 'nul.txt', 'con.agent']

  it('are refused where some system has no such directory', async () => {
    for (const name of [...refused, ...reserved]) {
      throwsWith(() => storeIn('/virtual', { agent: name }), 'ERR_CONTEXT_INVALID_ARGUMENT', /^agent /)
      throwsWith(() => storeIn('/virtual', { sessionId: name }), 'ERR_CONTEXT_INVALID_ARGUMENT', /^sessionId /)
      // No environment variable holds these.
      if (name !== '' && !name.includes('\0') && name.isWellFormed()) {
        await withEnvironment({ SFA_SESSION_ID: name }, () => {
          throwsWith(() => storeIn('/virtual'), 'ERR_CONTEXT_INVALID_ARGUMENT', /SFA_SESSION_ID /)
          assert.equal(storeIn('/virtual', { sessionId: 'given' }).sessionId, 'given')
        })
      }
    }
    for (const name of reserved) {
      throwsWith(() => storeIn('/virtual', { agent: name }), 'ERR_CONTEXT_INVALID_ARGUMENT', /Windows/)
    }
    for (const agent of [undefined, null, 5, {}, ['a']]) {
      throwsWith(() => storeIn('/virtual', { agent: wrong(agent) }), 'ERR_CONTEXT_INVALID_ARGUMENT', /^agent must be/)
    }
    for (const sessionId of [5, {}, ['a'], true]) {
      throwsWith(
        () => storeIn('/virtual', { sessionId: wrong(sessionId) }),
        'ERR_CONTEXT_INVALID_ARGUMENT',
        /^sessionId must be/,
      )
    }
  })

  it('are taken as they are otherwise', () =>
    inDirectory(async (path) => {
      for (const name of [
        'code-reviewer',
        'Réviseur 2',
        'console',
        'com',
        'a.b',
        '日本',
        "it's #1 & co",
        'x'.repeat(100),
      ]) {
        const store = storeIn(path, { agent: name, sessionId: name })
        const written = await store.write(entry())
        assert.deepEqual([written.agent, written.sessionId], [name, name])
        holds(written.path.startsWith(`${name}/${name}/`), written.path)
        assert.deepEqual(await store.read(written.path), written)
        assert.equal((await store.list({ agent: name })).length, 1, name)
      }
    }))

  it('are refused where they hold a secret', async () => {
    const secret = new Canaries().token()
    for (const options of [{ agent: secret }, { sessionId: `s-${secret}` }]) {
      const { message } = throwsWith(() => storeIn('/virtual', options), 'ERR_CONTEXT_INVALID_ARGUMENT', /secret/)
      holds(!message.includes(secret), message)
      assert.equal(storeIn('/virtual', { ...options, redaction: false }).path, resolve('/virtual'))
    }
    await withEnvironment({ SFA_SESSION_ID: secret }, () => {
      throwsWith(() => storeIn('/virtual'), 'ERR_CONTEXT_INVALID_ARGUMENT', /SFA_SESSION_ID .*secret/)
    })
  })

  it('that differ only in case are not two agents', () =>
    inDirectory(async (path) => {
      const first = await storeIn(path).write(entry())
      const other = storeIn(path, { agent: 'Code-Reviewer' })
      await rejectsWith(() => other.write(entry()), 'ERR_CONTEXT_CONFLICT', /code-reviewer/)
      await rejectsWith(() => other.supersede(first.path, entry(), 'better'), 'ERR_CONTEXT_CONFLICT', /code-reviewer/)
      assert.deepEqual(filesBelow(path), [first.path])
      assert.deepEqual(await other.read(first.path), first, 'reading is no conflict')
      plant(path, 'code-reviewer/S1/notes.md', entryText())
      await rejectsWith(() => storeIn(path, { sessionId: 's1' }).write(entry()), 'ERR_CONTEXT_CONFLICT', /S1/)
      assert.equal((await other.update(first.path, {}, 'seen')).changelog[0]?.agent, 'Code-Reviewer')
    }))
})
