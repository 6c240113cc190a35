/**
 * The tool runner of the Anthropic SDK with a tool whose output is large, without and with agent-context; a mock of the API on this
 * machine, no key.
 *
 *   npm run example:anthropic
 */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { betaTool } from '@anthropic-ai/sdk/helpers/beta/json-schema'
import { ContextManager } from 'agent-context'
import { contextToolList, wrapRunnable } from 'agent-context/anthropic'
import { type RunnerOptions, runRunner } from '../support/anthropic-run.ts'
import { LARGE } from '../support/large.ts'
import { callOf, nameIn, readBack, type Script } from '../support/script.ts'

const searchCustomers = betaTool({
  name: 'search_customers',
  description: 'Search the customers',
  inputSchema: { type: 'object', properties: { query: { type: 'string' } } },
  run: async () => JSON.stringify(LARGE),
})
const search = callOf('search_customers', { query: 'Harbour Street' })

async function ask(name: string, script: Script, tools: RunnerOptions['tools']): Promise<void> {
  const { requests } = await runRunner(script, { tools })
  console.log(`${name.padEnd(8)} ${Buffer.byteLength(requests.at(-1) ?? '')} bytes in the last request`)
}

const contextDir = await mkdtemp(join(tmpdir(), 'agent-context-anthropic-'))
const manager = new ContextManager({ contextDir })
await ask('without:', [search, 'Customer 7 pays on time.'], [searchCustomers])
const tools = [wrapRunnable(searchCustomers, manager), ...contextToolList(manager)]
await ask('with:', [search, (request) => readBack(request), nameIn], tools)
await manager.clear()
await rm(contextDir, { recursive: true })
