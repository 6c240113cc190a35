/** `agent-context/langchain` under LangChain's agents, with a scripted chat model. */

import { Command, MemorySaver } from '@langchain/langgraph'
import { contextMiddleware } from 'agent-context/langchain'
import { createAgent, ToolMessage, tool } from 'langchain'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { adapterSuite } from './support/adapter-suite.ts'
import { LARGE_TEXT, newManager, recordsOf, runGuide } from './support/fixtures.ts'
import { langchainFramework, question } from './support/langchain-framework.ts'
import { ScriptedChatModel } from './support/langchain-model.ts'
import { callOf } from './support/script.ts'

const lookUp = tool(async () => LARGE_TEXT, {
  name: 'lookUp',
  description: 'd',
  schema: z.object({ query: z.string() }),
})
adapterSuite({ ...langchainFramework('LangChain', () => new MemorySaver()), example: 'langchain' })

test('nothing of a large output is in the message or the checkpoints', async () => {
  const manager = newManager()
  const model = new ScriptedChatModel([callOf('lookUp', { query: 'a' }), 'done'])
  const checkpointer = new MemorySaver()
  const agent = createAgent({ model, tools: [lookUp], middleware: [contextMiddleware(manager)], checkpointer })
  const { messages } = await agent.invoke(question, { configurable: { thread_id: 't' } })
  const message = messages.find((candidate) => ToolMessage.isInstance(candidate)) as ToolMessage
  expect(message.tool_call_id).toBe('call-1-0')
  expect(JSON.stringify(message.lc_kwargs)).not.toContain('Customer number 77')
  const stored = Object.values(checkpointer.storage).flatMap((namespaces) => Object.values(namespaces))
  const texts = stored.flatMap((saved) =>
    Object.values(saved).map(([checkpoint]) => Buffer.from(checkpoint).toString()),
  )
  expect(texts.join('')).toContain('ctx_')
  expect(texts.join('')).not.toContain('Customer number 77')
})

test('a message that says that its tool has failed is recorded so', async () => {
  const manager = newManager()
  const refuses = tool(
    async (_, config) =>
      new ToolMessage({ content: 'no such table', tool_call_id: config.toolCall.id, name: 'refuses', status: 'error' }),
    { name: 'refuses', description: 'd', schema: z.object({}) },
  )
  const model = new ScriptedChatModel([callOf('refuses'), 'sorry'])
  await createAgent({ model, tools: [refuses], middleware: [contextMiddleware(manager)] }).invoke(question)
  expect(recordsOf(manager)).toMatchObject([{ toolName: 'refuses', success: false }])
  expect(model.requests.at(-1)).toContain('no such table')
})

test('messages in a command are shortened, and the command keeps the rest', async () => {
  const manager = newManager()
  const moves = tool(
    async (_, config) =>
      new Command({
        update: {
          messages: [new ToolMessage({ content: LARGE_TEXT, tool_call_id: config.toolCall.id, name: 'moves' })],
        },
      }),
    { name: 'moves', description: 'd', schema: z.object({}) },
  )
  const model = new ScriptedChatModel([callOf('moves'), 'done'])
  await createAgent({ model, tools: [moves], middleware: [contextMiddleware(manager)] }).invoke(question)
  expect(model.requests.at(-1)?.length).toBeLessThan(4000)
  expect(manager.size).toBe(1)
})

test('wrong arguments are refused', () => {
  expect(() => contextMiddleware({} as never)).toThrow('manager must be a ContextManager')
  expect(() => contextMiddleware(newManager(), { query: 'x' } as never)).toThrow("unknown option 'query'")
})

test('the guide runs', () => {
  const modules = {
    'agent.ts': `
import { tool } from 'langchain'
import { z } from 'zod'
import { LARGE } from '../../support/large.ts'
import { ScriptedChatModel } from '../../support/langchain-model.ts'
export const tools = [tool(async () => JSON.stringify(LARGE), { name: 'search_customers', description: 'd', schema: z.object({}) })]
export const model = new ScriptedChatModel([[{ tool: 'search_customers', input: {} }], 'Customer 7 pays on time.'])
`,
  }
  const output = runGuide('langchain', modules)
  expect(output).toContain('Customer 7 pays on time.')
  expect(output).toContain('search_customers')
})
