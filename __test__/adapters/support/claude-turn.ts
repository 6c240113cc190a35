/** Goes on with a session in a process of its own, with a directory of Claude Code that has never seen it. */

import { homedir } from 'node:os'
import { join } from 'node:path'
import * as sdk from '@anthropic-ai/claude-agent-sdk'
import { ContextManager, StateStore } from 'agent-context'
import { ContextSessionStore, contextHooks, contextServer } from 'agent-context/claude-agent'
import { runClaude } from './claude-api.ts'
import { nameIn, readBack } from './script.ts'

const [resume = '', cwd = ''] = process.argv.slice(2)
const state = new StateStore({ path: join(cwd, 'state.db') })
const manager = new ContextManager({ contextDir: join(cwd, 'contexts'), sessionId: 'conversation', resume: true })
const { messages } = await runClaude([(request) => readBack(request, 'mcp__context__'), nameIn], homedir(), {
  cwd,
  resume,
  hooks: contextHooks(manager),
  mcpServers: { context: contextServer(manager, sdk) },
  sessionStore: new ContextSessionStore(state),
})
const result = messages.at(-1)
console.log(result !== undefined && 'result' in result ? result.result : result)
await manager.close()
await state.close()
