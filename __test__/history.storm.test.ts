import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { ContextHistory } from '../dist/index.js'
import { type Child, holds, inDirectory, linesOf, namesIn, PATIENT, run, start } from './support/processes.ts'

const READERS = 2
const READ = 50
const IN_FLIGHT = 64
/** The newest entries that compactions leave. */
const KEPT = 100
const COMPACTIONS = 25
const COMPACTED_WRITERS = 4
/** In ms, after every append: writers without any write faster than one process can sum up. */
const BREATH = 40
/** More entries than any writer writes before the storm ends. */
const ENDLESS = 1_000_000_000

interface Storm {
  writers: number
  /** Of each writer. */
  records: number
  bytes: number
  title: string
}

const STORMS: readonly Storm[] = [
  { writers: 8, records: 5000, bytes: 300, title: '300 bytes' },
  { writers: 8, records: 500, bytes: 64 * 1024, title: '64 KB' },
  { writers: 4, records: 50, bytes: 2 * 1024 * 1024, title: '2 MB' },
]

interface Written {
  count: number
  /** In ms, of a single append. */
  longestWait: number
}

interface Census {
  counts: Record<string, number>
  /** Records of each writer when the first had written all of its own. */
  progress: Record<string, number>
  summaries: number
}

const nameOf = (_: unknown, number: number): string => `w${number}`

async function whenReady(children: readonly Child[]): Promise<void> {
  for (const child of children) {
    assert.equal(await child.line(), 'ready')
  }
}

/** What a child printed last, once it has ended well. */
async function lastLine<T>(child: Child): Promise<T> {
  const ended = await child.ended
  assert.deepEqual({ code: ended.code, stderr: ended.stderr }, { code: 0, stderr: '' })
  return JSON.parse(linesOf(ended).at(-1) ?? '') as T
}

function end(children: readonly Child[]): void {
  for (const child of children) {
    child.process.stdin?.end()
  }
}

/** Stops all processes at the end, whatever the test's body does. */
async function beside(children: readonly Child[], body: () => Promise<void>): Promise<void> {
  try {
    await body()
  } finally {
    end(children)
  }
}

async function checkReaders(readers: readonly Child[], expected: number): Promise<void> {
  for (const reader of readers) {
    const { rounds, seen } = await lastLine<{ rounds: number; seen: number }>(reader)
    assert.equal(seen, expected)
    holds(rounds > 1, 'a reader read once only')
  }
}

async function takeCensus(path: string, removed: Record<string, number> = {}): Promise<Census> {
  return JSON.parse((await run('history-census.mjs', [path, JSON.stringify(removed)])).at(-1) ?? '') as Census
}

/** Jain's index: 1 when all are equal, 1/n when one has everything. */
function fairnessOf(progress: readonly number[]): number {
  const sum = progress.reduce((total, one) => total + one, 0)
  return sum ** 2 / (progress.length * progress.reduce((total, one) => total + one ** 2, 0))
}

/** Nothing is wrong with the log, and nothing else is left beside it than what belongs there. */
async function checkLog(directory: string, path: string, entries: number): Promise<void> {
  const { badLines, problems, hasTornTail, ...report } = await new ContextHistory({ path }).verify()
  assert.deepEqual({ badLines, problems, hasTornTail }, { badLines: 0, problems: [], hasTornTail: false })
  assert.equal(report.entries, entries)
  assert.deepEqual(
    namesIn(directory).filter((name) => name.endsWith('.tmp')),
    [],
  )
}

describe('a storm on one history', () => {
  for (const { writers, records, bytes, title } of STORMS) {
    test(
      `of ${writers} processes with ${records} entries of ${title} each, ${READERS} more read meanwhile: every entry is there once, whole, in its writer's order`,
      PATIENT,
      inDirectory(async (directory) => {
        const path = join(directory, 'context.jsonl')
        const readers = Array.from({ length: READERS }, () => start('history-tail.mjs', [path, READ]))
        const names = Array.from({ length: writers }, nameOf)
        const storm = names.map((name) => start('history-writer.mjs', [path, name, records, bytes, IN_FLIGHT, 0]))
        const written: Written[] = []
        await beside([...readers, ...storm], async () => {
          await whenReady([...readers, ...storm])
          for (const writer of storm) {
            writer.send('go')
          }
          written.push(...(await Promise.all(storm.map((writer) => lastLine<Written>(writer)))))
        })
        await checkReaders(readers, READ)

        const { counts, progress } = await takeCensus(path)
        assert.deepEqual(counts, Object.fromEntries(names.map((name) => [name, records])))
        await checkLog(directory, path, writers * records)
        const fairness = fairnessOf(names.map((name) => progress[name] ?? 0)).toFixed(3)
        const longestWait = Math.max(...written.map((one) => one.longestWait)).toFixed(0)
        console.log(
          `${writers} writers of ${title}: Jain's index ${fairness} when the first was done, longest wait ${longestWait} ms`,
        )
      }),
    )
  }

  test(
    `of ${COMPACTED_WRITERS} processes while another compacts every 50 ms: an entry is in the log or was summed up, and the newest ${KEPT} can be read`,
    PATIENT,
    inDirectory(async (directory) => {
      const path = join(directory, 'context.jsonl')
      const names = Array.from({ length: COMPACTED_WRITERS }, nameOf)
      const storm = names.map((name) => start('history-writer.mjs', [path, name, ENDLESS, 300, IN_FLIGHT, BREATH]))
      const reader = start('history-tail.mjs', [path, KEPT])
      const compactor = start('history-compactor.mjs', [path, KEPT])
      const written: Written[] = []
      let dropped: Record<string, number> = {}
      await beside([...storm, reader, compactor], async () => {
        await whenReady([...storm, reader, compactor])
        for (const writer of storm) {
          writer.send('go')
        }
        let droppingCompactions = 0
        while (droppingCompactions < COMPACTIONS) {
          const { droppedEntries } = JSON.parse(await compactor.line()) as { droppedEntries: number }
          droppingCompactions += Number(droppedEntries > 0)
        }
        end([...storm, compactor])
        written.push(...(await Promise.all(storm.map((writer) => lastLine<Written>(writer)))))
        dropped = await lastLine<Record<string, number>>(compactor)
      })
      await checkReaders([reader], KEPT)

      // What was not removed, as the compactor saw it, is there: nothing is missing between the two.
      const { counts, summaries } = await takeCensus(path, dropped)
      assert.deepEqual(counts, Object.fromEntries(names.map((name, index) => [name, written[index]?.count])))
      assert.equal(summaries, 1)
      const left = names.reduce((total, name) => total + (counts[name] ?? 0) - (dropped[name] ?? 0), 0)
      holds(left >= KEPT, `${left} entries are left`)
      await checkLog(directory, path, left + summaries)
    }),
  )
})
