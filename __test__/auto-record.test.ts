import assert from 'node:assert/strict'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { type AutoRecorder, autoRecord, ContextHistory, type ToolInvoked } from '../dist/index.js'
import { inDirectory, only, throwsWith, wrong } from './support/fixtures.ts'
import { holds } from './support/processes.ts'

/** A test body with a history and its observer. */
function withObserver(body: (observe: AutoRecorder, history: ContextHistory) => Promise<void>): () => Promise<void> {
  return () =>
    inDirectory(async (directory) => {
      const history = new ContextHistory({ path: join(directory, 'a.jsonl') })
      await body(autoRecord(history), history)
      await history.close()
    })
}

const failuresOf = async (observe: AutoRecorder): Promise<unknown[]> => {
  try {
    await observe.flush()
  } catch (error) {
    holds(error instanceof AggregateError, String(error))
    return error.errors
  }
  return []
}

describe('autoRecord()', () => {
  test(
    'appends what the event says, with a summary',
    withObserver(async (observe, history) => {
      const result = observe({
        toolName: 'grep',
        params: { pattern: 'auth' },
        result: { matches: 15 },
        success: false,
        timestamp: '2025-12-18T10:30:00Z',
      })
      assert.equal(result, undefined)
      await observe.flush()
      const { id, ...rest } = only(await history.read())
      assert.deepEqual(rest, {
        toolName: 'grep',
        params: { pattern: 'auth' },
        result: { matches: 15 },
        success: false,
        summary: 'Called grep',
        timestamp: '2025-12-18T10:30:00Z',
      })
    }),
  )

  test(
    'takes `name` where there is no `toolName`, and nothing that it does not know',
    withObserver(async (observe, history) => {
      const event = { name: 'grep', sessionId: 's', bus: {} }
      observe(event)
      observe({ toolName: 'a', name: 'b' })
      await observe.flush()
      const [first, second] = await history.read()
      assert.deepEqual(Object.keys(first ?? {}), [
        'id',
        'toolName',
        'params',
        'result',
        'success',
        'summary',
        'timestamp',
      ])
      assert.deepEqual([first?.toolName, first?.params, first?.result], ['grep', null, null])
      assert.equal(second?.toolName, 'a')
    }),
  )

  test(
    'finds out whether the call succeeded: the event, then the result, then yes',
    withObserver(async (observe, history) => {
      const throwing = {
        get success(): boolean {
          throw new Error('unknown')
        },
      }
      const cases: [ToolInvoked, boolean][] = [
        [{ success: false, result: { success: true } }, false],
        [{ success: true, result: { success: false } }, true],
        [{ result: { success: false } }, false],
        [{ result: { success: 'no' } }, true],
        [{ result: 'text' }, true],
        [{}, true],
        [wrong({ success: null, result: { success: false } }), false],
        [{ result: throwing }, true],
      ]
      for (const [event] of cases) {
        observe({ toolName: 't', ...event })
      }
      await observe.flush()
      assert.deepEqual(
        (await history.read()).map(({ success }) => success),
        cases.map(([, success]) => success),
      )
    }),
  )

  test(
    'takes times of every kind, and now for what is none',
    withObserver(async (observe, history) => {
      const before = Date.now()
      const times: unknown[] = [
        new Date(0),
        1000,
        '1970-01-01T00:00:02Z',
        'yesterday',
        new Date(Number.NaN),
        {},
        null,
        1.76e15,
      ]
      for (const timestamp of times) {
        observe({ toolName: 't', timestamp: wrong(timestamp) })
      }
      await observe.flush()
      const read = (await history.read()).map(({ timestamp }) => Date.parse(timestamp ?? ''))
      assert.deepEqual(read.slice(0, 3), [0, 1000, 2000])
      holds(
        read.slice(3).every((time) => time >= before && time <= Date.now()),
        String(read),
      )
    }),
  )

  test(
    'takes values as they are at the call, in the order of the calls',
    withObserver(async (observe, history) => {
      const event = { toolName: 't', params: { number: 0 }, result: [0] }
      for (let number = 0; number < 100; number++) {
        event.params.number = number
        event.result[0] = number
        observe(event)
      }
      event.toolName = 'changed'
      await observe.flush()
      assert.deepEqual(
        (await history.read(100)).map(({ toolName, params, result }) => [toolName, params, result]),
        Array.from({ length: 100 }, (_, number) => ['t', { number }, [number]]),
      )
    }),
  )

  test(
    'never throws into the bus, and loses no call for a value that throws',
    withObserver(async (observe, history) => {
      const thrown = new Error('no name')
      const events: unknown[] = [
        null,
        undefined,
        5,
        'grep',
        {},
        { toolName: '' },
        { toolName: 5 },
        { toolName: Symbol('name') },
        {
          get toolName(): string {
            throw thrown
          },
        },
      ]
      for (const event of events) {
        observe(wrong(event))
      }
      const cycle: Record<string, unknown> = { big: 1n }
      cycle['self'] = cycle
      observe({
        toolName: 'throwing',
        get params(): unknown {
          throw new Error('no params')
        },
        get result(): unknown {
          throw new Error('no result')
        },
        get success(): boolean {
          throw new Error('unknown')
        },
        get timestamp(): string {
          throw new Error('no time')
        },
      })
      observe({ toolName: 'cycle', params: cycle, result: cycle })
      const failures = await failuresOf(observe)
      assert.equal(failures.length, events.length)
      holds(failures.includes(thrown), 'what was thrown')
      const marked = { big: '[BigInt 1]', self: '[Circular]' }
      assert.deepEqual(
        (await history.read()).map(({ toolName, params, result, success }) => [toolName, params, result, success]),
        [
          ['throwing', '[Throws: no params]', '[Throws: no result]', true],
          ['cycle', marked, marked, true],
        ],
      )
    }),
  )

  test('reports each failure once to onError and once by flush; errors of onError are ignored', () =>
    inDirectory(async (directory) => {
      writeFileSync(join(directory, 'file'), '')
      const history = new ContextHistory({ path: join(directory, 'file', 'a.jsonl') })
      const told: string[] = []
      const observe = autoRecord(history, {
        onError(_, toolName) {
          told.push(toolName)
          throw new Error('report failed')
        },
      })
      await observe.flush()
      observe({ toolName: 'a' })
      observe({ toolName: 'b' })
      await assert.rejects(observe.flush(), (error: AggregateError & { code?: unknown }) => {
        assert.deepEqual([error.code, error.errors.length], ['ERR_CONTEXT_IO', 2])
        assert.match(error.message, /^2 tool calls could not be saved/)
        return true
      })
      assert.deepEqual(told.toSorted(), ['a', 'b'])
      await observe.flush()
    }))

  test('can be passed on unbound, and refuses what is no history', () =>
    inDirectory(async (directory) => {
      const history = new ContextHistory({ path: join(directory, 'a.jsonl') })
      const observe = autoRecord(history, null)
      const { flush } = observe
      ;[{ toolName: 'a' }, { toolName: 'b' }].forEach(observe)
      await flush()
      assert.equal((await history.read()).length, 2)
      for (const given of [undefined, null, {}, 'path']) {
        throwsWith(() => autoRecord(wrong(given)), 'ERR_CONTEXT_INVALID_ARGUMENT', /^history must be a ContextHistory/)
      }
      throwsWith(() => autoRecord(history, wrong({ onError: 5 })), 'ERR_CONTEXT_INVALID_ARGUMENT', /^onError must be/)
      assert.equal(existsSync(history.path), true)
    }))
})
