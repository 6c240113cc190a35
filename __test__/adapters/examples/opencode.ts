/**
 * A session of opencode with a command whose output is large, without and with agent-context: the hooks of the plugin are called as
 * opencode calls them; a scripted model, no key.
 *
 *   npm run example:opencode
 */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ContextManager } from 'agent-context'
import { type ContextPlugin, contextPlugin } from 'agent-context/opencode'
import { LARGE } from '../support/large.ts'
import { OpencodeSession } from '../support/opencode-session.ts'
import type { Script } from '../support/script.ts'

const search = [{ tool: 'bash', input: { command: 'customers --street Harbour' } }]
/** What a model does that finds a placeholder. */
const readBack = (request: string) => {
  const [id] = /ctx_[0-9a-f]{16}/.exec(request) ?? []
  return [{ tool: 'read_context_slice', input: { id, json_path: '$.results[7]' } }]
}

async function run(name: string, script: Script, plugin?: ContextPlugin): Promise<void> {
  const session = await OpencodeSession.start('ses_1', plugin)
  await session.prompt({ bash: () => LARGE }, script)
  console.log(`${name.padEnd(8)} ${Buffer.byteLength(session.requests.at(-1) ?? '')} bytes in the last request`)
}

const contextDir = await mkdtemp(join(tmpdir(), 'agent-context-opencode-'))
const manager = new ContextManager({ contextDir })
await run('without:', [search, 'Customer 7 pays on time.'])
await run('with:', [search, readBack, 'Customer 7 pays on time.'], contextPlugin({ manager: () => manager }))
await manager.clear()
await rm(contextDir, { recursive: true })
