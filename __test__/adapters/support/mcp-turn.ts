/** A turn of a conversation with a server, in a process of its own: `first|second 1|2 server|client`. The results are in a file between them. */

import { readFileSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { ContextManager } from 'agent-context'
import { registerContextTools, wrapClient, wrapServer } from 'agent-context/mcp'
import { z } from 'zod'
import { clientOf, serverOf } from './mcp-servers.ts'
import { nameIn, readBack } from './script.ts'

const [part, given, side] = process.argv.slice(2)
const version = given === '1' ? 1 : 2
const file = join(homedir(), 'conversation.json')
const manager = new ContextManager({ sessionId: 'conversation', resume: true })
const isServer = side === 'server'
const server = serverOf(version, (server) => {
  if (isServer) {
    registerContextTools(wrapServer(server, manager), manager, version === 1 ? { z } : {})
  }
})
const plain = await clientOf(version, server)
const client = isServer ? plain : wrapClient(plain, manager)
if (part === 'first') {
  const result = await client.callTool({ name: 'large', arguments: {} })
  writeFileSync(file, JSON.stringify([result]))
  console.log(readFileSync(file).length)
} else {
  const [call] = readBack(readFileSync(file, 'utf8'))
  const { name = '', input = {} } = typeof call === 'object' ? { name: call.tool, input: call.input } : {}
  const result = await client.callTool({ name, arguments: input })
  console.log(nameIn(JSON.stringify({ tool: name, result })))
}
await client.close()
await manager.close()
