/** A turn of a conversation that the application stores, in a process of its own. */

import { homedir } from 'node:os'
import { join } from 'node:path'
import { betaTool } from '@anthropic-ai/sdk/helpers/beta/json-schema'
import { ContextManager, type JsonValue, StateStore } from 'agent-context'
import { contextToolList, wrapRunnable } from 'agent-context/anthropic'
import { type Message, runRunner } from './anthropic-run.ts'
import { LARGE } from './large.ts'
import { callOf, nameIn, readBack } from './script.ts'

const state = new StateStore({ path: join(homedir(), 'state.db') })
const manager = new ContextManager({ sessionId: 'conversation', resume: true })
const inputSchema = { type: 'object', properties: {} } as const
const run = async () => JSON.stringify(LARGE)
const lookUp = betaTool({ name: 'lookUp', description: 'd', inputSchema, run })
const isFirst = process.argv[2] === 'first'
const stored = (await state.get(['conversations'], 'c'))?.value as unknown as Message[] | undefined
const { messages, answer } = await runRunner(
  isFirst ? [callOf('lookUp'), 'I looked them up.'] : [(request) => readBack(request), nameIn],
  {
    tools: [wrapRunnable(lookUp, manager), ...contextToolList(manager)],
    messages: [...(stored ?? []), { role: 'user', content: 'Who is customer 7?' }],
  },
)
await state.put(['conversations'], 'c', messages as unknown as JsonValue)
console.log(isFirst ? JSON.stringify(messages).length : answer)
await manager.close()
await state.close()
