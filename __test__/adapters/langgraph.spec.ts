/** `agent-context/langgraph` under LangGraph: its validation suite, its store as a model, graphs in two processes. */

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { END, MemorySaver, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph'
import { emptyCheckpoint, InMemoryStore, uuid6 } from '@langchain/langgraph-checkpoint'
import { validate } from '@langchain/langgraph-checkpoint-validation'
import { StateStore } from 'agent-context'
import { StateBaseStore, StateSaver } from 'agent-context/langgraph'
import { afterAll, describe, expect, test } from 'vitest'
import { adapterSuite } from './support/adapter-suite.ts'
import { newDirectory, runGuide, runScript } from './support/fixtures.ts'
import { langchainFramework } from './support/langchain-framework.ts'
import { randomOf } from './support/random.ts'

const stores = new Map<StateSaver, StateStore>()

function openStore(): StateStore {
  return new StateStore({ path: join(newDirectory(), 'state.db') })
}

validate({
  checkpointerName: 'StateSaver',
  createCheckpointer() {
    const store = openStore()
    const saver = new StateSaver(store)
    stores.set(saver, store)
    return saver
  },
  async destroyCheckpointer(saver: StateSaver) {
    await stores.get(saver)?.close()
    stores.delete(saver)
  },
})

const opened: StateStore[] = []

afterAll(() => Promise.all(opened.map((state) => state.close())))

// What a graph costs with both: the middleware and the saver, beside a MemorySaver without either.
adapterSuite(
  langchainFramework('LangGraph', (manager) => {
    if (manager === undefined) {
      return new MemorySaver()
    }
    const state = openStore()
    opened.push(state)
    return new StateSaver(state)
  }),
)

test('the latest of 1 000 checkpoints is found without reading the others', async () => {
  const store = openStore()
  const saver = new StateSaver(store)
  let config = { configurable: { thread_id: 'thread', checkpoint_ns: '' } }
  const text = 'x'.repeat(2000)
  let last = ''
  for (let index = 0; index < 1000; index++) {
    last = uuid6(index)
    const checkpoint = {
      ...emptyCheckpoint(),
      id: last,
      channel_values: { text },
      channel_versions: { text: index + 1 },
    }
    config = (await saver.put(
      config,
      checkpoint,
      { source: 'loop', step: index, parents: {} },
      { text: index + 1 },
    )) as typeof config
  }
  const latest = { configurable: { thread_id: 'thread', checkpoint_ns: '' } }
  expect((await saver.getTuple(latest))?.checkpoint.id).toBe(last)
  const rounds = 200
  const start = performance.now()
  for (let round = 0; round < rounds; round++) {
    await saver.getTuple(latest)
  }
  console.log(`getTuple at 1 000 checkpoints: ${((performance.now() - start) / rounds).toFixed(3)} ms`)
  await store.close()
})

test('random operations give what InMemoryStore gives', async () => {
  const state = openStore()
  const store = new StateBaseStore(state)
  const model = new InMemoryStore()
  const random = randomOf(19)
  const names = ['a', 'b', 'ab', 'é', '10', '1']
  const pick = <T>(values: readonly T[]): T => values[random(values.length)] as T
  const namespaceOf = () => Array.from({ length: 1 + random(3) }, () => pick(names))
  const placeOf = (item: { namespace: string[]; key: string; value: unknown }) =>
    JSON.stringify([item.namespace, item.key, item.value])
  const filters = [
    undefined,
    { kind: 'x' },
    { n: { $gt: 3 } },
    { n: { $gte: 2, $lt: 6 } },
    { n: { $lte: 1 } },
    { kind: { $ne: 'y' } },
    { kind: { $in: ['x', 'z'] } },
    { kind: { $nin: ['x', 'z'] } },
    { n: { $nin: [1, 2], $gt: 1 } },
    { n: { $eq: 4 }, kind: 'y' },
  ]
  for (let round = 0; round < 10_000; round++) {
    const [namespace, key] = [namespaceOf(), pick(names)]
    const step = random(20)
    if (step < 8) {
      const value = { n: random(8), kind: pick(['x', 'y', 'z']) }
      await Promise.all([store.put(namespace, key, value), model.put(namespace, key, value)])
    } else if (step < 11) {
      await Promise.all([store.delete(namespace, key), model.delete(namespace, key)])
    } else if (step < 15) {
      const [found, expected] = await Promise.all([store.get(namespace, key), model.get(namespace, key)])
      expect(found?.value).toEqual(expected?.value)
    } else if (step < 17) {
      const batch = () => [
        { namespace, key },
        { namespace, key, value: { n: round } },
        { namespace, key, value: round % 2 === 0 ? null : { n: round, kind: 'x' } },
        { namespace, key },
      ]
      const before = structuredClone((await model.get(namespace, key))?.value)
      const [found] = await Promise.all([store.batch(batch()), model.batch(batch())])
      // What the model gives is changed by its later writes.
      expect(found.map((item) => (item as { value?: unknown } | null)?.value)).toEqual([
        before,
        undefined,
        undefined,
        before,
      ])
    } else if (step < 19) {
      const [prefix, filter] = [namespace.slice(0, random(3)), pick(filters)]
      const options = { ...(filter === undefined ? {} : { filter }), limit: 10_000 }
      const [found, expected] = await Promise.all([store.search(prefix, options), model.search(prefix, options)])
      expect(found.map(placeOf).sort()).toEqual(expected.map(placeOf).sort())
      const [first, second] = [
        await store.search(prefix, { limit: 3 }),
        await store.search(prefix, { limit: 3, offset: 3 }),
      ]
      expect([...first, ...second]).toEqual(await store.search(prefix, { limit: 6 }))
    } else {
      const options = { prefix: [pick(['*', 'a', 'b'])], suffix: [pick(names)], maxDepth: 1 + random(3), limit: 1000 }
      const found = await store.listNamespaces(options)
      // The model keeps namespaces that nothing is in any more.
      const alive = (await model.search([], { limit: 10_000 })).map((item) => item.namespace)
      const fits = alive.filter(([first, ...rest]) => {
        return (
          (options.prefix[0] === '*' || first === options.prefix[0]) && [first, ...rest].at(-1) === options.suffix[0]
        )
      })
      const expected = new Set(fits.map((item) => JSON.stringify(item.slice(0, options.maxDepth))))
      expect(new Set(found.map((item) => JSON.stringify(item)))).toEqual(expected)
    }
  }
  await state.close()
})

describe('StateBaseStore', () => {
  test('finds by words, best first, and fills up with the others', async () => {
    const store = new StateBaseStore(openStore())
    await store.put(['users', 'ann'], 'tea', { text: 'drinks green tea in the morning' })
    await store.put(['users', 'ann'], 'city', { text: 'lives in Lisbon' })
    await store.put(['users', 'bob'], 'tea', { text: 'drinks no tea' })
    const found = await store.search(['users', 'ann'], { query: 'where does she live? Lisbon' })
    expect(found.map(({ key }) => key)).toEqual(['city', 'tea'])
    expect(found[0]?.score).toBeGreaterThan(0)
    expect(found[1]?.score).toBeUndefined()
    expect(found[0]?.createdAt).toBeInstanceOf(Date)
  })

  test('does not see checkpoints in the same file', async () => {
    const state = openStore()
    const checkpoint = { ...emptyCheckpoint(), id: uuid6(1) }
    await new StateSaver(state).put({ configurable: { thread_id: 't' } }, checkpoint, META, {})
    const store = new StateBaseStore(state)
    expect(await store.search([])).toEqual([])
    expect(await store.listNamespaces()).toEqual([])
  })
})

const META = { source: 'loop', step: 1, parents: {} } as const

describe('deleteThread', () => {
  test('removes every item of the thread, and leaves the other threads', async () => {
    const state = openStore()
    const saver = new StateSaver(state)
    for (const thread of ['doomed-thread', 'other-thread']) {
      for (let step = 0; step < 20; step++) {
        const config = { configurable: { thread_id: thread, checkpoint_ns: '' } }
        const checkpoint = {
          ...emptyCheckpoint(),
          id: uuid6(step),
          channel_values: { text: `${thread} `.repeat(3000) },
          channel_versions: { text: step + 1 },
        }
        const next = await saver.put(config, checkpoint, META, { text: step + 1 })
        await saver.putWrites(next, [['text', `${thread} `.repeat(300)]], 'task')
      }
    }
    const { items } = await state.stats()
    await saver.deleteThread('doomed-thread')
    expect((await state.stats()).items).toBe(items / 2)
    const left: unknown[] = []
    for await (const tuple of saver.list({ configurable: { thread_id: 'other-thread' } })) {
      left.push(tuple)
    }
    expect(left).toHaveLength(20)
    expect(await saver.getTuple({ configurable: { thread_id: 'doomed-thread' } })).toBeUndefined()
    await state.close()
  })
})

test('deleteThread leaves no byte of the thread in the files of the store', async () => {
  const directory = newDirectory()
  const state = new StateStore({ path: join(directory, 'state.db') })
  const saver = new StateSaver(state)
  const marker = 'a sentence that only this thread has said'
  for (let step = 0; step < 20; step++) {
    const config = { configurable: { thread_id: 'doomed-thread', checkpoint_ns: '' } }
    const values = { channel_values: { text: marker.repeat(300) }, channel_versions: { text: step + 1 } }
    const next = await saver.put(config, { ...emptyCheckpoint(), id: uuid6(step), ...values }, META, { text: step + 1 })
    await saver.putWrites(next, [['text', marker]], 'task')
  }
  await saver.deleteThread('doomed-thread')
  await state.close()
  const files = readdirSync(directory).map((name) => readFileSync(join(directory, name)))
  // Values are stored as base64: each of three offsets has a text of its own.
  const texts = [0, 1, 2].map((offset) =>
    Buffer.from(`${' '.repeat(offset)}${marker}`)
      .toString('base64')
      .slice(4, 40),
  )
  const left = ['doomed-thread', marker, ...texts].filter((text) => files.some((file) => file.includes(text)))
  expect(left).toEqual([])
})

test('a graph that was interrupted goes on in another process', () => {
  const home = newDirectory()
  expect(runScript('support/langgraph-turn.ts', ['start'], home).trim()).toBe('interrupted: really?')
  expect(runScript('support/langgraph-turn.ts', ['resume'], home).trim()).toBe('asked, answered yes')
})

test('a thread goes on where it was, and its history is there', async () => {
  const state = openStore()
  const graph = new StateGraph(MessagesAnnotation)
    .addNode('reply', ({ messages }) => ({ messages: [{ role: 'ai', content: `${messages.length} so far` }] }))
    .addEdge(START, 'reply')
    .addEdge('reply', END)
    .compile({ checkpointer: new StateSaver(state) })
  const config = { configurable: { thread_id: 'one' } }
  await graph.invoke({ messages: [{ role: 'human', content: 'hello' }] }, config)
  const { messages } = await graph.invoke({ messages: [{ role: 'human', content: 'again' }] }, config)
  expect(messages.map(({ content }) => content)).toEqual(['hello', '1 so far', 'again', '3 so far'])
  const history: number[] = []
  for await (const { metadata } of graph.getStateHistory(config)) {
    history.push(metadata?.step ?? Number.NaN)
  }
  expect(history).toEqual([4, 3, 2, 1, 0, -1])
  await state.close()
})

test('wrong arguments are refused', async () => {
  expect(() => new StateSaver({} as never)).toThrow('state must be a StateStore')
  expect(() => new StateBaseStore(undefined as never)).toThrow('state must be a StateStore')
  await expect(new StateSaver(openStore()).put({}, emptyCheckpoint(), META, {})).rejects.toThrow('thread_id')
})

test('the guide runs', () => {
  const modules = {
    'agent.ts': `
import { MessagesAnnotation, START, StateGraph } from '@langchain/langgraph'
export const graph = new StateGraph(MessagesAnnotation)
  .addNode('reply', ({ messages }) => ({ messages: [{ role: 'ai', content: messages.length + ' so far' }] }))
  .addEdge(START, 'reply')
`,
  }
  const output = runGuide('langgraph', modules)
  expect(output).toContain('3 so far')
  expect(output).toContain('Lisbon')
})

test('the example runs, and goes on in another process', () => {
  const output = runScript('examples/langgraph.ts')
  expect(output).toContain('goes on with 2 messages')
  expect(output).toMatch(/without offloading: \d{6} bytes/)
  expect(output).toMatch(/with offloading: +\d{5} bytes/)
})
