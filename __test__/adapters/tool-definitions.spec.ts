/** The definitions of tools are taken by the frameworks without a cast: `npm run typecheck` checks that, and the runs that they work. */

import { DynamicStructuredTool } from '@langchain/core/tools'
import { Agent } from '@mastra/core/agent'
import { createTool } from '@mastra/core/tools'
import { McpServer } from '@modelcontextprotocol/server'
import { tool as openAiTool, type RunContext } from '@openai/agents-core'
import { ContextHistory, ContextManager, contextTools, readContextTool, toText } from 'agent-context'
import { jsonSchema, tool } from 'ai'
import { expect, test } from 'vitest'
import { scriptedModel } from './support/ai-sdk-model.ts'
import { newDirectory } from './support/fixtures.ts'
import { callOf } from './support/script.ts'

const manager = new ContextManager({ contextDir: newDirectory() })
const [list, search, slice] = contextTools(manager, { prefix: 'stored_' })
const history = readContextTool(new ContextHistory({ path: `${newDirectory()}/history.jsonl` }))

test('names are literal types', () => {
  const names: ['stored_list_contexts', 'stored_search_contexts', 'stored_read_context_slice', 'read_context'] = [
    list.name,
    search.name,
    slice.name,
    history.name,
  ]
  expect(names).toHaveLength(4)
})

test('the AI SDK takes the definition as a schema, and its parameters as JSON Schema', async () => {
  const tools = {
    [slice.name]: tool({
      description: slice.description,
      inputSchema: slice,
      execute: (input) => slice.execute(input),
    }),
    [list.name]: tool({ inputSchema: jsonSchema(list.parameters), execute: (input) => list.execute(input) }),
  }
  const call = { toolCallId: '1', messages: [], context: {} }
  const answer = await tools.stored_read_context_slice.execute?.({ id: 'ctx_0' }, call)
  expect(answer).toMatchObject({ success: false })
})

test('MCP', () => {
  const server = new McpServer({ name: 'test', version: '1' })
  const registered = server.registerTool(search.name, { inputSchema: search }, async (input) => {
    const { value, message } = await search.execute(input)
    return { content: [{ type: 'text', text: value ?? message }] }
  })
  expect(registered.enabled).toBe(true)
})

test('OpenAI Agents', async () => {
  const { name, description, execute } = slice
  const given = openAiTool({ name, description, parameters: slice, execute: (input) => execute(input) })
  expect(await given.invoke({} as RunContext, '{"id":"ctx_0"}')).toMatchObject({ success: false })
})

test('LangChain', async () => {
  const { name, description, parameters, execute } = history
  const given = new DynamicStructuredTool({
    name,
    description,
    schema: parameters,
    func: (input: object) => execute(input),
  })
  expect(await given.invoke({ limit: 1 })).toMatchObject({ success: true })
})

test('Mastra', async () => {
  const { name, description, execute } = slice
  const given = createTool({
    id: name,
    description,
    inputSchema: slice,
    // A text: of an object with a `value`, Mastra's model gets that only, and of a failure nothing.
    execute: async (input) => toText(await execute(input)),
  })
  const model = scriptedModel([callOf(name, { id: 'ctx_0' }), callOf(name, { id: 7 }), 'done'])
  const agent = new Agent({
    id: 'a',
    name: 'a',
    instructions: 'i',
    model: model as never, // the mock of another version of the types
    tools: { [name]: given },
  })
  await agent.generate('go', { maxSteps: 4 })
  const [first, ...others] = [...model.doGenerateCalls, ...model.doStreamCalls]
  expect(first?.tools).toMatchObject([{ name, description, inputSchema: { required: ['id'] } }])
  const [answer, refusal] = others.map(({ prompt }) => JSON.stringify(prompt.at(-1)))
  expect(answer).toContain('There is no stored output')
  expect(refusal).toContain('id must be a text')
})
