/**
 * Claude Code with a command whose output is large, without and with agent-context; a mock of the API on this machine, no key.
 *
 *   npm run example:claude-agent
 */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as sdk from '@anthropic-ai/claude-agent-sdk'
import { ContextManager } from 'agent-context'
import { contextHooks, contextServer } from 'agent-context/claude-agent'
import { runClaude } from '../support/claude-api.ts'
import { callOf, nameIn, readBack } from '../support/script.ts'

const home = await mkdtemp(join(tmpdir(), 'agent-context-claude-agent-'))
const manager = new ContextManager({ contextDir: join(home, 'contexts') })
const command = 'for i in $(seq 1 700); do echo "Customer number $i pays on time"; done'
const list = callOf('Bash', { command, description: 'List the customers' })

const plain = await runClaude([list, 'Customer 7 pays on time.'], home)
console.log(`without: ${plain.requests.at(-1)?.length} bytes in the last request`)
const offloaded = await runClaude([list, (request) => readBack(request, 'mcp__context__'), nameIn], home, {
  hooks: contextHooks(manager),
  mcpServers: { context: contextServer(manager, sdk) },
})
console.log(`with:    ${offloaded.requests.at(-1)?.length} bytes in the last request`)
await manager.clear()
await rm(home, { recursive: true, force: true })
