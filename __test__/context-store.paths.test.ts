/** Neither a path that a caller passes nor a symbolic link in the store leads out of a context store. */

import assert from 'node:assert/strict'
import { symlinkSync } from 'node:fs'
import { join, sep } from 'node:path'
import { describe, it } from 'node:test'
import type { ContextErrorCode, ContextStore } from '../dist/index.js'
import { inDirectory, rejectsWith } from './support/fixtures.ts'
import { onDisk } from './support/postgres.ts'
import { holds } from './support/processes.ts'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from './support/stored-files.ts'
import { daysAgo, entry, entryText, filesBelow, plant, storeIn } from './support/stores.ts'

/** Windows allows only privileged users to create symbolic links. */
const LINKS = { skip: process.platform === 'win32' || onDisk('links').skip }

const OUTSIDE = [
  '../outside/20260101T000000-x.md',
  'code-reviewer/../../outside/x.md',
  'code-reviewer/../outside/x.md',
  'code-reviewer/./x.md',
  'code-reviewer//x.md',
  '/etc/passwd.md',
  '//server/share/x.md',
  '~/x/y.md',
  'C:/x/y.md',
  'code-reviewer\\x.md',
  '..\\outside\\x.md',
  'code-reviewer/x.md:stream',
  'code-reviewer/x.md\0.md',
]
const NO_ENTRY = [
  'x.md',
  'code-reviewer',
  'code-reviewer/x.txt',
  'code-reviewer/.hidden.md',
  '.context-store.index/x.md',
  'a/b/c/d.md',
]

/** Everything that takes the path of an entry that is there. */
const CALLS: [name: string, call: (store: ContextStore, path: string) => Promise<unknown>][] = [
  ['read', (store, path) => store.read(path)],
  ['update', (store, path) => store.update(path, { content: 'overwritten' }, 'why')],
  ['link', (store, path) => store.link(path, 'code-fixer/x.md')],
  ['supersede', (store, path) => store.supersede(path, entry(), 'why')],
  ['related', (store, path) => store.related(path)],
]

/** Everything that takes the path of an entry to link to. */
const LINKING: [name: string, call: (store: ContextStore, path: string, there: string) => Promise<unknown>][] = [
  ['write', (store, path) => store.write(entry({ links: [path] }))],
  ['update', (store, path, there) => store.update(there, { links: [path] }, 'why')],
  ['link', (store, path, there) => store.link(there, path)],
  ['supersede', (store, path, there) => store.supersede(there, entry({ links: [path] }), 'why')],
]

describe('paths', () => {
  for (const [code, paths] of [
    ['ERR_CONTEXT_OUTSIDE_DIRECTORY', OUTSIDE],
    ['ERR_CONTEXT_INVALID_ARGUMENT', NO_ENTRY],
  ] as [ContextErrorCode, string[]][]) {
    it(`that lead elsewhere are refused: ${code}`, () =>
      inDirectory(async (directory) => {
        const path = join(directory, 'store')
        plant(directory, 'outside/x.md', entryText())
        plant(directory, 'outside/20260101T000000-x.md', entryText())
        const store = storeIn(path)
        const there = await store.write(entry())
        for (const outside of paths) {
          for (const [name, call] of CALLS) {
            const { message } = await rejectsWith(() => call(store, outside), code)
            holds(message.length > 10, `${name} ${message}`)
          }
          for (const [, call] of LINKING) {
            await rejectsWith(() => call(store, outside, there.path), code)
          }
        }
        assert.deepEqual(filesBelow(path), [there.path])
        assert.deepEqual(await store.read(there.path), there)
        for (const name of readdirSync(join(directory, 'outside'))) {
          assert.equal(readFileSync(join(directory, 'outside', name), 'utf8'), entryText())
        }
      }))
  }
})

/** A store with one entry, next to a directory that does not belong to it. */
function beside(
  body: (store: ContextStore, path: string, outside: string, assertUntouched: () => void) => Promise<void>,
): Promise<void> {
  return inDirectory(async (directory) => {
    const path = join(directory, 'store')
    const outside = join(directory, 'outside')
    const text = entryText({ timestamp: daysAgo(400), content: 'zebra' })
    plant(outside, 'secret.md', text)
    plant(outside, 'deep/secret.md', text)
    mkdirSync(path)
    const store = storeIn(path)
    await body(store, path, outside, () => {
      assert.deepEqual(filesBelow(outside), ['deep/secret.md', 'secret.md'])
      for (const name of filesBelow(outside)) {
        assert.equal(readFileSync(join(outside, name), 'utf8'), text)
      }
    })
  })
}

/** What is looked at as a whole sees nothing of what is outside. */
async function assertUnseen(store: ContextStore): Promise<void> {
  assert.deepEqual(await store.search({ query: 'zebra' }), [])
  assert.deepEqual(
    (await store.list()).filter(({ path }) => path.includes('secret')),
    [],
  )
  assert.equal((await store.verify()).entries, (await store.list()).length)
  assert.deepEqual((await store.housekeep({ olderThan: '1d', includeLinked: true })).removed, [])
}

const refuses = (call: () => Promise<unknown>): Promise<unknown> => rejectsWith(call, 'ERR_CONTEXT_OUTSIDE_DIRECTORY')

/** Everything that takes the path of an entry refuses one that a link leads to; the index does not know it at all. */
async function assertRefused(store: ContextStore, path: string): Promise<void> {
  for (const [name, call] of CALLS) {
    const code = name === 'related' ? 'ERR_CONTEXT_NOT_FOUND' : 'ERR_CONTEXT_OUTSIDE_DIRECTORY'
    await rejectsWith(() => call(store, path), code)
  }
}

describe('symbolic links', LINKS, () => {
  it('in place of an agent are not followed', () =>
    beside(async (store, path, outside, assertUntouched) => {
      symlinkSync(outside, join(path, 'evil'), 'dir')
      await assertRefused(store, 'evil/secret.md')
      await assertRefused(store, 'evil/deep/secret.md')
      for (const options of [{}, { sessionId: 'deep' }, { sessionId: 'new' }]) {
        await refuses(() => storeIn(path, { agent: 'evil', ...options }).write(entry()))
      }
      await assertUnseen(store)
      assertUntouched()
    }))

  it('in place of a session are not followed', () =>
    beside(async (store, path, outside, assertUntouched) => {
      mkdirSync(join(path, 'evil'))
      symlinkSync(outside, join(path, 'evil', 's1'), 'dir')
      await assertRefused(store, 'evil/s1/secret.md')
      await refuses(() => storeIn(path, { agent: 'evil', sessionId: 's1' }).write(entry()))
      await assertUnseen(store)
      assertUntouched()
    }))

  it('in place of an entry are neither read nor replaced', () =>
    beside(async (store, path, outside, assertUntouched) => {
      mkdirSync(join(path, 'evil'))
      symlinkSync(join(outside, 'secret.md'), join(path, 'evil', 'entry.md'))
      symlinkSync(join(outside, 'nothing.md'), join(path, 'evil', 'dangling.md'))
      await assertRefused(store, 'evil/entry.md')
      await assertRefused(store, 'evil/dangling.md')
      await assertUnseen(store)
      assertUntouched()
      assert.equal(existsSync(join(outside, 'nothing.md')), false)
      assert.deepEqual(readdirSync(join(path, 'evil')).sort(), ['dangling.md', 'entry.md'])
    }))

  it('in place of what the store keeps for itself are not written through', () =>
    beside(async (_, path, outside, assertUntouched) => {
      for (const name of ['.context-store.index', '.context-store.journal']) {
        symlinkSync(join(outside, 'secret.md'), join(path, name))
      }
      const store = storeIn(path)
      // Whether it works or is refused: nothing outside changes.
      await Promise.allSettled([store.write(entry()), store.search({ query: 'x' })])
      await Promise.allSettled([store.supersede('code-fixer/x.md', entry(), 'why'), store.housekeep()])
      assertUntouched()
    }))

  it('on the way to the store are followed, and its paths stay as given', () =>
    inDirectory(async (directory) => {
      mkdirSync(join(directory, 'real'))
      symlinkSync(join(directory, 'real'), join(directory, 'alias'), 'dir')
      const store = storeIn(join(directory, 'alias'))
      const written = await store.write(entry())
      assert.equal(store.path, join(directory, 'alias'))
      holds(written.filePath.startsWith(join(directory, 'alias') + sep), written.filePath)
      holds(existsSync(join(directory, 'real', written.path)), 'the entry is where the link leads')
      assert.deepEqual(await storeIn(join(directory, 'real')).read(written.path), {
        ...written,
        filePath: join(directory, 'real', written.path),
      })
    }))
})

describe('what is no directory of an agent', () => {
  it('is not mistaken for one', () =>
    inDirectory(async (path) => {
      const store = storeIn(path)
      const { path: written } = await store.write(entry())
      writeFileSync(join(path, 'notes.md'), entryText())
      plant(path, '.git/objects.md', entryText())
      plant(path, 'code-reviewer/.obsidian/x.md', entryText())
      plant(path, 'code-reviewer/s1/deeper/x.md', entryText())
      mkdirSync(join(path, 'code-fixer', 'directory.md'), { recursive: true })
      assert.deepEqual(
        (await store.list()).map(({ path }) => path),
        [written],
      )
      const { entries, problems } = await store.verify()
      assert.deepEqual([entries, problems], [1, []])
    }))
})
