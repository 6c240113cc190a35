/** A turn of a thread of Mastra, in a process of its own. */

import { homedir } from 'node:os'
import { join } from 'node:path'
import { Agent } from '@mastra/core/agent'
import { createTool } from '@mastra/core/tools'
import { Memory } from '@mastra/memory'
import { ContextManager, StateStore } from 'agent-context'
import { offloadProcessor, StateStorage } from 'agent-context/mastra'
import { scriptedModel } from './ai-sdk-model.ts'
import { LARGE } from './large.ts'
import { callOf, nameIn, readBack, type Script } from './script.ts'

const state = new StateStore({ path: join(homedir(), 'state.db') })
const storage = new StateStorage(state)
const manager = new ContextManager({ sessionId: 'thread', resume: true })
const isFirst = process.argv[2] === 'first'
const script: Script = isFirst ? [callOf('lookUp'), 'I looked them up.'] : [(request) => readBack(request), nameIn]
const agent = new Agent({
  id: 'a',
  name: 'a',
  instructions: 'i',
  model: scriptedModel(script) as never, // the mock of another version of the types
  tools: { lookUp: createTool({ id: 'lookUp', description: 'd', execute: async () => LARGE }) },
  memory: new Memory({ storage }),
  inputProcessors: [offloadProcessor(manager)],
})
const memory = { thread: 'thread', resource: 'user' }
const { text } = await agent.generate('Who is customer 7?', { memory, maxSteps: 5 })
const { messages } = await storage.stores.memory.listMessages({ threadId: 'thread', perPage: false })
console.log(isFirst ? JSON.stringify(messages).length : text)
await manager.close()
await state.close()
