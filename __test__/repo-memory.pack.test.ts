/** `buildContextFromMemory`: the most useful of what is remembered, within a budget. */

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { RepoMemory } from '../dist/index.js'
import { fitTokens } from '../lib/repo/pack.ts'
import { inDirectory, only, rejectsWith, wrong } from './support/fixtures.ts'
import { linesOf, memoryIn } from './support/memories.ts'
import { holds } from './support/processes.ts'
import { SeededRandom } from './support/seeded-random.ts'

const HEADINGS = ['## Conventions', '## Decisions', '## Notes', '## Latest steps']
const LEFT_OUT = /^_Left out for lack of room: (.*)\._$/
const NOUNS = ['convention', 'decision', 'note', 'step']
const WORDS = [
  'parser',
  'login',
  'é',
  '日本語',
  '🦀',
  '👩‍👩‍👧',
  '𝒳',
  'cache\n# heading',
  '- item',
  'x'.repeat(40),
  '`code`',
]

/** A memory with records of any length, in which characters take one or two units. */
async function fill(memory: RepoMemory, random: SeededRandom, records: number): Promise<void> {
  const text = (most: number): string =>
    Array.from({ length: 1 + random.below(most) }, () => random.of(WORDS)).join(' ')
  for (let number = 0; number < records; number++) {
    const line = `${number} ${text(3).replaceAll('\n', ' ')}`
    switch (random.below(4)) {
      case 0:
        await memory.upsertConvention({ title: line, content: text(30), tags: ['a', '🦀'].slice(random.below(3)) })
        break
      case 1:
        await memory.upsertDecision({ summary: line, rationale: text(20), impactedPaths: ['src/é.ts'] })
        break
      case 2:
        await memory.upsertNote({ content: text(40), source: random.of(['manual', 'agent', 'tool']) })
        break
      default:
        await memory.appendSummary(`run ${number}`, 'step 🦀', text(40))
    }
  }
}

/** What a pack is made of. */
function takeApart(text: string): { items: string[]; headings: string[]; leftOut: number } {
  const lines = text.split('\n')
  const said = LEFT_OUT.exec(lines.at(-1) ?? '')
  const body = said === null ? text : lines.slice(0, -1).join('\n').trimEnd()
  const leftOut = [...(said?.[1] ?? '').matchAll(/(\d+) (\w+?)s?(?:, |$)/g)].reduce((sum, [, count, noun = '']) => {
    holds(NOUNS.includes(noun), noun)
    return sum + Number(count)
  }, 0)
  const parts = body === '' ? [] : body.split('\n\n')
  return {
    headings: parts.map((part) => part.split('\n')[0] ?? ''),
    items: parts.flatMap((part) => part.split('\n- ').slice(1)),
    leftOut,
  }
}

describe('a context pack', () => {
  for (const [seed, records] of [
    [1, 1],
    [2, 4],
    [3, 15],
    [4, 40],
  ] as const) {
    it(`of ${records} records keeps to every budget, in whole records, and says what it leaves out`, () =>
      inDirectory(async (root) => {
        const memory = await memoryIn(root)
        const random = new SeededRandom(seed)
        await fill(memory, random, records)
        const whole = await memory.buildContextFromMemory(Number.POSITIVE_INFINITY, { latestSummaries: 100 })
        const all = takeApart(whole)
        assert.deepEqual([all.items.length, all.leftOut], [records, 0])
        const known = new Set(all.items)
        const budgets = [
          ...Array.from({ length: 300 }, (_, number) => number),
          ...Array.from({ length: 250 }, () => 300 + random.below(2701)),
          whole.length - 1,
          whole.length,
          whole.length + 1,
        ]
        for (const maxChars of budgets) {
          const pack = await memory.contextPack(maxChars, { latestSummaries: 100 })
          const { text } = pack
          assert.equal(pack.included.length + pack.leftOut.length, records)
          holds(text.length <= maxChars, `${text.length} of ${maxChars}`)
          holds(text.isWellFormed(), `a cut character within ${maxChars}`)
          const { items, headings, leftOut } = takeApart(text)
          assert.equal(pack.included.length, items.length, `${maxChars}: ${text}`)
          assert.equal(pack.cut.length, items.filter((item) => !known.has(item)).length)
          assert.equal(new Set(headings).size, headings.length, 'a heading twice')
          for (const heading of headings) {
            holds(HEADINGS.includes(heading), `heading ${JSON.stringify(heading)} within ${maxChars}`)
          }
          for (const item of items) {
            const isBeginning =
              item.endsWith('…') &&
              all.items.some((one) => one.length >= maxChars - 50 && one.startsWith(item.slice(0, -1)))
            holds(known.has(item) || isBeginning, `${maxChars}: ${item}`)
          }
          // The last line is correct if it is there; it is missing only if the budget has no room for it.
          holds(leftOut === 0 || items.length + leftOut === records, `${items.length} + ${leftOut} of ${records}`)
          holds(leftOut > 0 || items.length === records || text.length > maxChars - 90, `${maxChars}: ${text}`)
          assert.equal(text === whole, maxChars >= whole.length, `${maxChars} of ${whole.length}`)
        }
      }))
  }

  it('names the records that it holds and those that it leaves out', () =>
    inDirectory(async (root) => {
      const memory = await memoryIn(root)
      const convention = await memory.upsertConvention({ title: 'Tests', content: 'node:test, no mocks' })
      const decision = await memory.upsertDecision({ summary: 'Rust', rationale: 'fast '.repeat(40) })
      const note = await memory.upsertNote({ content: 'The deployment runs on Fridays' })
      const { timestamp } = await memory.appendSummary('run', 'step', 'done '.repeat(40))
      const summary = { kind: 'summary', runId: 'run', stepId: 'step', timestamp } as const
      const records = {
        convention: { kind: 'convention', id: convention.id } as const,
        decision: { kind: 'decision', id: decision.id } as const,
        note: { kind: 'note', id: note.id } as const,
      }
      const options = { repoMap: false }
      const whole = await memory.contextPack(Number.POSITIVE_INFINITY, options)
      assert.deepEqual(whole, {
        text: await memory.buildContextFromMemory(Number.POSITIVE_INFINITY, options),
        included: [records.convention, summary, records.decision, records.note],
        cut: [],
        leftOut: [],
        hasRepoMap: false,
        lacksRepoMap: false,
      })
      const small = await memory.contextPack(300, { ...options, query: 'deployment' })
      assert.equal(small.text, await memory.buildContextFromMemory(300, { ...options, query: 'deployment' }))
      assert.deepEqual(small.included, [records.note, records.convention])
      assert.deepEqual(small.leftOut, [summary, records.decision])
      const least = await memory.contextPack(4000, { ...options, maxTokens: 1, countTokens: (text) => text.length })
      assert.deepEqual([least.text, least.included.length, least.leftOut.length], ['', 0, 4])
      const cut = await memory.contextPack(200, { ...options, query: 'done' })
      assert.deepEqual([cut.cut, cut.included[0]], [[summary], summary])
    }))

  it('says whether the map is in it', () =>
    inDirectory(async (root) => {
      const memory = await memoryIn(root)
      await memory.upsertNote({ content: 'a note '.repeat(30) })
      const withMap = await memory.contextPack(4000)
      assert.equal(withMap.hasRepoMap, withMap.text.includes('## Repository map'))
      holds(!withMap.lacksRepoMap)
    }))

  it('is the same for the same memory', () =>
    inDirectory(async (root) => {
      const memory = await memoryIn(root)
      await fill(memory, new SeededRandom(5), 20)
      const options = { query: 'parser 🦀 login' }
      const text = await memory.buildContextFromMemory(700, options)
      for (const one of [memory, await memoryIn(root)]) {
        const texts = await Promise.all(Array.from({ length: 5 }, () => one.buildContextFromMemory(700, options)))
        assert.deepEqual(new Set(texts), new Set([text]))
      }
    }))

  it('shows all there is, as Markdown', () =>
    inDirectory(async (root) => {
      const memory = await memoryIn(root)
      await memory.upsertConvention({ title: 'Tests', content: 'node:test,\nno mocks', tags: ['testing', 'ci'] })
      await memory.upsertDecision({ summary: 'Rust', rationale: 'It is fast.', impactedPaths: ['src/', 'lib/'] })
      await memory.upsertNote({ content: '# CI is slow', source: 'agent' })
      await memory.appendSummary('run-1', 'plan', 'Split the parser.\n\nOutputs:\n- src/parser.ts')
      const text = await memory.buildContextFromMemory(5000)
      assert.equal(
        text.replace(/\d{4}-\d\d-\d\d/g, 'DAY'),
        `## Conventions
- **Tests** (testing, ci): node:test,
  no mocks

## Latest steps
- **run-1 / plan** [DAY]: Split the parser.
  Outputs:
  - src/parser.ts

## Decisions
- **Rust**: It is fast. (affects src/, lib/) [DAY]

## Notes
- # CI is slow [agent, DAY]`,
      )
    }))

  it('has what answers the query first', () =>
    inDirectory(async (root) => {
      const memory = await memoryIn(root)
      for (let number = 0; number < 20; number++) {
        await memory.upsertConvention({ title: `Convention ${number}`, content: 'Indent with two spaces everywhere.' })
        await memory.upsertNote({ content: `Note ${number}: the build takes long on Mondays.` })
      }
      await memory.upsertNote({ content: 'Passwords are compared in constant time.' })
      await memory.upsertDecision({ summary: 'Login tokens live in cookies', rationale: 'No script reads them there.' })
      for (const [query, expected] of [
        ['compare a password', /^## Notes\n- Passwords are compared/],
        ['where do tokens of the login live?', /^## Decisions\n- \*\*Login tokens/],
      ] as const) {
        const small = await memory.buildContextFromMemory(200, { query })
        assert.match(small, expected)
        assert.match(await memory.buildContextFromMemory(100_000, { query }), expected)
      }
      assert.match(await memory.buildContextFromMemory(300), /^## Conventions\n- \*\*Convention 0\*\*/)
      assert.equal(
        await memory.buildContextFromMemory(300, { query: 'zebra' }),
        await memory.buildContextFromMemory(300),
        'nothing matches',
      )
      assert.equal(await memory.buildContextFromMemory(300, { query: '' }), await memory.buildContextFromMemory(300))
    }))

  it('shows what is there when it is asked for', () =>
    inDirectory(async (root) => {
      const memory = await memoryIn(root)
      const other = await memoryIn(root)
      assert.equal(await memory.buildContextFromMemory(1000), '')
      const { id } = await other.upsertNote({ content: 'one' })
      assert.match(await memory.buildContextFromMemory(1000), /- one/)
      await other.upsertNote({ id, content: 'two' })
      assert.match(await memory.buildContextFromMemory(1000), /- two/)
      await other.remove('note', id)
      assert.equal(await memory.buildContextFromMemory(1000), '')
    }))

  it('is not made when the signal says so', () =>
    inDirectory(async (root) => {
      const memory = await memoryIn(root)
      await fill(memory, new SeededRandom(6), 10)
      const reason = new Error('not any more')
      const aborted = AbortSignal.abort(reason)
      const rejects = (call: () => Promise<unknown>): Promise<void> => assert.rejects(call, (error) => error === reason)
      await rejects(() => memory.buildContextFromMemory(500, { signal: aborted }))
      const controller = new AbortController()
      const building = memory.buildContextFromMemory(500, { signal: controller.signal })
      controller.abort(reason)
      await rejects(() => building)
      const late = new AbortController()
      const countTokens = (): number => {
        late.abort(reason)
        return 1_000_000
      }
      await rejects(() => memory.buildContextFromMemory(500, { signal: late.signal, maxTokens: 5, countTokens }))
      holds((await memory.buildContextFromMemory(500, { signal: new AbortController().signal })) !== '')
    }))
})

describe('a context pack within a budget of tokens', () => {
  /** Tokenisers of several kinds. */
  const COUNTERS: Record<string, (text: string) => number> = {
    'a token per four characters': (text) => Math.ceil(text.length / 4),
    'a token per word': (text) => text.split(/\s+/).filter(Boolean).length,
    'tokens that are dear where there are emoji': (text) => text.length + 10 * (text.match(/\p{Emoji}/gu)?.length ?? 0),
    'tokens that are fractions': (text) => text.length * 0.31,
  }

  for (const [name, count] of Object.entries(COUNTERS)) {
    it(`never takes more than it may: ${name}`, () =>
      inDirectory(async (root) => {
        const memory = await memoryIn(root)
        await fill(memory, new SeededRandom(7), 60)
        const whole = await memory.buildContextFromMemory(Number.POSITIVE_INFINITY)
        for (const share of [0, 0.01, 0.05, 0.1, 0.3, 0.5, 0.9, 1, 2]) {
          const maxTokens = Math.floor(count(whole) * share)
          const counted: string[] = []
          const countTokens = (text: string): number => {
            counted.push(text)
            return count(text)
          }
          for (const maxChars of [Number.POSITIVE_INFINITY, 2000]) {
            counted.length = 0
            const text = await memory.buildContextFromMemory(maxChars, { maxTokens, countTokens })
            holds(text === '' || count(text) <= maxTokens, `${count(text)} of ${maxTokens} tokens`)
            holds(text.length <= maxChars, `${text.length} of ${maxChars}`)
            holds(text === '' || counted.includes(text), 'what is returned was counted')
            holds(counted.length <= 8, `${counted.length} counts`)
            if (maxChars > whole.length) {
              assert.equal(text === whole, count(whole) <= maxTokens)
              // Room for several records is not left empty.
              const room = Math.min(maxTokens, count(whole))
              holds(share < 0.3 || count(text) > room * 0.7, `${count(text)} of ${room} tokens`)
            }
          }
        }
      }))
  }

  it('is empty when nothing fits', () =>
    inDirectory(async (root) => {
      const memory = await memoryIn(root)
      await memory.upsertNote({ content: 'something' })
      const countTokens = (): number => 5
      assert.equal(await memory.buildContextFromMemory(1000, { maxTokens: 4, countTokens }), '')
      assert.notEqual(await memory.buildContextFromMemory(1000, { maxTokens: 5, countTokens }), '')
      const options = { maxTokens: Number.POSITIVE_INFINITY, countTokens }
      assert.notEqual(await memory.buildContextFromMemory(1000, options), '')
    }))

  it('rejects when tokens cannot be counted', () =>
    inDirectory(async (root) => {
      const memory = await memoryIn(root)
      await memory.upsertNote({ content: 'something' })
      for (const answer of [undefined, null, '5', Number.NaN, Number.POSITIVE_INFINITY, -1, Promise.resolve(5)]) {
        await rejectsWith(
          () => memory.buildContextFromMemory(1000, { maxTokens: 10, countTokens: wrong(() => answer) }),
          'ERR_CONTEXT_INVALID_ARGUMENT',
          /^countTokens must be a function that gives a finite number from 0 up/,
        )
      }
      const failure = new Error('no vocabulary')
      const countTokens = (): number => {
        throw failure
      }
      const { cause } = await rejectsWith(
        () => memory.buildContextFromMemory(1000, { maxTokens: 10, countTokens }),
        'ERR_CONTEXT_INVALID_ARGUMENT',
        /^countTokens failed/,
      )
      assert.equal(cause, failure)
    }))

  it('looks for the longest text that fits', async () => {
    // Any length can be made, a token per character: what is found is near the edge.
    for (const maxTokens of [1, 10, 99, 500, 999, 1000, 5000]) {
      const renderings: number[] = []
      const render = async (maxChars: number): Promise<{ text: string }> => {
        renderings.push(maxChars)
        return { text: 'x'.repeat(Math.min(maxChars, 1000)) }
      }
      const { text } = await fitTokens(render, Number.POSITIVE_INFINITY, {
        maxTokens,
        countTokens: (text) => text.length,
      })
      const best = Math.min(maxTokens, 1000)
      holds(text.length <= best && text.length >= Math.floor(best * 0.97), `${text.length} of ${best}`)
      holds(renderings.length <= 8, `${renderings.length} renderings`)
    }
  })
})

describe('a summary of 64 KiB', () => {
  it('is cut where the pack is smaller', () =>
    inDirectory(async (root) => {
      const memory = await memoryIn(root)
      await memory.appendSummary('r', 's', `begin ${'🦀'.repeat(16_000)}`)
      assert.equal(linesOf(memory).length, 1)
      const text = await memory.buildContextFromMemory(501)
      const item = only(takeApart(text).items)
      holds(item.startsWith('**r / s**') && item.endsWith('…') && item.isWellFormed(), item)
      holds(text.length > 400 && text.length <= 501, `${text.length}`)
    }))
})
