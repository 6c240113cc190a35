/** Workflows: the steps of a run leave summaries, and the steps after them find those in their context. */

import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { RepoMemory, type StepSummary } from '../dist/index.js'
import { debugLog, inDirectory, only, rejectsWith, wrong } from './support/fixtures.ts'
import { HASH, linesOf, memoryIn, plant } from './support/memories.ts'
import { inTestPlace, onDisk } from './support/postgres.ts'
import { holds } from './support/processes.ts'
import { Canaries, everythingBelow } from './support/secrets.ts'
import { mkdirSync, rmSync } from './support/stored-files.ts'

/** What a step that returns a value leaves. */
async function summaryOf(memory: RepoMemory, value: unknown): Promise<string> {
  assert.equal(await memory.workflow('run').step('step', () => value), value)
  return (await memory.getRepoMemory()).summaries.at(-1)?.summary ?? ''
}

describe('a workflow', () => {
  it('is wired in five lines: summaries are kept, and used by the steps after', () =>
    inDirectory(async (root) => {
      const model = (prompt: string): StepSummary => ({
        happened: prompt.includes('Split the parser') ? 'Built the parser that was planned.' : 'Knew nothing.',
        outputs: ['src/parser.ts'],
        followUps: ['Write tests'],
      })
      const memory = await RepoMemory.open({ repoHash: HASH, root, ...inTestPlace({}) })
      const workflow = memory.workflow('run-1')
      await workflow.step('plan', () => 'Split the parser from the printer.')
      const built = await workflow.step('build', async ({ context }) => model(await context(4000, { query: 'parser' })))
      const prompt = await workflow.step('test', ({ context }) => context(4000), { summarise: () => 'All is green.' })

      assert.equal(built.happened, 'Built the parser that was planned.')
      for (const said of ['Split the parser from the printer.', built.happened, '- src/parser.ts', '- Write tests']) {
        holds(prompt.includes(said), `${said} is not in the last step's context: ${prompt}`)
      }
      const stored = linesOf(memory).map((line) => JSON.parse(line) as Record<string, string>)
      assert.deepEqual(
        stored.map(({ timestamp, ...rest }) => rest),
        [
          { runId: 'run-1', stepId: 'plan', summary: 'Split the parser from the printer.' },
          {
            runId: 'run-1',
            stepId: 'build',
            summary: `${built.happened}\n\nOutputs:\n- src/parser.ts\n\nFollow-ups:\n- Write tests`,
          },
          { runId: 'run-1', stepId: 'test', summary: 'All is green.' },
        ],
      )
      // Another run, another process: what came before is there.
      const next = (await RepoMemory.open({ repoHash: HASH, root, ...inTestPlace({}) })).workflow('run-2')
      assert.match(await next.step('plan', ({ context }) => context(4000)), /\*\*run-1 \/ test\*\*.*All is green\./)
    }))

  it('passes the run and step ids to its steps', () =>
    inDirectory(async (root) => {
      const workflow = (await memoryIn(root)).workflow('run-1')
      assert.equal(workflow.runId, 'run-1')
      const { context, ...names } = await workflow.step('plan', (step) => step)
      assert.deepEqual(names, { runId: 'run-1', stepId: 'plan' })
      await rejectsWith(() => context(-1), 'ERR_CONTEXT_INVALID_ARGUMENT', /^maxChars must be/)
    }))

  it('sums up whatever a step returns', () =>
    inDirectory(async (root) => {
      const memory = await memoryIn(root, { maxSummaryBytes: Number.POSITIVE_INFINITY })
      const circular: { self?: unknown } = {}
      circular.self = circular
      for (const [value, summary] of [
        ['as it is\n', 'as it is\n'],
        [{ happened: 'it', followUps: ['x'] }, 'it\n\nFollow-ups:\n- x'],
        [{ a: [1, 'two', null], b: { c: true } }, 'Step step returned {"a":[1,"two",null],"b":{"c":true}}'],
        [undefined, 'Step step returned nothing'],
        [null, 'Step step returned null'],
        [0, 'Step step returned 0'],
        [5n, 'Step step returned "[BigInt 5]"'],
        ['', 'Step step returned ""'],
        [' \n', 'Step step returned " \\n"'],
        [circular, 'Step step returned {"self":"[Circular]"}'],
        // Not quite a summary of a step.
        [{ happened: 5 }, 'Step step returned {"happened":5}'],
        [{ happened: '' }, 'Step step returned {"happened":""}'],
        [{ happened: 'x', outputs: 5 }, 'Step step returned {"happened":"x","outputs":5}'],
      ] as [unknown, string][]) {
        assert.equal(await summaryOf(memory, value), summary)
      }
    }))

  it('cuts what is long, never within a character', () =>
    inDirectory(async (root) => {
      const memory = await memoryIn(root, { maxSummaryBytes: Number.POSITIVE_INFINITY })
      const prefix = 'Step step returned '
      for (const value of [{ text: 'word '.repeat(5000) }, ['🦀'.repeat(5000)], Array(100_000).fill(7)]) {
        const summary = await summaryOf(memory, value)
        const length = summary.length - prefix.length
        holds(length <= 2000 && length > 1700, `${length} characters`)
        holds(summary.startsWith(prefix) && summary.endsWith(' […]') && summary.isWellFormed(), summary.slice(-30))
      }
      for (const value of ['word '.repeat(50_000), { happened: '🦀'.repeat(50_000) }, 'é'.repeat(32_769)]) {
        const summary = await summaryOf(memory, value)
        const bytes = Buffer.byteLength(summary)
        holds(bytes <= 65_536 && bytes > 65_000, `${bytes} bytes`)
        holds(summary.endsWith(' […]') && summary.isWellFormed(), summary.slice(-30))
      }
      assert.equal(await summaryOf(memory, 'é'.repeat(32_768)), 'é'.repeat(32_768))
    }))

  it('asks the caller for a summary', () =>
    inDirectory(async (root) => {
      const log = debugLog()
      const memory = await memoryIn(root, { onDebug: log })
      const workflow = memory.workflow('run')
      const last = async (): Promise<object> => {
        const { timestamp, runId, ...rest } = only((await memory.getRepoMemory()).summaries.slice(-1))
        return rest
      }
      const seen: unknown[] = []
      const result = { rows: 3 }
      await workflow.step('one', () => result, {
        summarise: (value) => {
          seen.push(value)
          return `${value.rows} rows`
        },
        tags: ['rows', ' count '],
      })
      assert.deepEqual(seen, [result])
      assert.deepEqual(await last(), { stepId: 'one', summary: '3 rows', tags: ['rows', 'count'] })
      await workflow.step('two', () => 5, { summarise: async (value) => ({ happened: `got ${value}` }) })
      assert.deepEqual(await last(), { stepId: 'two', summary: 'got 5' })
      const before = log.entries.length
      for (const summarise of [
        () => 5,
        () => '',
        () => undefined,
        () => ({ happened: 5 }),
        () => {
          throw new Error('no summary')
        },
        () => Promise.reject(new Error('no summary')),
      ]) {
        assert.equal(await workflow.step('three', () => 7, { summarise: wrong(summarise) }), 7)
        assert.deepEqual(await last(), { stepId: 'three', summary: 'Step three returned 7' })
      }
      const told = log.entries.slice(before)
      assert.equal(told.length, 6)
      holds(told.every(({ message }) => message === 'The summary of a step was not made: its result is shown'))
      const { error } = only(told.slice(-1)).data as { error: Error }
      assert.equal(error.message, 'no summary')
    }))

  it('says that a step failed, and throws on what it threw', () =>
    inDirectory(async (root) => {
      const memory = await memoryIn(root)
      const workflow = memory.workflow('run')
      const hostile = new Proxy(new Error('x'), {
        get() {
          throw new Error('a trap')
        },
      })
      for (const [thrown, message] of [
        [new TypeError('no such file'), 'no such file'],
        ['a text', 'a text'],
        [undefined, 'undefined'],
        [Symbol('s'), 'Symbol(s)'],
        [{ reason: 'none' }, '{"reason":"none"}'],
        [{ message: 'like an error' }, 'like an error'],
        [hostile, '[Throws: a trap]'],
      ] as [unknown, string][]) {
        for (const fails of [
          () => {
            throw thrown
          },
          () => Promise.reject(thrown),
        ]) {
          let caught: unknown = 'nothing'
          try {
            await workflow.step('bad', fails, { tags: ['x'], summarise: () => 'never' })
          } catch (error) {
            caught = error
          }
          holds(caught === thrown, 'the very value')
          const { summary, tags } = only((await memory.getRepoMemory()).summaries.slice(-1))
          assert.deepEqual([summary, tags], [`Step bad failed: ${message}`, ['failed', 'x']])
        }
      }
      const tags = Array.from({ length: 50 }, (_, number) => `tag ${number}`)
      const fails = async (): Promise<never> => {
        throw new Error('again')
      }
      await assert.rejects(workflow.step('bad', fails, { tags }), /again/)
      const stored = only((await memory.getRepoMemory()).summaries.slice(-1)).tags
      assert.deepEqual([stored?.length, stored?.[0]], [50, 'failed'])
      assert.match(await workflow.step('next', ({ context }) => context(500)), /run \/ bad\*\*.*Step bad failed: again/)
    }))

  it('is not broken by storage that fails', onDisk('directories'), () =>
    inDirectory(async (root) => {
      const log = debugLog()
      const blocks: (() => void)[] = [
        // A file where the directory belongs, and a directory where the file does.
        () => void plant(join(root, 'repos'), 'in the way'),
        () => void mkdirSync(join(root, 'repos', HASH, 'summaries.jsonl'), { recursive: true }),
      ]
      for (const block of blocks) {
        rmSync(join(root, 'repos'), { recursive: true, force: true })
        block()
        log.entries.length = 0
        const workflow = (await memoryIn(root, { onDebug: log })).workflow('run')
        assert.equal(await workflow.step('one', () => 'the value'), 'the value')
        const failure = new Error('the step’s own')
        await assert.rejects(
          workflow.step('two', () => Promise.reject(failure)),
          (error) => error === failure,
        )
        const told = log.entries.filter(({ message }) => message === 'The summary of a step could not be stored')
        assert.deepEqual(
          told.map(({ data }) => {
            const { runId, stepId, error } = data as { runId: string; stepId: string; error: { code: string } }
            return [runId, stepId, error.code]
          }),
          [
            ['run', 'one', 'ERR_CONTEXT_IO'],
            ['run', 'two', 'ERR_CONTEXT_IO'],
          ],
        )
      }
    }),
  )

  it('is not broken by a log that throws', () =>
    inDirectory(async (root) => {
      plant(join(root, 'repos'), 'in the way')
      const onDebug = (): never => {
        throw new Error('a log that throws')
      }
      const memory = await memoryIn(root, { onDebug })
      assert.equal(await memory.workflow('run').step('one', () => 1), 1)
    }))

  it('runs steps at the same time', () =>
    inDirectory(async (root) => {
      const memory = await memoryIn(root)
      const workflow = memory.workflow('run')
      const numbers = Array.from({ length: 20 }, (_, number) => number)
      const results = await Promise.all(
        numbers.map((number) =>
          workflow.step(`step-${number}`, async ({ stepId }) => {
            await setTimeout(20 - number)
            return stepId
          }),
        ),
      )
      assert.deepEqual(
        results,
        numbers.map((number) => `step-${number}`),
      )
      const { summaries } = await memory.getRepoMemory()
      assert.deepEqual(new Set(summaries.map(({ summary }) => summary)), new Set(results))
      assert.equal(summaries.length, 20)
    }))

  it('waits until a summary is there before it goes on', () =>
    inDirectory(async (root) => {
      const memory = await memoryIn(root)
      const workflow = memory.workflow('run')
      for (let number = 0; number < 5; number++) {
        await workflow.step(`step-${number}`, () => `result ${number}`)
        assert.equal((await (await memoryIn(root)).getRepoMemory()).summaries.length, number + 1)
      }
    }))

  it('cuts no secret in two', () =>
    inDirectory(async (root) => {
      const canaries = new Canaries()
      const found: number[] = []
      const onRedaction = ({ kind, findings }: { kind: string; findings: { count: number }[] }): void => {
        assert.equal(kind, 'memorySummary')
        found.push(findings.reduce((sum, { count }) => sum + count, 0))
      }
      const memory = await memoryIn(root, { redaction: { onRedaction }, maxSummaryBytes: Number.POSITIVE_INFINITY })
      // A secret that begins just before each length at which something is cut.
      for (const [length, value] of [
        [1990, (text: string) => [text]],
        [65_520, (text: string) => text],
        [65_520, (text: string) => ({ happened: text })],
        [65_510, (text: string) => Promise.reject(new Error(text))],
      ] as [number, (text: string) => unknown][]) {
        for (let shift = -30; shift <= 0; shift += 3) {
          const filler = '-'.repeat(length + shift)
          await memory
            .workflow('run')
            .step('step', () => value(`${filler} ${canaries.token()} ${'tail '.repeat(5000)}`))
            .catch(() => undefined)
        }
      }
      canaries.assertAbsent(everythingBelow(root), 'the memory')
      assert.equal(found.length, canaries.count)
      holds(
        found.every((count) => count === 1),
        found.join(),
      )
    }))
})
