/** Summaries of steps: what is kept of them, in which order, and how many. */

import assert from 'node:assert/strict'
import process from 'node:process'
import { describe, it } from 'node:test'
import { debugLog, inDirectory, only, rejectsWith } from './support/fixtures.ts'
import { linesOf, memoryIn, plantSummaries, summariesFile, textOf } from './support/memories.ts'
import { isLocal } from './support/postgres.ts'
import { holds } from './support/processes.ts'
import { Canaries } from './support/secrets.ts'
import { appendFileSync, statSync } from './support/stored-files.ts'

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
const KIB64 = 65_536

/** A line as another program might write it. */
const line = (number: number, more: object = {}): string =>
  JSON.stringify({
    runId: 'r',
    stepId: `s${number}`,
    timestamp: '2026-01-01T00:00:00Z',
    summary: `t${number}`,
    ...more,
  })

const steps = (summaries: readonly { stepId: string }[]): string[] => summaries.map(({ stepId }) => stepId)

describe('summaries', () => {
  it('are kept as lines of JSON, oldest first', () =>
    inDirectory(async (root) => {
      const memory = await memoryIn(root)
      const first = await memory.appendSummary('run-1', 'plan', 'Split it.\n"quoted" é 🦀 \u2028', ['a', ' b ', 'a'])
      const second = await memory.appendSummary('run-1', 'build', 'Built it.')
      const { timestamp, ...rest } = first
      assert.match(timestamp, TIME)
      assert.deepEqual(rest, {
        runId: 'run-1',
        stepId: 'plan',
        summary: 'Split it.\n"quoted" é 🦀 \u2028',
        tags: ['a', 'b'],
      })
      assert.equal('tags' in second, false)
      assert.deepEqual((await memory.getRepoMemory()).summaries, [first, second])
      assert.deepEqual(
        linesOf(memory).map((text) => JSON.parse(text) as unknown),
        [first, second],
      )
      assert.deepEqual(Object.keys(JSON.parse(linesOf(memory)[0] ?? '') as object), [
        'runId',
        'stepId',
        'timestamp',
        'summary',
        'tags',
      ])
      if (process.platform !== 'win32' && isLocal) {
        assert.equal(statSync(summariesFile(memory)).mode & 0o777, 0o600)
      }
    }))

  it('have texts of 1 byte to 64 KiB of UTF-8', () =>
    inDirectory(async (root) => {
      const memory = await memoryIn(root, { maxSummaryBytes: Number.POSITIVE_INFINITY })
      const longest = [
        'x'.repeat(KIB64),
        'é'.repeat(KIB64 / 2),
        '🦀'.repeat(KIB64 / 4),
        `€${'\u0001'.repeat(KIB64 - 3)}`,
      ]
      for (const text of ['x', ...longest]) {
        assert.equal((await memory.appendSummary('r', 's', text)).summary, text)
      }
      await rejectsWith(
        () => memory.appendSummary('r', 's', ''),
        'ERR_CONTEXT_INVALID_ARGUMENT',
        /^summaryText must not/,
      )
      for (const text of longest.map((text) => `${text}x`)) {
        const { message } = await rejectsWith(() => memory.appendSummary('r', 's', text), 'ERR_CONTEXT_TOO_LARGE')
        assert.match(message, /^summaryText takes .*65536.*; keep what matters/)
      }
      assert.deepEqual(
        (await memory.getRepoMemory()).summaries.map(({ summary }) => summary),
        ['x', ...longest],
      )
      assert.equal((await memory.appendSummary('r', 's', '\ud800')).summary, '\ufffd')
    }))

  it('are bounded by their number: the oldest go', () =>
    inDirectory(async (root) => {
      const memory = await memoryIn(root, { maxSummaries: 3 })
      for (let number = 0; number < 5; number++) {
        await memory.appendSummary('r', `s${number}`, 't')
      }
      assert.deepEqual(steps((await memory.getRepoMemory()).summaries), ['s2', 's3', 's4'])
      assert.equal(linesOf(memory).length, 3)
      // An object with a smaller limit sees fewer summaries immediately.
      const strict = await memoryIn(root, { maxSummaries: 1 })
      assert.deepEqual(steps((await strict.getRepoMemory()).summaries), ['s4'])
      assert.equal(linesOf(memory).length, 3, 'reading removes nothing')
    }))

  it('are 100 by default', () =>
    inDirectory(async (root) => {
      const memory = await memoryIn(root)
      await Promise.all(Array.from({ length: 130 }, (_, number) => memory.appendSummary('r', `s${number}`, 't')))
      assert.equal((await memory.getRepoMemory()).summaries.length, 100)
      await memory.appendSummary('r', 'last', 't')
      assert.equal(linesOf(memory).length, 100)
      assert.equal((await memory.getRepoMemory()).summaries.at(-1)?.stepId, 'last')
    }))

  it('are bounded by their bytes: the latest stays whatever it takes', () =>
    inDirectory(async (root) => {
      const memory = await memoryIn(root, { maxSummaryBytes: 1000 })
      for (let number = 0; number < 5; number++) {
        await memory.appendSummary('r', `s${number}`, 'x'.repeat(300))
      }
      const { summaries } = await memory.getRepoMemory()
      assert.deepEqual(steps(summaries), ['s3', 's4'])
      holds(statSync(summariesFile(memory)).size <= 1000, `${statSync(summariesFile(memory)).size} bytes`)
      await memory.appendSummary('r', 'large', 'x'.repeat(50_000))
      assert.deepEqual(steps((await memory.getRepoMemory()).summaries), ['large'])
      assert.equal(linesOf(memory).length, 1)
    }))

  it('that are appended at the same time are all kept', () =>
    inDirectory(async (root) => {
      const memory = await memoryIn(root)
      const names = Array.from({ length: 60 }, (_, number) => `s${number}`)
      await memory.appendSummary('r', 'first', 't') // creates the directory
      await Promise.all(names.map((name) => memory.appendSummary('r', name, 't')))
      const seen = steps((await memory.getRepoMemory()).summaries).slice(1)
      assert.deepEqual([...seen].sort(), [...names].sort())
    }))

  it('are added once for each operation, as long as the first one is kept', () =>
    inDirectory(async (root) => {
      const memory = await memoryIn(root, { maxSummaries: 3 })
      const operation = { operationId: 'o' }
      const calls = ['first', 'again'].map((text) => memory.appendSummary('r', 's', text, ['tag'], operation))
      const [first, again] = await Promise.all(calls)
      assert.deepEqual(again, first)
      assert.deepEqual([first?.summary, first?.operationId], ['first', 'o'])
      const other = await memoryIn(root, { maxSummaries: 3 })
      assert.deepEqual(await other.appendSummary('other', 's', 'again', null, operation), first)
      await memory.appendSummary('r', 's2', 't')
      assert.deepEqual(steps((await memory.getRepoMemory()).summaries), ['s', 's2'])
      // Without its summary an operation is a new one.
      await memory.appendSummary('r', 's3', 't')
      await memory.appendSummary('r', 's4', 't')
      const later = await memory.appendSummary('r', 's5', 'later', null, operation)
      assert.equal(later.summary, 'later')
      for (const operationId of ['', ' ', 'a\nb', 'o'.repeat(301), 5 as unknown as string]) {
        await rejectsWith(
          () => memory.appendSummary('r', 's', 't', null, { operationId }),
          'ERR_CONTEXT_INVALID_ARGUMENT',
          /^options\.operationId/,
        )
      }
      const secret = new Canaries().token()
      await rejectsWith(
        () => memory.appendSummary('r', 's', 't', null, { operationId: secret }),
        'ERR_CONTEXT_INVALID_ARGUMENT',
        /operationId/,
      )
    }))

  it('survive a last line that is torn, which is not read', () =>
    inDirectory(async (root) => {
      plantSummaries(root, `${line(0)}\n${line(1).slice(0, 40)}`)
      const memory = await memoryIn(root)
      assert.deepEqual(steps((await memory.getRepoMemory()).summaries), ['s0'])
      await memory.appendSummary('r', 's2', 't')
      assert.deepEqual(steps((await memory.getRepoMemory()).summaries), ['s0', 's2'])
      appendFileSync(summariesFile(memory), line(3))
      assert.deepEqual(steps((await memory.getRepoMemory()).summaries), ['s0', 's2', 's3'], 'whole, without its end')
    }))

  it('skip lines that hold none, keep them, and tell', () =>
    inDirectory(async (root) => {
      const foreign = [
        'a comment',
        '{"runId":"r"}',
        '[1,2]',
        '["r","s","2026","t"]',
        '{"runId":5,"stepId":"s","summary":"t"}',
        `{"runId":"r","stepId":"s","summary":"${'x'.repeat(1_100_000)}"}`,
      ]
      plantSummaries(root, `\n${foreign.join('\n')}\n\n${line(1, { more: { kept: true } })}\r\n  ${line(2)}\n`)
      const log = debugLog()
      const memory = await memoryIn(root, { onDebug: log })
      assert.deepEqual(steps((await memory.getRepoMemory()).summaries), ['s1', 's2'])
      const told = only(log.entries.filter(({ message }) => message.includes('hold no summary')))
      assert.deepEqual(told.data, { path: summariesFile(memory), lines: foreign.length })
      await memory.appendSummary('r', 's3', 't')
      const text = textOf(summariesFile(memory))
      for (const kept of [...foreign, '"more":{"kept":true}']) {
        holds(text.includes(kept), kept.slice(0, 50))
      }
    }))

  it('go into the pack of the next step, the latest of them', () =>
    inDirectory(async (root) => {
      const memory = await memoryIn(root)
      for (let number = 0; number < 12; number++) {
        await memory.appendSummary('r', `s${number}`, `result ${number}.`)
      }
      const shown = async (latestSummaries?: number): Promise<string[]> => {
        const options = latestSummaries === undefined ? {} : { latestSummaries }
        const text = await memory.buildContextFromMemory(10_000, options)
        return [...text.matchAll(/\*\*r \/ (s\d+)\*\*/g)].map(([, name = '']) => name)
      }
      assert.deepEqual(await shown(), ['s11', 's10', 's9', 's8', 's7', 's6', 's5', 's4', 's3', 's2'])
      assert.deepEqual(await shown(2), ['s11', 's10'])
      assert.deepEqual(await shown(0), [])
    }))
})
