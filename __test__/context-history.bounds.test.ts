/** Histories that keep themselves within bounds. */

import assert from 'node:assert/strict'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { debugLog, MemoryFileSystem, throwsWith, wrong } from './support/fixtures.ts'
import { ContextHistory, onFiles } from './support/histories.ts'
import { holds, inDirectory, PATIENT, run } from './support/processes.ts'

const COMPACTED = 'Compacted the history in the background'

const withPath = (body: (path: string) => Promise<void>): (() => Promise<void>) =>
  inDirectory((directory) => body(join(directory, 'context.jsonl')))

const numbers = async (history: ContextHistory): Promise<unknown[]> =>
  (await history.read(10_000)).map(({ params }) => (params as { number: number }).number)

/** Appends numbered entries one after the other, and waits for what they started. */
async function fill(history: ContextHistory, count: number, size: number): Promise<void> {
  for (let number = 0; number < count; number++) {
    await history.append({ toolName: 't', params: { number }, result: 'x'.repeat(size) })
  }
  await history.close()
}

/** The last numbers below `end`, as many as there are. */
const last = (end: number, count: number): number[] => Array.from({ length: count }, (_, index) => end - count + index)

describe('a history with a bound', () => {
  test(
    'of entries drops the oldest in the background, and says so',
    withPath(async (path) => {
      const onDebug = debugLog()
      const history = new ContextHistory({ path, maxEntries: 10, onDebug })
      await fill(history, 57, 10)
      const kept = await numbers(history)
      holds(kept.length >= 8 && kept.length <= 10, `${kept.length} entries`)
      assert.deepEqual(kept, last(57, kept.length))
      const told = onDebug.entries.filter(({ message }) => message === COMPACTED)
      holds(told.length > 0 && told.length < 30, `${told.length} compactions`)
      const data = told.at(-1)?.data as { path: string }
      assert.deepEqual(Object.keys(data), ['path', 'keptEntries', 'droppedEntries', 'bytesBefore', 'bytesAfter'])
      assert.equal(data.path, path)
    }),
  )

  test(
    'of bytes stays below it, whatever it was before',
    onFiles,
    withPath(async (path) => {
      await fill(new ContextHistory({ path }), 200, 1000)
      const history = new ContextHistory({ path, maxBytes: 20_000 })
      await fill(history, 1, 1000)
      holds(statSync(path).size <= 20_000, `${statSync(path).size} bytes`)
      await fill(history, 100, 1000)
      holds(statSync(path).size <= 20_000, `${statSync(path).size} bytes`)
      const kept = await numbers(history)
      assert.deepEqual(kept, last(100, kept.length))
      // The latest entry stays whatever it takes.
      await history.append({ toolName: 'large', result: 'x'.repeat(50_000) })
      await history.close()
      assert.deepEqual(
        (await history.read()).map(({ toolName }) => toolName),
        ['large'],
      )
    }),
  )

  test(
    'of bytes and of entries stays below both, also when the entries were just counted',
    onFiles,
    withPath(async (path) => {
      await fill(new ContextHistory({ path }), 16, 1000)
      const history = new ContextHistory({ path, maxBytes: 20_000, maxEntries: 1000 })
      await fill(history, 1, 10)
      const counted = statSync(path).size
      holds(counted > 16_000 && counted < 20_000, `${counted} bytes`)
      await fill(history, 3, 1000)
      holds(statSync(path).size <= 20_000, `${statSync(path).size} bytes`)
    }),
  )

  test(
    'knows the operations of the entries that went',
    withPath(async (path) => {
      const history = new ContextHistory({ path, maxEntries: 5 })
      const first = await history.append({ toolName: 'charge', operationId: 'o' })
      await fill(history, 20, 10)
      const again = await history.append({ toolName: 'charge', operationId: 'o' })
      assert.deepEqual([again.id, again.compacted], [first.id, true])
    }),
  )

  test('works with an injected file system', async () => {
    const history = new ContextHistory({ path: '/h/context.jsonl', fileSystem: new MemoryFileSystem(), maxEntries: 10 })
    await fill(history, 30, 10)
    const kept = await numbers(history)
    holds(kept.length <= 10, `${kept.length} entries`)
    assert.deepEqual(kept, last(30, kept.length))
  })

  test('refuses what is no bound', () => {
    for (const name of ['maxBytes', 'maxEntries']) {
      for (const value of [0, -1, 1.5, '5', Number.NaN]) {
        throwsWith(
          () => new ContextHistory(wrong({ [name]: value })),
          'ERR_CONTEXT_INVALID_ARGUMENT',
          new RegExp(`^${name} must be`),
        )
      }
      assert.ok(new ContextHistory({ [name]: Number.POSITIVE_INFINITY }))
    }
  })

  test(
    'loses nothing that is younger when several processes share it',
    PATIENT,
    withPath(async (path) => {
      const names = ['a', 'b', 'c']
      const printed = await Promise.all(names.map((name) => run('history-bounded.mjs', [path, name, 300, 50, 40_000])))
      const messages = printed.flatMap(([line = '']) => JSON.parse(line) as string[])
      holds(messages.includes(COMPACTED))
      holds(!messages.some((message) => message.includes('Failed')), messages.join('\n'))
      const history = new ContextHistory({ path, maxEntries: 50 })
      await history.append({ toolName: 'end' })
      await history.close()
      const entries = await history.read(1000)
      holds(entries.length >= 30 && entries.length <= 50, `${entries.length} entries`)
      for (const name of names) {
        const kept = entries.filter(({ toolName }) => toolName === name)
        assert.deepEqual(
          kept.map(({ params }) => (params as { number: number }).number),
          last(300, kept.length),
        )
      }
    }),
  )
})
