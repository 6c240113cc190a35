/** Processes that share a repository's memory. At `durability: 'process'`: what a power cut leaves is tested in Rust. */

import assert from 'node:assert/strict'
import { join } from 'node:path'
import process from 'node:process'
import { describe, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { RepoMemory } from '../dist/index.js'
import { HASH, linesOf, memoryFile, memoryIn, summariesFile, textOf } from './support/memories.ts'
import { inTestPlace, isOnDisk } from './support/postgres.ts'
import { holds, inDirectory, namesIn, PATIENT, start } from './support/processes.ts'
import { writeFileSync } from './support/stored-files.ts'

const WRITERS = 8
const RECORDS = 500
const APPENDERS = 4
const SUMMARIES = 250
/** Changes that wait for the same turn are written together. */
const AT_ONCE = 50
const UNBOUNDED = { maxSummaries: Number.POSITIVE_INFINITY, maxSummaryBytes: Number.POSITIVE_INFINITY }

/** Starts writers, lets them go at the same time, and calls `watch` until all are through. */
async function storm(
  root: string,
  writers: number,
  count: number,
  what: 'notes' | 'summaries' | 'operations',
  watch: () => Promise<void>,
): Promise<number> {
  const children = Array.from({ length: writers }, (_, number) =>
    start('memory-writer.mjs', [root, HASH, `writer-${number}`, count, AT_ONCE, what]),
  )
  for (const child of children) {
    assert.equal(await child.line(), 'ready')
  }
  for (const child of children) {
    child.send('go')
  }
  let isOver = false
  const over = Promise.all(children.map(({ ended }) => ended)).finally(() => {
    isOver = true
  })
  let watched = 0
  while (!isOver) {
    await watch()
    watched++
    await setTimeout(5)
  }
  for (const { code, stderr } of await over) {
    assert.deepEqual({ code, stderr }, { code: 0, stderr: '' })
  }
  return watched
}

/** What every writer wrote, as texts. */
const expected = (writers: number, count: number): string[] =>
  Array.from(
    { length: writers * count },
    (_, number) => `writer-${Math.floor(number / count)} ${number % count}`,
  ).sort()

describe('processes that share a memory', () => {
  test(
    `${WRITERS} × ${RECORDS} records: none is lost, and whoever reads sees a whole memory`,
    PATIENT,
    inDirectory(async (root) => {
      const memory = await memoryIn(root)
      let seen = 0
      const reads = await storm(root, WRITERS, RECORDS, 'notes', async () => {
        const { conventions, decisions, notes } = await memory.getRepoMemory()
        const count = conventions.length + decisions.length + notes.length
        holds(count >= seen, `${count} records after ${seen}`)
        seen = count
      })
      const { conventions, decisions, notes } = await memory.getRepoMemory()
      const texts = [
        ...conventions.filter(({ title }) => title !== 'Shared').map(({ content }) => content),
        ...decisions.map(({ summary }) => summary),
        ...notes.map(({ content }) => content),
      ]
      assert.deepEqual(texts.sort(), expected(WRITERS, RECORDS))
      assert.equal(conventions.filter(({ title }) => title === 'Shared').length, 1)
      const ids = [...conventions, ...decisions, ...notes].map(({ id }) => id)
      assert.equal(new Set(ids).size, WRITERS * RECORDS + 1)
      assert.deepEqual(namesIn(memory.directory), ['memory.json', 'memory.json.lock'])
      assert.equal((JSON.parse(textOf(memoryFile(memory))) as { version: number }).version, 1)
      holds(reads > 5, `${reads} reads`)
    }),
  )

  test(
    `${APPENDERS} × ${SUMMARIES} summaries: none is lost, torn or out of its writer's order`,
    PATIENT,
    inDirectory(async (root) => {
      const memory = await memoryIn(root, UNBOUNDED)
      await storm(root, APPENDERS, SUMMARIES, 'summaries', async () => {
        await memory.getRepoMemory()
      })
      const { summaries } = await memory.getRepoMemory()
      assert.deepEqual(summaries.map(({ summary }) => summary).sort(), expected(APPENDERS, SUMMARIES))
      assert.equal(linesOf(memory).length, APPENDERS * SUMMARIES)
      for (const line of linesOf(memory)) {
        JSON.parse(line)
      }
    }),
  )

  test(
    'writers that prune leave the latest, within the bounds',
    PATIENT,
    inDirectory(async (root) => {
      const memory = await memoryIn(root, { maxSummaries: 5 })
      await storm(root, 2, 100, 'summaries', async () => {
        await memory.appendSummary('watcher', 'step', 'watched')
        const { summaries } = await memory.getRepoMemory()
        holds(summaries.length <= 5, `${summaries.length} summaries`)
      })
      await memory.appendSummary('watcher', 'last', 'it is over')
      assert.equal(linesOf(memory).length, 5)
      const { summaries } = await memory.getRepoMemory()
      assert.equal(summaries.at(-1)?.stepId, 'last')
      // A time is taken before the turn to write: only those of one writer are in order.
      for (const writer of new Set(summaries.map(({ runId }) => runId))) {
        const times = summaries.filter(({ runId }) => runId === writer).map(({ timestamp }) => timestamp)
        assert.deepEqual(times, [...times].sort(), `the summaries of ${writer} are out of order`)
      }
    }),
  )

  test(
    'a writer that is killed leaves a whole memory, and the next one goes on',
    PATIENT,
    inDirectory(async (root) => {
      for (let round = 0; round < (isOnDisk ? 3 : 1); round++) {
        const child = start('memory-writer.mjs', [root, HASH, `killed-${round}`, 1_000_000, AT_ONCE, 'notes'])
        assert.equal(await child.line(), 'ready')
        child.send('go')
        const memory = await memoryIn(root)
        while (!(await memory.getRepoMemory()).notes.some(({ content }) => content.startsWith(`killed-${round} `))) {
          await setTimeout(10)
        }
        await setTimeout(100)
        child.process.kill('SIGKILL')
        await child.ended
        // A database carries out the statement that it has got.
        await setTimeout(isOnDisk ? 0 : 1000)
        const before = (await memory.getRepoMemory()).notes.length
        await memory.upsertNote({ content: 'after the crash' })
        assert.equal((await memory.getRepoMemory()).notes.length, before + 1)
        holds(before > round, `${before} notes`)
      }
    }),
  )

  test(
    'a lock that is held too long is told, and changes nothing',
    { ...PATIENT, skip: process.platform === 'win32' ? 'nothing can be stopped there' : false },
    inDirectory(async (root) => {
      const child = start('memory-writer.mjs', [root, HASH, 'stopped', 1_000_000, AT_ONCE, 'notes'])
      assert.equal(await child.line(), 'ready')
      child.send('go')
      // The child's own method knows no signals but those that end it, on Deno.
      const signal = (name: NodeJS.Signals): boolean => process.kill(child.process.pid as number, name)
      const memory = await RepoMemory.open({
        repoHash: HASH,
        root,
        durability: 'process',
        lockTimeout: 50,
        ...inTestPlace({}),
      })
      let refused: { code?: string; message: string } | undefined
      let attempt = 0
      for (; attempt < 200 && refused === undefined; attempt++) {
        await setTimeout(7)
        // Stopped at any point: at times that is while it holds the lock.
        signal('SIGSTOP')
        await memory
          .upsertNote({ content: `attempt ${attempt}` })
          .catch((error: { code?: string; message: string }) => {
            refused = error
          })
        signal('SIGCONT')
      }
      signal('SIGKILL')
      await child.ended
      assert.equal(refused?.code, 'ERR_CONTEXT_LOCK_TIMEOUT', refused?.message ?? 'no attempt met the lock')
      holds(/50 ms.*lockTimeout/.test(refused?.message ?? ''), refused?.message)
      const { notes } = await memory.getRepoMemory()
      assert.deepEqual(
        notes.map(({ content }) => content).filter((content) => content.startsWith('attempt')),
        Array.from({ length: attempt - 1 }, (_, number) => `attempt ${number}`),
      )
    }),
  )

  test(
    'a foreign program that replaces the file is not undone by what comes next',
    inDirectory(async (root) => {
      const memory = await memoryIn(root)
      await memory.upsertNote({ content: 'one' })
      writeFileSync(memoryFile(memory), '{"notes":[]}')
      await memory.upsertNote({ content: 'two' })
      assert.deepEqual(
        (await memory.getRepoMemory()).notes.map(({ content }) => content),
        ['two'],
      )
      writeFileSync(summariesFile(memory), '')
      await memory.appendSummary('r', 's', 't')
      assert.deepEqual(namesIn(join(root, 'repos')), [HASH])
    }),
  )

  test(
    'append a summary once for each operation that they share',
    PATIENT,
    inDirectory(async (root) => {
      await storm(root, APPENDERS, 50, 'operations', async () => {})
      const memory = await memoryIn(root, UNBOUNDED)
      const ids = (await memory.getRepoMemory()).summaries.map(({ operationId }) => operationId)
      assert.deepEqual(ids.sort(), Array.from({ length: 50 }, (_, number) => `operation-${number}`).sort())
    }),
  )
})
