/**
 * An agent of the OpenAI Agents SDK with a tool whose output is large, without and with agent-context; a scripted model, no key.
 *
 *   npm run example:openai-agents
 */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Agent, run, type Tool, tool } from '@openai/agents-core'
import { ContextManager } from 'agent-context'
import { contextToolList, offloaded } from 'agent-context/openai-agents'
import { z } from 'zod'
import { LARGE } from '../support/large.ts'
import { ScriptedModel } from '../support/openai-model.ts'

const searchCustomers = tool({
  name: 'search_customers',
  description: 'Search the customers',
  parameters: z.object({ query: z.string() }),
  execute: async () => LARGE,
})
const search = [{ tool: 'search_customers', input: { query: 'Harbour Street' } }]
/** What a model does that finds a placeholder. */
const readBack = (request: string) => {
  const [id] = /ctx_[0-9a-f]{16}/.exec(request) ?? []
  return [{ tool: 'read_context_slice', input: { id, json_path: '$.results[7]' } }]
}

async function ask(name: string, model: ScriptedModel, tools: Tool[]): Promise<void> {
  await run(new Agent({ name: 'customers', model, tools }), 'Who is customer 7?')
  console.log(`${name.padEnd(8)} ${Buffer.byteLength(model.requests.at(-1) ?? '')} bytes in the last request`)
}

const contextDir = await mkdtemp(join(tmpdir(), 'agent-context-openai-agents-'))
const manager = new ContextManager({ contextDir })
await ask('without:', new ScriptedModel([search, 'Customer 7 pays on time.']), [searchCustomers])
const tools = [offloaded(searchCustomers, manager), ...contextToolList(manager)]
await ask('with:', new ScriptedModel([search, readBack, 'Customer 7 pays on time.']), tools)
await manager.clear()
await rm(contextDir, { recursive: true })
