/** Calls on one object that are not awaited take effect in the order of the calls. */

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import type { RepoMemory, StoreEntry } from '../dist/index.js'
import { inDirectory, only } from './support/fixtures.ts'
import { memoryIn } from './support/memories.ts'
import { PATIENT } from './support/processes.ts'
import { entry, storeIn } from './support/stores.ts'

/** Each starts several calls at once: an order that is left to chance does not survive all of them. */
const ROUNDS = 60
const CALLS = [1, 2, 3, 4, 5, 6]
const LAST = String(CALLS.at(-1))

/** The levels differ in what a call waits for. */
const LEVELS = ['process', 'full'] as const

async function rounds(work: (round: number) => Promise<void>): Promise<void> {
  for (let round = 0; round < ROUNDS; round += 1) {
    await work(round)
  }
}

const steps = async (memory: RepoMemory): Promise<string[]> =>
  (await memory.getRepoMemory()).summaries.map(({ stepId }) => stepId)

for (const durability of LEVELS) {
  describe(`calls in flight together, ${durability}`, () => {
    it('the last change of a record wins', PATIENT, () =>
      inDirectory(async (root) => {
        const memory = await memoryIn(root, { durability })
        const note = await memory.upsertNote({ content: 'new' })
        const decision = await memory.upsertDecision({ summary: 'new', rationale: 'r' })
        await rounds(async (round) => {
          await Promise.all(
            CALLS.flatMap((call) => [
              // Long texts take longer to redact: the first calls are the slowest.
              memory.upsertNote({ id: note.id, content: `${round} ${call} ${'x '.repeat(900 / call)}` }),
              memory.upsertConvention({ title: 'T', content: `${round} ${call}` }),
              memory.upsertDecision({ id: decision.id, summary: `${round} ${call}` }),
            ]),
          )
          const { notes, conventions, decisions } = await memory.getRepoMemory()
          assert.match(only(notes).content, new RegExp(`^${round} ${LAST} `))
          assert.equal(only(conventions).content, `${round} ${LAST}`)
          assert.equal(only(decisions).summary, `${round} ${LAST}`)
        })
      }),
    )

    it('a record that is removed behind its change is gone', PATIENT, () =>
      inDirectory(async (root) => {
        const memory = await memoryIn(root, { durability })
        await rounds(async (round) => {
          const { id } = await memory.upsertNote({ content: 'new' })
          const [, removed] = await Promise.all([
            memory.upsertNote({ id, content: `changed ${round} ${'x '.repeat(900)}` }),
            memory.remove('note', id),
            memory.upsertConvention({ title: `${round}`, content: 'c' }),
          ])
          assert.equal(removed, true)
          assert.deepEqual((await memory.getRepoMemory()).notes, [])
        })
      }),
    )

    it('summaries stand in the order of the calls', PATIENT, () =>
      inDirectory(async (root) => {
        const memory = await memoryIn(root, { durability, maxSummaries: 2 * CALLS.length })
        await rounds(async (round) => {
          await Promise.all(
            CALLS.map((call) => memory.appendSummary('run', `${round}/${call}`, 'x '.repeat(900 / call))),
          )
          const expected = CALLS.map((call) => `${round}/${call}`)
          assert.deepEqual((await steps(memory)).slice(-CALLS.length), expected)
        })
      }),
    )

    it('changes of an entry stand in its changelog in the order of the calls', PATIENT, () =>
      inDirectory(async (path) => {
        const store = storeIn(path, { durability })
        await rounds(async (round) => {
          const { path: changed } = await store.write(entry({ slug: `entry-${round}` }))
          await Promise.all(
            CALLS.map((call) =>
              call % 3 === 0
                ? store.link(changed, `a/${call}.md`)
                : store.update(changed, { content: `${call} ${'x '.repeat(900 / call)}` }, `change ${call}`),
            ),
          )
          const { content, changelog, links } = await store.read(changed)
          const said = changelog.map(({ description }) => description)
          assert.deepEqual(said, [
            'change 1',
            'change 2',
            'Linked to a/3.md',
            'change 4',
            'change 5',
            'Linked to a/6.md',
          ])
          assert.deepEqual(links, ['a/3.md', 'a/6.md'])
          assert.match(content, /^5 /)
        })
      }),
    )

    it('new entries are named in the order of the calls', PATIENT, () =>
      inDirectory(async (path) => {
        const store = storeIn(path, { durability })
        await rounds(async (round) => {
          const written = await Promise.all(
            CALLS.map((call) => store.write(entry({ slug: `s${round}`, content: 'x '.repeat(900 / call) }))),
          )
          assert.deepEqual(numbers(written), [...numbers(written)].sort())
          assert.equal(new Set(numbers(written)).size, CALLS.length)
        })
      }),
    )

    it('a supersession comes after the changes before it and before those after it', PATIENT, () =>
      inDirectory(async (path) => {
        const store = storeIn(path, { durability })
        await rounds(async (round) => {
          const { path: old } = await store.write(entry({ slug: `old-${round}` }))
          const [, superseded] = await Promise.all([
            store.update(old, { content: 'x '.repeat(900) }, 'before'),
            store.supersede(old, entry({ slug: `new-${round}` }), 'it is better'),
            store.update(old, {}, 'after'),
          ])
          const said = (await store.read(old)).changelog.map(({ description }) => description)
          assert.equal(said.length, 3)
          assert.deepEqual([said[0], said[2]], ['before', 'after'])
          assert.equal(superseded.old.changelog.length, 2)
        })
      }),
    )

    it('each of two objects on one directory keeps its order', PATIENT, () =>
      inDirectory(async (root) => {
        const memories = await Promise.all([memoryIn(root, { durability }), memoryIn(root, { durability })] as const)
        const stores = ['one', 'two'].map((agent) => storeIn(join(root, 'store'), { agent, durability }))
        await rounds(async (round) => {
          const { path } = await storeIn(join(root, 'store')).write(entry())
          await Promise.all(
            CALLS.flatMap((call) => [
              ...memories.flatMap((memory, index) => [
                memory.upsertConvention({ title: `memory ${index}`, content: `${round} ${call}` }),
                memory.appendSummary(`run ${index}`, `${round}/${call}`, 'text'),
              ]),
              ...stores.map((store) => store.update(path, {}, `${round}/${call}`)),
            ]),
          )
          const [memory] = memories
          const { conventions, summaries } = await memory.getRepoMemory()
          assert.deepEqual(
            conventions.map(({ content }) => content),
            memories.map(() => `${round} ${LAST}`),
          )
          const expected = CALLS.map((call) => `${round}/${call}`)
          for (const index of memories.keys()) {
            const own = summaries.filter(({ runId }) => runId === `run ${index}`)
            assert.deepEqual(own.map(({ stepId }) => stepId).slice(-CALLS.length), expected)
          }
          const { changelog } = await storeIn(join(root, 'store')).read(path)
          for (const { agent } of stores) {
            const own = changelog.filter((change) => change.agent === agent)
            assert.deepEqual(
              own.map(({ description }) => description),
              expected,
            )
          }
        })
      }),
    )
  })
}

describe('a call that fails', () => {
  it('keeps no other from its turn', () =>
    inDirectory(async (root) => {
      const memory = await memoryIn(root)
      const store = storeIn(join(root, 'store'))
      const { path } = await store.write(entry())
      const settled = await Promise.allSettled([
        memory.upsertNote({ id: 'unknown' }),
        memory.upsertNote({ content: '' }),
        memory.upsertNote({ content: 'kept' }),
        memory.appendSummary('run', 'step', ''),
        memory.appendSummary('run', 'step', 'kept'),
        store.update('a/20250101T000000-unknown.md', {}, 'refused'),
        store.write(entry({ slug: '--' })),
        store.supersede(path, entry({ slug: '--' }), 'refused'),
        store.update(path, { content: 'kept' }, 'made'),
      ])
      assert.deepEqual(
        settled.map(({ status }) => status === 'fulfilled'),
        [false, false, true, false, true, false, false, false, true],
      )
      assert.equal((await store.read(path)).content.trim(), 'kept')
      await Promise.all([memory.close(), store.close()])
    }))
})

/** The numbers that tell entries of one second and slug apart, with the second. */
const numbers = (entries: readonly StoreEntry[]): string[] =>
  entries.map(({ path }) => {
    const [, time = '', number = '1'] = /\/(\d+T\d+)-s\d+(?:-(\d+))?\.md$/.exec(path) ?? []
    return `${time} ${number.padStart(3, '0')}`
  })
