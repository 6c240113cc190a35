/** `StateStore.sweep()`: no byte of a removed item stays in the database and its write-ahead log. */

import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { StateStore } from '../dist/index.js'
import { rejectsWith } from './support/fixtures.ts'
import { holds, inDirectory, PATIENT, start } from './support/processes.ts'
import { SeededRandom } from './support/seeded-random.ts'

/** How often a text is in the files of a store. */
function count(path: string, text: string): number {
  return [path, `${path}-wal`]
    .filter((file) => existsSync(file))
    .map((file) => readFileSync(file, 'latin1').split(text).length - 1)
    .reduce((sum, found) => sum + found, 0)
}

test(
  'a removed thread leaves no byte: values of all sizes, overwritten ones, keys, namespaces, indexed members',
  PATIENT,
  inDirectory(async (directory) => {
    const path = join(directory, 'state.db')
    const store = new StateStore({ path, indexes: ['$.member'] })
    const random = new SeededRandom(7)
    const gone: string[] = []
    const writing: Promise<unknown>[] = []
    for (let index = 0; index < 1500; index++) {
      const mark = `thread-${index % 2 === 0 ? 'gone' : 'kept'}-${index}`
      const value = { member: `${mark}-member`, text: `${mark}-text `.repeat(1 + random.below(60)) }
      writing.push(store.put([`${mark}-namespace`], `${mark}-key`, value, { mediaType: `x/${mark}-type` }))
      if (index % 3 === 0) {
        writing.push(store.put([`${mark}-namespace`], `${mark}-key`, { ...value, text: `${mark}-old `.repeat(9) }))
      }
      if (index % 2 === 0) {
        gone.push(mark)
      }
    }
    const long = new TextEncoder().encode('thread-gone-long '.repeat(200_000))
    await Promise.all([...writing, store.put(['thread-gone-long'], 'k', long)])
    holds(count(path, 'thread-gone-') > 10_000, 'the values are not where the test looks for them')
    const operations = gone.map((mark) => ({
      type: 'delete' as const,
      namespace: [`${mark}-namespace`],
      key: `${mark}-key`,
    }))
    // In two halves, so that pages are split and joined between.
    await store.batch(operations.filter((_, index) => index % 2 === 0))
    await Promise.all(gone.map((_, index) => store.put(['later'], `k${index}`, 'x'.repeat(index % 300))))
    await store.batch(operations.filter((_, index) => index % 2 === 1))
    await store.delete(['thread-gone-long'], 'k')
    const { erased } = await store.sweep()
    assert.equal(erased, true)
    assert.equal(count(path, 'thread-gone-'), 0)
    assert.deepEqual((await store.verify()).problems, [])
    const { items } = await store.list([], { limit: 10_000 })
    assert.equal(items.filter(({ key }) => key.startsWith('thread-kept-')).length, 750)
    await store.close()
    assert.equal(count(path, 'thread-gone-'), 0)
  }),
)

test(
  'a waiting watcher of another process sees a removal before it is forgotten; an old cursor expires',
  PATIENT,
  inDirectory(async (directory) => {
    const path = join(directory, 'state.db')
    const store = new StateStore({ path })
    const { cursor } = await store.stats()
    const watcher = start('state-watcher.mjs', [path])
    assert.equal(await watcher.line(), 'ready')
    await store.put(['a'], 'expiring', 1, { ttl: 1 })
    assert.equal(await watcher.line(), 'put expiring')
    await setTimeout(10)
    assert.deepEqual(await store.sweep(), { expiredItems: 1, changes: 2, erased: true })
    assert.equal(await watcher.line(), 'delete expiring')
    // The watcher's cursor is that of the removal, and goes on.
    await store.put(['a'], 'next', 1)
    assert.equal(await watcher.line(), 'put next')
    watcher.send('end')
    assert.equal((await watcher.ended).code, 0)
    const old = store.watch([], { since: cursor })[Symbol.asyncIterator]()
    await rejectsWith(() => old.next(), 'ERR_CONTEXT_CURSOR_EXPIRED')
    const stats = await store.stats()
    assert.equal(stats.changes, 1)
    assert.deepEqual(await store.sweep(), { expiredItems: 0, changes: 0, erased: true })
    await store.close()
  }),
)

test(
  'revisions and cursors go on after everything was removed',
  inDirectory(async (directory) => {
    const store = new StateStore({ path: join(directory, 'state.db') })
    const { revision } = await store.put(['a'], 'k', 1)
    await store.delete(['a'], 'k')
    const first = await store.sweep()
    assert.deepEqual(first, { expiredItems: 0, changes: 2, erased: true })
    const { cursor, changes } = await store.stats()
    assert.equal(changes, 0)
    const again = await store.put(['a'], 'k', 2)
    holds(Number.parseInt(again.revision, 10) > Number.parseInt(revision, 10) + 1, `${revision}, ${again.revision}`)
    const { value } = await store.watch([], { since: cursor })[Symbol.asyncIterator]().next()
    assert.equal(value?.revision, again.revision)
    await store.close()
  }),
)
