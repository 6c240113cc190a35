/** A turn of a checkpointed thread of a deep agent, in a process of its own. */

import { homedir } from 'node:os'
import { join } from 'node:path'
import { StateStore } from 'agent-context'
import { ContextBackend } from 'agent-context/deepagents'
import { StateSaver } from 'agent-context/langgraph'
import { createDeepAgent } from 'deepagents'
import { tool } from 'langchain'
import { z } from 'zod'
import { customerIn, grepCall, LARGE_CUSTOMERS } from './deepagents-run.ts'
import { ScriptedChatModel } from './langchain-model.ts'
import { callOf } from './script.ts'

const state = new StateStore({ path: join(homedir(), 'state.db') })
const lookUp = tool(async () => LARGE_CUSTOMERS, { name: 'lookUp', description: 'd', schema: z.object({}) })
const isFirst = process.argv[2] === 'first'
const agent = createDeepAgent({
  model: new ScriptedChatModel(isFirst ? [callOf('lookUp'), 'I looked them up.'] : [grepCall, customerIn]),
  tools: [lookUp],
  backend: new ContextBackend(state),
  checkpointer: new StateSaver(state),
})
const messages = [{ role: 'human', content: 'Who is customer 7?' }]
const result = await agent.invoke({ messages }, { configurable: { thread_id: 'thread' } })
console.log(isFirst ? JSON.stringify(result.messages).length : result.messages.at(-1)?.text)
await state.close()
