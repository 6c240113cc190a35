import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import {
  type ContextEntry,
  ContextHistory,
  type ReadContextOptions,
  type ReadContextParameters,
  readContextTool,
  type ToolDefinition,
  type ToolResult,
} from '../dist/index.js'
import { inDirectory, nested, only, throwsWith, wrong } from './support/fixtures.ts'
import { holds } from './support/processes.ts'

type Tool = ToolDefinition<ReadContextParameters, ContextEntry[]>

/** A test body with a history and a function that makes tools for it. */
function withHistory(
  body: (history: ContextHistory, toolOf: (options?: ReadContextOptions) => Tool) => Promise<void>,
): () => Promise<void> {
  return () =>
    inDirectory(async (directory) => {
      const history = new ContextHistory({ path: join(directory, 'a.jsonl') })
      await body(history, (options) => readContextTool(history, options))
      await history.close()
    })
}

const entriesOf = ({ value }: ToolResult<ContextEntry[]>): ContextEntry[] => value ?? assert.fail('no value')
const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value))
const namesOf = (result: ToolResult<ContextEntry[]>): string[] => entriesOf(result).map(({ toolName }) => toolName)

describe('readContextTool()', () => {
  test(
    'describes itself as specified, with a schema and an example',
    withHistory(async (_, toolOf) => {
      const { name, description, parameters, examples } = toolOf()
      assert.equal(name, 'read_context')
      assert.equal(description, 'Read recent tool invocations from offline context history.')
      const { properties, ...schema } = parameters
      assert.deepEqual(schema, { type: 'object', required: [], additionalProperties: false })
      assert.deepEqual(Object.keys(properties), ['limit'])
      const { description: ofLimit, ...limit } = properties['limit'] ?? {}
      assert.deepEqual(limit, { type: 'integer', minimum: 0, default: 20 })
      assert.equal(typeof ofLimit, 'string')
      const example = only(examples)
      assert.deepEqual([example.description, example.input], ['Read last 10 context entries', { limit: 10 }])
      const { toolName, params, result, summary } = only(example.output)
      assert.deepEqual(
        [toolName, params, result, summary],
        ['grep', { pattern: 'auth', path: 'src/' }, { matches: 15 }, 'Searched for auth patterns'],
      )
    }),
  )

  test(
    'gives the most recent entries, oldest first; 20 by default',
    withHistory(async (history, toolOf) => {
      const tool = toolOf()
      assert.deepEqual(await tool.execute(), { message: 'Retrieved 0 context entries.', value: [], success: true })
      for (let number = 0; number < 30; number++) {
        await history.append({ toolName: `t${number}` })
      }
      assert.deepEqual(await tool.execute({ limit: 2 }), {
        message: 'Retrieved 2 context entries.',
        value: await history.read(2),
        success: true,
      })
      for (const parameters of [undefined, null, {}, { limit: undefined }, { limit: null }]) {
        const names = namesOf(await tool.execute(wrong(parameters)))
        assert.deepEqual([names.length, names[0], names.at(-1)], [20, 't10', 't29'])
      }
      assert.deepEqual((await tool.execute({ limit: 0 })).value, [])
    }),
  )

  test('says so when there is no history', async () => {
    for (const history of [undefined, null]) {
      assert.deepEqual(await readContextTool(history).execute({ limit: 5 }), {
        message: 'Context history not available.',
        value: null,
        success: false,
      })
    }
  })

  test(
    'refuses wrong parameters with a message that helps',
    withHistory(async (_, toolOf) => {
      const cases: [unknown, RegExp][] = [
        [{ limit: -1 }, /^limit must be a whole number from 0 up, such as 20, not -1\.$/],
        [{ limit: 1.5 }, /not 1\.5\.$/],
        [{ limit: '10' }, /not "10"\.$/],
        [{ limit: Number.NaN }, /not NaN\.$/],
        [{ count: 5 }, /^There is no parameter "count"/],
        [[5], /^The parameters must be an object/],
        ['5', /^The parameters must be an object such as \{"limit": 20\}, not "5"\.$/],
        [5, /^The parameters must be an object/],
      ]
      for (const [parameters, message] of cases) {
        const result = await toolOf().execute(wrong(parameters))
        assert.deepEqual([result.value, result.success], [null, false])
        assert.match(result.message, message)
      }
    }),
  )

  test('never rejects: a history that cannot be read is a message', () =>
    inDirectory(async (directory) => {
      const { message, value, success } = await readContextTool(new ContextHistory({ path: directory })).execute()
      assert.deepEqual([value, success], [null, false])
      assert.match(message, /^Context history could not be read: .+ Go on without it, or try again later\.$/)
      const hostile = {
        append() {},
        read() {
          throw Object.create(null)
        },
      }
      assert.equal((await readContextTool(wrong(hostile)).execute()).success, false)
    }))

  test(
    'refuses wrong options, and what is no history',
    withHistory(async (_, toolOf) => {
      for (const maxBytes of [-1, 1.5, '1000']) {
        throwsWith(() => toolOf(wrong({ maxBytes })), 'ERR_CONTEXT_INVALID_ARGUMENT', /^maxBytes must be/)
      }
      throwsWith(() => readContextTool(wrong({})), 'ERR_CONTEXT_INVALID_ARGUMENT', /^history must be a ContextHistory/)
    }),
  )
})

describe('the bound', () => {
  test(
    'leaves the oldest out first, to the byte',
    withHistory(async (history, toolOf) => {
      for (let number = 0; number < 20; number++) {
        await history.append({ toolName: `t${number}`, result: 'ü€😀"\n'.repeat(40) })
      }
      const whole = await history.read(5)
      const exact = await toolOf({ maxBytes: bytesOf(whole) }).execute()
      assert.deepEqual(exact.value, whole)
      assert.match(exact.message, /^Retrieved 5 context entries\. 15 older entries were left out\. /)
      assert.match(exact.message, new RegExp(`${bytesOf(whole)} bytes.*ask for fewer entries, or search`))
      const less = await toolOf({ maxBytes: bytesOf(whole) - 1 }).execute()
      assert.deepEqual(less.value, whole.slice(1))
      const one = await toolOf({ maxBytes: bytesOf(whole) - 1 }).execute({ limit: 5 })
      assert.match(one.message, / 1 older entry was left out\. /)
      const enough = await toolOf({ maxBytes: bytesOf(whole) }).execute({ limit: 5 })
      assert.equal(enough.message, 'Retrieved 5 context entries.')
    }),
  )

  test('holds whatever the entries are', async () => {
    const texts = ['😀'.repeat(3000), '"\\\n\u0001'.repeat(3000), '\ud800\udc00\udc00'.repeat(3000), 'ü€a'.repeat(3000)]
    let cut = 0
    for (const text of texts) {
      const entries = [
        { result: text },
        { result: { list: [text, text] } },
        { params: { text } },
        { params: text, result: text },
        { summary: text },
        { extra: text },
        { toolName: text },
      ].map((entry) => ({
        ...{ id: 'id', toolName: 't', params: null, result: null, success: true, summary: null, timestamp: null },
        ...entry,
      }))
      for (let maxBytes = 0; maxBytes < 20_000; maxBytes += 101) {
        for (const [index, entry] of entries.entries()) {
          const history = { append() {}, read: async () => [entry, entries[(index + 1) % entries.length]] }
          const value = entriesOf(await readContextTool(wrong(history), { maxBytes }).execute())
          holds(value.length === 0 || bytesOf(value) <= maxBytes, `${bytesOf(value)} bytes of ${maxBytes}`)
          for (const json of value.filter(({ truncated }) => truncated === true).map((one) => JSON.stringify(one))) {
            cut++
            // A lone surrogate is escaped.
            holds(!/\\ud[89ab][0-9a-f]{2}…/.test(json), 'a surrogate pair was cut')
          }
        }
      }
    }
    holds(cut > 1000, `${cut} entries were cut`)
  })

  test(
    'cuts the result of an entry that is too large alone, and no more than that',
    withHistory(async (history, toolOf) => {
      const params = { path: 'a.ts' }
      await history.append({ toolName: 'large', params, result: 'x'.repeat(100_000), cost: 1 })
      const result = await toolOf().execute({ limit: 1 })
      const entry = only(entriesOf(result))
      const { result: preview, truncated, ...rest } = entry
      const { result: _, ...whole } = only(await history.read())
      assert.deepEqual(rest, whole)
      assert.equal(truncated, true)
      assert.match(String(preview), /^x+…$/)
      const bytes = bytesOf([entry])
      holds(bytes <= 32_768 && bytes > 32_000, `${bytes} bytes`)
      assert.match(
        result.message,
        /^Retrieved 1 context entries\. 1 entry was too large and cut \(truncated: true\)\. /,
      )
    }),
  )

  test(
    'previews the JSON of a result that is no text, and cuts parameters after it',
    withHistory(async (history, toolOf) => {
      const rows = Array.from({ length: 10_000 }, (_, id) => ({ id }))
      await history.append({ toolName: 'rows', params: { a: 1 }, result: rows })
      const first = only(entriesOf(await toolOf({ maxBytes: 1000 }).execute({ limit: 1 })))
      assert.match(String(first.result), /^\[\{"id":0\},\{"id":1\}.*…$/)
      assert.deepEqual(first.params, { a: 1 })
      await history.append({ toolName: 'write_file', params: { content: 'y'.repeat(10_000) }, result: { ok: true } })
      const second = only(entriesOf(await toolOf({ maxBytes: 1000 }).execute({ limit: 1 })))
      assert.match(String(second.params), /^\{"content":"y+…$/)
      assert.deepEqual(second.result, { ok: true })
      await history.append({ toolName: 'both', params: 'p'.repeat(10_000), result: 'r'.repeat(10_000) })
      const third = only(entriesOf(await toolOf({ maxBytes: 1000 }).execute({ limit: 1 })))
      assert.match(String(third.params), /^p{200,}…$/)
      assert.match(String(third.result), /^r{200,}…$/)
    }),
  )

  test(
    'cuts the summary and leaves out what its author added when that is what is large',
    withHistory(async (history, toolOf) => {
      await history.append({ toolName: 't', summary: 's'.repeat(10_000), extra: 'e'.repeat(10_000), result: 1 })
      const entry = only(entriesOf(await toolOf({ maxBytes: 1000 }).execute()))
      assert.match(entry.summary ?? '', /^s+…$/)
      assert.deepEqual([entry['extra'], entry['truncated'], entry.result], [undefined, true, 1])
    }),
  )

  test(
    'leaves room for others beside an entry that is too large',
    withHistory(async (history, toolOf) => {
      for (let number = 0; number < 5; number++) {
        await history.append({ toolName: `before ${number}` })
      }
      await history.append({ toolName: 'large', result: 'x'.repeat(1_000_000) })
      await history.append({ toolName: 'after' })
      const result = await toolOf().execute()
      assert.deepEqual(namesOf(result), [...[0, 1, 2, 3, 4].map((number) => `before ${number}`), 'large', 'after'])
      const [large] = entriesOf(result).filter(({ toolName }) => toolName === 'large')
      holds(String(large?.result).length > 10_000, 'a preview worth its name')
      assert.match(result.message, /^Retrieved 7 context entries\. 1 entry was too large and cut/)
    }),
  )

  test(
    'has no bound with Infinity',
    withHistory(async (history, toolOf) => {
      await history.append({ toolName: 't', result: 'x'.repeat(1_000_000) })
      const result = await toolOf({ maxBytes: Number.POSITIVE_INFINITY }).execute({ limit: Number.MAX_SAFE_INTEGER })
      assert.deepEqual(result.value, await history.read())
    }),
  )

  test(
    'reads no more than can fit, however much is asked for',
    withHistory(async (history, toolOf) => {
      const asked: number[] = []
      const read = history.read.bind(history)
      history.read = (limit) => {
        asked.push(limit ?? -1)
        return read(limit)
      }
      await Promise.all(Array.from({ length: 500 }, () => history.append({ toolName: 't' })))
      const result = await toolOf({ maxBytes: 10_000 }).execute({ limit: 1_000_000 })
      holds(only(asked) < 120, `${asked} entries were read`)
      holds(entriesOf(result).length > 40, `${entriesOf(result).length} entries`)
      assert.match(result.message, /At least \d+ older entries were left out/)
    }),
  )

  test(
    'cuts what is nested deeper than JSON can be written',
    withHistory(async (history, toolOf) => {
      await history.append({ toolName: 'small' })
      const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`
      appendFileSync(history.path, `{"tool_name":"deep","result":${deep}}\n`)
      const result = await toolOf().execute()
      // Some engines cannot even parse it.
      assert.equal(result.success || 'Bun' in globalThis, true, result.message)
      if (result.success) {
        holds(bytesOf(entriesOf(result)) <= 32_768, 'too many bytes')
        assert.equal(namesOf(result).length, 2)
      }
      const entry = await history.append({ toolName: 'deep', params: nested(20, (inner) => [inner]) })
      assert.deepEqual(entriesOf(await toolOf().execute({ limit: 1 })), [entry])
    }),
  )
})
