/** The absolute `filePath` of an entry is taken wherever its `path` is. */

import assert from 'node:assert/strict'
import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { describe, it } from 'node:test'
import { type ContextStore, contextStoreTools } from '../dist/index.js'
import { inDirectory, MemoryFileSystem, rejectsWith } from './support/fixtures.ts'
import { onDisk } from './support/postgres.ts'
import { mkdirSync, readFileSync } from './support/stored-files.ts'
import { entry, entryText, filesBelow, plant, storeIn } from './support/stores.ts'

/** Everything that takes the path of an entry that is there. */
const CALLS: readonly (readonly [name: string, call: (store: ContextStore, path: string) => Promise<unknown>])[] = [
  ['read', (store, path) => store.read(path)],
  ['update', (store, path) => store.update(path, { content: 'overwritten' }, 'why')],
  ['link', (store, path) => store.link(path, 'code-fixer/x.md')],
  ['supersede', (store, path) => store.supersede(path, entry(), 'why')],
  ['related', (store, path) => store.related(path)],
]

async function checkEveryCall(store: ContextStore): Promise<void> {
  const first = await store.write(entry({ slug: 'first' }))
  const second = await store.write(entry({ slug: 'second', links: [first.filePath] }))
  assert.deepEqual(second.links, [first.path], 'links are stored relative to the store')
  assert.deepEqual(await store.read(first.filePath), first)
  assert.deepEqual(await store.related(first.filePath), [second])
  const changed = await store.update(first.filePath, { addTags: ['fixed'], links: [second.filePath] }, 'Fixed')
  assert.deepEqual([changed.path, changed.tags, changed.links], [first.path, ['fixed'], [second.path]])
  const unlinked = await store.update(first.path, { removeLinks: [second.filePath] }, 'Unlinked')
  assert.deepEqual(unlinked.links, [])
  const linked = await store.link(first.filePath, second.filePath)
  assert.deepEqual(linked.links, [second.path])
  assert.equal(linked.changelog.at(-1)?.description, `Linked to ${second.path}`)
  const { old, replacement } = await store.supersede(second.filePath, entry({ slug: 'third' }), 'Better')
  assert.equal(old.supersededBy, replacement.path)
  assert.deepEqual(store.contextFiles(), [first.path, second.path, replacement.path])
  assert.deepEqual((await store.verify()).problems, [])
}

describe('the filePath of an entry', () => {
  it('is taken wherever its path is', () =>
    inDirectory((directory) => checkEveryCall(storeIn(join(directory, 'store')))))

  it('is taken in an injected file system', () =>
    checkEveryCall(storeIn('/store', { fileSystem: new MemoryFileSystem() })))

  it('is taken by the tools', () =>
    inDirectory(async (directory) => {
      const store = storeIn(join(directory, 'store'))
      const [write, , read, update, supersede] = contextStoreTools(store)
      const first = await store.write(entry({ slug: 'first' }))
      const links = [first.filePath]
      const answers = [
        await read.execute({ path: first.filePath }),
        await write.execute({ type: 'finding', slug: 'second', content: 'Text.', links }),
        await update.execute({ path: first.filePath, description: 'Fixed', add_links: links, remove_links: links }),
        await supersede.execute({
          path: first.filePath,
          reason: 'Old',
          type: 'finding',
          slug: 'third',
          content: 'Text.',
        }),
      ]
      for (const { success, message } of answers) {
        assert.equal(success, true, message)
      }
      const { entries } = await store.verify()
      assert.equal(entries, 3)
      const [second] = await store
        .search({ query: 'Text', type: 'finding', superseded: false })
        .then((found) => found.filter(({ path }) => path.includes('second')))
      assert.deepEqual(second?.links, [first.path])
    }))

  it('leads nowhere else', () =>
    inDirectory(async (directory) => {
      const path = join(directory, 'store')
      plant(directory, 'outside/x.md', entryText())
      plant(directory, 'store-of-others/agent/x.md', entryText())
      const store = storeIn(path)
      const there = await store.write(entry())
      const outside = [
        `${path}/../outside/x.md`,
        `${path}/code-reviewer/../../outside/x.md`,
        `${path}//code-reviewer/x.md`,
        `${path}/${there.filePath}`,
        join(directory, 'outside', 'x.md'),
        `${path}-of-others/agent/x.md`,
        path,
      ]
      for (const wrong of outside) {
        for (const [, call] of CALLS) {
          await rejectsWith(() => call(store, wrong), 'ERR_CONTEXT_OUTSIDE_DIRECTORY')
        }
        await rejectsWith(() => store.write(entry({ links: [wrong] })), 'ERR_CONTEXT_OUTSIDE_DIRECTORY')
      }
      assert.deepEqual(filesBelow(path), [there.path])
      assert.equal(readFileSync(join(directory, 'outside', 'x.md'), 'utf8'), entryText())
    }))

  it('is followed through no symbolic link', { skip: process.platform === 'win32' || onDisk('links').skip }, () =>
    inDirectory(async (directory) => {
      const path = join(directory, 'store')
      plant(directory, 'outside/secret.md', entryText())
      mkdirSync(path)
      symlinkSync(join(directory, 'outside'), join(path, 'evil'), 'dir')
      const store = storeIn(path)
      await rejectsWith(() => store.read(join(path, 'evil', 'secret.md')), 'ERR_CONTEXT_OUTSIDE_DIRECTORY')
      await rejectsWith(
        () => store.update(join(path, 'evil', 'secret.md'), { content: 'overwritten' }, 'why'),
        'ERR_CONTEXT_OUTSIDE_DIRECTORY',
      )
      assert.equal(readFileSync(join(directory, 'outside', 'secret.md'), 'utf8'), entryText())
    }),
  )

  it('of an entry that is not there is not found, and the message says so', () =>
    inDirectory(async (directory) => {
      const store = storeIn(join(directory, 'store'))
      for (const write of [false, true]) {
        if (write) {
          await store.write(entry())
        }
        for (const missing of ['code-fixer/x.md', join(directory, 'store', 'code-fixer', 'x.md')]) {
          for (const [name, call] of CALLS) {
            const { message } = await rejectsWith(() => call(store, missing), 'ERR_CONTEXT_NOT_FOUND')
            assert.match(message, /not found: code-fixer\/x\.md/, name)
          }
        }
      }
    }))
})
