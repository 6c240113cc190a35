/** What LangGraph expects of a store: the same cases for its own `InMemoryStore` and for `StateBaseStore`. */

import { join } from 'node:path'
import { Embeddings } from '@langchain/core/embeddings'
import { type BaseStore, InMemoryStore, type Operation } from '@langchain/langgraph-checkpoint'
import { StateStore } from 'agent-context'
import { StateBaseStore } from 'agent-context/langgraph'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { newDirectory } from './support/fixtures.ts'

/** Counts words: texts are as near as they share them. */
class WordEmbeddings extends Embeddings {
  static readonly words = ['tea', 'green', 'lisbon', 'city', 'coffee', 'morning']

  constructor() {
    super({})
  }

  async embedQuery(text: string): Promise<number[]> {
    const words = text.toLowerCase().match(/[a-z]+/g) ?? []
    return WordEmbeddings.words.map((word) => words.filter((candidate) => candidate === word).length)
  }

  embedDocuments(texts: string[]): Promise<number[][]> {
    return Promise.all(texts.map((text) => this.embedQuery(text)))
  }
}

const states: StateStore[] = []
const kinds: [string, () => BaseStore][] = [
  ['InMemoryStore', () => new InMemoryStore({ index: { dims: 6, embeddings: new WordEmbeddings() } })],
  [
    'StateBaseStore',
    () => {
      const state = new StateStore({ path: join(newDirectory(), 'state.db') })
      states.push(state)
      return new StateBaseStore(state)
    },
  ],
]

afterAll(() => Promise.all(states.map((state) => state.close())))

describe.each(kinds)('%s', (_, open) => {
  let store: BaseStore

  beforeEach(() => {
    store = open()
  })

  describe('items', () => {
    test('what was never put is null, in a namespace that is there and in one that is not', async () => {
      expect(await store.get(['users'], 'ann')).toBeNull()
      await store.put(['users'], 'bob', {})
      expect(await store.get(['users'], 'ann')).toBeNull()
    })

    test('an item has its namespace, key, value and dates', async () => {
      const start = Date.now() - 1000
      await store.put(['users', 'ann'], 'city', { name: 'Lisbon' })
      const item = await store.get(['users', 'ann'], 'city')
      expect(item).toMatchObject({ namespace: ['users', 'ann'], key: 'city', value: { name: 'Lisbon' } })
      expect(item?.createdAt).toBeInstanceOf(Date)
      expect(item?.updatedAt).toEqual(item?.createdAt)
      expect(item?.createdAt.getTime()).toBeGreaterThan(start)
    })

    test('a second put replaces the whole value, and keeps the date of the first', async () => {
      await store.put(['users'], 'ann', { city: 'Lisbon', tea: true })
      const { createdAt } = (await store.get(['users'], 'ann')) ?? {}
      await new Promise((resolve) => setTimeout(resolve, 5))
      await store.put(['users'], 'ann', { city: 'Porto' })
      const item = await store.get(['users'], 'ann')
      expect(item?.value).toEqual({ city: 'Porto' })
      expect(item?.createdAt).toEqual(createdAt)
      expect(item?.updatedAt.getTime()).toBeGreaterThan(createdAt?.getTime() ?? Number.NaN)
    })

    test('a key is its own in each namespace, and deleting it in one leaves the others', async () => {
      const namespaces = [['a'], ['a', 'b'], ['b']]
      for (const namespace of namespaces) {
        await store.put(namespace, 'key', { of: namespace.join('/') })
      }
      await store.delete(['a'], 'key')
      const found = await Promise.all(namespaces.map((namespace) => store.get(namespace, 'key')))
      expect(found.map((item) => item?.value['of'])).toEqual([undefined, 'a/b', 'b'])
    })

    test('deleting what is not there is no error, and a deleted item can be put again', async () => {
      await store.delete(['users'], 'ann')
      await store.put(['users'], 'ann', { n: 1 })
      await store.delete(['users'], 'ann')
      expect(await store.get(['users'], 'ann')).toBeNull()
      await store.put(['users'], 'ann', { n: 2 })
      expect((await store.get(['users'], 'ann'))?.value).toEqual({ n: 2 })
    })

    test.each([
      ['an empty object', {}],
      ['null and false', { a: null, b: false, c: 0, d: '' }],
      ['nested lists and objects', { a: [{ b: [1, [2, { c: 'x' }]] }] }],
      ['text of every kind', { 'a.b:c': 'é\u0000"\\\n漢字🙂', $set: { $gt: 1 }, __proto: 1 }],
      ['numbers', { a: 0.1, b: -1e21, c: Number.MAX_SAFE_INTEGER }],
    ])('%s comes back as it was put', async (_, value) => {
      await store.put(['values'], 'key', value)
      expect((await store.get(['values'], 'key'))?.value).toEqual(value)
      expect((await store.search(['values']))[0]?.value).toEqual(value)
    })

    test.each(['a.b', 'a:b', 'a/b', ' ', 'é', '漢字🙂', '%_*', 'x'.repeat(500)])('%j is a key', async (key) => {
      await store.put(['keys'], key, { key })
      await store.put(['keys'], `${key}2`, { key: 'other' })
      expect((await store.get(['keys'], key))?.value).toEqual({ key })
      await store.delete(['keys'], key)
      expect((await store.search(['keys'])).map((item) => item.key)).toEqual([`${key}2`])
    })
  })

  describe('namespaces that are refused', () => {
    test.each([[[]], [['']], [['a', '']], [['a.b']], [['a:b']], [['a\u0000b']], [['langgraph', 'a']], [[7]]])(
      '%j is none to put into',
      async (namespace) => {
        const putting = store.put(namespace as string[], 'key', {})
        await expect(putting).rejects.toMatchObject({ name: 'InvalidNamespaceError' })
        expect(await store.search([])).toEqual([])
      },
    )

    test.each([[['a.b']], [['a:b']], [['']]])('%j is none to read', async (namespace) => {
      const error = { name: 'InvalidNamespaceError' }
      await expect(store.get(namespace, 'key')).rejects.toMatchObject(error)
      await expect(store.delete(namespace, 'key')).rejects.toMatchObject(error)
      await expect(store.search(namespace)).rejects.toMatchObject(error)
      await expect(store.listNamespaces({ prefix: namespace })).rejects.toMatchObject(error)
      await expect(store.listNamespaces({ suffix: namespace })).rejects.toMatchObject(error)
    })

    test.each<[string, Operation]>([
      ['a write', { namespace: [], key: 'key', value: {} }],
      ['a read', { namespace: ['a.b'], key: 'key' }],
      ['a search', { namespacePrefix: [''] }],
    ])('%s of such a batch refuses all of it', async (_, operation) => {
      const batch = store.batch([{ namespace: ['a'], key: 'key', value: {} }, operation])
      await expect(batch).rejects.toMatchObject({ name: 'InvalidNamespaceError' })
      expect(await store.get(['a'], 'key')).toBeNull()
    })

    test('the root of LangGraph itself is open to batches and reads', async () => {
      await store.batch([{ namespace: ['langgraph', 'x'], key: 'key', value: { n: 1 } }])
      expect((await store.get(['langgraph', 'x'], 'key'))?.value).toEqual({ n: 1 })
      expect(await store.search(['langgraph'])).toHaveLength(1)
    })
  })

  describe('search', () => {
    const keysOf = (items: readonly { key: string }[]) => items.map(({ key }) => key).sort()

    test('a prefix is of whole labels', async () => {
      for (const namespace of [['a'], ['a', 'b'], ['a', 'b', 'c'], ['ab'], ['b', 'a']]) {
        await store.put(namespace, namespace.join('/'), {})
      }
      expect(keysOf(await store.search(['a']))).toEqual(['a', 'a/b', 'a/b/c'])
      expect(keysOf(await store.search(['a', 'b']))).toEqual(['a/b', 'a/b/c'])
      expect(keysOf(await store.search([]))).toEqual(['a', 'a/b', 'a/b/c', 'ab', 'b/a'])
      expect(await store.search(['c'])).toEqual([])
    })

    test('gives ten unless asked for more, and pages hold each item once', async () => {
      for (let at = 0; at < 25; at++) {
        await store.put(['pages'], `key ${at}`, { even: at % 2 === 0 })
      }
      expect(await store.search(['pages'])).toHaveLength(10)
      expect(await store.search(['pages'], { limit: 100 })).toHaveLength(25)
      const pages = await Promise.all([0, 10, 20, 30].map((offset) => store.search(['pages'], { offset })))
      expect(pages.map(({ length }) => length)).toEqual([10, 10, 5, 0])
      expect(new Set(keysOf(pages.flat())).size).toBe(25)
      const even = await Promise.all(
        [0, 5, 10].map((offset) => store.search(['pages'], { filter: { even: true }, limit: 5, offset })),
      )
      expect(even.map(({ length }) => length)).toEqual([5, 5, 3])
      expect(new Set(keysOf(even.flat())).size).toBe(13)
    })

    const people = {
      ann: { age: 31, city: 'Lisbon', tea: true, boss: null },
      bob: { age: 27, city: 'Porto', tea: false },
      eve: { age: 31, city: 'Porto' },
      joe: { city: 'Faro', tea: true },
    }
    test.each<[Record<string, unknown>, string[]]>([
      [{}, ['ann', 'bob', 'eve', 'joe']],
      [{ city: 'Porto' }, ['bob', 'eve']],
      [{ city: 'Porto', age: 31 }, ['eve']],
      [{ city: 'Rome' }, []],
      [{ tea: true }, ['ann', 'joe']],
      [{ tea: false }, ['bob']],
      [{ boss: null }, ['ann']],
      [{ age: { $eq: 31 } }, ['ann', 'eve']],
      [{ age: { $ne: 31 } }, ['bob', 'joe']],
      [{ city: { $ne: 'Porto' } }, ['ann', 'joe']],
      [{ age: { $gt: 27 } }, ['ann', 'eve']],
      [{ age: { $gte: 27 } }, ['ann', 'bob', 'eve']],
      [{ age: { $lt: 31 } }, ['bob']],
      [{ age: { $lte: 31 } }, ['ann', 'bob', 'eve']],
      [{ age: { $gt: 20, $lt: 30 } }, ['bob']],
      [{ age: { $gt: 30 }, city: { $eq: 'Lisbon' } }, ['ann']],
      [{ city: { $in: ['Porto', 'Faro'] } }, ['bob', 'eve', 'joe']],
      [{ city: { $in: [] } }, []],
      [{ city: { $nin: ['Porto', 'Faro'] } }, ['ann']],
      [{ age: { $nin: [31] } }, ['bob', 'joe']],
      [{ city: { $in: ['Porto', 'Lisbon'], $ne: 'Lisbon' } }, ['bob', 'eve']],
      [{ city: { $nin: ['Faro'] }, tea: true }, ['ann']],
    ])('the filter %j finds %j', async (filter, expected) => {
      for (const [key, value] of Object.entries(people)) {
        await store.put(['people'], key, value)
      }
      expect(keysOf(await store.search(['people'], { filter }))).toEqual(expected)
    })

    test('a query ranks by nearness; what has nothing of it comes after', async () => {
      await store.put(['facts'], 'city', { text: 'the city is Lisbon' })
      await store.put(['facts'], 'tea', { text: 'green tea, tea in the morning' })
      await store.put(['facts'], 'other', { text: 'nothing of that' })
      const found = await store.search(['facts'], { query: 'green tea' })
      expect(found[0]?.key).toBe('tea')
      expect(found[0]?.score).toBeGreaterThan(0)
      expect(keysOf(found)).toEqual(['city', 'other', 'tea'])
      expect((await store.search(['facts'], { query: 'Lisbon', limit: 1 })).map(({ key }) => key)).toEqual(['city'])
      expect(
        (await store.search(['facts'], { query: 'Lisbon', limit: 1, offset: 1 })).map(({ key }) => key),
      ).not.toEqual(['city'])
    })

    test('a query and a filter hold together', async () => {
      await store.put(['facts'], 'a', { text: 'green tea', kind: 'x' })
      await store.put(['facts'], 'b', { text: 'green tea', kind: 'y' })
      const options = { query: 'tea', filter: { kind: { $nin: ['y'] } } }
      expect(keysOf(await store.search(['facts'], options))).toEqual(['a'])
    })

    test('an excluded item takes no place of a ranked one', async () => {
      for (let at = 0; at < 6; at++) {
        await store.put(['facts'], `excluded ${at}`, { text: 'green tea', kind: 'y' })
      }
      await store.put(['facts'], 'ranked', { text: 'tea in the city of coffee, some morning', kind: 'x' })
      await store.put(['facts'], 'another', { text: 'nothing of that', kind: 'x' })
      const found = await store.search(['facts'], { query: 'green tea', filter: { kind: { $nin: ['y'] } }, limit: 1 })
      expect(found.map(({ key }) => key)).toEqual(['ranked'])
      expect(found[0]?.score).toBeGreaterThan(0)
    })

    test('an item that is put without an index is stored, and has no score', async () => {
      await store.put(['facts'], 'found', { text: 'some tea' }, ['text'])
      await store.put(['facts'], 'hidden', { text: 'green tea' }, false)
      expect((await store.get(['facts'], 'hidden'))?.value).toEqual({ text: 'green tea' })
      const found = await store.search(['facts'], { query: 'green tea' })
      expect(found.map(({ key, score }) => [key, score !== undefined])).toEqual([
        ['found', true],
        ['hidden', false],
      ])
      expect(keysOf(await store.search(['facts']))).toEqual(['found', 'hidden'])
    })
  })

  describe('listNamespaces', () => {
    const namespaces = [
      ['a', 'b', 'c'],
      ['a', 'b', 'd', 'e'],
      ['a', 'b', 'd', 'i'],
      ['a', 'b', 'f'],
      ['a', 'c', 'f'],
      ['b', 'a', 'f'],
      ['users', 'ann'],
    ]

    beforeEach(async () => {
      for (const namespace of namespaces) {
        await store.put(namespace, 'one', {})
        await store.put(namespace, 'two', {})
      }
    })

    test.each<[Parameters<BaseStore['listNamespaces']>[0], string[]]>([
      [{}, ['a/b/c', 'a/b/d/e', 'a/b/d/i', 'a/b/f', 'a/c/f', 'b/a/f', 'users/ann']],
      [{ prefix: ['a', 'b'] }, ['a/b/c', 'a/b/d/e', 'a/b/d/i', 'a/b/f']],
      [{ prefix: ['a', '*', 'f'] }, ['a/b/f', 'a/c/f']],
      [{ prefix: ['use'] }, []],
      [{ prefix: ['users', 'ann', 'x'] }, []],
      [{ suffix: ['f'] }, ['a/b/f', 'a/c/f', 'b/a/f']],
      [{ suffix: ['b', 'f'] }, ['a/b/f']],
      [{ suffix: ['*', 'f'] }, ['a/b/f', 'a/c/f', 'b/a/f']],
      [{ suffix: ['d', '*'] }, ['a/b/d/e', 'a/b/d/i']],
      [{ prefix: ['a'], suffix: ['f'] }, ['a/b/f', 'a/c/f']],
      [{ prefix: ['a', 'b'], suffix: ['c'] }, ['a/b/c']],
      [{ maxDepth: 1 }, ['a', 'b', 'users']],
      [{ maxDepth: 3 }, ['a/b/c', 'a/b/d', 'a/b/f', 'a/c/f', 'b/a/f', 'users/ann']],
      [{ prefix: ['a', 'b'], maxDepth: 3 }, ['a/b/c', 'a/b/d', 'a/b/f']],
      [{ suffix: ['f'], maxDepth: 2 }, ['a/b', 'a/c', 'b/a']],
      [{ limit: 2 }, ['a/b/c', 'a/b/d/e']],
      [{ limit: 3, offset: 2 }, ['a/b/d/i', 'a/b/f', 'a/c/f']],
      [{ offset: 6 }, ['users/ann']],
      [{ offset: 7 }, []],
      [{ maxDepth: 1, limit: 1, offset: 1 }, ['b']],
    ])('%j gives %j', async (options, expected) => {
      const found = await store.listNamespaces(options)
      expect(found.map((namespace) => namespace.join('/'))).toEqual(expected)
    })

    test('gives a hundred unless asked for more', async () => {
      const more: Operation[] = Array.from({ length: 120 }, (_, at) => {
        return { namespace: ['many', `n${at}`], key: 'key', value: {} }
      })
      await store.batch(more)
      expect(await store.listNamespaces()).toHaveLength(100)
      expect(await store.listNamespaces({ prefix: ['many'], limit: 1000 })).toHaveLength(120)
    })
  })

  describe('batch', () => {
    test('gives a result for each operation, in their order', async () => {
      await store.put(['a'], 'old', { n: 1 })
      const operations: Operation[] = [
        { namespace: ['a'], key: 'old' },
        { namespace: ['a'], key: 'new', value: { n: 2 } },
        { namespacePrefix: ['a'], limit: 10, offset: 0 },
        { matchConditions: [{ matchType: 'prefix', path: ['a'] }], limit: 10, offset: 0 },
        { namespace: ['a'], key: 'none' },
        { namespace: ['a'], key: 'old', value: null },
      ]
      const [old, put, found, listed, none, deleted] = await store.batch(operations)
      expect(old).toMatchObject({ key: 'old', value: { n: 1 } })
      expect([put, none, deleted]).toEqual([null, null, null])
      // Reads see what was there before the batch.
      expect(found).toMatchObject([{ key: 'old' }])
      expect(listed).toEqual([['a']])
      expect((await store.search(['a'])).map(({ key }) => key)).toEqual(['new'])
    })

    test('of several writes of a key the last one counts', async () => {
      const write = (key: string, value: Record<string, unknown> | null) => ({ namespace: ['a'], key, value })
      await store.batch([write('x', { n: 1 }), write('x', null), write('x', { n: 3 })])
      await store.batch([write('y', { n: 1 }), write('y', null)])
      expect((await store.get(['a'], 'x'))?.value).toEqual({ n: 3 })
      expect(await store.get(['a'], 'y')).toBeNull()
    })

    test('may be empty', async () => {
      expect(await store.batch([])).toEqual([])
    })

    test('a hundred batches beside each other lose nothing', async () => {
      await Promise.all(
        Array.from({ length: 100 }, (_, at) =>
          store.batch([
            { namespace: ['a', `n${at % 7}`], key: `key ${at}`, value: { at } },
            { namespace: ['a'], key: 'shared', value: { at } },
          ]),
        ),
      )
      expect(await store.search(['a'], { limit: 1000 })).toHaveLength(101)
    })
  })

  test('is started and stopped by the graph without more', async () => {
    await store.start()
    await store.put(['a'], 'key', {})
    await store.stop()
    await store.start()
    expect(await store.get(['a'], 'key')).not.toBeNull()
  })
})

test('texts have an order for StateBaseStore, as dates do', async () => {
  const store = kinds[1]?.[1]() as BaseStore
  for (const day of ['2026-01-02', '2026-02-03', '2026-03-04']) {
    await store.put(['days'], day, { day })
  }
  const found = await store.search(['days'], { filter: { day: { $gt: '2026-01-31', $lte: '2026-03-04' } } })
  expect(found.map(({ key }) => key)).toEqual(['2026-02-03', '2026-03-04'])
})
