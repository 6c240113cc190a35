/**
 * An agent of LangChain with a tool whose output is large, without and with agent-context; a scripted model, no key.
 *
 *   npm run example:langchain
 */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ContextManager } from 'agent-context'
import { contextMiddleware } from 'agent-context/langchain'
import { type AgentMiddleware, createAgent, tool } from 'langchain'
import { z } from 'zod'
import { ScriptedChatModel } from '../support/langchain-model.ts'
import { LARGE } from '../support/large.ts'

const searchCustomers = tool(async () => JSON.stringify(LARGE), {
  name: 'search_customers',
  description: 'Search the customers',
  schema: z.object({ query: z.string() }),
})
const search = [{ tool: 'search_customers', input: { query: 'Harbour Street' } }]
/** What a model does that finds a placeholder. */
const readBack = (request: string) => {
  const [id] = /ctx_[0-9a-f]{16}/.exec(request) ?? []
  return [{ tool: 'read_context_slice', input: { id, grep: 'Customer number 7', max_bytes: 500 } }]
}

async function run(name: string, model: ScriptedChatModel, middleware: AgentMiddleware[]): Promise<void> {
  const agent = createAgent({ model, tools: [searchCustomers], middleware })
  await agent.invoke({ messages: [{ role: 'human', content: 'Who is customer 7?' }] })
  console.log(`${name.padEnd(8)} ${Buffer.byteLength(model.requests.at(-1) ?? '')} bytes in the last request`)
}

const contextDir = await mkdtemp(join(tmpdir(), 'agent-context-langchain-'))
const manager = new ContextManager({ contextDir })
await run('without:', new ScriptedChatModel([search, 'Customer 7 pays on time.']), [])
await run('with:', new ScriptedChatModel([search, readBack, 'Customer 7 pays on time.']), [contextMiddleware(manager)])
await manager.clear()
await rm(contextDir, { recursive: true })
