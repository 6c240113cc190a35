/** A turn of a session, in a process of its own. */

import { homedir } from 'node:os'
import { join } from 'node:path'
import { Agent, type AgentInputItem, run, tool } from '@openai/agents-core'
import { ContextManager, StateStore } from 'agent-context'
import { contextSession, contextToolList, offloaded } from 'agent-context/openai-agents'
import { z } from 'zod'
import { LARGE } from './large.ts'
import { ScriptedModel } from './openai-model.ts'
import { callOf, nameIn, readBack, type Script } from './script.ts'

const state = new StateStore({ path: join(homedir(), 'state.db') })
const manager = new ContextManager({ sessionId: 'conversation', resume: true })
const session = contextSession<AgentInputItem>(state, { sessionId: 'conversation' })
const lookUp = tool({ name: 'lookUp', description: 'd', parameters: z.object({}), execute: async () => LARGE })
const isFirst = process.argv[2] === 'first'
const script: Script = isFirst ? [callOf('lookUp'), 'I looked them up.'] : [(request) => readBack(request), nameIn]
const tools = [offloaded(lookUp, manager), ...contextToolList(manager)]
const agent = new Agent({ name: 'a', model: new ScriptedModel(script), tools })
const { finalOutput } = await run(agent, 'Who is customer 7?', { session })
console.log(isFirst ? JSON.stringify(await session.getItems()).length : finalOutput)
await manager.close()
await state.close()
