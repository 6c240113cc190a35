import assert from 'node:assert/strict'
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import type { ContextEntryInput } from '../dist/index.js'
import { debugLog, MemoryFileSystem, rejectsWith, wrong } from './support/fixtures.ts'
import { ContextHistory, onFiles, textOf } from './support/histories.ts'
import { inDirectory, PATIENT, start } from './support/processes.ts'
import { Canaries } from './support/secrets.ts'

const INVALID = 'ERR_CONTEXT_INVALID_ARGUMENT'
const CONFLICT = 'ERR_CONTEXT_CONFLICT'

/** A test body with the path of a history in a directory of its own. */
const withPath = (body: (path: string) => Promise<void>): (() => Promise<void>) =>
  inDirectory((directory) => body(join(directory, 'context.jsonl')))

/** Runs children on one history at once, and returns what each printed. */
async function race<T>(path: string, mode: string, processes: number, count: number): Promise<T[]> {
  const children = Array.from({ length: processes }, () => start('history-operations.mjs', [path, mode, count]))
  await Promise.all(children.map((child) => child.line()))
  for (const child of children) {
    child.send('go')
  }
  const printed = await Promise.all(children.map((child) => child.line()))
  await Promise.all(children.map(({ ended }) => ended))
  return printed.map((line) => JSON.parse(line) as T)
}

describe('members of an entry', () => {
  const origin = {
    error: 'no such file',
    sessionId: 's',
    queryId: 'q',
    spanId: 'span',
    callId: 'call',
    durationMs: 1.5,
    operationId: 'o',
  }

  test(
    'stand on the line behind the id in the order of the format, before those of the caller',
    withPath(async (path) => {
      const history = new ContextHistory({ path })
      const reversed = Object.fromEntries(Object.entries({ ...origin, toolName: 'grep' }).reverse())
      const entry = await history.append({ cost: 2, ...(reversed as ContextEntryInput) })
      assert.deepEqual(Object.keys(JSON.parse(textOf(path)) as object), [
        ...['tool_name', 'params', 'result', 'success', 'summary', 'timestamp', 'id'],
        ...Object.keys(origin),
        'cost',
      ])
      assert.deepEqual(await history.read(), [entry])
      assert.deepEqual(Object.keys(entry).slice(7), [...Object.keys(origin), 'cost'])
    }),
  )

  test(
    'are left out where they are null or undefined, and refused by name where they are wrong',
    withPath(async (path) => {
      const history = new ContextHistory({ path })
      const absent = Object.fromEntries(
        Object.keys(origin).map((key, index) => [key, index % 2 === 0 ? null : undefined]),
      )
      await history.append({ toolName: 'grep', ...absent })
      assert.equal(Object.keys(JSON.parse(textOf(path)) as object).length, 7)
      for (const [key, value] of [
        ...Object.keys(origin).map((key): [string, unknown] => [key, { a: 1 }]),
        ...['sessionId', 'queryId', 'spanId', 'callId', 'operationId'].map((key): [string, unknown] => [key, '']),
        ['durationMs', -1],
        ['durationMs', Number.NaN],
        ['operationId', 'o'.repeat(257)],
      ] as [string, unknown][]) {
        const input = wrong<ContextEntryInput>({ toolName: 'grep', [key]: value })
        await rejectsWith(() => history.append(input), INVALID, new RegExp(`^entry\\.${key} must be`))
      }
      assert.equal((await history.read()).length, 1)
    }),
  )
})

describe('operationId', () => {
  test(
    'makes a repeated append return the first entry and write nothing',
    withPath(async (path) => {
      const history = new ContextHistory({ path })
      const first = await history.append({ toolName: 'charge', params: { cents: 5 }, result: 'ok', operationId: 'a' })
      const before = textOf(path)
      const again = await history.append({ toolName: 'other', params: { cents: 7 }, operationId: 'a' })
      assert.deepEqual(again, first)
      assert.deepEqual(await new ContextHistory({ path }).append({ toolName: 'x', operationId: 'a' }), first)
      assert.equal(textOf(path), before)
      // Only a member of the entry itself counts.
      await history.append({ toolName: 'charge', params: { operationId: 'b' } })
      await history.append({ toolName: 'charge', operationId: 'b' })
      assert.equal((await history.read()).length, 3)
    }),
  )

  test(
    'finds what other programs appended since, also at the level full',
    onFiles,
    withPath(async (path) => {
      const history = new ContextHistory({ path, durability: 'full' })
      await history.append({ toolName: 'charge', operationId: 'a' })
      appendFileSync(path, '{"tool_name":"foreign","id":"f","operationId":"b"}\n')
      assert.equal((await history.append({ toolName: 'charge', operationId: 'b' })).id, 'f')
      assert.equal((await history.read()).length, 2)
    }),
  )

  test(
    'is known after a compaction, which hides what it keeps of it',
    withPath(async (path) => {
      const onDebug = debugLog()
      const history = new ContextHistory({ path, onDebug })
      const first = await history.append({ toolName: 'charge', result: 'long', summary: 's', operationId: 'a' })
      const failed = await history.append({ toolName: 'charge', success: false, operationId: 'b' })
      await history.append({ toolName: 'last' })
      const report = await history.compact({ keepLast: 1, summarise: () => 'earlier' })
      assert.deepEqual([report.droppedEntries, report.keptEntries, report.droppedBadLines], [2, 1, 0])
      const names = async (): Promise<string[]> => (await history.read()).map(({ toolName }) => toolName)
      assert.deepEqual(await names(), ['summary', 'last'])
      const compacted = { params: null, result: null, summary: null, compacted: true }
      assert.deepEqual(await history.append({ toolName: 'charge', operationId: 'a' }), { ...first, ...compacted })
      assert.deepEqual(await history.append({ toolName: 'charge', operationId: 'b' }), { ...failed, ...compacted })
      // A compaction of what was compacted keeps it, one that has nothing to remove changes nothing.
      await history.compact({ keepLast: 0 })
      const before = textOf(path)
      assert.equal((await history.compact({ keepLast: 0 })).droppedEntries, 0)
      assert.equal(textOf(path), before)
      const other = new ContextHistory({ path, onDebug })
      assert.equal((await other.append({ toolName: 'charge', operationId: 'a' })).id, first.id)
      assert.deepEqual(await names(), [])
      const { entries, badLines } = await history.verify()
      assert.deepEqual([entries, badLines], [0, 0])
      assert.ok(!onDebug.messages.some((message) => message.includes('Skipped')))
    }),
  )

  test(
    'of compacted entries is bounded by a share of maxBytes, the oldest go first',
    withPath(async (path) => {
      const history = new ContextHistory({ path })
      const ids: string[] = []
      for (let number = 0; number < 100; number++) {
        ids.push((await history.append({ toolName: 'charge', operationId: `${number}` })).id)
      }
      await history.compact({ maxBytes: 8000 })
      const records = textOf(path)
        .split('\n')
        .filter((line) => line.includes('"compacted"'))
      assert.ok(records.length > 1 && records.join('\n').length < 1000)
      const dropped = 100 - (await history.read(1000)).length
      assert.equal((await history.append({ toolName: 'charge', operationId: `${dropped - 1}` })).id, ids[dropped - 1])
      assert.notEqual((await history.append({ toolName: 'charge', operationId: '0' })).id, ids[0])
    }),
  )

  test(
    'is refused where redaction would change it',
    withPath(async (path) => {
      const history = new ContextHistory({ path })
      await rejectsWith(
        () => history.append({ toolName: 'x', operationId: new Canaries().token() }),
        INVALID,
        /^entry\.operationId/,
      )
      assert.deepEqual(await history.read(), [])
    }),
  )

  test('works with an injected file system', async () => {
    const fileSystem = new MemoryFileSystem()
    const history = new ContextHistory({ path: '/h/context.jsonl', fileSystem })
    const entries = await Promise.all(
      Array.from({ length: 10 }, (_, number) => history.append({ toolName: 'charge', operationId: `${number % 3}` })),
    )
    assert.equal(new Set(entries.map(({ id }) => id)).size, 3)
    await history.compact({ keepLast: 1 })
    assert.equal((await history.append({ toolName: 'charge', operationId: '0' })).id, entries[0]?.id)
    assert.equal((await history.read()).length, 1)
  })

  test(
    'is written once by several processes',
    PATIENT,
    withPath(async (path) => {
      const history = new ContextHistory({ path })
      const earlier = await history.append({ toolName: 'charge', operationId: 'operation 0' })
      const printed = await race<string[]>(path, 'operations', 4, 200)
      const entries = await history.read(1000)
      assert.equal(entries.length, 200)
      const byOperation = new Map(entries.map(({ operationId, id }) => [operationId, id]))
      const expected = Array.from({ length: 200 }, (_, number) => byOperation.get(`operation ${number}`))
      assert.equal(expected[0], earlier.id)
      for (const ids of printed) {
        assert.deepEqual(ids, expected)
      }
    }),
  )
})

describe('append(entry, { ifLast })', () => {
  test(
    'writes only behind the entry that it names',
    withPath(async (path) => {
      const history = new ContextHistory({ path })
      const first = await history.append({ toolName: 'a' }, { ifLast: null })
      await rejectsWith(() => history.append({ toolName: 'x' }, { ifLast: null }), CONFLICT, /ifLast/)
      const second = await history.append({ toolName: 'b' }, { ifLast: first.id })
      const before = textOf(path)
      await rejectsWith(() => history.append({ toolName: 'x' }, { ifLast: first.id }), CONFLICT, /ifLast/)
      await rejectsWith(() => history.append({ toolName: 'x' }, { ifLast: 'unknown' }), CONFLICT, /ifLast/)
      assert.equal(textOf(path), before)
      // Of calls at once the first one wins; without the option there is no condition.
      const calls = ['c', 'd'].map((toolName) => history.append({ toolName }, { ifLast: second.id }))
      assert.deepEqual(
        (await Promise.allSettled(calls)).map(({ status }) => status),
        ['fulfilled', 'rejected'],
      )
      await history.append({ toolName: 'e' }, { ifLast: undefined })
      assert.deepEqual(
        (await history.read()).map(({ toolName }) => toolName),
        ['a', 'b', 'c', 'e'],
      )
    }),
  )

  test(
    'looks at the last line that is an entry, with or without an id',
    onFiles,
    withPath(async (path) => {
      const history = new ContextHistory({ path })
      await history.append({ toolName: 'a' })
      appendFileSync(path, '{"tool_name":"foreign"}\nno entry\n\n{"tool_name":"torn')
      const [, foreign] = await history.read()
      await history.append({ toolName: 'b' }, { ifLast: foreign?.id ?? null })
      await history.compact({ keepLast: 0 })
      await history.append({ toolName: 'c' }, { ifLast: null })
      assert.deepEqual(
        (await history.read()).map(({ toolName }) => toolName),
        ['c'],
      )
    }),
  )

  test(
    'is no conflict for an operation that is there already',
    withPath(async (path) => {
      const history = new ContextHistory({ path })
      const first = await history.append({ toolName: 'a', operationId: 'o' }, { ifLast: null })
      await history.append({ toolName: 'b' })
      assert.deepEqual(await history.append({ toolName: 'a', operationId: 'o' }, { ifLast: null }), first)
    }),
  )

  test(
    'refuses what is no id',
    withPath(async (path) => {
      const history = new ContextHistory({ path })
      for (const ifLast of ['', 5]) {
        await rejectsWith(
          () => history.append({ toolName: 'a' }, { ifLast: wrong(ifLast) }),
          INVALID,
          /^options\.ifLast/,
        )
      }
    }),
  )

  test(
    'makes one chain of the entries of several processes',
    PATIENT,
    withPath(async (path) => {
      await race<number>(path, 'chain', 3, 30)
      const entries = await new ContextHistory({ path }).read(1000)
      assert.equal(entries.length, 90)
      assert.deepEqual(
        entries.map(({ params }) => (params as { previous: string | null }).previous),
        [null, ...entries.slice(0, -1).map(({ id }) => id)],
      )
    }),
  )
})
