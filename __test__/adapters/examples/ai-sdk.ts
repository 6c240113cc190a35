/**
 * An agent of the AI SDK with a tool whose output is large, without and with agent-context; a scripted model, no key.
 *
 *   npm run example:ai-sdk
 */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ContextManager } from 'agent-context'
import { withContext } from 'agent-context/ai-sdk'
import { generateText, isStepCount, type ToolSet, tool } from 'ai'
import { z } from 'zod'
import { scriptedModel } from '../support/ai-sdk-model.ts'
import { LARGE } from '../support/large.ts'

const searchCustomers = tool({
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

async function run(name: string, tools: ToolSet, model: ReturnType<typeof scriptedModel>): Promise<void> {
  await generateText({ model, tools, prompt: 'Who is customer 7?', stopWhen: isStepCount(5) })
  const bytes = Buffer.byteLength(JSON.stringify(model.doGenerateCalls.at(-1)?.prompt))
  console.log(`${name.padEnd(8)} ${bytes} bytes in the last request`)
}

const contextDir = await mkdtemp(join(tmpdir(), 'agent-context-ai-sdk-'))
const manager = new ContextManager({ contextDir })
await run('without:', { searchCustomers }, scriptedModel([search, 'Customer 7 pays on time.']))
const model = scriptedModel([search, readBack, 'Customer 7 pays on time.'])
await run('with:', withContext({ searchCustomers }, manager), model)
await manager.clear()
await rm(contextDir, { recursive: true })
