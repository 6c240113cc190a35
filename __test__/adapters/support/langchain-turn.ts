/** A turn of a checkpointed thread, in a process of its own. */

import { homedir } from 'node:os'
import { join } from 'node:path'
import { ContextManager, StateStore } from 'agent-context'
import { contextMiddleware } from 'agent-context/langchain'
import { StateSaver } from 'agent-context/langgraph'
import { createAgent, tool } from 'langchain'
import { z } from 'zod'
import { ScriptedChatModel } from './langchain-model.ts'
import { LARGE } from './large.ts'
import { callOf, nameIn, readBack } from './script.ts'

const state = new StateStore({ path: join(homedir(), 'state.db') })
const manager = new ContextManager({ sessionId: 'thread', resume: true })
const lookUp = tool(async () => JSON.stringify(LARGE), { name: 'lookUp', description: 'd', schema: z.object({}) })
const isFirst = process.argv[2] === 'first'
const model = new ScriptedChatModel(
  isFirst ? [callOf('lookUp'), 'I looked them up.'] : [(request) => readBack(request), nameIn],
)
const agent = createAgent({
  model,
  tools: [lookUp],
  middleware: [contextMiddleware(manager)],
  checkpointer: new StateSaver(state),
})
const messages = [{ role: 'human', content: 'Who is customer 7?' }]
const result = await agent.invoke({ messages }, { configurable: { thread_id: 'thread' } })
console.log(isFirst ? JSON.stringify(result.messages).length : result.messages.at(-1)?.text)
await manager.close()
await state.close()
