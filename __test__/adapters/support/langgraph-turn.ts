/** A graph that asks a question in one process and gets the answer in another. */

import { homedir } from 'node:os'
import { join } from 'node:path'
import { Annotation, Command, interrupt, START, StateGraph } from '@langchain/langgraph'
import { StateStore } from 'agent-context'
import { StateSaver } from 'agent-context/langgraph'

const state = new StateStore({ path: join(homedir(), 'state.db') })
const Conversation = Annotation.Root({ text: Annotation<string> })
const graph = new StateGraph(Conversation)
  .addNode('ask', () => ({ text: 'asked' }))
  .addNode('wait', ({ text }) => ({ text: `${text}, answered ${interrupt('really?')}` }))
  .addEdge(START, 'ask')
  .addEdge('ask', 'wait')
  .compile({ checkpointer: new StateSaver(state) })
const config = { configurable: { thread_id: 'thread' } }
if (process.argv[2] === 'start') {
  await graph.invoke({ text: '' }, config)
  const { tasks } = await graph.getState(config)
  console.log(`interrupted: ${tasks[0]?.interrupts[0]?.value}`)
} else {
  console.log((await graph.invoke(new Command({ resume: 'yes' }), config)).text)
}
await state.close()
