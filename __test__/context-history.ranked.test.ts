/** `ContextHistory.search` with `ranked: true`. */

import assert from 'node:assert/strict'
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import type { ContextEntry, HistoryFilter } from '../dist/index.js'
import { debugLog, inDirectory, MemoryFileSystem, rejectsWith, wrong } from './support/fixtures.ts'
import { ContextHistory, onFiles } from './support/histories.ts'

const INVALID = 'ERR_CONTEXT_INVALID_ARGUMENT'

function withHistory(body: (history: ContextHistory) => Promise<void>): () => Promise<void> {
  return () =>
    inDirectory(async (directory) => {
      const history = new ContextHistory({ path: join(directory, 'context.jsonl') })
      await body(history)
      await history.close()
    })
}

const namesOf = (entries: readonly ContextEntry[]): string[] => entries.map(({ toolName }) => toolName)

async function rank(history: ContextHistory, text: string, filter: HistoryFilter = {}): Promise<string[]> {
  return namesOf(await history.search({ text, ranked: true, ...filter }))
}

describe('search with ranked', () => {
  test(
    'gives the best first, and only what shares a word with the question',
    withHistory(async (history) => {
      assert.deepEqual(await rank(history, 'login'), [], 'no file')
      await history.append({ toolName: 'a', result: 'login' })
      await history.append({ toolName: 'b', result: 'the weather' })
      await history.append({ toolName: 'c', result: 'login form' })
      await history.append({ toolName: 'd', result: 'forms of trees' })
      assert.equal((await rank(history, 'login form'))[0], 'c')
      assert.deepEqual((await rank(history, 'How did the LOGIN forms work?')).sort(), ['a', 'c', 'd'])
      for (const nothing of ['zebra', '', 'what is the', '?!']) {
        assert.deepEqual(await rank(history, nothing), [], JSON.stringify(nothing))
      }
    }),
  )

  test(
    'looks at the name, the summary, the parameters and the result',
    withHistory(async (history) => {
      await history.append({ toolName: 'login_tool' })
      await history.append({ toolName: 'b', summary: 'Tokens stay in cookies' })
      await history.append({ toolName: 'c', params: { deep: [{ path: 'src/HTTPServer.ts' }] } })
      await history.append({ toolName: 'd', result: { text: `${'x '.repeat(5000)} kubernetes` } })
      assert.deepEqual(await rank(history, 'login'), ['login_tool'])
      assert.deepEqual(await rank(history, 'cookie'), ['b'])
      assert.deepEqual(await rank(history, 'server'), ['c'])
      assert.deepEqual(await rank(history, 'kubernetes'), ['d'])
    }),
  )

  test(
    'meets the other conditions, keeps to the limit, and gives the most recent of equals first',
    withHistory(async (history) => {
      for (let number = 0; number < 60; number++) {
        const success = number % 2 === 0
        await history.append({ toolName: `t${number}`, result: 'login', success, timestamp: number * 1000 })
      }
      const recent = Array.from({ length: 50 }, (_, index) => `t${59 - index}`)
      assert.deepEqual(await rank(history, 'login'), recent, 'fifty by default')
      assert.deepEqual(await rank(history, 'login', { limit: 2 }), ['t59', 't58'])
      assert.deepEqual(await rank(history, 'login', { limit: 0 }), [])
      assert.deepEqual(await rank(history, 'login', { success: true, limit: 2 }), ['t58', 't56'])
      assert.deepEqual(await rank(history, 'login', { toolName: ['t3', 't4'] }), ['t4', 't3'])
      assert.deepEqual(await rank(history, 'login', { toolName: [] }), [])
      assert.deepEqual(await rank(history, 'login', { since: 57_000, until: 58_000 }), ['t58', 't57'])
      assert.deepEqual(await rank(history, 'log', {}), [], 'no part of a word, as without ranked')
      const plain = await history.search({ text: 'log', ranked: false, limit: 1 })
      assert.deepEqual(namesOf(plain), ['t59'])
    }),
  )

  test(
    'gives whole entries, and skips lines that are none',
    onFiles,
    withHistory(async (history) => {
      const entry = await history.append({ toolName: 'a', params: { n: 1 }, result: { text: 'login' }, cost: 2 })
      appendFileSync(history.path, 'no entry: login\n{"tool_name":"b","result":"login"}\n')
      const onDebug = debugLog()
      const telling = new ContextHistory({ path: history.path, onDebug })
      const found = await telling.search({ text: 'login', ranked: true })
      assert.deepEqual(namesOf(found).sort(), ['a', 'b'])
      assert.deepEqual(
        found.find(({ toolName }) => toolName === 'a'),
        entry,
      )
      assert.ok(
        onDebug.messages.some((message) => /Skipped lines/.test(message)),
        `told: ${onDebug.messages}`,
      )
    }),
  )

  test('works with an injected file system', async () => {
    const history = new ContextHistory({ path: '/logs/context.jsonl', fileSystem: new MemoryFileSystem() })
    await history.append({ toolName: 'a', result: 'weather' })
    await history.append({ toolName: 'b', result: 'login' })
    assert.deepEqual(await rank(history, 'login'), ['b'])
  })

  test(
    'ranks a long file',
    onFiles,
    withHistory(async (history) => {
      const line = (number: number): string =>
        `${JSON.stringify({ tool_name: `t${number % 7}`, params: { n: number }, result: `text ${'word '.repeat(20)}` })}\n`
      appendFileSync(history.path, Array.from({ length: 12_000 }, (_, number) => line(number)).join(''))
      await history.append({ toolName: 'other', result: 'the kubernetes cluster' })
      assert.deepEqual(await rank(history, 'kubernetes'), ['other'])
      assert.deepEqual(await rank(history, 'kubernetes', { toolName: 't1' }), [])
      const all = await history.search({ text: 'word', ranked: true, limit: 20_000 })
      assert.equal(all.length, 9_999, 'the 10 000 most recent are ranked')
    }),
  )

  test(
    'checks its arguments',
    withHistory(async (history) => {
      await rejectsWith(() => history.search({ ranked: true }), INVALID, /filter\.text is needed/)
      await rejectsWith(() => history.search({ ranked: true, text: wrong(null) }), INVALID, /filter\.text is needed/)
      for (const ranked of [1, 'yes', {}]) {
        await rejectsWith(() => history.search({ text: 'x', ranked: wrong(ranked) }), INVALID, /filter\.ranked/)
      }
      await history.append({ toolName: 'a', result: 'login' })
      assert.deepEqual(namesOf(await history.search({ text: 'ogi', ranked: wrong(null) })), ['a'], 'absent')
    }),
  )

  test(
    'is stopped by a signal',
    withHistory(async (history) => {
      await history.append({ toolName: 'a', result: 'login' })
      const reason = new Error('no longer needed')
      const controller = new AbortController()
      const pending = rank(history, 'login', { signal: controller.signal })
      controller.abort(reason)
      await assert.rejects(pending, (error) => error === reason)
      assert.deepEqual(await rank(history, 'login'), ['a'])
    }),
  )
})
