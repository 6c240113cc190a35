/**
 * A deep agent with a tool whose output is large: in the state of the graph, without a backend, and in a store, where deepagents moves it; a
 * scripted model, no key.
 *
 *   npm run example:deepagents
 */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { StateStore } from 'agent-context'
import { ContextBackend } from 'agent-context/deepagents'
import { createDeepAgent } from 'deepagents'
import { tool } from 'langchain'
import { z } from 'zod'
import { customerIn, grepCall, LARGE_CUSTOMERS } from '../support/deepagents-run.ts'
import { ScriptedChatModel } from '../support/langchain-model.ts'
import { callOf } from '../support/script.ts'

const searchCustomers = tool(async () => LARGE_CUSTOMERS, {
  name: 'search_customers',
  description: 'Search the customers',
  schema: z.object({}),
})

/** Bytes of JSON of what the graph keeps: its messages and its files. */
async function ask(name: string, backend?: ContextBackend): Promise<void> {
  const model = new ScriptedChatModel([callOf('search_customers'), grepCall, customerIn])
  const agent = createDeepAgent({ model, tools: [searchCustomers], ...(backend && { backend }) })
  const kept = await agent.invoke({ messages: [{ role: 'human', content: 'Who is customer 7?' }] })
  console.log(`${name.padEnd(8)} ${Buffer.byteLength(JSON.stringify(kept))} bytes in the state of the graph`)
}

const directory = await mkdtemp(join(tmpdir(), 'agent-context-deepagents-'))
const state = new StateStore({ path: join(directory, 'state.db') })
await ask('without:')
await ask('with:', new ContextBackend(state))
await state.close()
await rm(directory, { recursive: true })
