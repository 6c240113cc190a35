/** Small calls do not queue behind long texts that were handed over earlier. */

import assert from 'node:assert/strict'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { ContextHistory, ContextManager } from '../dist/index.js'
import { inDirectory } from './support/fixtures.ts'
import { memoryIn } from './support/memories.ts'
import { PATIENT } from './support/processes.ts'
import { entry, storeIn } from './support/stores.ts'

/** More than the thread pool has workers, and enough that a busy machine, which delays small calls, has not done half of them before. */
const LONG_SAVES = Math.max(16, 2 * availableParallelism())
/** Redacting some of them takes longer than all small calls together. */
const LONG_TEXT = 'secret="a" '.repeat(2 ** 19)
const VERY_LONG_TEXT = 'secret="a" '.repeat(3 * 2 ** 18)
const ENTRY = { toolName: 'run', params: {}, result: 'done', success: true }

describe('small calls beside more long saves than there are threads', () => {
  it('are acknowledged before most of them, whatever they are', PATIENT, () =>
    inDirectory(async (root) => {
      const manager = new ContextManager({ contextDir: join(root, 'contexts') })
      const other = new ContextManager({ contextDir: join(root, 'other') })
      const history = new ContextHistory({ path: join(root, 'history.jsonl') })
      const store = storeIn(root)
      const memory = await memoryIn(root)
      const path = await manager.saveContext('read', {}, 'the walrus')
      await history.append(ENTRY)
      const { path: entryPath } = await store.write(entry())

      let acknowledged = 0
      const long = Array.from({ length: LONG_SAVES }, async (_, number) => {
        await manager.saveContext('fetch', { number }, LONG_TEXT)
        acknowledged += 1
      })
      await Promise.all([
        manager.saveContext('run', {}, 'fine.'),
        other.saveContext('run', {}, 'fine.'),
        manager.loadContext(path),
        manager.readContext(path, { lines: { from: 1, to: 1 } }),
        manager.search('walrus'),
        history.append(ENTRY),
        history.read(1),
        history.search({ toolName: 'run' }),
        store.write(entry({ slug: 'other' })),
        store.read(entryPath),
        memory.upsertNote({ content: 'fine.' }),
      ])
      assert.ok(acknowledged < LONG_SAVES / 2, `${acknowledged} long saves were acknowledged before`)
      await Promise.all(long)
      assert.equal(acknowledged, LONG_SAVES)
    }),
  )

  it('do not wait for a long entry of a history that they read, or that was appended after them', PATIENT, () =>
    inDirectory(async (root) => {
      const history = new ContextHistory({ path: join(root, 'history.jsonl') })
      await history.append({ ...ENTRY, summary: 'first' })
      let isLongAcknowledged = false
      const before = history.append({ ...ENTRY, summary: 'before' })
      const long = history.append({ ...ENTRY, summary: 'long', result: VERY_LONG_TEXT }).finally(() => {
        isLongAcknowledged = true
      })
      const after = history.append({ ...ENTRY, summary: 'after' })
      await before
      const read = await history.read()
      const found = await history.search({ toolName: 'run' })
      assert.equal(isLongAcknowledged, false)
      for (const entries of [read, found]) {
        assert.deepEqual(
          entries.map(({ summary }) => summary),
          ['first', 'before'],
        )
      }
      await Promise.all([long, after])
      assert.deepEqual(
        (await history.read()).map(({ summary }) => summary),
        ['first', 'before', 'long', 'after'],
      )
    }),
  )

  it('do not wait for the long entries of other histories', PATIENT, () =>
    inDirectory(async (root) => {
      const histories = Array.from(
        { length: LONG_SAVES },
        (_, number) => new ContextHistory({ path: join(root, `${number}.jsonl`) }),
      )
      let acknowledged = 0
      const long = histories.map(async (history) => {
        await history.append({ ...ENTRY, result: LONG_TEXT })
        acknowledged += 1
      })
      await new ContextHistory({ path: join(root, 'other.jsonl') }).append(ENTRY)
      assert.ok(acknowledged < LONG_SAVES / 2, `${acknowledged} long entries were acknowledged before`)
      await Promise.all(long)
    }),
  )
})
