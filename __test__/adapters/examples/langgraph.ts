/**
 * A thread of LangGraph that goes on in another process, and how large its checkpoints are with large tool outputs in them; no key.
 *
 *   npm run example:langgraph
 */

import { spawnSync } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { MessagesAnnotation, START, StateGraph } from '@langchain/langgraph'
import { ContextManager, StateStore } from 'agent-context'
import { StateSaver } from 'agent-context/langgraph'
import { LARGE } from '../support/large.ts'

/** A node that calls a tool, whose output stays in the thread. */
function compile(state: StateStore, manager: ContextManager | undefined) {
  const call = async () => {
    const output = JSON.stringify(LARGE)
    const text = (await manager?.offload('search_customers', {}, output))?.text ?? output
    return { messages: [{ role: 'ai', content: text }] }
  }
  return new StateGraph(MessagesAnnotation)
    .addNode('call', call)
    .addEdge(START, 'call')
    .compile({ checkpointer: new StateSaver(state) })
}

async function turn(directory: string, name: string, manager?: ContextManager): Promise<void> {
  const state = new StateStore({ path: join(directory, `${name}.db`) })
  const graph = compile(state, manager)
  const config = { configurable: { thread_id: 'customers' } }
  const before = await graph.getState(config)
  const messages: unknown[] = before.values['messages'] ?? []
  console.log(`process ${process.pid} goes on with ${messages.length} messages`)
  await graph.invoke({ messages: [{ role: 'human', content: 'Who lives in Harbour Street?' }] }, config)
  const { valueBytes } = await state.stats()
  console.log(`${`${name} offloading:`.padEnd(19)} ${valueBytes} bytes of checkpoints`)
  await state.close()
}

async function main(): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'agent-context-langgraph-'))
  const child = () =>
    spawnSync(process.execPath, [fileURLToPath(import.meta.url), directory], {
      stdio: ['ignore', 'inherit', 'inherit'],
    })
  child()
  child()
  await rm(directory, { recursive: true })
}

const [directory] = process.argv.slice(2)
if (directory === undefined) {
  await main()
} else {
  await turn(directory, 'without')
  const manager = new ContextManager({ contextDir: join(directory, 'contexts'), sessionId: 'customers', resume: true })
  await turn(directory, 'with', manager)
  await manager.close()
}
