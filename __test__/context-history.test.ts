import assert from 'node:assert/strict'
import { existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { describe, test } from 'node:test'
import type { CompactPolicy, ContextEntry, ContextEntryInput } from '../dist/index.js'
import { debugLog, inDirectory, MemoryFileSystem, only, rejectsWith, throwsWith, wrong } from './support/fixtures.ts'
import { ContextHistory, onFiles, textOf } from './support/histories.ts'
import { holds } from './support/processes.ts'

const INVALID = 'ERR_CONTEXT_INVALID_ARGUMENT'
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/
const KEYS = ['tool_name', 'params', 'result', 'success', 'summary', 'timestamp', 'id']

/** A test body with a history in a directory of its own. */
function withHistory(body: (history: ContextHistory, directory: string) => Promise<void>): () => Promise<void> {
  return () =>
    inDirectory(async (directory) => {
      const history = new ContextHistory({ path: join(directory, 'log', 'context.jsonl') })
      await body(history, directory)
      await history.close()
    })
}

const linesOf = (history: ContextHistory): string[] => textOf(history.path).split('\n').slice(0, -1)
const toolNames = (entries: readonly ContextEntry[]): string[] => entries.map(({ toolName }) => toolName)

/** Appends `count` entries: `t0`, `t1`, … */
async function fill(history: ContextHistory, count: number): Promise<void> {
  for (let number = 0; number < count; number++) {
    await history.append({ toolName: `t${number}`, timestamp: number * 1000 })
  }
}

describe('new ContextHistory()', () => {
  test('resolves the path against the working directory or the home directory, and accesses no file', onFiles, () =>
    inDirectory((directory) => {
      assert.equal(new ContextHistory().path, resolve('.wink/context.jsonl'))
      assert.equal(new ContextHistory({ path: 'a.jsonl' }).path, resolve('a.jsonl'))
      assert.equal(new ContextHistory({ path: '~/a.jsonl' }).path, join(homedir(), 'a.jsonl'))
      const path = join(directory, 'none', 'a.jsonl')
      assert.equal(new ContextHistory({ path }).path, path)
      assert.equal(existsSync(join(directory, 'none')), false)
    }),
  )

  test('takes null and undefined for defaults', () => {
    const absent = { path: null, fileSystem: undefined, durability: null, lockTimeout: null, maxEntryBytes: null }
    assert.equal(new ContextHistory(wrong(absent)).path, new ContextHistory(null).path)
  })

  test('refuses wrong options by name', () => {
    const cases: [unknown, RegExp][] = [
      ['path', /^options must be an object/],
      [{ path: '' }, /^path must be/],
      [{ path: 5 }, /^path must be/],
      [{ path: 'a\0b' }, /^path must be/],
      [{ fileSystem: {} }, /^fileSystem\.readFile must be/],
      [{ durability: 'some' }, /^durability must be 'process' or 'full'/],
      [{ lockTimeout: -1 }, /^lockTimeout must be/],
      [{ lockTimeout: Number.POSITIVE_INFINITY }, /^lockTimeout must be/],
      [{ maxEntryBytes: 1.5 }, /^maxEntryBytes must be/],
      [{ onDebug: 'log' }, /^onDebug must be a function/],
    ]
    for (const [options, message] of cases) {
      throwsWith(() => new ContextHistory(wrong(options)), INVALID, message)
    }
  })
})

describe('append()', () => {
  test(
    'writes a line with the specified keys and gives the completed entry',
    withHistory(async (history) => {
      const before = Date.now()
      const entry = await history.append({ toolName: 'grep', params: { pattern: 'auth' }, result: { matches: 15 } })
      const { tool_name, id, timestamp, ...rest } = JSON.parse(only(linesOf(history))) as Record<string, unknown>
      assert.deepEqual(Object.keys(JSON.parse(only(linesOf(history))) as object), KEYS)
      assert.deepEqual(rest, { params: { pattern: 'auth' }, result: { matches: 15 }, success: true, summary: null })
      assert.deepEqual([tool_name, id, timestamp], ['grep', entry.id, entry.timestamp])
      assert.match(entry.id, UUID)
      assert.equal(entry.timestamp, new Date(entry.timestamp ?? '').toISOString())
      holds(Date.parse(entry.timestamp) >= before && Date.parse(entry.timestamp) <= Date.now(), entry.timestamp)
      assert.deepEqual(await history.read(), [entry])
    }),
  )

  test(
    'takes every member that is given',
    withHistory(async (history) => {
      const given = { toolName: 't', params: [1], result: 'text', success: false, summary: 'why', id: 'mine' }
      const entry = await history.append({ ...given, timestamp: '2025-12-18T10:30:00+01:00' })
      assert.deepEqual(entry, { ...given, timestamp: '2025-12-18T10:30:00+01:00' })
      assert.deepEqual(await history.read(), [entry])
    }),
  )

  test(
    'takes times as dates, as numbers and as ISO 8601',
    withHistory(async (history) => {
      const cases: [Date | string | number | null, string | undefined][] = [
        [new Date(0), '1970-01-01T00:00:00.000Z'],
        [1500, '1970-01-01T00:00:01.500Z'],
        ['2025-12-18T10:30:00Z', '2025-12-18T10:30:00Z'],
        ['2025-12-18T10:30:00.123456', '2025-12-18T10:30:00.123456'],
        ['2025-12-18', '2025-12-18'],
        ['2025-12-18 10:30:00', '2025-12-18T10:30:00.000Z'],
        ['2025-12-18T10:30+0130', '2025-12-18T09:00:00.000Z'],
        ['20251218T1030', undefined],
        ['2025-02-30T00:00:00Z', undefined],
        ['2025-12-18T24:00:00Z', undefined],
        ['2025-12-18T10:61:00Z', undefined],
        ['yesterday', undefined],
        ['', undefined],
        [Number.NaN, undefined],
        [8.65e15, undefined],
        [253_402_300_799_999, '9999-12-31T23:59:59.999Z'],
        [253_402_300_800_000, undefined],
        ['+010000-01-01T00:00:00Z', undefined],
        [-62_167_219_200_001, undefined],
        ['2025-12-18T10:30:00+23:59', '2025-12-18T10:30:00+23:59'],
        ['2025-12-18T10:30:00+24:00', undefined],
        [new Date(Number.NaN), undefined],
        [wrong({}), undefined],
      ]
      for (const [timestamp, expected] of cases) {
        if (expected === undefined) {
          await rejectsWith(() => history.append({ toolName: 't', timestamp }), INVALID, /^entry\.timestamp must be/)
        } else {
          assert.equal((await history.append({ toolName: 't', timestamp })).timestamp, expected)
        }
      }
      const found = await history.search({ since: -8.64e15 })
      assert.equal(found.length, cases.filter(([, expected]) => expected !== undefined).length, 'each can be found')
      holds(Date.parse((await history.append({ toolName: 't', timestamp: null })).timestamp ?? '') > 1e12, 'now')
    }),
  )

  test(
    'stores what JSON cannot hold with markers, and loses no record',
    withHistory(async (history) => {
      const cycle: Record<string, unknown> = { big: 10n }
      cycle['self'] = cycle
      const throwing = {
        toolName: 't',
        get params(): unknown {
          throw new Error('no params')
        },
        get result(): unknown {
          throw new Error('no result')
        },
        get extra(): unknown {
          throw new Error('no extra')
        },
      }
      await history.append({ toolName: 't', params: cycle, result: cycle, extra: cycle })
      await history.append(throwing)
      const marked = { big: '[BigInt 10]', self: '[Circular]' }
      const read = (await history.read()).map(({ params, result, extra }) => [params, result, extra])
      assert.deepEqual(read, [
        [marked, marked, marked],
        ['[Throws: no params]', '[Throws: no result]', '[Throws: no extra]'],
      ])
    }),
  )

  test(
    'writes null for absent values, and leaves out what JSON leaves out',
    withHistory(async (history) => {
      const values = [undefined, null, () => 1, Symbol('s'), { toJSON: () => undefined }]
      for (const value of values) {
        await history.append({ toolName: 't', params: value, result: value, extra: value })
      }
      for (const line of linesOf(history)) {
        const { params, result, ...rest } = JSON.parse(line) as Record<string, unknown>
        assert.deepEqual([params, result], [null, null], line)
        assert.equal('extra' in rest, line === linesOf(history)[1], line)
      }
    }),
  )

  test(
    'keeps unknown keys behind the known ones, whatever they are called',
    withHistory(async (history) => {
      const input = JSON.parse('{"cost":1,"toolName":"t","__proto__":{"a":1},"toJSON":5,"":null}') as ContextEntryInput
      const entry = await history.append(input)
      const line = only(linesOf(history))
      holds(line.endsWith(`"id":"${entry.id}","cost":1,"__proto__":{"a":1},"toJSON":5,"":null}`), line)
      assert.deepEqual(await history.read(), [entry])
      assert.equal(Object.getPrototypeOf(entry), Object.prototype)
    }),
  )

  test(
    'appends again what was read, with its unknown keys',
    withHistory(async (history) => {
      await history.append({ toolName: 't', params: { a: 1 }, result: [1.5, 'x'], summary: 's', cost: { usd: 1 } })
      const [first] = await history.read()
      holds(first !== undefined)
      await history.append(first)
      const [line, again] = linesOf(history)
      assert.equal(again, line)
    }),
  )

  test(
    'takes values as they are at the call',
    withHistory(async (history) => {
      const input = { toolName: 't', params: { list: [1] }, result: { rows: [1] }, extra: { a: 1 } }
      const appending = history.append(input)
      input.params.list.push(2)
      input.result.rows.push(2)
      input.extra.a = 2
      await appending
      const { params, result, extra } = only(await history.read())
      assert.deepEqual([params, result, extra], [{ list: [1] }, { rows: [1] }, { a: 1 }])
    }),
  )

  test(
    'keeps the order of the calls, a thousand at once',
    withHistory(async (history) => {
      const names = Array.from({ length: 1000 }, (_, number) => `t${number}`)
      await Promise.all(names.map((toolName) => history.append({ toolName })))
      assert.deepEqual(toolNames(await history.read(1000)), names)
    }),
  )

  test(
    'keeps any text, and one line per entry',
    withHistory(async (history) => {
      const texts = ['a\nb\r\nc\u2028d', '"quoted" \\ \0', 'ü€😀', '\ud800 lone', 'x'.repeat(300_000)]
      for (const text of texts) {
        await history.append({ toolName: 't', params: { text }, result: text, extra: text })
      }
      assert.equal(linesOf(history).length, texts.length)
      const read = await history.read()
      assert.deepEqual(
        read.map(({ params, result, extra }) => [params, result, extra]),
        texts.map((text) => [{ text }, text, text]),
      )
      const entry = await history.append({ toolName: 'lone \udfff', summary: 'lone \udfff', id: 'lone \udfff' })
      assert.deepEqual(only(await history.read(1)), entry)
    }),
  )

  test(
    'refuses wrong entries, naming what is wrong, and writes nothing',
    withHistory(async (history) => {
      const throwing = {
        get toolName(): string {
          throw new Error('no name')
        },
      }
      const throwingWithCode = {
        get toolName(): string {
          throw Object.assign(new Error('no file'), { code: 'ENOENT' })
        },
      }
      const cases: [unknown, RegExp][] = [
        [undefined, /^entry must be an object/],
        [null, /^entry must be an object/],
        [[], /^entry must be an object/],
        ['text', /^entry must be an object/],
        [{}, /^entry\.toolName must be a non-empty string/],
        [{ toolName: '' }, /^entry\.toolName must be/],
        [{ toolName: 5 }, /^entry\.toolName must be/],
        [{ toolName: 't', success: 'yes' }, /^entry\.success must be true or false/],
        [{ toolName: 't', summary: 5 }, /^entry\.summary must be a string/],
        [{ toolName: 't', id: '' }, /^entry\.id must be a non-empty string/],
        [{ toolName: 't', tool_name: 't' }, /^entry\.tool_name must be absent: the key is toolName/],
        [throwing, /^the arguments of append could not be read/],
        [throwingWithCode, /^the arguments of append could not be read/],
      ]
      for (const [entry, message] of cases) {
        await rejectsWith(() => history.append(wrong(entry)), INVALID, message)
      }
      await history.close()
      assert.equal(existsSync(history.path), false)
    }),
  )

  test('refuses an entry whose line is too long, and takes the next', () =>
    inDirectory(async (directory) => {
      const history = new ContextHistory({ path: join(directory, 'a.jsonl'), maxEntryBytes: 1000 })
      const long = 'x'.repeat(1000)
      const inputs = [{ result: long }, { result: { long } }, { params: long }, { summary: long }, { extra: long }]
      for (const input of inputs) {
        await rejectsWith(() => history.append({ toolName: 't', ...input }), 'ERR_CONTEXT_TOO_LARGE', /maxEntryBytes/)
      }
      const entry = await history.append({ toolName: 't', result: 'x'.repeat(700) })
      assert.deepEqual(await history.read(), [entry])
    }))

  test(
    'creates directory and file with access for the owner only',
    process.platform === 'win32' ? { skip: true } : onFiles,
    () =>
      inDirectory(async (directory) => {
        const history = new ContextHistory({ path: join(directory, 'a', 'b', 'c.jsonl'), durability: 'full' })
        await history.append({ toolName: 't' })
        assert.equal(statSync(history.path).mode & 0o777, 0o600)
        assert.equal(statSync(join(directory, 'a', 'b')).mode & 0o777, 0o700)
      }),
  )

  test('rejects with the file system’s error as cause', onFiles, () =>
    inDirectory(async (directory) => {
      const path = join(directory, 'a.jsonl')
      mkdirSync(path)
      const history = new ContextHistory({ path })
      const error = await rejectsWith(() => history.append({ toolName: 't' }), 'ERR_CONTEXT_IO')
      holds(error.message.includes(path), error.message)
      holds(error.cause instanceof Error, 'a cause')
      if (process.platform !== 'win32') {
        assert.equal((error.cause as { code?: string }).code, 'EISDIR')
      }
    }),
  )

  test('works in an injected file system', async () => {
    const fileSystem = new MemoryFileSystem()
    const history = new ContextHistory({ path: '~/log/a.jsonl', fileSystem })
    assert.equal(history.path, '/virtual-home/log/a.jsonl')
    const entries = [await history.append({ toolName: 'a' }), await history.append({ toolName: 'b' })]
    assert.equal(fileSystem.files.get(history.path)?.split('\n').length, 3)
    assert.deepEqual(await history.read(), entries)
    assert.deepEqual(toolNames(await history.search({ toolName: 'b' })), ['b'])
  })

  test('needs dirname of an injected file system', () => {
    const fileSystem = Object.assign(new MemoryFileSystem(), { dirname: undefined })
    throwsWith(() => new ContextHistory({ fileSystem: wrong(fileSystem) }), INVALID, /^fileSystem\.dirname must be/)
  })
})

describe('read()', () => {
  test(
    'gives the most recent entries, oldest first; 50 by default',
    withHistory(async (history) => {
      assert.deepEqual(await history.read(), [])
      await fill(history, 60)
      assert.deepEqual(toolNames(await history.read(3)), ['t57', 't58', 't59'])
      for (const limit of [undefined, null]) {
        const names = toolNames(await history.read(limit))
        assert.deepEqual([names.length, names[0], names.at(-1)], [50, 't10', 't59'])
      }
      assert.equal((await history.read(Number.MAX_SAFE_INTEGER)).length, 60)
    }),
  )

  test('0 gives nothing without touching the file', onFiles, () =>
    inDirectory(async (directory) => {
      const history = new ContextHistory({ path: directory })
      assert.deepEqual(await history.read(0), [])
      assert.deepEqual(await history.search({ limit: 0 }), [])
      assert.deepEqual(await history.search({ toolName: [] }), [])
      await rejectsWith(() => history.read(1), 'ERR_CONTEXT_IO')
    }),
  )

  test(
    'refuses what is no limit',
    withHistory(async (history) => {
      for (const limit of [-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, '10', {}, true]) {
        await rejectsWith(() => history.read(wrong(limit)), INVALID, /^limit must be a whole number from 0 up/)
      }
    }),
  )

  test(
    'stops at a signal',
    withHistory(async (history) => {
      await fill(history, 3)
      const reason = new Error('enough')
      const signal = AbortSignal.abort(reason)
      const calls = [
        () => history.read(5, { signal }),
        () => history.search({ signal }),
        () => history.verify({ signal }),
        () => history.compact({ keepLast: 1, signal }),
      ]
      for (const call of calls) {
        await assert.rejects(call, (error) => error === reason)
      }
      const controller = new AbortController()
      const reading = history.read(5, { signal: controller.signal })
      controller.abort(reason)
      await assert.rejects(reading, (error) => error === reason)
      await rejectsWith(() => history.read(5, wrong({ signal: true })), INVALID, /^signal must be an AbortSignal/)
      await rejectsWith(() => history.read(5, wrong('options')), INVALID, /^options must be an object/)
      assert.equal((await history.read()).length, 3)
    }),
  )
})

describe('search()', () => {
  test(
    'finds by tool, success, time and text, all of which must hold',
    withHistory(async (history) => {
      await history.append({ toolName: 'grep', params: { pattern: 'Login' }, timestamp: 1000 })
      await history.append({ toolName: 'read_file', result: { text: 'the LOGIN page' }, timestamp: 2000 })
      await history.append({ toolName: 'grep', success: false, summary: 'no login found', timestamp: 3000 })
      await history.append({ toolName: 'login', timestamp: 4000 })
      await history.append({ toolName: 'other', extra: 'login', timestamp: 5000 })
      const find = async (filter: object): Promise<number[]> =>
        (await history.search(filter)).map(({ timestamp }) => Date.parse(timestamp ?? ''))
      assert.deepEqual(await find({}), [1000, 2000, 3000, 4000, 5000])
      assert.deepEqual(await find({ toolName: 'grep' }), [1000, 3000])
      assert.deepEqual(await find({ toolName: ['login', 'read_file', 'none'] }), [2000, 4000])
      assert.deepEqual(await find({ success: false }), [3000])
      assert.deepEqual(await find({ success: true, toolName: 'grep' }), [1000])
      assert.deepEqual(await find({ text: 'lOgIn' }), [1000, 2000, 3000, 4000])
      assert.deepEqual(await find({ text: 'login', limit: 2 }), [3000, 4000])
      assert.deepEqual(await find({ since: 2000, until: 4000 }), [2000, 3000, 4000])
      assert.deepEqual(await find({ since: new Date(2001), until: '1970-01-01T00:00:03.999Z' }), [3000])
      assert.deepEqual(await find({ since: '1970-01-01T01:00:04+01:00' }), [4000, 5000])
      assert.deepEqual(await find({ until: '1970-01-01T00:00:01' }), [1000])
      assert.deepEqual(await find({ toolName: null, success: undefined, text: null, limit: null }), await find({}))
    }),
  )

  test(
    'refuses wrong filters by name',
    withHistory(async (history) => {
      const cases: [unknown, RegExp][] = [
        [undefined, /^filter must be an object/],
        ['grep', /^filter must be an object/],
        [{ toolName: 5 }, /^filter\.toolName must be/],
        [{ toolName: ['a', 5] }, /^filter\.toolName must be/],
        [{ success: 1 }, /^filter\.success must be/],
        [{ since: 'yesterday' }, /^filter\.since must be/],
        [{ until: new Date(Number.NaN) }, /^filter\.until must be/],
        [{ text: /login/ }, /^filter\.text must be/],
        [{ limit: -1 }, /^filter\.limit must be/],
      ]
      for (const [filter, message] of cases) {
        await rejectsWith(() => history.search(wrong(filter)), INVALID, message)
      }
    }),
  )
})

describe('recordDecision()', () => {
  test(
    'appends an entry of the tool `decision`',
    withHistory(async (history) => {
      const entry = await history.recordDecision('Use cookies', { because: 'safer' })
      assert.deepEqual(
        [entry.toolName, entry.params, entry.result, entry.success, entry.summary],
        ['decision', { because: 'safer' }, null, true, 'Use cookies'],
      )
      assert.deepEqual((await history.recordDecision('No details')).params, {})
      assert.equal((await history.search({ toolName: 'decision' })).length, 2)
      await rejectsWith(() => history.recordDecision(wrong(undefined)), INVALID, /^summary must be a string/)
    }),
  )
})

describe('compact()', () => {
  test(
    'keeps the last ones',
    onFiles,
    withHistory(async (history) => {
      await fill(history, 10)
      const bytesBefore = statSync(history.path).size
      const report = await history.compact({ keepLast: 3 })
      const bytesAfter = statSync(history.path).size
      assert.deepEqual(report, {
        keptEntries: 3,
        droppedEntries: 7,
        droppedBadLines: 0,
        bytesBefore,
        bytesAfter,
        summaryEntry: null,
      })
      assert.deepEqual(toolNames(await history.read()), ['t7', 't8', 't9'])
    }),
  )

  test(
    'keeps those within the age and within the bytes',
    withHistory(async (history) => {
      const now = Date.now()
      for (const hours of [50, 30, 10, 1]) {
        await history.append({ toolName: `h${hours}`, timestamp: now - hours * 3_600_000 })
      }
      assert.equal((await history.compact({ maxAge: '2d' })).droppedEntries, 1)
      assert.deepEqual(toolNames(await history.read()), ['h30', 'h10', 'h1'])
      const [, ...lines] = linesOf(history)
      const maxBytes = Buffer.byteLength(lines.join('\n')) + 1
      assert.equal((await history.compact({ maxBytes, maxAge: '9999999999999999w' })).droppedEntries, 1)
      assert.deepEqual(linesOf(history), lines)
      assert.equal((await history.compact({ keepLast: 0 })).droppedEntries, 2)
      assert.deepEqual(await history.read(), [])
    }),
  )

  test(
    'rewrites nothing when nothing goes, also without a file',
    onFiles,
    withHistory(async (history) => {
      const nothing = { keptEntries: 0, droppedEntries: 0, droppedBadLines: 0, bytesBefore: 0, bytesAfter: 0 }
      assert.deepEqual(await history.compact({ keepLast: 1 }), { ...nothing, summaryEntry: null })
      assert.equal(existsSync(history.path), false)
      await fill(history, 2)
      const { ino } = statSync(history.path)
      const report = await history.compact({ keepLast: 2, summarise: () => assert.fail('nothing to sum up') })
      const { size } = statSync(history.path)
      assert.deepEqual(report, { ...nothing, keptEntries: 2, bytesBefore: size, bytesAfter: size, summaryEntry: null })
      assert.equal(statSync(history.path).ino, ino)
    }),
  )

  test(
    'puts one entry that sums up at the head',
    withHistory(async (history) => {
      await fill(history, 5)
      const asked: string[][] = []
      const report = await history.compact({
        keepLast: 2,
        async summarise(entries) {
          asked.push(toolNames(entries))
          entries.length = 0
          return 'what was done'
        },
      })
      assert.deepEqual(asked, [['t0', 't1', 't2']])
      const [summary, ...others] = await history.read()
      assert.deepEqual(toolNames(others), ['t3', 't4'])
      assert.deepEqual(summary, report.summaryEntry)
      holds(summary !== undefined)
      const { id, timestamp, ...rest } = summary
      assert.match(id, UUID)
      holds(Date.parse(timestamp ?? '') > 1e12, timestamp ?? 'no time')
      assert.deepEqual(rest, {
        toolName: 'summary',
        params: { droppedEntries: 3, from: '1970-01-01T00:00:00.000Z', to: '1970-01-01T00:00:02.000Z' },
        result: null,
        success: true,
        summary: 'what was done',
      })
      assert.deepEqual(Object.keys(JSON.parse(linesOf(history)[0] ?? '') as object), KEYS)
    }),
  )

  test(
    'changes nothing when summing up fails',
    withHistory(async (history) => {
      await fill(history, 3)
      const before = linesOf(history)
      const failure = new Error('no model')
      const failing: NonNullable<CompactPolicy['summarise']>[] = [
        () => {
          throw failure
        },
        () => Promise.reject(failure),
      ]
      for (const summarise of failing) {
        const error = await rejectsWith(() => history.compact({ keepLast: 1, summarise }), INVALID, /summarise failed/)
        assert.equal(error.cause, failure)
      }
      for (const summary of [undefined, null, 5, {}]) {
        const summarise = (): string => wrong(summary)
        await rejectsWith(() => history.compact({ keepLast: 1, summarise }), INVALID, /^policy\.summarise must be/)
      }
      assert.deepEqual(linesOf(history), before)
    }),
  )

  test(
    'stops at a signal while the entries are summed up, and changes nothing',
    withHistory(async (history) => {
      await fill(history, 3)
      const before = linesOf(history)
      const reason = new Error('enough')
      const answers: ((abort: () => void) => Promise<string>)[] = [
        (abort) => {
          abort()
          return new Promise<string>(() => {})
        },
        async (abort) => {
          abort()
          return 'late'
        },
        (abort) => {
          const answer = Promise.resolve('at the same time')
          void answer.then(() => {}).then(abort)
          return answer
        },
      ]
      for (const answer of answers) {
        const controller = new AbortController()
        const summarise = (): Promise<string> => answer(() => controller.abort(reason))
        const compacting = history.compact({ keepLast: 1, summarise, signal: controller.signal })
        await assert.rejects(compacting, (error) => error === reason)
      }
      assert.deepEqual(linesOf(history), before)
    }),
  )

  test(
    'keeps what is appended meanwhile, and holds nobody up',
    withHistory(async (history) => {
      await fill(history, 3)
      const other = new ContextHistory({ path: history.path })
      await history.compact({
        keepLast: 1,
        async summarise() {
          await other.append({ toolName: 'meanwhile' })
          assert.deepEqual(toolNames(await other.read()), ['t0', 't1', 't2', 'meanwhile'])
          return 'sum'
        },
      })
      assert.deepEqual(toolNames(await history.read()), ['summary', 't2', 'meanwhile'])
    }),
  )

  test(
    'plans again when the file was replaced meanwhile, up to three times',
    onFiles,
    withHistory(async (history) => {
      await fill(history, 10)
      const other = new ContextHistory({ path: history.path })
      const asked: string[][] = []
      const report = await history.compact({
        keepLast: 2,
        async summarise(entries) {
          asked.push(toolNames(entries))
          if (asked.length === 1) {
            await other.compact({ keepLast: 5 })
          }
          return `sum ${asked.length}`
        },
      })
      assert.deepEqual(
        asked.map((names) => names[0]),
        ['t0', 't5'],
      )
      assert.equal(report.summaryEntry?.summary, 'sum 2')
      assert.deepEqual(toolNames(await history.read()), ['summary', 't8', 't9'])

      let attempts = 0
      const summarise = async (): Promise<string> => {
        attempts++
        await other.append({ toolName: `again ${attempts}` })
        await other.compact({ keepLast: 2 })
        return 'never written'
      }
      await rejectsWith(() => history.compact({ keepLast: 1, summarise }), 'ERR_CONTEXT_CONFLICT', /replaced/)
      assert.equal(attempts, 3)
      assert.deepEqual(toolNames(await history.read()), ['again 2', 'again 3'])
    }),
  )

  test(
    'called by several at once, nobody is turned away',
    withHistory(async (history) => {
      const histories = Array.from({ length: 8 }, () => new ContextHistory({ path: history.path }))
      for (let round = 0; round < 5; round++) {
        await fill(history, 20)
        const reports = await Promise.all(histories.map((one, number) => one.compact({ keepLast: 10 - number })))
        assert.equal(reports.length, 8)
        assert.equal((await history.read()).length, 3)
      }
    }),
  )

  test('refuses a summary whose line is too long, and removes nothing', () =>
    inDirectory(async (directory) => {
      const history = new ContextHistory({ path: join(directory, 'a.jsonl'), maxEntryBytes: 1000 })
      await fill(history, 3)
      const before = textOf(history.path)
      for (const text of ['x'.repeat(1000), 'ü'.repeat(500)]) {
        const compact = () => history.compact({ keepLast: 1, summarise: () => text })
        await rejectsWith(compact, 'ERR_CONTEXT_TOO_LARGE', /^the entry of "summary" takes more than 1000 bytes/)
        assert.equal(textOf(history.path), before)
      }
      await history.compact({ keepLast: 1, summarise: () => 'short' })
      assert.deepEqual(toolNames(await history.read()), ['summary', 't2'])
    }))

  test('refuses wrong policies by name', () =>
    inDirectory(async (directory) => {
      const history = new ContextHistory({ path: join(directory, 'a.jsonl') })
      const cases: [unknown, RegExp][] = [
        [undefined, /^policy must be an object/],
        [{}, /^policy needs a bound/],
        [{ summarise: () => '' }, /^policy needs a bound/],
        [{ keepLast: null, maxAge: undefined }, /^policy needs a bound/],
        [{ keepLast: -1 }, /^policy\.keepLast must be/],
        [{ keepLast: Number.POSITIVE_INFINITY }, /^policy\.keepLast must be/],
        [{ maxAge: 7 }, /^policy\.maxAge must be a duration/],
        [{ maxAge: '30' }, /^policy\.maxAge must be a duration/],
        [{ maxBytes: 1.5 }, /^policy\.maxBytes must be/],
        [{ keepLast: 1, summarise: 'sum' }, /^policy\.summarise must be a function/],
        [{ keepLast: 1, signal: {} }, /^signal must be an AbortSignal/],
      ]
      for (const [policy, message] of cases) {
        await rejectsWith(() => history.compact(wrong(policy)), INVALID, message)
      }
    }))

  test('works in an injected file system', async () => {
    const history = new ContextHistory({ fileSystem: new MemoryFileSystem() })
    await fill(history, 5)
    await history.compact({ keepLast: 2, summarise: (entries) => toolNames(entries).join(' ') })
    const [summary, ...others] = await history.read()
    assert.deepEqual([summary?.summary, toolNames(others)], ['t0 t1 t2', ['t3', 't4']])
    await fill(history, 1)
    assert.equal((await history.read()).length, 4)
  })
})

describe('verify()', () => {
  test(
    'tells what is in the file and what is wrong with it',
    onFiles,
    withHistory(async (history, directory) => {
      const report = await history.verify()
      assert.deepEqual([report.entries, report.bytes, report.badLines, report.problems], [0, 0, 0, []])
      mkdirSync(join(directory, 'log'))
      writeFileSync(history.path, '{"tool_name":"a"}\nno JSON\n{"tool_name":"b"}\n{"tool_na')
      const bad = await history.verify()
      assert.deepEqual([bad.entries, bad.badLines, bad.hasTornTail], [2, 2, true])
      assert.equal(bad.bytes, statSync(history.path).size)
      assert.deepEqual(
        bad.problems.map(({ line, offset, reason }) => [line, offset, typeof reason]),
        [
          [2, 18, 'string'],
          [4, 44, 'string'],
        ],
      )
      const before = bad.bytes
      await history.append({ toolName: 'c' })
      const after = await history.verify()
      assert.deepEqual([after.entries, after.badLines, after.hasTornTail], [3, 2, false])
      holds(after.bytes > before)
    }),
  )
})

describe('close()', () => {
  test(
    'waits for every append called before, and is the end of `await using`',
    withHistory(async (history) => {
      for (let number = 0; number < 100; number++) {
        void history.append({ toolName: `t${number}`, result: 'x'.repeat(10_000) })
      }
      await history.close()
      assert.equal(linesOf(history).length, 100)
      void history.append({ toolName: 'after' })
      await history[Symbol.asyncDispose]()
      assert.equal(linesOf(history).length, 101)
    }),
  )
})

describe('onDebug', () => {
  test('reports the construction and skipped lines; its errors are ignored', onFiles, () =>
    inDirectory(async (directory) => {
      const path = join(directory, 'a.jsonl')
      writeFileSync(path, 'no JSON\n{"tool_name":"a"}\n')
      const log = debugLog()
      const history = new ContextHistory({ path, onDebug: log })
      assert.deepEqual(log.entries, [{ message: 'ContextHistory initialized', data: { path } }])
      assert.equal((await history.read()).length, 1)
      assert.equal(log.entries.length, 2)
      const throwing = new ContextHistory({
        path,
        onDebug: () => {
          throw new Error('log is full')
        },
      })
      assert.equal((await throwing.read()).length, 1)
    }),
  )
})
