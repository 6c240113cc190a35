/**
 * An agent of Strands with a tool whose output is large, without and with its offloader on agent-context; a scripted model, no key.
 *
 *   npm run example:strands
 */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Agent, FunctionTool, type Plugin } from '@strands-agents/sdk'
import { ContextOffloader } from '@strands-agents/sdk/vended-plugins/context-offloader'
import { StateStore } from 'agent-context'
import { ContextStorage } from 'agent-context/strands'
import { LARGE } from '../support/large.ts'
import { retrieve, ScriptedModel } from '../support/strands-model.ts'

const searchCustomers = new FunctionTool({
  name: 'search_customers',
  description: 'Search the customers',
  inputSchema: { type: 'object', properties: { query: { type: 'string' } } },
  callback: () => JSON.stringify(LARGE, null, 1),
})
const search = [{ tool: 'search_customers', input: { query: 'Harbour Street' } }]

async function run(name: string, model: ScriptedModel, plugins: Plugin[]): Promise<void> {
  await new Agent({ model, tools: [searchCustomers], plugins, printer: false }).invoke('Who is customer 7?')
  console.log(`${name.padEnd(8)} ${Buffer.byteLength(model.requests.at(-1) ?? '')} bytes in the last request`)
}

const directory = await mkdtemp(join(tmpdir(), 'agent-context-strands-'))
const state = new StateStore({ path: join(directory, 'state.db') })
const storage = new ContextStorage(state)
const offloader = new ContextOffloader({ storage, previewTokens: 300 })
await run('without:', new ScriptedModel([search, 'Customer 7 pays on time.']), [])
await run('with:', new ScriptedModel([search, retrieve, 'Customer 7 pays on time.']), [offloader])
await state.close()
await rm(directory, { recursive: true })
