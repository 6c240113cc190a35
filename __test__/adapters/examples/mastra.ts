/**
 * An agent of Mastra with a tool whose output is large, without and with agent-context; a scripted model, no key.
 *
 *   npm run example:mastra
 */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Agent } from '@mastra/core/agent'
import { createTool } from '@mastra/core/tools'
import { ContextManager } from 'agent-context'
import { type OffloadProcessor, offloadProcessor } from 'agent-context/mastra'
import { z } from 'zod'
import { scriptedModel } from '../support/ai-sdk-model.ts'
import { LARGE } from '../support/large.ts'
import { requestsOf } from '../support/mastra-agent.ts'

const searchCustomers = createTool({
  id: 'searchCustomers',
  description: 'Search the customers',
  inputSchema: z.object({ query: z.string() }),
  execute: async () => LARGE,
})
const search = [{ tool: 'searchCustomers', input: { query: 'Harbour Street' } }]
/** What a model does that finds a placeholder. */
const readBack = (prompt: string) => {
  const [id] = /ctx_[0-9a-f]{16}/.exec(prompt) ?? []
  return [{ tool: 'read_context_slice', input: { id, json_path: '$.results[7]' } }]
}

async function run(
  name: string,
  model: ReturnType<typeof scriptedModel>,
  inputProcessors: OffloadProcessor[],
): Promise<void> {
  const agent = new Agent({
    id: 'customers',
    name: 'customers',
    instructions: 'Answer questions about customers.',
    model: model as never, // the mock of another version of the types
    tools: { searchCustomers },
    inputProcessors,
  })
  await agent.generate('Who is customer 7?', { maxSteps: 5 })
  console.log(`${name.padEnd(8)} ${Buffer.byteLength(requestsOf(model).at(-1) ?? '')} bytes in the last request`)
}

const contextDir = await mkdtemp(join(tmpdir(), 'agent-context-mastra-'))
const manager = new ContextManager({ contextDir })
await run('without:', scriptedModel([search, 'Customer 7 pays on time.']), [])
await run('with:', scriptedModel([search, readBack, 'Customer 7 pays on time.']), [offloadProcessor(manager)])
await manager.clear()
await rm(contextDir, { recursive: true })
