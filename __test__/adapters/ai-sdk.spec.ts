/** `agent-context/ai-sdk` under the AI SDK, with its own test models. */

import { contextTools, offloadMiddleware, withContext } from 'agent-context/ai-sdk'
import { generateText, isStepCount, streamText, type ToolSet, tool, wrapLanguageModel } from 'ai'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { adapterSuite } from './support/adapter-suite.ts'
import { scriptedModel } from './support/ai-sdk-model.ts'
import { bytesOf, handleIn, LARGE, LARGE_TEXT, newManager, PNG, recordsOf, runGuide } from './support/fixtures.ts'
import { callOf } from './support/script.ts'

const lookUp = tool({
  description: 'Look customers up',
  inputSchema: z.object({ query: z.string() }),
  execute: async ({ query }) => ({ ...LARGE, query }),
})
const fails = tool({
  inputSchema: z.object({}),
  execute: async (): Promise<string> => {
    throw new Error('the database is down')
  },
})
const stopWhen = isStepCount(8)
const prompt = 'Who is customer 7?'
const readCustomer = (text: string) =>
  callOf('read_context_slice', { id: handleIn(text), json_path: '$.results[7].name' })

const inputSchema = z.object({ query: z.string().optional() })
const noReports = () => {}

adapterSuite({
  name: 'AI SDK',
  async run({ tools: given, script, manager, taskId, signal }) {
    const model = scriptedModel(script)
    const plain: ToolSet = Object.fromEntries(
      Object.entries(given).map(([name, run]) => [
        name,
        tool({
          inputSchema,
          execute: async (input, { abortSignal }) => run(input, abortSignal, noReports),
          // Outputs are JSON: this is how they get an image.
          ...(name === 'shot' && { toModelOutput: ({ output }) => ({ type: 'content', value: output as [] }) }),
        }),
      ]),
    )
    const tools = manager === undefined ? plain : withContext(plain, manager, { taskId })
    const running = generateText({ model, prompt, tools, stopWhen, ...(signal && { abortSignal: signal }) })
    const [outcome] = await Promise.allSettled([running])
    const requests = model.doGenerateCalls.map((call) => JSON.stringify(call.prompt))
    return outcome.status === 'fulfilled'
      ? { requests, kept: JSON.stringify(outcome.value.steps.map(({ content }) => content)) }
      : { requests, error: outcome.reason }
  },
  async stream({ tools: given, script, manager, signal }) {
    const model = scriptedModel(script)
    const plain: ToolSet = Object.fromEntries(
      Object.entries(given).map(([name, run]) => [
        name,
        tool({
          inputSchema,
          async *execute(input, { abortSignal }) {
            const reported: string[] = []
            const running = Promise.resolve(run(input, abortSignal, (progress) => reported.push(progress)))
            await running.catch(() => {})
            yield* reported
            yield await running
          },
        }),
      ]),
    )
    const tools = manager === undefined ? plain : withContext(plain, manager)
    const result = streamText({ model, prompt, tools, stopWhen, onError() {}, ...(signal && { abortSignal: signal }) })
    const [pieces, reports, outputs]: string[][] = [[], [], []]
    for await (const part of result.fullStream) {
      if (part.type === 'text-delta') {
        pieces?.push(part.text)
      } else if (part.type === 'tool-result') {
        // The last result on the way is the output, which comes again as such.
        const isReport = typeof part.output === 'string' && part.output.length < 100
        if (part.preliminary && isReport) {
          reports?.push(part.output as string)
        } else if (!part.preliminary) {
          outputs?.push(JSON.stringify(part.output))
        }
      }
    }
    const requests = model.doStreamCalls.map((call) => JSON.stringify(call.prompt))
    const kept = signal === undefined ? JSON.stringify((await result.steps).map(({ content }) => content)) : ''
    return { requests, pieces: pieces ?? [], reports: reports ?? [], outputs: outputs ?? [], kept }
  },
  withImage: (text, png) => [
    { type: 'text', text },
    { type: 'file', data: { type: 'data', data: png }, mediaType: 'image/png' },
  ],
  turn: 'support/ai-sdk-turn.ts',
  example: 'ai-sdk',
})

test('tools without execute stay unchanged', () => {
  const ask = tool({ inputSchema: z.object({ question: z.string() }), outputSchema: z.string() })
  expect(withContext({ ask }, newManager()).ask).toBe(ask)
})

test('tools that stream give their results on the way, and a placeholder in the end', async () => {
  const manager = newManager()
  const report = tool({
    inputSchema: z.object({}),
    async *execute() {
      yield { status: 'loading' }
      yield { status: 'half' }
      yield LARGE
    },
  })
  const model = scriptedModel([callOf('report'), readCustomer, 'done'])
  const result = streamText({ model, prompt, tools: withContext({ report }, manager), stopWhen })
  const preliminary: unknown[] = []
  const final: unknown[] = []
  for await (const part of result.fullStream) {
    if (part.type === 'tool-result' && part.toolName === 'report') {
      const kind = part.preliminary ? preliminary : final
      kind.push(part.output)
    }
  }
  expect(preliminary.slice(0, 2)).toEqual([{ status: 'loading' }, { status: 'half' }])
  expect(final).toHaveLength(1)
  expect(String(final[0])).toContain('ctx_')
  expect(bytesOf((await result.steps).map(({ content }) => content))).toBeLessThan(8000)
  const last = model.doStreamCalls.at(-1)?.prompt
  expect(bytesOf(last)).toBeLessThan(5000)
  expect(JSON.stringify(last)).toContain('Customer number 7')
  expect(recordsOf(manager)).toMatchObject([{ toolName: 'report', success: true, isTimed: true }])
})

test('a stream that breaks is recorded as failed', async () => {
  const manager = newManager()
  const report = tool({
    inputSchema: z.object({}),
    async *execute() {
      yield 'half'
      throw new Error('the line is dead')
    },
  })
  const model = scriptedModel([callOf('report'), 'sorry'])
  await streamText({ model, prompt, tools: withContext({ report }, manager), stopWhen }).consumeStream()
  expect(recordsOf(manager)).toMatchObject([{ toolName: 'report', success: false }])
  expect(JSON.stringify(model.doStreamCalls.at(-1)?.prompt)).toContain('the line is dead')
})

test('a stream that its reader leaves is recorded as failed', async () => {
  const manager = newManager()
  const report = tool({
    inputSchema: z.object({}),
    async *execute() {
      yield 'half'
      yield LARGE
    },
  })
  const execute = withContext({ report }, manager).report.execute as unknown as (
    input: object,
    options: object,
  ) => AsyncIterable<unknown>
  for await (const output of execute({}, { toolCallId: 'a' })) {
    expect(output).toBe('half')
    break
  }
  const [pointer] = manager.getAllPointers()
  expect(pointer).toMatchObject({ callId: 'a', success: false })
  expect((await manager.loadContext(pointer?.filepath ?? '')).error).toContain('not read to their end')
})

describe('toModelOutput', () => {
  const shot = tool({
    inputSchema: z.object({}),
    execute: async () => ({ page: LARGE_TEXT, png: PNG }),
    toModelOutput: ({ output }) => ({
      type: 'content',
      value: [
        { type: 'text', text: output.page },
        { type: 'file', data: { type: 'data', data: output.png }, mediaType: 'image/png' },
      ],
    }),
  })

  test('keeps images and loses large texts; the steps are small', async () => {
    const manager = newManager()
    const model = scriptedModel([callOf('shot'), readCustomer, 'done'])
    const { steps } = await generateText({ model, prompt, tools: withContext({ shot }, manager), stopWhen })
    const last = JSON.stringify(model.doGenerateCalls.at(-1)?.prompt)
    expect(last).toContain(PNG)
    expect(last.length).toBeLessThan(6000)
    expect(bytesOf(steps.map(({ content }) => content))).toBeLessThan(10_000)
    expect(recordsOf(manager).map(({ callId }) => callId)).toEqual(['call-1-0', 'call-1-0'])
  })

  test('that makes a summary is left unchanged', async () => {
    const manager = newManager()
    const count = tool({
      inputSchema: z.object({}),
      execute: async () => LARGE,
      toModelOutput: ({ output }) => ({ type: 'text', value: `${output.results.length} customers` }),
    })
    const model = scriptedModel([callOf('count'), 'done'])
    await generateText({ model, prompt, tools: withContext({ count }, manager), stopWhen })
    expect(model.doGenerateCalls.at(-1)?.prompt.at(-1)?.content).toMatchObject([
      { output: { type: 'text', value: '500 customers' } },
    ])
    expect(manager.size).toBe(1)
  })
})

describe('offloadMiddleware', () => {
  test('shortens tool results of the prompt, stores each once, and leaves the rest', async () => {
    const manager = newManager()
    const inner = scriptedModel([callOf('lookUp', { query: 'a' }), callOf('fails'), readCustomer, 'done'])
    const model = wrapLanguageModel({ model: inner, middleware: offloadMiddleware(manager) })
    const tools = { lookUp, fails, ...contextTools(manager) }
    const long = `${prompt} ${'please '.repeat(3000)}`
    await generateText({ model, prompt: long, tools, stopWhen })
    const sent = JSON.stringify(inner.doGenerateCalls.at(-1)?.prompt)
    expect(sent).toContain('please please')
    expect(sent).toContain('Customer number 7')
    expect(sent.length).toBeLessThan(long.length + 6000)
    expect(recordsOf(manager)).toMatchObject([
      { toolName: 'lookUp', args: { query: 'a' }, callId: 'call-1-0', success: true },
      { toolName: 'fails', callId: 'call-2-0', success: false },
    ])
  })

  test('refuses a model of another specification, with the range', async () => {
    const middleware = offloadMiddleware(newManager())
    const old = middleware.transformParams({ params: { prompt: [] }, model: { specificationVersion: 'v2' } })
    await expect(old).rejects.toMatchObject({
      code: 'ERR_CONTEXT_UNSUPPORTED',
      message: expect.stringContaining('ai ^7.0.0'),
    })
  })
})

test('a tool called as older versions do is refused with the range', () => {
  const { lookUp: wrapped } = withContext({ lookUp }, newManager())
  const execute = wrapped.execute as unknown as (input: object, options: object) => unknown
  expect(() => execute({ query: 'x' }, {})).toThrow('ai ^7.0.0')
})

test('wrong arguments are refused', () => {
  expect(() => withContext({}, {} as never)).toThrow('manager must be a ContextManager')
  expect(() => withContext({}, newManager(), { taskID: 1 } as never)).toThrow("did you mean 'taskId'")
})

test('the guide runs', () => {
  const modules = {
    'agent.ts': `
export { LARGE } from '../../support/large.ts'
import { scriptedModel } from '../../support/ai-sdk-model.ts'
import { tool } from 'ai'
import { z } from 'zod'
import { LARGE } from '../../support/large.ts'
export const tools = { searchCustomers: tool({ inputSchema: z.object({}), execute: async () => LARGE }) }
const script = () => [
  [{ tool: 'searchCustomers', input: {} }],
  (prompt: string) => [{ tool: 'read_context_slice', input: { id: /ctx_[0-9a-f]{16}/.exec(prompt)?.[0], json_path: '$.results[7].name' } }],
  'Customer 7 pays on time.',
]
export const model = scriptedModel([...script(), ...script()])
`,
  }
  const output = runGuide('ai-sdk', modules)
  expect(output).toContain('Customer 7 pays on time.')
  expect(output).toContain('searchCustomers')
})
