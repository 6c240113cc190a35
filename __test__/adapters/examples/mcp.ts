/**
 * An MCP server with a tool whose output is large, without and with agent-context, and a client in the same process; no key.
 *
 *   npm run example:mcp
 */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client, InMemoryTransport } from '@modelcontextprotocol/client'
import { McpServer } from '@modelcontextprotocol/server'
import { ContextManager } from 'agent-context'
import { registerContextTools, wrapServer } from 'agent-context/mcp'
import { z } from 'zod'
import { LARGE } from '../support/large.ts'

async function connect(manager: ContextManager | undefined): Promise<Client> {
  const server = new McpServer({ name: 'customers', version: '1.0.0' })
  if (manager !== undefined) {
    registerContextTools(wrapServer(server, manager), manager)
  }
  const inputSchema = z.object({ query: z.string() })
  server.registerTool('search_customers', { description: 'Search the customers', inputSchema }, async () => ({
    content: [{ type: 'text', text: JSON.stringify(LARGE) }],
  }))
  const client = new Client({ name: 'example', version: '1.0.0' })
  const [one, other] = InMemoryTransport.createLinkedPair()
  await Promise.all([server.connect(one), client.connect(other)])
  return client
}

const contextDir = await mkdtemp(join(tmpdir(), 'agent-context-mcp-'))
const manager = new ContextManager({ contextDir })
for (const [name, client] of [
  ['without:', await connect(undefined)],
  ['with:', await connect(manager)],
] as const) {
  const result = await client.callTool({ name: 'search_customers', arguments: { query: 'Harbour Street' } })
  console.log(`${name.padEnd(8)} ${Buffer.byteLength(JSON.stringify(result))} bytes of result`)
  const [id] = /ctx_[0-9a-f]{16}/.exec(JSON.stringify(result)) ?? []
  if (id !== undefined) {
    const slice = { id, grep: 'Customer number 7', max_bytes: 200 }
    const { content } = await client.callTool({ name: 'read_context_slice', arguments: slice })
    console.log(`read back: ${JSON.stringify(content).length} bytes`)
  }
  await client.close()
}
await manager.clear()
await rm(contextDir, { recursive: true })
