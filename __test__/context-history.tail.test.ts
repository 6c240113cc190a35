import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { describe, test } from 'node:test'
import type { ContextEntry } from '../dist/index.js'
import { environmentIn, PROGRAM, placesIn } from './support/command-line.ts'
import { MemoryFileSystem } from './support/fixtures.ts'
import { ContextHistory, onFiles } from './support/histories.ts'
import { holds, inDirectory, PATIENT } from './support/processes.ts'

const ENTRIES = 10_000

/** Takes so many entries of a tail. */
async function take(entries: AsyncGenerator<ContextEntry>, count: number): Promise<unknown[]> {
  const taken: unknown[] = []
  while (taken.length < count) {
    const { value } = await entries.next()
    taken.push((value as ContextEntry).params)
  }
  return taken
}

const append = async (history: ContextHistory, ...numbers: number[]): Promise<string[]> => {
  const entries = await Promise.all(numbers.map((number) => history.append({ toolName: 'tool', params: number })))
  return entries.map(({ id }) => id)
}

describe('tail', () => {
  test(
    'gives what is appended, from a place on',
    PATIENT,
    inDirectory(async (directory) => {
      const history = new ContextHistory({ path: join(directory, 'new', 'history.jsonl') })
      const early = history.tail({ last: 10 })
      const first = take(early, 2)
      const ids = await append(history, 1, 2, 3)
      assert.deepEqual(await first, [1, 2])
      // It begins at the end, wherever that is when it looks for the first time.
      let latest: number | undefined
      const late = take(history.tail(), 1).then(([number]) => {
        latest = Number(number)
      })
      let appended = 3
      while (latest === undefined) {
        await append(history, ++appended)
      }
      await late
      holds(latest > 3, `it gave ${latest}`)
      await append(history, appended + 1, appended + 2)
      assert.deepEqual(await take(early, 3), [3, 4, 5])
      assert.deepEqual(await take(history.tail({ last: 2 }), 2), [appended + 1, appended + 2])
      assert.deepEqual(await take(history.tail({ last: appended + 9 }), 4), [1, 2, 3, 4])
      assert.deepEqual(await take(history.tail({ after: ids[1] }), 2), [3, 4])
      await assert.rejects(history.tail({ after: 'absent' }).next(), { code: 'ERR_CONTEXT_NOT_FOUND' })
      await assert.rejects(history.tail({ after: 'x', last: 1 }).next(), { code: 'ERR_CONTEXT_INVALID_ARGUMENT' })
    }),
  )

  test(
    'goes on behind compactions that keep all, some and none, and behind a new file',
    { ...PATIENT, ...onFiles },
    inDirectory(async (directory) => {
      const path = join(directory, 'history.jsonl')
      const history = new ContextHistory({ path })
      await append(history, 1, 2, 3)
      const tail = history.tail({ last: 1 })
      assert.deepEqual(await take(tail, 1), [3])
      for (const [number, keepLast] of [
        [10, 100],
        [20, 2],
        [30, 0],
      ] as const) {
        await append(history, number)
        await history.compact({ keepLast, summarise: undefined })
        await append(history, number + 1)
        assert.deepEqual(await take(tail, 2), [number, number + 1])
      }
      rmSync(path)
      await append(history, 40)
      assert.deepEqual(await take(tail, 1), [40])
      // Another program rotates the log.
      writeFileSync(path, '{"tool_name":"other","params":50}\n')
      await append(history, 51)
      assert.deepEqual(await take(tail, 2), [50, 51])
    }),
  )

  test('ends with its signal, and with the loop', PATIENT, async () => {
    const history = new ContextHistory({ path: '/data/history.jsonl', fileSystem: new MemoryFileSystem() })
    const stop = new AbortController()
    const next = history.tail({ signal: stop.signal }).next()
    stop.abort(new Error('enough'))
    await assert.rejects(next, /enough|aborted/)
    await append(history, 1, 2)
    const seen: unknown[] = []
    for await (const { params } of history.tail({ last: 5 })) {
      seen.push(params)
      if (seen.length === 2) {
        break
      }
    }
    assert.deepEqual(seen, [1, 2])
  })

  test('follows an injected file system', PATIENT, async () => {
    const history = new ContextHistory({ path: '/data/history.jsonl', fileSystem: new MemoryFileSystem() })
    await append(history, 1)
    const tail = history.tail({ last: 1 })
    assert.deepEqual(await take(tail, 1), [1])
    await append(history, 2, 3)
    assert.deepEqual(await take(tail, 2), [2, 3])
  })

  test(
    `history tail -f prints each of ${ENTRIES} entries once, in order, while the history is compacted`,
    { ...PATIENT, ...onFiles },
    inDirectory(async (directory) => {
      const history = new ContextHistory({ path: placesIn(directory).history })
      await append(history, -1)
      const follower = spawn(
        // The program runs on Node.js, whatever runs the tests.
        'node',
        [PROGRAM, 'history', 'tail', '-f', '-n', '1', '--jsonl'],
        { env: environmentIn(directory), stdio: ['ignore', 'pipe', 'pipe'] },
      )
      const ended = new Promise<number | null>((resolve) => follower.on('close', resolve))
      const numbers: number[] = []
      let moved: () => void = () => undefined
      createInterface({ input: follower.stdout }).on('line', (line) => {
        numbers.push((JSON.parse(line) as { params: number }).params)
        moved()
      })
      const seenUpTo = async (number: number): Promise<void> => {
        while ((numbers.at(-1) ?? Number.NEGATIVE_INFINITY) < number) {
          await new Promise<void>((resolve) => {
            moved = resolve
          })
        }
      }
      await seenUpTo(-1)
      let appended = 0
      const write = async (): Promise<void> => {
        while (appended < ENTRIES) {
          await Promise.all(Array.from({ length: 50 }, () => append(history, appended++)))
        }
      }
      let compactions = 0
      const compact = async (): Promise<void> => {
        while (appended < ENTRIES) {
          await history.compact({ keepLast: 20 })
          compactions++
          // An entry whose append begins now is in the new file: the follower has looked at it before the next compaction.
          await seenUpTo(Math.min(appended, ENTRIES - 1))
        }
      }
      await Promise.all([write(), compact()])
      await seenUpTo(ENTRIES - 1)
      holds(compactions > 1, `only ${compactions} compactions`)
      assert.deepEqual(
        numbers,
        Array.from({ length: ENTRIES + 1 }, (_, index) => index - 1),
      )
      follower.kill('SIGINT')
      // Deno reports the signal that was sent, whatever the process made of it.
      assert.equal(await ended, process.platform === 'win32' || 'Deno' in globalThis ? null : 130)
    }),
  )
})
