/** `selectContexts` with vectors that the caller makes. */

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ContextManager, type ContextPointer, type Embed } from '../dist/index.js'
import { inDirectory, wrong } from './support/fixtures.ts'

/** Texts that mean the same without a word in common, a direction for each meaning. */
const MEANINGS = [/car|automobile/, /login|sign/, /rain|weather/]
const vectorOf = (text: string): number[] => [...MEANINGS.map((meaning) => (meaning.test(text) ? 1 : 0)), 0.1]

interface Recorded {
  embed: Embed
  batches: string[][]
}

function recorded(answer: (texts: readonly string[]) => unknown = (texts) => texts.map(vectorOf)): Recorded {
  const batches: string[][] = []
  const embed: Embed = (texts) => {
    batches.push([...texts])
    return wrong(answer(texts))
  }
  return { embed, batches }
}

interface Case {
  manager: ContextManager
  told: string[]
  paths: string[]
}

async function managerWith(...texts: string[]): Promise<Case> {
  const told: string[] = []
  const manager = new ContextManager({
    contextDir: '/tmp/agent-context-never-written',
    persist: 'large',
    onDebug: (message) => told.push(message),
  })
  const paths: string[] = []
  for (const text of texts) {
    paths.push(await manager.saveContext('tool', { q: text }, `result of ${text}`))
  }
  told.length = 0
  return { manager, told, paths }
}

const textsOf = (pointers: readonly ContextPointer[]): unknown[] => pointers.map(({ args }) => args['q'])
const failures = (told: readonly string[]): number => told.filter((message) => /embed failed/.test(message)).length

describe('embed', () => {
  it('finds what shares no word with the query', async () => {
    const { manager, told } = await managerWith('the automobile', 'the login page', 'sunny weather', 'a tree')
    const { embed } = recorded()
    assert.equal((await manager.selectContexts('car')).length, 4, 'without vectors nothing matches')
    const found = await manager.selectContexts('car', { embed })
    assert.deepEqual(textsOf(found), ['the automobile'])
    const [{ score } = { score: 0 }] = found
    assert.ok(score > 0 && score <= 1, `the score ${score}`)
    assert.deepEqual(textsOf(await manager.selectContexts('weather', { embed })), ['sunny weather'])
    assert.equal(failures(told), 0)
  })

  it('counts less than the words', async () => {
    const { manager } = await managerWith('the automobile', 'the car park ticket', 'a tree', 'a house', 'a boat')
    const { embed } = recorded((texts) => texts.map((text) => [/auto|^car$/.test(text) ? 1 : 0, 0.1]))
    const found = await manager.selectContexts('car', { embed, recencyWeight: 0 })
    assert.deepEqual(textsOf(found), ['the car park ticket', 'the automobile'])
    const scores = found.map(({ score }) => score)
    assert.ok((scores[0] ?? 0) > (scores[1] ?? 0) && (scores[1] ?? 0) > 0, `the scores ${scores}`)
  })

  it('is given the description and the beginning of the result, then the query, and each once', async () => {
    const { manager, paths } = await managerWith('one', 'two')
    const long = await manager.saveContext('tool', { q: 'long' }, { text: `${'é'.repeat(5000)}`, more: 1 })
    const { embed, batches } = recorded()
    await manager.selectContexts('car', { embed })
    assert.equal(batches.length, 2)
    const [texts = [], query] = batches
    assert.deepEqual(query, ['car'])
    assert.deepEqual(texts.slice(1), ['tool: two\nresult of two', 'tool: one\nresult of one'])
    assert.match(texts[0] ?? '', /^tool: long\ntext é+$/)
    assert.equal(texts[0]?.length, 2000)
    await manager.selectContexts('login', { embed })
    assert.deepEqual(batches.slice(2), [['login']], 'vectors are kept')
    await manager.saveContext('tool', { q: 'three' }, 3)
    await manager.forget(long)
    await manager.selectContexts('login', { embed, pointers: paths.map((filepath) => ({ filepath })) })
    assert.deepEqual(batches.slice(3), [['login']], 'only what is in question is embedded')
    await manager.selectContexts('login', { embed })
    assert.deepEqual(batches.slice(4), [['tool: three\n3'], ['login']])
    await manager.clear()
    await manager.saveContext('tool', { q: 'one' }, 'again')
    await manager.selectContexts('login', { embed })
    assert.deepEqual(batches.slice(6), [['tool: one\nagain'], ['login']], 'vectors go with their contexts')
  })

  it('reads results from disk', () =>
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir, memoryBudget: 0 })
      await manager.saveContext('tool', { q: 'x' }, { text: `a "quoted" line\n${'word '.repeat(100_000)}` })
      const { embed, batches } = recorded()
      await manager.selectContexts('car', { embed })
      assert.ok(batches[0]?.[0]?.startsWith('tool: x\ntext a "quoted" line\nword word'), batches[0]?.[0]?.slice(0, 60))
      assert.equal(batches[0]?.[0]?.length, 2000)
      await manager.clear()
    }))

  it('is asked in batches', async () => {
    const { manager } = await managerWith(...Array.from({ length: 600 }, (_, index) => `text ${index}`))
    const { embed, batches } = recorded()
    await manager.selectContexts('car', { embed })
    const sizes = batches.map(({ length }) => length)
    assert.deepEqual(sizes, [64, 64, 64, 64, 64, 64, 64, 64, 64, 24, 1])
    assert.equal(new Set(batches.flat()).size, 601)
    assert.equal(batches[0]?.[0], 'tool: text 599\nresult of text 599', 'the latest first')
  })

  it('does not embed a context twice for calls at once', async () => {
    const { manager } = await managerWith('one', 'two', 'three')
    const seen: string[] = []
    const embed: Embed = async (texts) => {
      seen.push(...texts)
      await new Promise((resolve) => setTimeout(resolve, 5))
      return texts.map(vectorOf)
    }
    await Promise.all(Array.from({ length: 5 }, () => manager.selectContexts('car', { embed })))
    assert.equal(seen.filter((text) => text !== 'car').length, 3)
    assert.equal(seen.length, 8)
  })

  it('may give typed arrays', async () => {
    const { manager, told } = await managerWith('the automobile', 'the login page', 'a tree')
    for (const type of [Float32Array, Float64Array]) {
      const { embed } = recorded((texts) => texts.map((text) => type.from(vectorOf(text))))
      assert.deepEqual(textsOf(await manager.selectContexts('car', { embed })), ['the automobile'])
    }
    assert.equal(failures(told), 0)
  })

  const wrongs: [name: string, answer: (texts: readonly string[]) => unknown][] = [
    ['nothing', () => undefined],
    ['no array', () => 'vectors'],
    ['too few vectors', (texts) => texts.slice(1).map(vectorOf)],
    ['too many vectors', (texts) => [...texts, ''].map(vectorOf)],
    ['vectors of different lengths', (texts) => texts.map((_, index) => Array(2 + (index % 2)).fill(1))],
    ['empty vectors', (texts) => texts.map(() => [])],
    ['NaN', (texts) => texts.map(() => [1, Number.NaN])],
    ['infinity', (texts) => texts.map(() => [1, Number.POSITIVE_INFINITY])],
    ['texts for numbers', (texts) => texts.map(() => ['1', '2'])],
    ['texts for vectors', (texts) => texts.map(() => 'abc')],
    ['null for vectors', (texts) => texts.map(() => null)],
    ['holes', (texts) => texts.map(() => Array(3))],
    ['big integers', (texts) => texts.map(() => [1n, 2n])],
    [
      'a failure',
      () => {
        throw new Error('no model')
      },
    ],
    ['a rejection', () => Promise.reject(new Error('no model'))],
    ['another length for the query', (texts) => texts.map((text) => (text === 'login' ? [1] : vectorOf(text)))],
  ]
  for (const [name, answer] of wrongs) {
    it(`is left out when it gives ${name}`, async () => {
      const { manager, told } = await managerWith('login one', 'login two', 'the sign in', 'a tree', 'a house')
      const { embed } = recorded(answer)
      const found = await manager.selectContexts('login', { embed })
      assert.deepEqual(found, await manager.selectContexts('login'))
      const isTold = told.some((message) => /embed failed|not as long as/.test(message))
      assert.ok(isTold, `onDebug was told: ${told}`)
      const working = recorded()
      assert.equal((await manager.selectContexts('login', { embed: working.embed })).length, 3, 'and works again')
    })
  }

  it('may change its model', async () => {
    const { manager } = await managerWith('the automobile', 'the login page', 'a tree')
    await manager.selectContexts('car', { embed: recorded().embed })
    const other = recorded((texts) => texts.map((text) => [...vectorOf(text), 0]))
    await manager.selectContexts('car', { embed: other.embed })
    assert.deepEqual(textsOf(await manager.selectContexts('car', { embed: other.embed })), ['the automobile'])
  })

  it('has vectors of one length', async () => {
    const { manager, told } = await managerWith('the automobile')
    const longer = recorded((texts) => texts.map((text) => [...vectorOf(text), 0])).embed
    await manager.selectContexts('car', { embed: recorded().embed })
    await manager.selectContexts('car', { embed: longer, pointers: [] })
    assert.equal(told.filter((message) => /not as long as/.test(message)).length, 1)
  })

  it('is given the signal, and given up with it', async () => {
    const { manager, told } = await managerWith('one', 'two')
    const controller = new AbortController()
    const reason = new Error('no longer needed')
    let given: unknown
    let asked: (() => void) | undefined
    const isAsked = new Promise<void>((resolve) => {
      asked = resolve
    })
    const embed: Embed = (_, options) => {
      given = options.signal
      asked?.()
      return new Promise(() => {})
    }
    const pending = manager.selectContexts('car', { embed, signal: controller.signal })
    await isAsked
    assert.equal(given, controller.signal)
    const waiting = new AbortController()
    const behind = manager.selectContexts('car', { embed, signal: waiting.signal })
    waiting.abort(reason)
    await assert.rejects(behind, (error) => error === reason)
    controller.abort(reason)
    await assert.rejects(pending, (error) => error === reason)
    assert.equal(failures(told), 0)
    const { embed: working } = recorded()
    assert.equal((await manager.selectContexts('one', { embed: working })).length, 1, 'others have their turn')
  })

  it('is not asked where nothing is to be chosen', async () => {
    const { manager } = await managerWith('one')
    const { embed, batches } = recorded()
    assert.deepEqual(await manager.selectContexts('one', { embed, limit: 0 }), [])
    assert.equal(batches.length, 0)
  })

  it('serves a selector, budgets and neighbours as the ranker does', async () => {
    const { manager } = await managerWith('before', 'the automobile', 'after', 'the login page', 'a tree')
    const { embed } = recorded()
    assert.deepEqual(textsOf(await manager.selectContexts('car', { embed, neighbours: 1 })), [
      'the automobile',
      'before',
      'after',
    ])
    const selector = ({ candidates }: { candidates: readonly unknown[] }): unknown => {
      assert.equal(candidates.length, 1)
      return { context_ids: [1] }
    }
    assert.deepEqual(textsOf(await manager.selectContexts('car', { embed, selector })), ['the automobile'])
    assert.deepEqual(await manager.selectContexts('car', { embed, maxBytes: 1 }), [])
  })
})
