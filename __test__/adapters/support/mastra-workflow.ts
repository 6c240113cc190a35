/** A workflow of Mastra that is suspended in one process and resumed in another. */

import { homedir } from 'node:os'
import { join } from 'node:path'
import { Mastra } from '@mastra/core/mastra'
import { createStep, createWorkflow } from '@mastra/core/workflows'
import { StateStore } from 'agent-context'
import { StateStorage } from 'agent-context/mastra'
import { z } from 'zod'

const state = new StateStore({ path: join(homedir(), 'state.db') })
const text = z.object({ text: z.string() })
const ask = createStep({
  id: 'ask',
  inputSchema: text,
  outputSchema: text,
  resumeSchema: z.object({ answer: z.string() }),
  execute: async ({ inputData, resumeData, suspend }) =>
    resumeData === undefined ? suspend({}) : { text: `${inputData.text}, answered ${resumeData.answer}` },
})
const workflow = createWorkflow({ id: 'asking', inputSchema: text, outputSchema: text }).then(ask).commit()
const mastra = new Mastra({ storage: new StateStorage(state), workflows: { asking: workflow }, logger: false })
const run = await mastra.getWorkflow('asking').createRun({ runId: 'run' })
if (process.argv[2] === 'start') {
  console.log((await run.start({ inputData: { text: 'asked' } })).status)
} else {
  const result = await run.resume({ step: 'ask', resumeData: { answer: 'yes' } })
  console.log(result.status === 'success' ? result.result.text : result.status)
}
await state.close()
