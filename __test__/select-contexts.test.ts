/** `selectContexts`: filters, budgets, neighbours, scores and explanations. */

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import {
  ContextManager,
  type ContextPointer,
  type SelectedContext,
  type SelectOptions,
  type TaskId,
} from '../dist/index.js'
import { inDirectory, rejectsWith, wrong } from './support/fixtures.ts'

interface Call {
  tool?: string
  text: string
  result?: unknown
  query?: string
  task?: TaskId
}

/** A manager without a disk that holds these calls, and their paths. */
async function managerWith(...calls: Call[]): Promise<{ manager: ContextManager<TaskId>; paths: string[] }> {
  const manager = new ContextManager<TaskId>({ contextDir: '/tmp/agent-context-never-written', persist: 'large' })
  const paths: string[] = []
  for (const { tool = 'tool', text, result = 'result', query, task } of calls) {
    paths.push(await manager.saveContext(tool, { q: text }, result, task, query))
  }
  return { manager, paths }
}

const textsOf = (pointers: readonly ContextPointer<TaskId>[]): unknown[] => pointers.map(({ args }) => args['q'])

async function select(manager: ContextManager<TaskId>, query: string, options?: SelectOptions): Promise<unknown[]> {
  return textsOf(await manager.selectContexts(query, options))
}

describe('the filters of selectContexts', () => {
  it('take one value or several, and all that are given count', async () => {
    const { manager } = await managerWith(
      { tool: 'grep', text: 'login a', query: 'q1', task: 1 },
      { tool: 'read', text: 'login b', query: 'q2', task: 2 },
      { tool: 'read', text: 'login c', query: 'q1', task: '1' },
      { tool: 'bash', text: 'login d' },
    )
    const found = async (options: SelectOptions): Promise<unknown[]> => (await select(manager, 'login', options)).sort()
    assert.deepEqual(await found({ queryId: 'q1' }), ['login a', 'login c'])
    assert.deepEqual(await found({ queryId: ['q1', 'q2'] }), ['login a', 'login b', 'login c'])
    assert.deepEqual(await found({ taskId: 1 }), ['login a'])
    assert.deepEqual(await found({ taskId: '1' }), ['login c'])
    assert.deepEqual(await found({ taskId: [1, 2] }), ['login a', 'login b'])
    assert.deepEqual(await found({ toolName: 'read' }), ['login b', 'login c'])
    assert.deepEqual(await found({ toolName: ['grep', 'bash'] }), ['login a', 'login d'])
    assert.deepEqual(await found({ toolName: 'read', queryId: 'q1' }), ['login c'])
    for (const none of [{ queryId: [] }, { taskId: 3 }, { toolName: 'Read' }, { queryId: 'q1', taskId: 2 }]) {
      assert.deepEqual(await found(none), [], JSON.stringify(none))
    }
    assert.deepEqual(await select(manager, 'zebra', { queryId: 'q1' }), ['login a', 'login c'], 'nothing matches')
    const absent = { queryId: wrong<string>(null), taskId: wrong<number>(undefined), since: wrong<number>(null) }
    assert.equal((await found(absent)).length, 4, 'absent filters')
  })

  it('find queries and tasks of any spelling', async () => {
    for (const id of ['"', '\\', '\n', 'é', '\ud83d\ude00', '\u2028', ' ', '', '__proto__']) {
      const { manager } = await managerWith(
        { text: 'login', query: id, task: id },
        { text: 'login', query: 'x', task: 'x' },
      )
      assert.equal((await select(manager, 'login', { queryId: id, taskId: id })).length, 1, JSON.stringify(id))
    }
    const { manager } = await managerWith({ text: 'login', query: '\ud800', task: '\ud800' })
    assert.equal(
      (await select(manager, 'login', { queryId: '\ud800', taskId: '\ud800' })).length,
      1,
      'a lone surrogate',
    )
  })

  it('bound the time, both ends included', async () => {
    const { manager } = await managerWith({ text: 'login' })
    const [{ timestamp } = wrong<ContextPointer>({})] = manager.getAllPointers()
    const at = new Date(timestamp)
    for (const time of [timestamp, at, at.toISOString()]) {
      assert.equal((await select(manager, 'login', { since: time, until: time })).length, 1, String(time))
    }
    assert.deepEqual(await select(manager, 'login', { since: timestamp + 1 }), [])
    assert.deepEqual(await select(manager, 'login', { until: timestamp - 1 }), [])
  })

  it('choose only among given contexts, in any order, and ignore those of others', async () => {
    const { manager } = await managerWith({ text: 'login a' }, { text: 'login b' }, { text: 'weather' })
    const other = await managerWith({ text: 'login z' })
    const [first, , third] = manager.getAllPointers()
    const [foreign] = other.manager.getAllPointers()
    const pointers = wrong<ContextPointer[]>([third, { filepath: '/unknown' }, foreign, { ...first }, first])
    assert.deepEqual(await select(manager, 'login', { pointers }), ['login a'])
    assert.deepEqual(await select(manager, 'zebra', { pointers }), ['login a', 'weather'], 'in the order of the calls')
    assert.deepEqual(await select(manager, 'login', { pointers: [] }), [])
  })
})

describe('the budgets of selectContexts', () => {
  it('take the best that fit, and pass over what does not', async () => {
    const { manager } = await managerWith(
      { text: 'login', result: 'x'.repeat(50) },
      { text: 'login login', result: 'x'.repeat(5000) },
      { text: 'login weather', result: 'x'.repeat(50) },
    )
    const all = await manager.selectContexts('login')
    assert.equal(all.length, 3)
    const small = all.filter(({ sizeBytes }) => sizeBytes < 1000)
    const bytes = small.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0)
    const tokens = small.reduce((sum, { sizeBytes }) => sum + Math.ceil(sizeBytes / 3), 0)
    const paths = (pointers: readonly ContextPointer<TaskId>[]): string[] => pointers.map(({ filepath }) => filepath)
    assert.deepEqual(paths(await manager.selectContexts('login', { maxBytes: bytes })), paths(small))
    assert.equal((await manager.selectContexts('login', { maxBytes: bytes - 1 })).length, 1)
    assert.deepEqual(paths(await manager.selectContexts('login', { maxTokens: tokens })), paths(small))
    assert.equal((await manager.selectContexts('login', { maxTokens: tokens - 1 })).length, 1)
    assert.deepEqual(await manager.selectContexts('login', { maxBytes: 0 }), [])
    assert.equal((await manager.selectContexts('login', { maxBytes: Number.POSITIVE_INFINITY })).length, 3)
  })

  it('take no neighbour of what does not fit', async () => {
    const { manager } = await managerWith(
      { text: 'before', query: 'a' },
      { text: 'login', query: 'a', result: 'x'.repeat(5000) },
      { text: 'other login', query: 'b' },
    )
    const options = { neighbours: 1, maxTokens: 1000, fill: false }
    const countTokens = ({ sizeBytes }: ContextPointer<TaskId>): number => Math.ceil(sizeBytes / 3)
    assert.deepEqual(await select(manager, 'login', options), ['other login'])
    assert.deepEqual(await select(manager, 'login', { ...options, countTokens }), ['other login'])
  })

  it('keep the latest where nothing matches', async () => {
    const { manager } = await managerWith({ text: 'one' }, { text: 'two' }, { text: 'three' })
    const { sizeBytes } = manager.getAllPointers()[2] as ContextPointer
    assert.deepEqual(await select(manager, 'zebra', { maxBytes: 2 * sizeBytes }), ['two', 'three'])
    assert.deepEqual(await select(manager, 'zebra', { maxTokens: 2, countTokens: () => 1 }), ['two', 'three'])
    assert.deepEqual(await select(manager, 'zebra', { minScore: 0.01 }), [])
  })

  it('hold the whole store where it fits, whatever matches', async () => {
    const { manager } = await managerWith({ text: 'login' }, { text: 'one' }, { text: 'two' })
    assert.deepEqual(await select(manager, 'login'), ['login'], 'without a budget only what matches')
    for (const budget of [{ maxBytes: 100_000 }, { maxTokens: 100_000 }, { maxTokens: 9, countTokens: () => 1 }]) {
      assert.deepEqual(await select(manager, 'login', budget), ['login', 'two', 'one'], JSON.stringify(budget))
      assert.deepEqual(await select(manager, 'login', { ...budget, fill: false }), ['login'])
      assert.deepEqual(await select(manager, 'login', { ...budget, minScore: 0.001 }), ['login'])
    }
  })

  it('are never exceeded, with any token counter', async () => {
    const words = ['login', 'form', 'weather']
    const calls = Array.from({ length: 40 }, (_, index) => ({
      text: `${words[index % 3]} ${words[index % 2]}`,
      result: 'x'.repeat((index * 37) % 300),
      query: `q${index % 4}`,
    }))
    const { manager } = await managerWith(...calls)
    const byDefault = ({ sizeBytes }: ContextPointer<TaskId>): number => Math.ceil(sizeBytes / 3)
    const bound = (maximum: number): fc.Arbitrary<number | undefined> => fc.option(fc.nat(maximum), { nil: undefined })
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom('login', 'login form', 'zebra'),
        bound(20),
        bound(5000),
        bound(2000),
        fc.nat(2),
        async (query, limit, maxBytes, maxTokens, neighbours) => {
          const options = wrong<SelectOptions>({ limit, maxBytes, maxTokens, neighbours })
          const chosen = await manager.selectContexts(query, options)
          const bytes = chosen.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0)
          const tokens = chosen.reduce((sum, pointer) => sum + byDefault(pointer), 0)
          assert.ok(chosen.length <= (limit ?? 40), 'the limit')
          assert.ok(bytes <= (maxBytes ?? bytes), `${bytes} bytes of ${maxBytes}`)
          assert.ok(tokens <= (maxTokens ?? tokens), `${tokens} tokens of ${maxTokens}`)
          assert.equal(new Set(chosen.map(({ filepath }) => filepath)).size, chosen.length, 'none twice')
          assert.deepEqual(await manager.selectContexts(query, { ...options, countTokens: byDefault }), chosen)
        },
      ),
      { numRuns: 150 },
    )
  })

  it('ask for tokens until the budget is full, and no more', async () => {
    const { manager } = await managerWith(...Array.from({ length: 100 }, () => ({ text: 'login' })))
    let asked = 0
    const countTokens = (): number => {
      asked++
      return 0.5
    }
    assert.equal((await manager.selectContexts('login', { maxTokens: 2, countTokens })).length, 4)
    assert.equal(asked, 4)
    assert.equal((await manager.selectContexts('login', { countTokens })).length, 100)
    assert.equal(asked, 4, 'without maxTokens nobody is asked')
  })

  it('reject what is no number of tokens', async () => {
    const { manager } = await managerWith({ text: 'login' })
    const select = (countTokens: unknown) => () =>
      manager.selectContexts('login', { maxTokens: 5, countTokens: wrong(countTokens) })
    for (const tokens of [Number.NaN, Number.POSITIVE_INFINITY, -1, '1', undefined, Promise.resolve(1)]) {
      await rejectsWith(
        select(() => tokens),
        'ERR_CONTEXT_INVALID_ARGUMENT',
        /options\.countTokens/,
      )
    }
    const cause = new Error('no tokeniser')
    const failing = (): never => {
      throw cause
    }
    await rejectsWith(select(failing), 'ERR_CONTEXT_INVALID_ARGUMENT', /options\.countTokens/)
    await assert.rejects(select(failing), (error: Error) => error.cause === cause)
  })
})

describe('the ranking of selectContexts', () => {
  it('scores from 0 to 1, best first, and keeps to minScore', async () => {
    const { manager } = await managerWith(
      { text: 'login form' },
      { text: 'form' },
      { text: 'login' },
      { text: 'weather' },
      { text: 'login form submit' },
    )
    const found = await manager.selectContexts('login form')
    const scores = found.map(({ score }) => score)
    assert.equal(scores.length, 4)
    assert.ok(
      scores.every((score, index) => score > 0 && score <= (scores[index - 1] ?? 1)),
      `the scores ${scores}`,
    )
    const minScore = scores[1] as number
    assert.deepEqual(await manager.selectContexts('login form', { minScore }), found.slice(0, 2))
    assert.deepEqual(new Set((await manager.selectContexts('zebra')).map(({ score }) => score)), new Set([0]))
    assert.ok(!found.some((pointer) => 'explain' in pointer || 'isNeighbour' in pointer), 'only what was asked for')
  })

  it('prefers the latest by recencyWeight', async () => {
    const { manager } = await managerWith(
      { text: 'login login login' },
      ...Array.from({ length: 30 }, () => ({ text: 'nothing' })),
      { text: 'login and more words beside it that make it longer' },
    )
    assert.equal((await select(manager, 'login', { recencyWeight: 0 }))[0], 'login login login')
    assert.notEqual((await select(manager, 'login', { recencyWeight: 1 }))[0], 'login login login')
  })

  it('adds neighbours of strong matches, of the same query', async () => {
    const { manager } = await managerWith(
      { text: 'a1', query: 'a' },
      { text: 'b1', query: 'b' },
      { text: 'login', query: 'a' },
      { text: 'b2', query: 'b' },
      { text: 'a2', query: 'a' },
      { text: 'a3', query: 'a' },
    )
    const found = await manager.selectContexts('login', { neighbours: 1 })
    assert.deepEqual(textsOf(found), ['login', 'a1', 'a2'])
    assert.deepEqual(
      found.map(({ isNeighbour }) => isNeighbour),
      [undefined, true, true],
    )
    assert.deepEqual(await select(manager, 'login', { neighbours: 9 }), ['login', 'a1', 'a2', 'a3'])
    assert.deepEqual(await select(manager, 'login', { neighbours: 1, limit: 2 }), ['login', 'a1'])
    assert.deepEqual(await select(manager, 'login', { neighbours: 1, minScore: 0.2 }), ['login', 'a1', 'a2'])
    const { manager: plain } = await managerWith({ text: 'x' }, { text: 'login' }, { text: 'y' }, { text: 'z' })
    assert.deepEqual(await select(plain, 'login', { neighbours: 1 }), ['login', 'x', 'y'], 'without queries')
  })

  it('explains which terms of which fields counted', async () => {
    const { manager } = await managerWith({ tool: 'login_tool', text: 'form' }, { text: 'weather' }, { text: 'form' })
    const found = await manager.selectContexts('login form', { explain: true })
    assert.equal(found.length, 2)
    for (const { explain = [] } of found) {
      const sum = explain.reduce((sum, { share }) => sum + share, 0)
      assert.ok(Math.abs(sum - 1) < 1e-3, `the shares are ${sum} together`)
    }
    const { explain = [] } = found[0] as SelectedContext
    const fields = new Map(explain.map(({ term, fields }) => [term, fields]))
    assert.ok(fields.get('login')?.includes('name'), JSON.stringify(explain))
    assert.ok(fields.get('form')?.includes('arguments'), JSON.stringify(explain))
    for (const { score, scoreParts } of found) {
      assert.ok(scoreParts && scoreParts.text > 0 && scoreParts.recency > 0 && scoreParts.embedding === 0)
      const sum = Object.values(scoreParts).reduce((sum, part) => sum + part, 0)
      assert.ok(Math.abs(Math.min(sum, 1) - score) < 1e-4, `${JSON.stringify(scoreParts)} of ${score}`)
    }
    const [nothing] = await manager.selectContexts('zebra', { explain: true, limit: 1 })
    assert.deepEqual(nothing?.explain, [])
  })

  it('sees every save that was acknowledged before', async () => {
    await inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir })
      for (let index = 0; index < 50; index++) {
        const word = `${'abcdefghij'.charAt(index % 10).repeat(4)}${'klmno'.charAt(index / 10)}`
        const path = await manager.saveContext('tool', { q: word }, index)
        const found = await manager.selectContexts(word, { limit: 1, minScore: 0.01 })
        assert.deepEqual(
          found.map(({ filepath }) => filepath),
          [path],
          word,
        )
      }
      await manager.clear()
    })
  })
})

describe('the arguments of selectContexts', () => {
  const bad: [name: keyof SelectOptions, values: unknown[], expected?: RegExp][] = [
    ['queryId', [5, {}, ['a', 5], [undefined]], /options\.queryId/],
    ['taskId', [Number.NaN, {}, [null], true], /options\.taskId/],
    ['toolName', [5, [5], /x/], /options\.toolName/],
    ['since', ['yesterday', Number.NaN, {}], /options\.since/],
    ['until', ['2026-13-01', new Date(Number.NaN)], /options\.until/],
    ['pointers', [5, 'path', {}, [5], [{}], ['path']], /options\.pointers/],
    ['limit', [-1, 1.5, '1', Number.POSITIVE_INFINITY]],
    ['minScore', [-0.1, 1.1, Number.NaN, '0.5']],
    ['maxBytes', [-1, 1.5, '1', Number.NaN]],
    ['maxTokens', [-1, 1.5, '1', Number.NaN]],
    ['countTokens', [5, {}]],
    ['recencyWeight', [-1, 2, Number.NaN, '0']],
    ['neighbours', [-1, 1.5, '1', 101]],
    ['explain', [1, 'yes']],
    ['selector', [5, {}]],
    ['embed', [5, {}]],
  ]
  for (const [name, values, expected = new RegExp(`options\\.${name}`)] of bad) {
    it(`are checked: ${name}`, async () => {
      const { manager } = await managerWith({ text: 'login' })
      for (const value of values) {
        await rejectsWith(
          () => manager.selectContexts('login', wrong({ [name]: value })),
          'ERR_CONTEXT_INVALID_ARGUMENT',
          expected,
        )
      }
    })
  }

  it('may be absent in any way', async () => {
    const { manager } = await managerWith({ text: 'login' })
    const names = bad.map(([name]) => name)
    for (const absent of [null, undefined]) {
      const options = wrong<SelectOptions>(Object.fromEntries(names.map((name) => [name, absent])))
      assert.deepEqual(await manager.selectContexts('login', options), await manager.selectContexts('login'))
    }
  })
})

describe('fill', () => {
  it('appends what does not match, the latest first, with score 0', async () => {
    const calls = Array.from({ length: 300 }, (_, index) => ({ text: index % 100 === 0 ? 'login' : `other${index}` }))
    const { manager, paths } = await managerWith(...calls)
    const matching = await manager.selectContexts('login')
    const all = await manager.selectContexts('login', { fill: true, recencyWeight: 0 })
    assert.equal(all.length, 300)
    assert.deepEqual(
      all.slice(0, 3).map(({ filepath }) => filepath),
      matching.map(({ filepath }) => filepath),
    )
    assert.ok(all.every(({ score }, index) => (index < 3 ? score > 0 : score === 0)))
    const others = paths.filter((_, index) => index % 100 !== 0).reverse()
    assert.deepEqual(
      all.slice(3).map(({ filepath }) => filepath),
      others,
    )
  })

  it('puts some of the latest before weak matches in a small store', async () => {
    const rest = Array.from({ length: 20 }, (_, index) => ({ text: `other${index}` }))
    const { manager } = await managerWith({ text: 'login form of the page' }, ...rest)
    const [first, ...others] = await manager.selectContexts('login', { fill: true })
    assert.equal(first?.args['q'], 'login form of the page')
    const { manager: weak } = await managerWith(
      { text: 'page' },
      ...rest.slice(0, 5),
      { text: 'login form submit button' },
      ...rest,
    )
    const order = await select(weak, 'login form submit button page', { fill: true })
    assert.ok(order.indexOf('other19') < order.indexOf('page'), `${order}`)
    assert.ok(others.every(({ score }) => score === 0))
  })

  it('gives the latest first where nothing matches', async () => {
    const { manager } = await managerWith({ text: 'one' }, { text: 'two' }, { text: 'three' })
    assert.deepEqual(await select(manager, 'zebra', { fill: true }), ['three', 'two', 'one'])
    assert.deepEqual(await select(manager, 'zebra', { fill: true, limit: 2 }), ['three', 'two'])
    assert.deepEqual(await select(manager, 'zebra', { fill: true, minScore: 0.1 }), [])
  })
})

describe('the ranking', () => {
  it('prefers results to errors, named arguments, pairs of words and times that are asked for', async () => {
    const first = async (query: string, ...calls: Call[]): Promise<unknown> => {
      const { manager } = await managerWith(...calls)
      const [best] = await manager.selectContexts(query, { recencyWeight: 0 })
      return manager.getAllPointers().findIndex(({ filepath }) => filepath === best?.filepath)
    }
    const good = { text: 'invoice totals', result: 'the sum of all is 5' }
    assert.equal(await first('invoice totals', good, { ...good, result: 'error: the sum of all is gone' }), 0)
    assert.equal(await first('invoice totals', good, { ...good, result: [] }), 0)
    const spoken = { tool: 'message', result: 'we went to the lake' }
    assert.equal(
      await first('the lake of Caroline', { ...spoken, text: 'Caroline' }, { ...spoken, text: 'Caroline Smith Jones' }),
      0,
    )
    const paired = { text: 'a', result: 'the payment gateway is slow and old and grey' }
    assert.equal(
      await first('payment gateway', paired, { ...paired, result: 'the gateway is slow and old, payment grey' }),
      0,
    )
    const dated = { text: 'a', result: 'lake trip was yesterday' }
    const undated = { ...dated, result: 'lake trip was pleasant' }
    assert.equal(await first('when was the lake trip?', dated, undated), 0)
    assert.equal(await first('how was the lake trip?', dated, undated), 1)
  })

  it('follows identifiers from the best outputs to others', async () => {
    const { manager } = await managerWith(
      { text: 'find customer Jane Doe', result: 'customer_id: CUS4711X' },
      { text: 'get record', result: 'record CUS4711X balance 70' },
      { text: 'get record', result: 'record CUS9999Y balance 80' },
    )
    const found = textsOf(await manager.selectContexts('record of customer Jane Doe', { recencyWeight: 0 }))
    assert.equal(found[0], 'find customer Jane Doe')
    const results = await manager.selectContexts('record of customer Jane Doe', { recencyWeight: 0 })
    const paths = manager.getAllPointers().map(({ filepath }) => filepath)
    assert.deepEqual(
      results.map(({ filepath }) => paths.indexOf(filepath)),
      [0, 1, 2],
    )
  })
})
