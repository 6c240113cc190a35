/**
 * A session of Pi with a tool whose output is large, without and with agent-context; a scripted model, no key.
 *
 *   npm run example:pi
 */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ExtensionAPI, SessionManager } from '@earendil-works/pi-coding-agent'
import { ContextManager } from 'agent-context'
import { contextExtension } from 'agent-context/pi'
import { LARGE } from '../support/large.ts'
import { scriptedSession } from '../support/pi-session.ts'
import type { Script } from '../support/script.ts'

const searchCustomers = (pi: ExtensionAPI) =>
  pi.registerTool({
    name: 'search_customers',
    label: 'Customers',
    description: 'Search the customers',
    parameters: { type: 'object', properties: { query: { type: 'string' } } } as never,
    execute: async () => ({ content: [{ type: 'text', text: JSON.stringify(LARGE) }], details: undefined }),
  })
const search = [{ tool: 'search_customers', input: { query: 'Harbour Street' } }]
/** What a model does that finds a placeholder. */
const readBack = (request: string) => {
  const [id] = /ctx_[0-9a-f]{16}/.exec(request) ?? []
  return [{ tool: 'read_context_slice', input: { id, json_path: '$.results[7]' } }]
}

const cwd = await mkdtemp(join(tmpdir(), 'agent-context-pi-'))

async function run(name: string, script: Script, extensions: ((pi: ExtensionAPI) => void)[]): Promise<void> {
  const sessionManager = SessionManager.inMemory(cwd)
  const { session, requests } = await scriptedSession({ script, cwd, sessionManager, extensions })
  await session.prompt('Who is customer 7?')
  session.dispose()
  console.log(`${name.padEnd(8)} ${Buffer.byteLength(requests.at(-1) ?? '')} bytes in the last request`)
}

const manager = new ContextManager({ contextDir: join(cwd, 'contexts') })
const extension = contextExtension({ manager: () => manager })
await run('without:', [search, 'Customer 7 pays on time.'], [searchCustomers])
await run('with:', [search, readBack, 'Customer 7 pays on time.'], [searchCustomers, extension])
await manager.clear()
await rm(cwd, { recursive: true })
