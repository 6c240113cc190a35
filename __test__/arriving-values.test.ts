/** Results that are not there yet: promises, streams and responses. */

import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { Readable } from 'node:stream'
import { describe, test } from 'node:test'
import {
  ContextHistory,
  ContextManager,
  createToolRecorder,
  type RetentionOptions,
  type StoredContext,
} from '../dist/index.js'
import { inDirectory, MemoryFileSystem, only, rejectsWith, throwsWith, wrong } from './support/fixtures.ts'
import { holds } from './support/processes.ts'

const inMemory = (retention: RetentionOptions = {}): ContextManager =>
  new ContextManager({ contextDir: '/virtual/contexts', fileSystem: new MemoryFileSystem(), retention })

async function stored(manager: ContextManager, value: unknown): Promise<StoredContext> {
  return manager.loadContext(await manager.saveContext('tool', {}, value))
}

async function* of<T>(...chunks: T[]): AsyncGenerator<T> {
  yield* chunks
}

async function* failing(): AsyncGenerator<string> {
  yield 'as far as '
  yield 'it came'
  throw new Error('connection reset')
}

describe('a promise', () => {
  test('is awaited by saveContext, offload and offloadAll', async () => {
    const manager = inMemory()
    assert.deepEqual((await stored(manager, Promise.resolve({ a: 1 }))).result, { a: 1 })
    assert.equal((await manager.offload('tool', {}, Promise.resolve('text'))).text, 'text')
    const all = await manager.offloadAll([
      { toolName: 'tool', args: {}, result: Promise.resolve('one') },
      { toolName: 'tool', args: {}, result: 'two' },
    ])
    assert.deepEqual(
      all.map(({ text }) => text),
      ['one', 'two'],
    )
  })

  test('that rejects, rejects the call and stores nothing', async () => {
    const manager = inMemory()
    const reason = new Error('no result')
    await assert.rejects(manager.saveContext('tool', {}, Promise.reject(reason)), reason)
    assert.equal(manager.size, 0)
  })
})

describe('a stream', () => {
  const kinds: [string, () => AsyncIterable<unknown>, unknown][] = [
    ['an async iterable of texts', () => of('a', 'bc', 'd'), 'abcd'],
    ['a stream of Node', () => Readable.from([Buffer.from('a€'.slice(0)), Buffer.from('b')]), 'a€b'],
    [
      'bytes that are cut within a character',
      () => of(Buffer.from('€').subarray(0, 1), Buffer.from('€').subarray(1)),
      '€',
    ],
    ['a ReadableStream', () => new Blob(['a', 'b']).stream() as unknown as AsyncIterable<unknown>, 'ab'],
    ['chunks of other kinds', () => of<unknown>('a', { b: 1 }, 2), ['a', { b: 1 }, 2]],
    ['nothing', () => of(), ''],
  ]
  for (const [name, make, expected] of kinds) {
    test(`is stored whole: ${name}`, async () => {
      const manager = inMemory()
      const { result, cut } = await stored(manager, make())
      assert.deepEqual([result, cut], [expected, undefined])
      const { handle = '' } = await manager.offload('tool', {}, make())
      assert.deepEqual((await manager.loadContext(handle)).result, expected)
    })
  }

  test('that is longer than maxResultBytes is stored up to there, marked, and read to its end', async () => {
    const manager = inMemory({ maxResultBytes: 100_000 })
    let given = 0
    async function* long(): AsyncGenerator<string> {
      for (; given < 100; given += 1) {
        yield 'line "quoted"\n'.repeat(1000)
      }
    }
    const { result, cut, success } = await stored(manager, long())
    assert.deepEqual([cut, success, given], [true, undefined, 100])
    const size = JSON.stringify(result).length
    holds(size <= 100_000 && size > 70_000, `${size} bytes`)
  })

  test('that fails is stored as far as it came, as a failed call', async () => {
    const manager = inMemory()
    const { result, cut, success, error } = await stored(manager, failing())
    assert.deepEqual([result, cut, success, error], ['as far as it came', true, false, 'Error: connection reset'])
    const offloaded = await manager.offload('tool', {}, failing(), { callId: 'c' })
    assert.equal(offloaded.text, 'as far as it came')
    assert.deepEqual((await manager.loadContext(offloaded.handle ?? '')).cut, true)
  })

  test('is stored as far as it came once the signal is aborted', async () => {
    const manager = inMemory()
    const stop = new AbortController()
    async function* endless(): AsyncGenerator<string> {
      for (let chunk = 1; ; chunk += 1) {
        if (chunk === 3) {
          stop.abort()
        }
        yield 'x'
      }
    }
    const { text, handle = '' } = await manager.offload('tool', {}, endless(), { signal: stop.signal })
    assert.equal(text, 'xxx')
    assert.equal((await manager.loadContext(handle)).cut, true)
  })

  test('of a response is its body', async () => {
    const manager = inMemory()
    const response = new Response('the page', { status: 404, statusText: 'Not Found', headers: { 'x-a': 'b' } })
    const { result } = await stored(manager, response)
    const { status, statusText, headers, body } = result as Record<string, unknown>
    assert.deepEqual([status, statusText, body], [404, 'Not Found', 'the page'])
    assert.equal((headers as Record<string, string>)['x-a'], 'b')
  })
})

describe('recordStream', () => {
  test('passes every chunk through and stores them', async () => {
    const manager = inMemory({ maxResultBytes: 50 })
    const chunks = ['a'.repeat(30), 'b'.repeat(30), 'c']
    const recorded = manager.recordStream('shell', { command: 'make' }, of(...chunks), { callId: 'c1', taskId: 7 })
    const read: string[] = []
    for await (const chunk of recorded) {
      read.push(chunk)
    }
    assert.deepEqual(read, chunks)
    const { result, cut, callId, taskId } = await manager.loadContext(await recorded.stored)
    assert.deepEqual([result, cut, callId, taskId], ['a'.repeat(30), true, 'c1', 7])
  })

  test('stores what came of a stream that is abandoned or fails', async () => {
    const manager = inMemory()
    const abandoned = manager.recordStream('shell', {}, of('a', 'b', 'c'))
    for await (const chunk of abandoned) {
      if (chunk === 'b') {
        break
      }
    }
    const left = await manager.loadContext(await abandoned.stored)
    assert.deepEqual([left.result, left.cut], ['ab', true])
    const failed = manager.recordStream('shell', {}, failing())
    await assert.rejects(async () => {
      for await (const _ of failed) {
        // Read to the failure.
      }
    }, /connection reset/)
    const { result, cut, success, error } = await manager.loadContext(await failed.stored)
    assert.deepEqual([result, cut, success, error], ['as far as it came', true, false, 'Error: connection reset'])
  })

  test('refuses what is no stream', () => {
    throwsWith(
      () => inMemory().recordStream('t', {}, wrong<AsyncIterable<string>>('text')),
      'ERR_CONTEXT_INVALID_ARGUMENT',
      /stream/,
    )
  })
})

describe('recorder.record', () => {
  test('saves a call in one step, to a manager and a history', () =>
    inDirectory(async (directory) => {
      const manager = inMemory()
      const history = new ContextHistory({ path: `${directory}/context.jsonl` })
      const recorder = createToolRecorder(manager, { history })
      const args = { path: 'a.ts' }
      recorder.record({
        toolName: 'read_file',
        args,
        result: 'partial',
        outcome: { success: false, error: 'EIO', exitCode: 3 },
        callId: 'call_1',
        queryId: 'q_1',
        taskId: 4,
        spanId: 'span_1',
        startedAt: 1_700_000_000_123,
        durationMs: 12.5,
      })
      args.path = 'changed'
      await recorder.flush()
      const pointer = only(manager.getAllPointers())
      const { timestamp, success, error, exitCode, callId, queryId, taskId, durationMs } = pointer
      assert.deepEqual(
        [timestamp, success, error, exitCode, callId, queryId, taskId, durationMs, pointer.args],
        [1_700_000_000_123, false, 'EIO', 3, 'call_1', 'q_1', 4, 12.5, { path: 'a.ts' }],
      )
      const { spanId, result } = await manager.loadContext(pointer.filepath)
      assert.deepEqual([spanId, result], ['span_1', 'partial'])
      const entry = only(await history.read())
      assert.deepEqual(
        [entry.success, entry['error'], entry['callId'], entry['spanId'], entry['durationMs'], entry.timestamp],
        [false, 'EIO', 'call_1', 'span_1', 12.5, '2023-11-14T22:13:20.123Z'],
      )
      await history.close()
    }))

  test('reads how a call ended from what it gave, where nothing is said of it', async () => {
    const manager = inMemory()
    const recorder = createToolRecorder(manager)
    recorder.record({ toolName: 'grep', result: { isError: true, content: [{ type: 'text', text: 'bad pattern' }] } })
    recorder.record({ toolName: 'read_context_slice', result: 'a page' })
    await recorder.flush()
    const { success, error } = only(manager.getAllPointers())
    assert.deepEqual([success, error], [false, 'bad pattern'])
  })

  test('never throws, and flush reports what was wrong', async () => {
    const recorder = createToolRecorder(inMemory())
    recorder.record(wrong({ toolName: 5 }))
    recorder.record({ toolName: 'grep', startedAt: Number.NaN })
    recorder.record(wrong(undefined))
    await assert.rejects(recorder.flush(), (error: AggregateError) => error.errors.length === 3)
  })
})

test('a time that is none is refused', async () => {
  const call = (): Promise<string> => inMemory().saveContext('t', {}, 1, null, null, { startedAt: Number.NaN })
  await rejectsWith(call, 'ERR_CONTEXT_INVALID_ARGUMENT', /startedAt/)
})
