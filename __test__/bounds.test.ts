/** Bounds of memory and of a turn's bytes, at their exact values. */

import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { describe, test } from 'node:test'
import { ContextManager, createToolRecorder, type ToolCallContext, type ToolResponse } from '../dist/index.js'
import { fromNative, keepThrown } from '../lib/arguments/errors.ts'
import { wrong } from './support/fixtures.ts'

const inMemory = (offload = {}): ContextManager =>
  new ContextManager({
    contextDir: '/tmp/agent-context-never-written',
    persist: 'large',
    persistThreshold: 1e9,
    offload,
  })

const bytesOf = (text: string): number => Buffer.byteLength(text)

describe('the bounds of offloading', () => {
  test('a turn that fits into turnBudget exactly loses no other output', async () => {
    const outputs = [3000, 2000, 1000].map((length) => ({
      toolName: 'tool',
      args: { length },
      result: 'x'.repeat(length),
    }))
    const policy = { threshold: Number.POSITIVE_INFINITY, previewBytes: 100 }
    const isOffloaded = async (turnBudget: number): Promise<boolean[]> =>
      (await inMemory({ ...policy, turnBudget }).offloadAll(outputs)).map((output) => output.isOffloaded)
    const [largest] = await inMemory({ ...policy, turnBudget: 0 }).offloadAll(outputs)
    const exact = bytesOf(largest?.text ?? '') + 3000
    assert.deepEqual(await isOffloaded(exact), [true, false, false])
    assert.deepEqual(await isOffloaded(exact - 1), [true, true, false])
    assert.deepEqual(await isOffloaded(6000), [false, false, false])
    assert.deepEqual(await isOffloaded(5999), [true, false, false])
  })

  test('a placeholder is used only where it is shorter than the output', async () => {
    const outputs = Array.from({ length: 1500 }, (_, length) => ({
      toolName: 'tool',
      args: {},
      result: 'x'.repeat(length),
    }))
    const offloaded = await inMemory({ threshold: 1, previewBytes: 16 }).offloadAll(outputs)
    const saved = offloaded.flatMap(({ text, sizeBytes, isOffloaded }) =>
      isOffloaded ? [sizeBytes - bytesOf(text)] : [],
    )
    assert.equal(Math.min(...saved), 1, 'the first placeholder that is used saves one byte')
  })
})

describe('the bounds of a recorder', () => {
  const MAXIMUM_REMEMBERED = 10_000
  const MAXIMUM_FAILURES = 1000
  const call = (number: number): ToolCallContext => ({ traceId: `trace ${number}`, spanId: `span ${number}` })
  const ok = (result: unknown): ToolResponse => ({ success: true, result, message: 'done' })

  test('the latest 10 000 calls without an end are remembered, and the latest 10 000 runs', async () => {
    const manager = inMemory()
    const recorder = createToolRecorder(manager)
    for (let number = 0; number <= MAXIMUM_REMEMBERED; number++) {
      recorder.onAgentStart(call(number), `query ${number}`)
      recorder.onToolStart(call(number), 'tool', { number })
    }
    for (const number of [0, 1]) {
      recorder.onToolEnd(call(number), 'tool', ok(number))
    }
    await recorder.flush()
    assert.deepEqual(
      manager.getAllPointers().map(({ args, queryId }) => [args, queryId]),
      [
        [{}, undefined],
        [{ number: 1 }, ContextManager.hashQuery('query 1')],
      ],
    )
  })

  test('the first 1000 failures are kept until a flush reports them', async () => {
    let told = 0
    const recorder = createToolRecorder(inMemory(), { onError: () => told++ })
    for (let number = 0; number < MAXIMUM_FAILURES + 5; number++) {
      recorder.onToolStart(wrong(undefined), 'tool', {})
    }
    await assert.rejects(recorder.flush(), (error: unknown) => {
      assert.ok(error instanceof AggregateError)
      assert.equal(error.errors.length, MAXIMUM_FAILURES)
      return true
    })
    assert.equal(told, MAXIMUM_FAILURES + 5, 'onError is told of each')
    await recorder.flush()
  })

  test('finished saves are forgotten', async () => {
    const manager = inMemory()
    const recorder = createToolRecorder(manager)
    for (let number = 0; number < 100; number++) {
      recorder.onToolEnd(call(number), 'tool', ok(number))
    }
    const waitedFor = async (): Promise<number> => {
      const { all } = Promise
      let count = 0
      // What a flush waits for is what is remembered.
      Promise.all = wrong(function (this: PromiseConstructor, promises: Iterable<unknown>): Promise<unknown[]> {
        const list = [...promises]
        count += list.length
        return Reflect.apply(all, this, [list]) as Promise<unknown[]>
      })
      try {
        const flushed = recorder.flush()
        Promise.all = all
        await flushed
      } finally {
        Promise.all = all
      }
      return count
    }
    assert.equal(await waitedFor(), 100)
    assert.equal(manager.size, 100)
    assert.equal(await waitedFor(), 0)
  })
})

test('the latest 1000 values thrown by injected file systems are kept for their errors', () => {
  const MAXIMUM_THROWN_VALUES = 1000
  const handles = Array.from({ length: MAXIMUM_THROWN_VALUES + 1 }, (_, number) => keepThrown(`thrown ${number}`))
  const causes = handles.map((handle) => {
    const text = JSON.stringify({ code: 'ERR_CONTEXT_IO', message: 'failed', cause: { handle } })
    return fromNative(text).cause
  })
  assert.deepEqual([causes[0], causes[1], causes.at(-1)], [undefined, 'thrown 1', `thrown ${MAXIMUM_THROWN_VALUES}`])
})
