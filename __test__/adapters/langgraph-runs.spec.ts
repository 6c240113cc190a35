/** What graphs do with `StateSaver`: the same as with LangGraph's own `MemorySaver`. */

import { join } from 'node:path'
import type { BaseMessage } from '@langchain/core/messages'
import {
  Annotation,
  Command,
  interrupt,
  MemorySaver,
  MessagesAnnotation,
  Send,
  START,
  StateGraph,
} from '@langchain/langgraph'
import type { BaseCheckpointSaver } from '@langchain/langgraph-checkpoint'
import { StateStore } from 'agent-context'
import { StateBaseStore, StateSaver } from 'agent-context/langgraph'
import { expect, test } from 'vitest'
import { newDirectory, PNG, SECRET } from './support/fixtures.ts'

const config = { configurable: { thread_id: 'thread' } }
const Log = Annotation.Root({
  log: Annotation<string[]>({ reducer: (left, right) => [...left, ...right], default: () => [] }),
})
type Update = { log: string[] }
/** `checkpointer()` gives another one of the same data, as after a restart. */
type Outcome = (checkpointer: () => BaseCheckpointSaver) => Promise<unknown>

/** What is left of a call that may fail. */
const outcomeOf = async (call: Promise<unknown>) => {
  const [settled] = await Promise.allSettled([call])
  return settled.status === 'fulfilled' ? settled.value : (settled.reason as Error).message
}

const scenarios: Record<string, Outcome> = {
  'a node that fails beside one that does not: the run goes on where it failed, and the other is not repeated': async (
    checkpointer,
  ) => {
    const runs: string[] = []
    const compile = (isBroken: boolean) =>
      new StateGraph(Log)
        .addNode('works', (): Update => {
          runs.push('works')
          return { log: ['worked'] }
        })
        .addNode('fails', (): Update => {
          runs.push('fails')
          if (isBroken) {
            throw new Error('the database is down')
          }
          return { log: ['worked at last'] }
        })
        .addNode('after', (): Update => ({ log: ['after'] }))
        .addEdge(START, 'works')
        .addEdge(START, 'fails')
        .addEdge(['works', 'fails'], 'after')
        .compile({ checkpointer: checkpointer() })
    const failed = await outcomeOf(compile(true).invoke({ log: ['start'] }, config))
    const { next } = await compile(true).getState(config)
    const resumed = await compile(false).invoke(null, config)
    return { failed, next, resumed, runs }
  },

  'a run that is aborted: what was reached is kept, and the run goes on': async (checkpointer) => {
    const controller = new AbortController()
    const graph = new StateGraph(Log)
      .addNode('first', (): Update => ({ log: ['first'] }))
      .addNode('waits', async (): Promise<Update> => {
        if (!controller.signal.aborted) {
          setTimeout(() => controller.abort(), 30)
          await new Promise((resolve) => setTimeout(resolve, 400))
        }
        return { log: ['waited'] }
      })
      .addEdge(START, 'first')
      .addEdge('first', 'waits')
      .compile({ checkpointer: checkpointer() })
    const [aborted] = await Promise.allSettled([graph.invoke({ log: [] }, { ...config, signal: controller.signal })])
    const { values, next } = await graph.getState(config)
    return { aborted: aborted?.status, values, next, resumed: await graph.invoke(null, config) }
  },

  'nodes that run side by side, and threads side by side': async (checkpointer) => {
    const graph = new StateGraph(Log)
      .addNode('fan', () => ({}))
      .addNode('one', ({ log }: Update): Update => ({ log: [`one ${log.join()}`] }))
      .addConditionalEdges('fan', () => Array.from({ length: 8 }, (_, at) => new Send('one', { log: [String(at)] })))
      .addEdge(START, 'fan')
      .compile({ checkpointer: checkpointer() })
    const threads = Array.from({ length: 12 }, (_, at) => ({ configurable: { thread_id: `thread ${at}` } }))
    const results = await Promise.all(threads.map((thread, at) => graph.invoke({ log: [`start ${at}`] }, thread)))
    const states = await Promise.all(threads.map((thread) => graph.getState(thread)))
    return { results, states: states.map(({ values, next }) => ({ values, next })) }
  },

  'a sub-agent that asks: its state is its own, and the answer reaches it': async (checkpointer) => {
    const compile = () => {
      const agent = new StateGraph(Log)
        .addNode('prepares', (): Update => ({ log: ['prepared'] }))
        .addNode('asks', (): Update => ({ log: [`answered ${interrupt('really?')}`] }))
        .addEdge(START, 'prepares')
        .addEdge('prepares', 'asks')
        .compile()
      return new StateGraph(Log)
        .addNode('agent', agent)
        .addNode('after', (): Update => ({ log: ['after'] }))
        .addEdge(START, 'agent')
        .addEdge('agent', 'after')
        .compile({ checkpointer: checkpointer() })
    }
    await compile().invoke({ log: ['start'] }, config)
    const { next, tasks } = await compile().getState(config, { subgraphs: true })
    const inner = tasks.map(({ state, interrupts }) => {
      const { values, next } = state as { values: unknown; next: unknown }
      return { values, next, asked: interrupts.map(({ value }) => value) }
    })
    return { next, inner, resumed: await compile().invoke(new Command({ resume: 'yes' }), config) }
  },

  'images and bytes in the state': async (checkpointer) => {
    const State = Annotation.Root({ ...MessagesAnnotation.spec, bytes: Annotation<Uint8Array> })
    const compile = () =>
      new StateGraph(State)
        .addNode('look', ({ bytes }) => ({ messages: [{ role: 'ai', content: `${bytes.length} bytes` }] }))
        .addEdge(START, 'look')
        .compile({ checkpointer: checkpointer() })
    const bytes = Uint8Array.from({ length: 256 }, (_, at) => at)
    const image = { type: 'image_url', image_url: { url: `data:image/png;base64,${PNG}` } }
    await compile().invoke(
      { messages: [{ role: 'human', content: [image, { type: 'text', text: 'what is it?' }] }], bytes },
      config,
    )
    const { values } = await compile().getState(config)
    return {
      contents: values.messages.map(({ content }: BaseMessage) => content),
      bytes: [...(values.bytes as Uint8Array)],
    }
  },

  'what a run streams': async (checkpointer) => {
    const graph = new StateGraph(Log)
      .addNode('one', (_, { writer }): Update => {
        writer?.('half')
        return { log: ['one'] }
      })
      .addNode('two', (): Update => ({ log: ['two'] }))
      .addEdge(START, 'one')
      .addEdge('one', 'two')
      .compile({ checkpointer: checkpointer() })
    const parts: unknown[] = []
    const streamMode: ('updates' | 'values' | 'custom')[] = ['updates', 'values', 'custom']
    for await (const part of await graph.stream({ log: ['start'] }, { ...config, streamMode })) {
      parts.push(part)
    }
    return parts
  },

  'a stream that its reader leaves: the run goes on from there': async (checkpointer) => {
    const graph = new StateGraph(Log)
      .addNode('one', (): Update => ({ log: ['one'] }))
      .addNode('two', (): Update => ({ log: ['two'] }))
      .addEdge(START, 'one')
      .addEdge('one', 'two')
      .compile({ checkpointer: checkpointer(), interruptBefore: ['two'] })
    for await (const part of await graph.stream({ log: ['start'] }, config)) {
      expect(part).toEqual({ one: { log: ['one'] } })
      break
    }
    return graph.invoke(null, config)
  },

  'time travel: a thread goes on from an earlier checkpoint, and from a changed one': async (checkpointer) => {
    const graph = new StateGraph(Log)
      .addNode('one', ({ log }: Update): Update => ({ log: [`after ${log.length}`] }))
      .addEdge(START, 'one')
      .compile({ checkpointer: checkpointer() })
    await graph.invoke({ log: ['a'] }, config)
    await graph.invoke({ log: ['b'] }, config)
    const history = []
    for await (const snapshot of graph.getStateHistory(config)) {
      history.push(snapshot)
    }
    const earlier = history.find(({ values }) => values.log?.length === 1)
    const replayed = await graph.invoke(null, earlier?.config)
    const changed = await graph.updateState(earlier?.config ?? config, { log: ['changed'] })
    const { values } = await graph.getState(changed)
    return { sizes: history.map(({ values }) => values.log?.length), replayed, values }
  },
}

test('state and memory come back with their secrets; a store that is to redact finds those of the memory', async () => {
  const path = join(newDirectory(), 'state.db')
  for (const [redaction, isKept] of [
    [undefined, true],
    [{}, false],
  ] as const) {
    const state = new StateStore({ path, redaction })
    const thread = { configurable: { thread_id: `thread ${isKept}` } }
    const graph = new StateGraph(Log).addNode('one', () => ({})).addEdge(START, 'one')
    const agent = graph.compile({ checkpointer: new StateSaver(state) })
    await agent.invoke({ log: [`token: ${SECRET}`] }, thread)
    expect((await agent.getState(thread)).values.log).toEqual([`token: ${SECRET}`])
    const memory = new StateBaseStore(state)
    await memory.put(['a'], String(isKept), { text: `token: ${SECRET}` })
    expect(JSON.stringify(await memory.get(['a'], String(isKept))).includes(SECRET)).toBe(isKept)
    await state.close()
  }
})

test.each(Object.entries(scenarios))('%s', async (_, scenario) => {
  const memory = new MemorySaver()
  const path = join(newDirectory(), 'state.db')
  const states: StateStore[] = []
  const expected = await scenario(() => memory)
  const found = await scenario(() => {
    const state = new StateStore({ path })
    states.push(state)
    return new StateSaver(state)
  })
  expect(found).toEqual(expected)
  expect(JSON.stringify(found).length).toBeGreaterThan(20)
  await Promise.all(states.map((state) => state.close()))
})
