/** A turn of a conversation, in a process of its own: the messages are in a file between the turns. */

import { readFileSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { ContextManager } from 'agent-context'
import { withContext } from 'agent-context/ai-sdk'
import { generateText, isStepCount, type ModelMessage, tool } from 'ai'
import { z } from 'zod'
import { scriptedModel } from './ai-sdk-model.ts'
import { LARGE } from './large.ts'
import { callOf, nameIn, readBack } from './script.ts'

const file = join(homedir(), 'messages.json')
const manager = new ContextManager({ sessionId: 'conversation', resume: true })
const lookUp = tool({ inputSchema: z.object({}), execute: async () => LARGE })
const tools = withContext({ lookUp }, manager)
const stopWhen = isStepCount(3)
const question: ModelMessage = { role: 'user', content: 'Who is customer 7?' }
if (process.argv[2] === 'first') {
  const model = scriptedModel([callOf('lookUp'), 'I looked them up.'])
  const { responseMessages } = await generateText({ model, messages: [question], tools, stopWhen })
  writeFileSync(file, JSON.stringify([question, ...responseMessages]))
  console.log(readFileSync(file).length)
} else {
  const messages = [...(JSON.parse(readFileSync(file, 'utf8')) as ModelMessage[]), question]
  const model = scriptedModel([(request) => readBack(request), nameIn])
  console.log((await generateText({ model, messages, tools, stopWhen })).text)
}
await manager.close()
