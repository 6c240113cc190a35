/** How the recorder reads a response: nothing of it is lost, and the outcome is read from every known shape. */

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import {
  autoRecord,
  type ContextEntry,
  ContextHistory,
  ContextManager,
  createToolRecorder,
  redactValue,
  type StoredContext,
  type ToolExecutionResult,
  type ToolResponse,
} from '../dist/index.js'
import { inDirectory } from './support/fixtures.ts'

const CALL = { traceId: 'trace', spanId: 'span' }

interface Recorded {
  readonly context: StoredContext
  readonly entry: ContextEntry
}

/** What a manager and a history store of a response. */
async function record(directory: string, response: unknown, execution?: ToolExecutionResult): Promise<Recorded> {
  const manager = new ContextManager({ contextDir: join(directory, 'contexts') })
  const history = new ContextHistory({ path: join(directory, 'history.jsonl') })
  const recorder = createToolRecorder(manager, { history })
  recorder.onToolEnd(CALL, 'bash', response as ToolResponse, execution)
  await recorder.flush()
  const [context] = await manager.loadContexts(manager.getAllPointers().map(({ filepath }) => filepath))
  const [entry] = await history.read(1)
  await manager.clear()
  assert.ok(context !== undefined && entry !== undefined, 'recorded in both')
  return { context, entry }
}

/** The leaves of a JSON value, each with its path. */
function leavesOf(value: unknown, path = '$'): string[] {
  if (typeof value !== 'object' || value === null) {
    return [`${path} ${JSON.stringify(value)}`]
  }
  const members = Object.entries(value).flatMap(([key, member]) => leavesOf(member, `${path}[${JSON.stringify(key)}]`))
  return members.length === 0 ? [`${path} ${JSON.stringify(value)}`] : members
}

/** The response rebuilt from a record: the result, with the members that were stored separately if it was unwrapped. */
function leavesIn(record: object, result: unknown): Set<string> {
  // An absent member of a record says as much as a null one of a response.
  const members = { success: null, error: null, message: null, ...record, result }
  return new Set([...leavesOf(result), ...leavesOf(members)])
}

const withDirectory = (work: (directory: string) => Promise<void>) => () => inDirectory(work)

describe('a response of onToolEnd', () => {
  const inner = { rows: [1] }
  const unwrapped: [unknown, unknown, { success?: boolean; error?: string; message?: string }][] = [
    [{ success: true, result: inner, message: 'Found 1.' }, inner, { success: true, message: 'Found 1.' }],
    [{ success: true, result: inner, error: null, message: null }, inner, { success: true }],
    [{ success: true, result: inner, error: 'warned' }, inner, { success: true, error: 'warned' }],
    [{ success: false, error: 'exit 1' }, null, { success: false, error: 'exit 1' }],
    [{ success: false, error: 'exit 1', result: 'partial' }, 'partial', { success: false, error: 'exit 1' }],
    [{ success: false, error: new TypeError('no text') }, null, { success: false, error: 'TypeError: no text' }],
    [{ success: true, message: 'Done.' }, null, { success: true, message: 'Done.' }],
    [{ success: false }, null, { success: false }],
    [{ success: true, error: 'no result' }, null, { success: true, error: 'no result' }],
    [{ success: false, result: 'no error' }, 'no error', { success: false }],
  ]
  for (const [response, result, outcome] of unwrapped) {
    test(
      `is unwrapped when all its keys are known: ${JSON.stringify(response)}`,
      withDirectory(async (directory) => {
        const { context, entry } = await record(directory, response)
        const { success, error, message } = context
        assert.deepEqual(context.result, result)
        assert.deepEqual({ success, error, message }, { error: undefined, message: undefined, ...outcome })
        assert.deepEqual(entry.result, result)
        assert.deepEqual(
          [entry.success, entry['error'], entry.summary],
          [outcome.success, outcome.error, outcome.message ?? 'Called bash'],
        )
      }),
    )
  }

  const text = (content: string): object => ({ type: 'text', text: content })
  const whole: [unknown, { success?: boolean; error?: string; message?: string }][] = [
    [
      { success: false, error: 'exit 1', stdout: '3 failed', stderr: 'x' },
      { success: false, error: 'exit 1' },
    ],
    [{ success: true, result: [1], nextPage: 'token', warnings: ['w'] }, { success: true }],
    [{ success: true, result: null, content: [text('hello')] }, { success: true }],
    [
      { success: false, error: { code: 1, data: { x: 1 } }, result: 'partial' },
      { success: false, error: '{"code":1,"data":{"x":1}}' },
    ],
    [
      { success: false, error: { message: 'no host', code: 'ENOTFOUND' } },
      { success: false, error: 'no host' },
    ],
    [
      { success: false, error: ['a', 'b'] },
      { success: false, error: '["a","b"]' },
    ],
    [
      { success: false, error: 7 },
      { success: false, error: '7' },
    ],
    [{ success: true, error: false, data: 1 }, { success: true }],
    [{ success: false, error: null, data: 'D' }, { success: false }],
    [{ success: true, result: 1, message: { text: 'm' } }, { success: true }],
    [
      { success: false, exitCode: 2, stderr: 's', message: 'm' },
      { success: false, message: 'm' },
    ],
    [
      { isError: true, content: [text('No such file'), text('/tmp/x')] },
      { success: false, error: 'No such file\n/tmp/x' },
    ],
    [{ isError: true, content: [{ type: 'image', data: 'AA==', mimeType: 'image/png' }] }, { success: false }],
    [{ isError: true, content: [], structuredContent: { code: 3 } }, { success: false }],
    [
      { isError: true, content: [text('c')], error: 'e' },
      { success: false, error: 'e' },
    ],
    [{ isError: false, content: [text('ok')], structuredContent: { a: 1 } }, { success: true }],
    [{ content: [text('ok')] }, { success: true }],
    [{ structuredContent: { a: 1 }, content: [] }, { success: true }],
    [{ success: true, isError: true, content: [] }, { success: false }],
    [{ content: 'a file', error: 'not an outcome', message: 'nor this' }, {}],
    [{ error: 'a column' }, {}],
  ]
  for (const [response, outcome] of whole) {
    test(
      `is stored whole, with its outcome: ${JSON.stringify(response)}`,
      withDirectory(async (directory) => {
        const { context, entry } = await record(directory, response)
        const { success, error, message } = context
        assert.deepEqual(context.result, response)
        assert.deepEqual(
          { success, error, message },
          { success: undefined, error: undefined, message: undefined, ...outcome },
        )
        assert.deepEqual(entry.result, response)
        assert.deepEqual(
          [entry.success, entry['error'], entry.summary],
          [outcome.success ?? true, outcome.error, outcome.message ?? 'Called bash'],
        )
      }),
    )
  }

  test(
    'is told by the execution whether it succeeded, whatever its shape',
    withDirectory(async (directory) => {
      const { context } = await record(directory, { isError: true, content: [] }, { success: true })
      assert.equal(context.success, true)
    }),
  )

  test(
    'keeps the data of an error that is an Error with members',
    withDirectory(async (directory) => {
      const error = Object.assign(new Error('Command failed'), { status: 3, stdout: 'partial output' })
      const { context, entry } = await record(directory, { success: false, error })
      for (const stored of [context, entry]) {
        assert.equal(stored['error' as keyof typeof stored], 'Error: Command failed')
        const converted = { name: 'Error', message: 'Command failed', status: 3, stdout: 'partial output' }
        assert.deepEqual(stored.result, { success: false, error: converted })
      }
    }),
  )

  test(
    'is recorded where a member of it throws',
    withDirectory(async (directory) => {
      const response = {
        success: true,
        get result(): unknown {
          throw new Error('no result')
        },
      }
      const { context } = await record(directory, response)
      assert.deepEqual([context.success, context.result], [true, '[Throws: no result]'])
    }),
  )

  test(
    'leaves a long text that an error has no string for to the result',
    withDirectory(async (directory) => {
      const response = { success: false, error: { data: 'x'.repeat(10_000) } }
      const { context } = await record(directory, response)
      assert.deepEqual([context.success, context.error, context.result], [false, undefined, response])
    }),
  )

  const json = fc.jsonValue({ stringUnit: 'binary' })
  const secret = `the token is ghp_${'x7Kq2mPz9RtVw4Yb1NcLd8Fh'}3GjS5aEu6oTi`
  const member = fc.oneof(
    json,
    fc.boolean(),
    fc.string({ unit: 'binary' }),
    fc.constantFrom(null, secret, '\ud83d half a character'),
  )
  const response = fc.oneof(
    json,
    fc.record(
      {
        success: fc.oneof({ weight: 4, arbitrary: fc.boolean() }, member),
        result: member,
        error: member,
        message: member,
        isError: fc.oneof(fc.boolean(), member),
        content: fc.oneof(fc.array(fc.record({ type: fc.constant('text'), text: fc.string() })), member),
        structuredContent: member,
        stdout: member,
        data: member,
      },
      { requiredKeys: [] },
    ),
    fc.record({ success: fc.boolean(), result: member, error: member, message: member }, { requiredKeys: ['success'] }),
  )
  test('loses no leaf but its secrets in the manager and in the history, whatever JSON it is', () =>
    inDirectory(async (directory) => {
      const manager = new ContextManager({ contextDir: join(directory, 'contexts') })
      const history = new ContextHistory({ path: join(directory, 'history.jsonl') })
      const recorder = createToolRecorder(manager, { history })
      await fc.assert(
        fc.asyncProperty(response, async (given) => {
          const value: unknown = JSON.parse(JSON.stringify(given))
          recorder.onToolEnd(CALL, 'tool', value as ToolResponse)
          await recorder.flush()
          const [pointer] = manager.getLatestPointers({ limit: 1 })
          const context = await manager.loadContext(pointer?.filepath ?? '')
          const [entry] = await history.read(1)
          assert.ok(entry !== undefined)
          const { result, ...rest } = entry
          const leaves = leavesOf(redactValue(value).value)
          for (const [where, found] of [
            ['manager', leavesIn(context, context.result)],
            ['history', leavesIn({ ...rest, message: entry.summary === 'Called tool' ? null : entry.summary }, result)],
          ] as const) {
            for (const leaf of leaves) {
              assert.ok(found.has(leaf), `${leaf} is not in the ${where}: ${[...found].join('; ')}`)
            }
          }
        }),
        { numRuns: 1000 },
      )
      await manager.clear()
    }))
})

describe('autoRecord', () => {
  test('reads the outcome of a result as the recorder does', () =>
    inDirectory(async (directory) => {
      const history = new ContextHistory({ path: join(directory, 'history.jsonl') })
      const observer = autoRecord(history)
      const results: [unknown, boolean][] = [
        [{ isError: true, content: [] }, false],
        [{ isError: false, content: [] }, true],
        [{ success: false, error: { code: 1 }, stdout: 'o' }, false],
        [{ success: true, result: 1 }, true],
        [{ rows: [] }, true],
        ['text', true],
      ]
      for (const [result] of results) {
        observer({ toolName: 'tool', result })
      }
      observer({ toolName: 'tool', result: { isError: true }, success: true })
      await observer.flush()
      assert.deepEqual(
        (await history.read()).map(({ result, success }) => [result, success]),
        [...results, [{ isError: true }, true]],
      )
    }))
})
