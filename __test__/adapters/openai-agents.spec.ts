/** `agent-context/openai-agents` under the OpenAI Agents SDK; its MemorySession is the model of sessions. */

import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { Agent, type AgentInputItem, MemorySession, RunContext, run, tool } from '@openai/agents-core'
import { StateStore } from 'agent-context'
import { contextSession, contextToolList, offloaded } from 'agent-context/openai-agents'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { adapterSuite, type Run } from './support/adapter-suite.ts'
import { LARGE, newDirectory, newManager, recordsOf, runGuide, SECRET } from './support/fixtures.ts'
import { ScriptedModel } from './support/openai-model.ts'
import { randomOf } from './support/random.ts'
import { callOf } from './support/script.ts'

const openStore = () => new StateStore({ path: join(newDirectory(), 'state.db') })
const itemOf = (content: string): AgentInputItem => ({ role: 'user', content })
test('random operations give what MemorySession gives', async () => {
  const state = openStore()
  const session = contextSession<AgentInputItem>(state, { sessionId: 's' })
  const model = new MemorySession({ sessionId: 's' })
  const random = randomOf(7)
  const items = () => Array.from({ length: random(4) }, () => itemOf(`item ${random(5)}`))
  const outcomeOf = (call: Promise<unknown>) =>
    call.then(
      (value) => ({ value }),
      () => 'rejected',
    )
  for (let round = 0; round < 1500; round++) {
    const step = random(20)
    const added = items()
    const limit = random(3) === 0 ? undefined : random(6)
    const expectedSuffix = random(2) === 0 ? await model.getItems(random(3)) : items()
    const operationId = `operation ${random(20)}`
    const transaction =
      random(2) === 0
        ? { type: 'append_items' as const, items: added }
        : { type: 'replace_suffix' as const, expectedSuffix, replacement: added }
    const outcomes = [session, model].map((target) => {
      if (step < 6) return outcomeOf(target.addItems(added))
      if (step < 11) return outcomeOf(target.popItem())
      if (step < 15) return outcomeOf(target.getItems(limit))
      if (step < 19) return outcomeOf(target.applyHistoryTransaction({ operationId, transaction }))
      return outcomeOf(target.getItems())
    })
    expect(await outcomes[0]).toEqual(await outcomes[1])
    if (round % 200 === 199) {
      await Promise.all([session.clearSession(), model.clearSession()])
    }
    expect(await session.getItems()).toEqual(await model.getItems())
  }
  await state.close()
})

test('two processes lose no item, pop none twice, and apply one transaction once', async () => {
  const home = newDirectory()
  const start = (name: string) => {
    const child = spawn(process.execPath, ['support/openai-writer.ts', name], {
      cwd: import.meta.dirname,
      env: { ...process.env, HOME: home, NODE_NO_WARNINGS: '1' },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    return text(child.stdout)
  }
  const outputs = await Promise.all([start('one'), start('two')])
  const popped = outputs.flatMap((output) => JSON.parse(output) as string[])
  const state = new StateStore({ path: join(home, 'state.db') })
  const left = await contextSession<{ content: string }>(state, { sessionId: 'shared' }).getItems()
  const all = [...popped, ...left.map(({ content }) => content)]
  expect(all).toHaveLength(61)
  expect(new Set(all).size).toBe(61)
  await state.close()
})

const noReports = () => {}
const agentOf = ({ tools: given, script, manager, taskId, signal }: Run) => {
  const model = new ScriptedModel(script)
  const plain = Object.entries(given).map(([name, run]) =>
    tool({
      name,
      description: 'd',
      parameters: {
        type: 'object',
        properties: { query: { type: 'string' } },
        required: [],
        additionalProperties: true,
      },
      strict: false,
      execute: async (input, _, details) => run(input as { query?: string }, details?.signal, noReports),
    }),
  )
  const tools =
    manager === undefined
      ? plain
      : [...plain.map((one) => offloaded(one, manager, { taskId })), ...contextToolList(manager)]
  const state = openStore()
  const session = contextSession<AgentInputItem>(state, { sessionId: 's' })
  const options = { session, ...(signal && { signal }) }
  return { agent: new Agent({ name: 'a', model, tools }), model, state, session, options }
}

adapterSuite({
  name: 'OpenAI Agents',
  async run(given) {
    const { agent, model, state, session, options } = agentOf(given)
    const running = run(agent, 'Who is customer 7?', options)
    const [outcome] = await Promise.allSettled([running])
    const kept = JSON.stringify(await session.getItems())
    await state.close()
    return { requests: model.requests, kept, ...(outcome.status === 'rejected' && { error: outcome.reason }) }
  },
  // Tools of this SDK report nothing on the way.
  async stream(given) {
    const { agent, model, state, session, options } = agentOf(given)
    const [pieces, outputs]: [string[], string[]] = [[], []]
    const follow = async () => {
      const result = await run(agent, 'Who is customer 7?', { ...options, stream: true })
      for await (const event of result) {
        if (event.type === 'raw_model_stream_event' && event.data.type === 'output_text_delta') {
          pieces.push(event.data.delta)
        } else if (event.type === 'run_item_stream_event' && event.name === 'tool_output') {
          outputs.push(JSON.stringify(event.item.toJSON()))
        }
      }
      await result.completed
    }
    const [outcome] = await Promise.allSettled([follow()])
    const kept = JSON.stringify(await session.getItems())
    await state.close()
    const parts = { requests: model.requests, pieces, outputs, kept }
    return outcome.status === 'fulfilled' ? parts : { ...parts, error: outcome.reason }
  },
  withImage: (text, png) => [
    { type: 'text', text },
    { type: 'image', image: { data: png, mediaType: 'image/png' } },
  ],
  turn: 'support/openai-turn.ts',
  example: 'openai-agents',
  errorText: 'An error occurred while running the tool',
})

test('items come back with their secrets, unless the store is to redact', async () => {
  const path = join(newDirectory(), 'state.db')
  for (const [redaction, isKept] of [
    [undefined, true],
    [{}, false],
  ] as const) {
    const state = new StateStore({ path, redaction })
    const session = contextSession<AgentInputItem>(state, { sessionId: String(isKept) })
    await session.addItems([itemOf(`token: ${SECRET}`)])
    expect(JSON.stringify(await session.getItems()).includes(SECRET)).toBe(isKept)
    await state.close()
  }
})

test('a failure without an errorFunction is recorded, and ends the run', async () => {
  const manager = newManager()
  const execute = async (): Promise<string> => {
    throw new Error('the database is down')
  }
  const loud = tool({ name: 'fails', description: 'd', parameters: z.object({}), execute, errorFunction: null })
  const model = new ScriptedModel([callOf('fails')])
  const failing = run(new Agent({ name: 'a', model, tools: [offloaded(loud, manager)] }), 'go')
  await expect(failing).rejects.toThrow('the database is down')
  expect(recordsOf(manager)).toMatchObject([{ success: false, callId: 'call-1-0' }])
})

test('records of JSON are no content blocks', async () => {
  const manager = newManager()
  const list = tool({ name: 'list', description: 'd', parameters: z.object({}), execute: async () => LARGE.results })
  const model = new ScriptedModel([callOf('list'), 'done'])
  await run(new Agent({ name: 'a', model, tools: [offloaded(list, manager)] }), 'go')
  expect(model.requests.at(-1)?.length).toBeLessThan(4000)
})

test('a tool called as older versions do is refused with the range', async () => {
  const plain = tool({ name: 'x', description: 'd', parameters: z.object({}), execute: async () => 'x' })
  const old = offloaded(plain, newManager()).invoke(new RunContext(), '{}')
  await expect(old).rejects.toMatchObject({
    code: 'ERR_CONTEXT_UNSUPPORTED',
    message: expect.stringContaining('@openai/agents-core ^0.20.0'),
  })
})

test('wrong arguments are refused', () => {
  expect(() => contextSession(openStore(), { sessionId: '' })).toThrow('sessionId must be a non-empty string')
  expect(() => contextSession({} as never, { sessionId: 's' })).toThrow('state must be a StateStore')
  expect(() => offloaded({ name: 'x' }, newManager())).toThrow('tool must be a function tool')
})

test('the guide runs', () => {
  const modules = {
    'agent.ts': `
import { tool } from '@openai/agents-core'
import { z } from 'zod'
import { LARGE } from '../../support/large.ts'
import { ScriptedModel } from '../../support/openai-model.ts'
export const model = new ScriptedModel([[{ tool: 'search_customers', input: {} }], 'Customer 7 pays on time.'])
export const searchCustomers = tool({ name: 'search_customers', description: 'd', parameters: z.object({}), execute: async () => LARGE })
`,
  }
  const output = runGuide('openai-agents', modules)
  expect(output).toContain('Customer 7 pays on time.')
})
