import assert from 'node:assert/strict'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import {
  ContextHistory,
  ContextManager,
  createToolRecorder,
  type StoredContext,
  type ToolCallbacks,
  type ToolCallContext,
  type ToolRecorder,
  type ToolRecorderOptions,
  type ToolResponse,
} from '../dist/index.js'
import { throwsWith, wrong } from './support/fixtures.ts'
import { contextsIn, holds, inDirectory, namesIn, PATIENT, run } from './support/processes.ts'

const span = (spanId: string, traceId = 'trace'): ToolCallContext => ({ traceId, spanId })
const ok = <T>(result: T, message = 'done'): ToolResponse<T> => ({ success: true, result, message })
const failure = (error: string, message = 'failed'): ToolResponse => ({ success: false, error, message })

/** A test body with a manager and a recorder; the manager is cleared at the end. */
function withRecorder(
  body: (recorder: ToolRecorder, manager: ContextManager, contexts: () => Promise<StoredContext[]>) => Promise<void>,
): () => Promise<void> {
  return inDirectory(async (contextDir) => {
    const manager = new ContextManager({ contextDir })
    const contexts = () => manager.loadContexts(manager.getAllPointers().map(({ filepath }) => filepath))
    await body(createToolRecorder(manager), manager, contexts)
    await manager.clear()
    assert.deepEqual(namesIn(contextDir), [])
  })
}

/** A recorder whose every save fails. */
function withFailingRecorder(body: (recorder: ToolRecorder, told: string[]) => Promise<void>): () => Promise<void> {
  return inDirectory(async (directory) => {
    writeFileSync(join(directory, 'file'), '')
    const manager = new ContextManager({ contextDir: join(directory, 'file', 'below') })
    const told: string[] = []
    await body(createToolRecorder(manager, { onError: (_, toolName) => told.push(toolName) }), told)
    assert.deepEqual(namesIn(directory), ['file'])
  })
}

function isReport(error: unknown): error is AggregateError & { code?: unknown } {
  holds(error instanceof AggregateError, String(error))
  return true
}

describe('createToolRecorder', () => {
  test('refuses what it could not record to, and wrong options', () => {
    const nowhere: unknown[] = [undefined, null, {}, 5, 'manager', { read() {} }]
    for (const target of nowhere) {
      throwsWith(
        () => createToolRecorder(wrong<ContextManager>(target)),
        'ERR_CONTEXT_INVALID_ARGUMENT',
        /^target must be/,
      )
    }
    const history = new ContextHistory()
    for (const name of ['onError', 'taskId']) {
      const options = wrong<ToolRecorderOptions>({ [name]: 5 })
      throwsWith(
        () => createToolRecorder(history, options),
        'ERR_CONTEXT_INVALID_ARGUMENT',
        new RegExp(`^${name} must be a function`),
      )
    }
    createToolRecorder(history, wrong({ onError: null, taskId: null }))
  })

  test(
    'pairs the arguments by span and the query by trace',
    withRecorder(async (recorder, manager, contexts) => {
      recorder.onAgentStart(span('root', 'one'), ' How does Login work? ')
      recorder.onAgentStart(span('root', 'two'), 'what else?')
      recorder.onToolStart(span('a', 'one'), 'read_file', { path: 'a.ts' })
      recorder.onToolEnd(span('a', 'one'), 'read_file', ok('text'))
      recorder.onToolStart(span('b', 'two'), 'grep', { pattern: 'x' })
      recorder.onToolEnd(span('b', 'two'), 'grep', ok([1, 2]))
      recorder.onToolStart(span('c', 'three'), 'grep', { pattern: 'y' })
      recorder.onToolEnd(span('c', 'three'), 'grep', ok(null))
      await recorder.flush()
      const queryId = ContextManager.hashQuery('how does login work?')
      const [a, b, c] = await contexts()
      assert.deepEqual(
        [a?.toolName, a?.args, a?.result, a?.queryId, a?.success, a?.message],
        ['read_file', { path: 'a.ts' }, 'text', queryId, true, 'done'],
      )
      assert.deepEqual(
        [b?.args, b?.result, b?.queryId],
        [{ pattern: 'x' }, [1, 2], ContextManager.hashQuery('what else?')],
      )
      assert.deepEqual([c?.args, c?.result, c?.queryId], [{ pattern: 'y' }, null, undefined])
      holds(a !== undefined && !('error' in a))
      const [pointer] = manager.getPointersForQuery(queryId)
      assert.equal(pointer?.toolDescription, 'read_file: a.ts')
      assert.equal(pointer?.success, true)
      assert.equal(manager.getPointersForQuery(queryId).length, 1)
    }),
  )

  test(
    'keeps parallel, interleaved calls of the same tool apart',
    withRecorder(async (recorder, _, contexts) => {
      const numbers = Array.from({ length: 100 }, (_, number) => number)
      recorder.onAgentStart(span('root'), 'question')
      for (const number of numbers) {
        recorder.onToolStart(span(`s${number}`), 'tool', { number })
      }
      for (const number of numbers.toReversed()) {
        recorder.onToolEnd(span(`s${number}`), 'tool', number % 3 === 0 ? failure(`e${number}`) : ok({ number }))
      }
      await recorder.flush()
      const stored = await contexts()
      assert.deepEqual(
        stored.map(({ args, success, result, error }) => [args, success, result, error]),
        numbers
          .toReversed()
          .map((number) =>
            number % 3 === 0 ? [{ number }, false, null, `e${number}`] : [{ number }, true, { number }, undefined],
          ),
      )
      holds(stored.every(({ queryId }) => queryId === ContextManager.hashQuery('question')))
    }),
  )

  test(
    'takes the latest query of a trace',
    withRecorder(async (recorder, _, contexts) => {
      recorder.onAgentStart(span('root'), 'first')
      recorder.onToolEnd(span('a'), 'tool', ok(1))
      recorder.onAgentStart(span('root'), 'second')
      recorder.onToolEnd(span('b'), 'tool', ok(2))
      await recorder.flush()
      assert.deepEqual(
        (await contexts()).map(({ queryId }) => queryId),
        ['first', 'second'].map((query) => ContextManager.hashQuery(query)),
      )
    }),
  )

  test(
    'stores failures: error and message beside a null result',
    withRecorder(async (recorder, manager, contexts) => {
      recorder.onToolStart(span('a'), 'read_file', { path: '/none' })
      recorder.onToolEnd(span('a'), 'read_file', failure('ENOENT', 'There is no such file.'))
      await recorder.flush()
      const [context] = await contexts()
      assert.deepEqual(
        [context?.success, context?.error, context?.message, context?.result, context?.args],
        [false, 'ENOENT', 'There is no such file.', null, { path: '/none' }],
      )
      const [pointer] = manager.getAllPointers()
      assert.equal(pointer?.success, false)
      const text = readFileSync(pointer.filepath, 'utf8')
      assert.deepEqual(Object.keys(JSON.parse(text) as object).slice(-6), [
        'success',
        'error',
        'message',
        'handle',
        'args',
        'result',
      ])
    }),
  )

  test(
    "executionResult's success counts over the response's",
    withRecorder(async (recorder, _, contexts) => {
      recorder.onToolEnd(span('a'), 'tool', ok('partial'), { success: false })
      recorder.onToolEnd(span('b'), 'tool', failure('recovered'), { success: true })
      recorder.onToolEnd(span('c'), 'tool', ok('plain'), {})
      recorder.onToolEnd(span('d'), 'tool', 'raw' as unknown as ToolResponse, { success: false })
      recorder.onToolEnd(span('e'), 'tool', ok('null'), null as unknown as object)
      await recorder.flush()
      assert.deepEqual(
        (await contexts()).map(({ success, result, error }) => [success, result, error]),
        [
          [false, 'partial', undefined],
          [true, null, 'recovered'],
          [true, 'plain', undefined],
          [false, 'raw', undefined],
          [true, 'null', undefined],
        ],
      )
    }),
  )

  test(
    'stores a value that is no response as the result itself',
    withRecorder(async (recorder, _, contexts) => {
      const values = ['text', 42, [1, 2], { rows: [1] }, null, true, { success: 'yes', result: 1 }, { success: 1 }]
      for (const [index, value] of values.entries()) {
        recorder.onToolEnd(span(`s${index}`), 'tool', value as unknown as ToolResponse)
      }
      recorder.onToolEnd(span('absent'), 'tool', undefined as unknown as ToolResponse)
      await recorder.flush()
      const stored = await contexts()
      assert.deepEqual(
        stored.map(({ result }) => result),
        [...values, null],
      )
      holds(stored.every((context) => !('success' in context)))
    }),
  )

  test(
    'loses nothing of a value that says success but is no response',
    withRecorder(async (recorder, _, contexts) => {
      const values = [
        { success: true, rows: [1, 2, 3] },
        { success: false, exitCode: 2, stderr: 'no such file' },
        { success: true, output: 'text' },
      ]
      for (const [index, value] of values.entries()) {
        recorder.onToolEnd(span(`s${index}`), 'tool', value as unknown as ToolResponse)
      }
      await recorder.flush()
      assert.deepEqual(
        (await contexts()).map(({ result }) => result),
        values,
      )
    }),
  )

  test(
    'saves a call whose start it did not see with empty arguments',
    withRecorder(async (recorder, _, contexts) => {
      recorder.onToolEnd(span('unknown'), 'tool', ok('result'))
      recorder.onToolStart(span('a'), 'tool', { once: true })
      recorder.onToolEnd(span('a'), 'tool', ok('first end'))
      recorder.onToolEnd(span('a'), 'tool', ok('second end'))
      await recorder.flush()
      assert.deepEqual(
        (await contexts()).map(({ args, result }) => [args, result]),
        [
          [{}, 'result'],
          [{ once: true }, 'first end'],
          [{}, 'second end'],
        ],
      )
    }),
  )

  test(
    'a start without an end saves nothing and holds nothing up',
    withRecorder(async (recorder, manager) => {
      for (let number = 0; number < 20_000; number++) {
        recorder.onToolStart(span(`s${number}`), 'tool', { number })
      }
      await recorder.flush()
      assert.equal(manager.size, 0)
    }),
  )

  test(
    'does not see changes to arguments and results made after the callback',
    withRecorder(async (recorder, _, contexts) => {
      const args = { list: [1], nested: { a: 1 } }
      recorder.onToolStart(span('a'), 'tool', args)
      args.list.push(2)
      args.nested.a = 2
      const response = { success: true as const, result: { rows: [{ id: 1 }] }, message: 'before' }
      recorder.onToolEnd(span('a'), 'tool', response)
      response.result.rows.push({ id: 2 })
      response.message = 'after'
      ;(response.result.rows[0] as { id: number }).id = 99
      await recorder.flush()
      const [context] = await contexts()
      assert.deepEqual(context?.args, { list: [1], nested: { a: 1 } })
      assert.deepEqual(context.result, { rows: [{ id: 1 }] })
      assert.equal(context.message, 'before')
    }),
  )

  test(
    'stores what JSON cannot hold with markers, in arguments as in results',
    withRecorder(async (recorder, _, contexts) => {
      const cycle: Record<string, unknown> = { big: 10n }
      cycle['self'] = cycle
      recorder.onToolStart(span('a'), 'tool', cycle)
      recorder.onToolEnd(span('a'), 'tool', ok(cycle))
      await recorder.flush()
      const [context] = await contexts()
      assert.deepEqual(context?.args, { big: '[BigInt 10]', self: '[Circular]' })
      assert.deepEqual(context.result, { big: '[BigInt 10]', self: '[Circular]' })
    }),
  )

  test(
    'asks for the task of a call',
    inDirectory(async (contextDir) => {
      const manager = new ContextManager<string>({ contextDir })
      const recorder = createToolRecorder(manager, {
        taskId: ({ traceId }) => (traceId === 'none' ? undefined : `task ${traceId}`),
      })
      recorder.onToolEnd(span('a', '1'), 'tool', ok('a'))
      recorder.onToolEnd(span('b', '2'), 'tool', ok('b'))
      recorder.onToolEnd(span('c', 'none'), 'tool', ok('c'))
      await recorder.flush()
      assert.deepEqual(
        manager.getAllPointers().map(({ taskId }) => taskId),
        ['task 1', 'task 2', undefined],
      )
      assert.equal(manager.getPointersForTask('task 1').length, 1)
      await manager.clear()
    }),
  )

  test(
    'has callbacks that can be used unbound',
    withRecorder(async (recorder, manager) => {
      const { onAgentStart, onToolStart, onToolEnd, flush, wrap } = recorder
      onAgentStart(span('root'), 'query')
      onToolStart(span('a'), 'tool', { a: 1 })
      assert.equal(onToolEnd(span('a'), 'tool', ok(1)), undefined)
      await flush()
      const wrapped = wrap({})
      wrapped.onToolEnd(span('b'), 'tool', ok(2))
      await flush()
      assert.equal(manager.size, 2)
      assert.equal(manager.getPointersForQuery(ContextManager.hashQuery('query')).length, 2)
    }),
  )

  test('lets go of results and arguments, even while their save is under way', {
    ...PATIENT,
    skip: 'Bun' in globalThis || 'Deno' in globalThis ? 'needs --expose-gc of Node' : false,
  }, async () => {
    const lines = await run('collected.mjs', [], { flags: ['--expose-gc'] })
    assert.deepEqual(JSON.parse(lines[0] ?? ''), { alive: [], writtenBefore: 0, size: 4 })
  })
})

describe('createToolRecorder for a history', () => {
  test(
    'appends each call: arguments, inner value, success, and the message as the summary',
    inDirectory(async (directory) => {
      const history = new ContextHistory({ path: join(directory, 'a.jsonl') })
      const recorder = createToolRecorder(history)
      recorder.onAgentStart(span('root'), 'query')
      recorder.onToolStart(span('a'), 'grep', { pattern: 'x' })
      recorder.onToolEnd(span('a'), 'grep', ok([1, 2], 'Found 2.'))
      recorder.onToolEnd(span('b'), 'read_file', failure('ENOENT', 'There is no such file.'))
      recorder.onToolEnd(span('c'), 'raw', 'text' as unknown as ToolResponse)
      recorder.onToolEnd(span('d'), 'tool', ok('partial'), { success: false })
      await recorder.flush()
      const entries = await history.read()
      assert.deepEqual(
        entries.map(({ id, timestamp, ...rest }) => rest),
        [
          { toolName: 'grep', params: { pattern: 'x' }, result: [1, 2], success: true, summary: 'Found 2.' },
          {
            toolName: 'read_file',
            params: {},
            result: null,
            success: false,
            summary: 'There is no such file.',
            error: 'ENOENT',
          },
          { toolName: 'raw', params: {}, result: 'text', success: true, summary: 'Called raw' },
          { toolName: 'tool', params: {}, result: 'partial', success: false, summary: 'done' },
        ],
      )
      assert.deepEqual(namesIn(directory), ['a.jsonl', 'a.jsonl.lock'], 'nothing but the history')
    }),
  )

  test(
    'records to a manager and a history, and waits for both',
    inDirectory(async (directory) => {
      const manager = new ContextManager({ contextDir: join(directory, 'contexts') })
      const history = new ContextHistory({ path: join(directory, 'a.jsonl') })
      const recorder = createToolRecorder(manager, { history })
      for (let number = 0; number < 50; number++) {
        recorder.onToolStart(span(`s${number}`), 'tool', { number })
        recorder.onToolEnd(span(`s${number}`), 'tool', ok('x'.repeat(10_000)))
      }
      await recorder.flush()
      assert.equal(contextsIn(join(directory, 'contexts')).length, 50)
      const numbers = (await history.read()).map(({ params }) => (params as { number: number }).number)
      assert.deepEqual(
        numbers,
        Array.from({ length: 50 }, (_, number) => number),
      )
      await manager.clear()
    }),
  )

  test(
    'a failure of one does not keep the other from recording',
    inDirectory(async (directory) => {
      writeFileSync(join(directory, 'file'), '')
      const managers = ['contexts', 'file'].map(
        (name) => new ContextManager({ contextDir: join(directory, name, 'c') }),
      )
      const histories = ['log', 'file'].map((name) => new ContextHistory({ path: join(directory, name, 'a.jsonl') }))
      const [manager, failingManager] = managers as [ContextManager, ContextManager]
      const [history, failingHistory] = histories as [ContextHistory, ContextHistory]
      const pairs: [ContextManager, ContextHistory][] = [
        [failingManager, history],
        [manager, failingHistory],
      ]
      for (const [target, also] of pairs) {
        const told: string[] = []
        const recorder = createToolRecorder(target, { history: also, onError: (_, toolName) => told.push(toolName) })
        recorder.onToolEnd(span('a'), 'tool', ok(1))
        await assert.rejects(recorder.flush(), (error) => isReport(error) && error.errors.length === 1)
        assert.deepEqual(told, ['tool'])
      }
      const recorder = createToolRecorder(manager, {
        history,
        taskId: () => {
          throw new Error('no task')
        },
      })
      recorder.onToolEnd(span('a'), 'tool', ok(2))
      await assert.rejects(recorder.flush(), (error) => isReport(error) && error.errors.length === 1)
      assert.deepEqual(
        (await history.read()).map(({ result }) => result),
        [1, 2],
      )
      assert.equal(manager.size, 1)
      await manager.clear()
    }),
  )

  test(
    'takes a history that is given twice once, and refuses what is none',
    inDirectory(async (directory) => {
      const history = new ContextHistory({ path: join(directory, 'a.jsonl') })
      const recorder = createToolRecorder(history, { history })
      recorder.onToolEnd(span('a'), 'tool', ok(1))
      await recorder.flush()
      assert.equal((await history.read()).length, 1)
      createToolRecorder(history, { history: null })
      assert.throws(() => createToolRecorder(history, { history: {} as ContextHistory }), {
        code: 'ERR_CONTEXT_INVALID_ARGUMENT',
        message: /^history must be a ContextHistory/,
      })
    }),
  )
})

describe('flush()', () => {
  test(
    'waits for the saves so far',
    withRecorder(async (recorder, manager) => {
      await recorder.flush()
      for (let number = 0; number < 100; number++) {
        recorder.onToolEnd(span(`s${number}`), 'tool', ok('x'.repeat(40_000)))
      }
      await Promise.all([recorder.flush(), recorder.flush()])
      const pointers = manager.getAllPointers()
      assert.equal(pointers.length, 100)
      holds(pointers.every(({ filepath }) => existsSync(filepath)))
    }),
  )

  test('fails calls that do not fit beside those that wait for storage, and records the next ones', async () => {
    const waiting: (() => void)[] = []
    const saved: unknown[] = []
    const target = {
      saveContext: (_toolName: string, _args: unknown, result: unknown) =>
        new Promise<string>((resolve) =>
          waiting.push(() => {
            saved.push(result)
            resolve('')
          }),
        ),
    }
    const told: [string, unknown][] = []
    const onError = (error: unknown, toolName: string): number =>
      told.push([toolName, (error as { code?: unknown }).code])
    const recorder = createToolRecorder(wrong<ContextManager>(target), { onError })
    const long = 'x'.repeat(100 * 2 ** 20)
    const outputs: unknown[] = [
      long,
      [{ type: 'text', text: long }],
      { log: long },
      new Uint8Array(100 * 2 ** 20),
      'short',
    ]
    for (const [number, output] of outputs.entries()) {
      recorder.onToolEnd(span(`${number}`), `tool-${number}`, ok(output))
    }
    assert.deepEqual(told, [
      ['tool-2', 'ERR_CONTEXT_TIMEOUT'],
      ['tool-3', 'ERR_CONTEXT_TIMEOUT'],
    ])
    for (const end of waiting.splice(0)) {
      end()
    }
    await assert.rejects(recorder.flush(), (error) => isReport(error) && error.errors.length === 2)
    // One output is recorded whatever its size.
    recorder.onToolEnd(span('a'), 'tool', ok({ first: long, second: long, third: long }))
    recorder.onToolEnd(span('b'), 'tool', ok('short'))
    for (const end of waiting.splice(0)) {
      end()
    }
    await assert.rejects(recorder.flush(), (error) => isReport(error) && error.errors.length === 1)
    assert.equal(saved.length, 4)
    recorder.onToolEnd(span('c'), 'tool', ok('short'))
    for (const end of waiting.splice(0)) {
      end()
    }
    await recorder.flush()
  })

  test(
    'rejects with what failed since the last flush, once',
    withFailingRecorder(async (recorder, told) => {
      recorder.onToolEnd(span('a'), 'first', ok(1))
      recorder.onToolEnd(span('b'), 'second', ok(2))
      await assert.rejects(recorder.flush(), (error) => {
        holds(isReport(error))
        assert.equal(error.code, 'ERR_CONTEXT_IO')
        assert.deepEqual(
          error.errors.map((one: Error & { code: string }) => one.code),
          ['ERR_CONTEXT_IO', 'ERR_CONTEXT_IO'],
        )
        return true
      })
      assert.deepEqual(told.toSorted(), ['first', 'second'])
      await recorder.flush()
      recorder.onToolEnd(span('c'), 'third', ok(3))
      await assert.rejects(recorder.flush(), (error) => isReport(error) && error.errors.length === 1)
      await recorder.flush()
    }),
  )

  test(
    'rejects with a code whatever failed',
    withRecorder(async (recorder) => {
      const failures: (() => void)[] = [
        () => recorder.onToolEnd(null as unknown as ToolCallContext, 'tool', ok(1)),
        () => recorder.onToolEnd(span('a'), 5 as unknown as string, ok(1)),
        () => recorder.onAgentStart(span('a'), 5 as unknown as string),
        () => recorder.onToolStart(undefined as unknown as ToolCallContext, 'tool', {}),
      ]
      for (const fail of failures) {
        fail()
        await assert.rejects(recorder.flush(), (error) => {
          holds(isReport(error))
          assert.match(String(error.code), /^ERR_CONTEXT_/, String(fail))
          return true
        })
      }
    }),
  )

  test(
    'rejects with an AggregateError whatever was thrown',
    withRecorder(async (recorder) => {
      const hostile = Object.defineProperty({}, 'code', {
        get() {
          throw new Error('the error itself throws')
        },
      })
      for (const thrown of [hostile, null, undefined, 'text', 5n, Symbol('s')]) {
        const context = {
          spanId: 's',
          get traceId(): string {
            throw thrown
          },
        }
        recorder.onToolEnd(context, 'tool', ok(1))
        await assert.rejects(recorder.flush(), isReport)
        await recorder.flush()
      }
    }),
  )

  test(
    'an onError that throws harms nothing',
    inDirectory(async (directory) => {
      writeFileSync(join(directory, 'file'), '')
      const manager = new ContextManager({ contextDir: join(directory, 'file', 'below') })
      const recorder = createToolRecorder(manager, {
        onError: () => {
          throw new Error('the log is broken')
        },
      })
      recorder.onToolEnd(span('a'), 'tool', ok(1))
      await assert.rejects(recorder.flush(), (error) => isReport(error) && error.errors.length === 1)
    }),
  )

  test(
    'reports a result that is too large, and only that',
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir, retention: { maxResultBytes: 1000 } })
      const recorder = createToolRecorder(manager)
      recorder.onToolEnd(span('a'), 'tool', ok('x'.repeat(10_000)))
      recorder.onToolEnd(span('b'), 'tool', ok('small'))
      await assert.rejects(recorder.flush(), { name: 'AggregateError', code: 'ERR_CONTEXT_TOO_LARGE' })
      assert.equal(manager.size, 1)
      await manager.clear()
    }),
  )
})

describe('hostile input', () => {
  const thrower = new Proxy(
    {},
    {
      get() {
        throw new Error('get')
      },
      has() {
        throw new Error('has')
      },
      ownKeys() {
        throw new Error('ownKeys')
      },
      getOwnPropertyDescriptor() {
        throw new Error('getOwnPropertyDescriptor')
      },
      getPrototypeOf() {
        throw new Error('getPrototypeOf')
      },
    },
  )
  const revoked = Proxy.revocable({}, {})
  revoked.revoke()
  const values: [string, unknown][] = [
    ['nothing', undefined],
    ['null', null],
    ['a number', 5],
    ['a symbol', Symbol('s')],
    ['a BigInt', 5n],
    ['a text', 'text'],
    ['an empty object', {}],
    ['an array', []],
    ['a function', () => {}],
    ['an object without prototype', Object.create(null)],
    ['a Proxy that throws', thrower],
    ['a revoked Proxy', revoked.proxy],
    [
      'throwing getters',
      {
        get traceId(): string {
          throw new Error('traceId')
        },
        get spanId(): string {
          throw new Error('spanId')
        },
        get success(): boolean {
          throw new Error('success')
        },
        get result(): unknown {
          throw new Error('result')
        },
      },
    ],
    [
      'a response whose result throws',
      {
        success: true,
        message: 5,
        get result(): unknown {
          throw new Error('result')
        },
      },
    ],
    [
      'a response with odd members',
      { success: true, result: undefined, error: Symbol('e'), message: { toString: null } },
    ],
  ]
  for (const [what, value] of values) {
    test(
      `never throws into the agent: ${what}`,
      withRecorder(async (recorder, manager) => {
        const good = span('good')
        const anything = value as never
        const wrapped = recorder.wrap({})
        for (const { onAgentStart, onToolStart, onToolEnd } of [recorder, wrapped]) {
          assert.equal(onAgentStart(anything, anything), undefined)
          assert.equal(onAgentStart(good, anything), undefined)
          assert.equal(onToolStart(anything, anything, anything), undefined)
          assert.equal(onToolStart(good, 'tool', anything), undefined)
          assert.equal(onToolEnd(anything, anything, anything, anything), undefined)
          assert.equal(onToolEnd(good, 'tool', anything), undefined)
          assert.equal(onToolEnd(good, 'tool', ok(anything)), undefined)
          assert.equal(onToolEnd(good, 'tool', ok('good'), anything), undefined)
          assert.equal(onToolEnd(good, anything, ok('good')), undefined)
        }
        ;(recorder.onToolEnd as () => void)()
        ;(recorder.onToolStart as () => void)()
        ;(recorder.onAgentStart as () => void)()
        await recorder.flush().catch(isReport)
        // It goes on.
        recorder.onToolStart(span('after'), 'after', { a: 1 })
        recorder.onToolEnd(span('after'), 'after', ok('result'))
        await recorder.flush()
        const last = manager.getAllPointers().at(-1)
        assert.deepEqual([last?.toolName, last?.args], ['after', { a: 1 }])
      }),
    )
  }
})

describe('wrap()', () => {
  test(
    'records and calls the agent’s own callbacks with all they were given',
    withRecorder(async (recorder, _, contexts) => {
      const calls: unknown[][] = []
      const own = {
        onAgentStart: (...parameters: unknown[]) => calls.push(['onAgentStart', ...parameters]),
        onToolStart: (...parameters: unknown[]) => calls.push(['onToolStart', ...parameters]),
        onToolEnd: (...parameters: unknown[]) => calls.push(['onToolEnd', ...parameters]),
      }
      const callbacks = recorder.wrap(own) as Required<ToolCallbacks>
      const [root, tool, args, response, execution] = [span('root'), span('a'), { a: 1 }, ok(1), { success: false }]
      callbacks.onAgentStart(root, 'query')
      callbacks.onToolStart(tool, 'tool', args)
      callbacks.onToolEnd(tool, 'tool', response, execution)
      assert.deepEqual(calls, [
        ['onAgentStart', root, 'query'],
        ['onToolStart', tool, 'tool', args],
        ['onToolEnd', tool, 'tool', response, execution],
      ])
      assert.equal(calls[2]?.[3], response, 'the very object')
      await recorder.flush()
      const [context] = await contexts()
      assert.deepEqual([context?.args, context?.success], [{ a: 1 }, false])
      assert.equal(context?.queryId, ContextManager.hashQuery('query'))
    }),
  )

  test(
    'passes results, promises and errors of the own callbacks on',
    withRecorder(async (recorder, manager) => {
      const promise = Promise.resolve('later')
      const thrown = new Error('the agent’s own')
      const rejected = Promise.reject(thrown)
      const callbacks = recorder.wrap({
        onAgentStart: () => promise,
        onToolStart: () => {
          throw thrown
        },
        onToolEnd: () => rejected,
      }) as Required<ToolCallbacks>
      assert.equal(callbacks.onAgentStart(span('root'), 'query'), promise)
      assert.throws(
        () => callbacks.onToolStart(span('a'), 'tool', { a: 1 }),
        (error) => error === thrown,
      )
      const answer = callbacks.onToolEnd(span('a'), 'tool', ok(1))
      assert.equal(answer, rejected)
      await assert.rejects(rejected, (error) => error === thrown)
      await recorder.flush()
      assert.deepEqual(manager.getAllPointers()[0]?.args, { a: 1 }, 'recorded all the same')
    }),
  )

  test(
    'keeps `this` of class instances, private and inherited members included',
    withRecorder(async (recorder, manager) => {
      class Base {
        ended: string[] = []
        onToolEnd(_: ToolCallContext, toolName: string): string {
          this.ended.push(toolName)
          return `${this.ended.length}`
        }
        inherited(): number {
          return this.ended.length
        }
      }
      class Callbacks extends Base {
        #started = 0
        readonly name = 'mine'
        onToolStart(): number {
          return ++this.#started
        }
        started(): number {
          return this.#started
        }
      }
      const own = new Callbacks()
      const wrapped = recorder.wrap(own)
      const { onToolStart, onToolEnd, started } = wrapped
      onToolStart(span('a'), 'tool', {})
      assert.equal(onToolEnd(span('a'), 'tool', ok(1)), '1')
      assert.deepEqual(own.ended, ['tool'])
      assert.equal(started(), 1)
      assert.equal(wrapped.inherited(), 1)
      assert.equal(wrapped.name, 'mine')
      await recorder.flush()
      assert.equal(manager.size, 1)
    }),
  )

  test(
    'keeps other members: functions and values',
    withRecorder(async (recorder) => {
      const own = { onLlmEnd: (text: string) => `${text}!`, nested: { a: 1 }, list: [1] }
      const wrapped = recorder.wrap(own)
      assert.equal(wrapped.onLlmEnd('text'), 'text!')
      assert.equal(wrapped.nested, own.nested)
      assert.equal(wrapped.list, own.list)
    }),
  )

  test(
    'keeps other members: those under symbols',
    withRecorder(async (recorder) => {
      const mark = Symbol('mark')
      assert.equal(recorder.wrap({ [mark]: 'symbol' })[mark], 'symbol')
    }),
  )

  test(
    'keeps other members: what the callbacks change is seen',
    withRecorder(async (recorder) => {
      const own = {
        count: 0,
        get doubled() {
          return this.count * 2
        },
        onToolEnd() {
          this.count++
        },
      }
      const wrapped = recorder.wrap(own)
      wrapped.onToolEnd(span('a'), 'tool', ok(1))
      await recorder.flush()
      assert.equal(own.count, 1)
      assert.equal(wrapped.count, 1)
      assert.equal(wrapped.doubled, 2)
    }),
  )

  test(
    'gives all three callbacks where the agent has none or some, and changes nothing of the agent’s object',
    withRecorder(async (recorder, manager) => {
      const own = Object.freeze({ onToolStart: () => 'own' })
      const keys = Object.keys(own)
      const wrapped = recorder.wrap(own)
      assert.equal(wrapped.onAgentStart(span('root'), 'query'), undefined)
      assert.equal(wrapped.onToolStart(span('a'), 'tool', { a: 1 }), 'own')
      assert.equal(wrapped.onToolEnd(span('a'), 'tool', ok(1)), undefined)
      assert.deepEqual(Object.keys(own), keys)
      const none = recorder.wrap({ onAgentStart: undefined, onToolEnd: null })
      assert.equal((none as unknown as Required<ToolCallbacks>).onToolEnd(span('b'), 'tool', ok(2)), undefined)
      await recorder.flush()
      assert.equal(manager.size, 2)
    }),
  )

  test(
    'works for several recorders around the same callbacks',
    inDirectory(async (directory) => {
      const managers = ['a', 'b', 'c'].map((name) => new ContextManager({ contextDir: join(directory, name) }))
      const recorders = managers.map((manager) => createToolRecorder(manager))
      let calls = 0
      const own: ToolCallbacks = { onToolEnd: () => ++calls }
      const wrapped = recorders.reduce<ToolCallbacks>((callbacks, recorder) => recorder.wrap(callbacks), own)
      wrapped.onAgentStart?.(span('root'), 'query')
      wrapped.onToolStart?.(span('s'), 'tool', { a: 1 })
      assert.equal(wrapped.onToolEnd?.(span('s'), 'tool', ok('result')), 1)
      await Promise.all(recorders.map((recorder) => recorder.flush()))
      for (const manager of managers) {
        const [pointer] = manager.getAllPointers()
        assert.deepEqual([manager.size, pointer?.args], [1, { a: 1 }])
        assert.equal(pointer?.queryId, ContextManager.hashQuery('query'))
      }
      assert.equal(contextsIn(join(directory, 'b')).length, 1)
      await Promise.all(managers.map((manager) => manager.clear()))
    }),
  )
})

test(
  'what the tools of retrieval give back is not stored again',
  withRecorder(async (recorder, _, contexts) => {
    for (const tool of ['search_contexts', 'list_contexts', 'read_context_slice', 'read_context', 'grep']) {
      recorder.onToolStart(span(tool), tool, { query: 'quokka' })
      recorder.onToolEnd(span(tool), tool, ok('a quokka'))
    }
    await recorder.flush()
    assert.deepEqual(
      (await contexts()).map(({ toolName }) => toolName),
      ['grep'],
    )
  }),
)
