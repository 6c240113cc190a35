/** A turn of a session of Strands, in a process of its own. */

import { homedir } from 'node:os'
import { join } from 'node:path'
import { Agent, FunctionTool, SessionManager } from '@strands-agents/sdk'
import { ContextOffloader } from '@strands-agents/sdk/vended-plugins/context-offloader'
import { StateStore } from 'agent-context'
import { ContextStorage } from 'agent-context/strands'
import { LARGE } from './large.ts'
import { callOf, type Script } from './script.ts'
import { retrieve, ScriptedModel } from './strands-model.ts'

const state = new StateStore({ path: join(homedir(), 'state.db') })
const storage = new ContextStorage(state)
const lines = () => JSON.stringify(LARGE, null, 1)
const isFirst = process.argv[2] === 'first'
const found = (request: string) =>
  /Customer number 7\b/.exec(request.slice(request.lastIndexOf('retrieve_offloaded_content')))?.[0] ?? 'not found'
const script: Script = isFirst ? [callOf('lookUp'), 'I looked them up.'] : [retrieve, found]
const agent = new Agent({
  id: 'customers',
  model: new ScriptedModel(script),
  tools: [new FunctionTool({ name: 'lookUp', description: 'd', inputSchema: { type: 'object' }, callback: lines })],
  plugins: [new ContextOffloader({ storage, evictAfterCycles: null })],
  sessionManager: new SessionManager({ sessionId: 'conversation', storage }),
  printer: false,
})
const result = await agent.invoke('Who is customer 7?')
console.log(isFirst ? JSON.stringify(agent.messages).length : String(result).trim())
await state.close()
