/** `housekeep()`: what goes, what stays, and that nothing else is touched. */

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import type { HousekeepingPolicy, HousekeepingReport } from '../dist/index.js'
import { inDirectory } from './support/fixtures.ts'
import { onDisk } from './support/postgres.ts'
import { holds } from './support/processes.ts'
import { existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from './support/stored-files.ts'
import { daysAgo, entry, entryText, filesBelow, plant, storeIn } from './support/stores.ts'

const removedPaths = ({ removed }: HousekeepingReport): string[] => removed.map(({ path }) => path).sort()

/** Where an entry is that is called so. Only what is named like an entry goes. */
const named = (place: string): string => place.replace(/([^/]+)$/, '20250101T000000-$1.md')

/** Plants an entry that was written so many days ago. */
function old(store: string, place: string, days: number, links: readonly string[] = []): string {
  const agent = place.slice(0, place.indexOf('/'))
  return plant(store, named(place), entryText({ agent, timestamp: daysAgo(days), links }))
}

describe('housekeep()', () => {
  it('removes and reports entries of all agents that are older than 30 days', () =>
    inDirectory(async (path) => {
      const gone = [old(path, 'a/x', 31), old(path, 'a/s1/y', 400), old(path, 'b/z', 31)]
      const stays = [old(path, 'a/young', 29), old(path, 'b/s1/young', 1)]
      const bytes = new Map(gone.map((one) => [one, statSync(join(path, one)).size]))
      const store = storeIn(path)
      const { path: fresh } = await store.write(entry())
      const report = await store.housekeep()
      assert.deepEqual(removedPaths(report), gone.sort())
      for (const { path: one, agent, timestamp, bytes: size } of report.removed) {
        assert.equal(agent, one.split('/')[0])
        assert.equal(size, bytes.get(one))
        holds(Date.parse(timestamp) < Date.now() - 30 * 86_400_000, timestamp)
      }
      assert.equal(
        report.removedBytes,
        [...bytes.values()].reduce((total, size) => total + size, 0),
      )
      assert.deepEqual([report.keptLinked, report.keptChanged, report.dryRun, report.problems], [[], [], false, []])
      assert.deepEqual(filesBelow(path), [...stays, fresh].sort())
      assert.deepEqual((await store.list()).map((one) => one.path).sort(), [...stays, fresh].sort())
      assert.deepEqual((await store.housekeep()).removed, [])
    }))

  it('removes nothing in a dry run', () =>
    inDirectory(async (path) => {
      const gone = [old(path, 'a/x', 31), old(path, 'b/y', 31)]
      const before = filesBelow(path)
      const store = storeIn(path)
      const told: unknown[] = []
      const dry = await store.housekeep({ dryRun: true, onProgress: (progress) => told.push(progress) })
      assert.deepEqual([removedPaths(dry), dry.dryRun, told], [gone, true, []])
      holds(dry.removedBytes > 100, 'the bytes are told')
      assert.deepEqual(filesBelow(path), before)
      const { dryRun: _dryRun, ...planned } = dry
      const { dryRun, ...done } = await store.housekeep({ dryRun: false })
      assert.deepEqual([done, dryRun], [planned, false], 'what was told is done')
      assert.deepEqual(filesBelow(path), [])
    }))

  it('keeps to the ages that agents have', () =>
    inDirectory(async (path) => {
      const plantAll = (): void => {
        for (const agent of ['a', 'b', 'c', '__proto__']) {
          old(path, `${agent}/old`, 20)
          old(path, `${agent}/older`, 200)
        }
      }
      const cases: [policy: HousekeepingPolicy, gone: string[]][] = [
        [{}, ['__proto__/older', 'a/older', 'b/older', 'c/older']],
        [
          { olderThan: '10d' },
          ['__proto__/old', 'a/old', 'b/old', 'c/old', '__proto__/older', 'a/older', 'b/older', 'c/older'],
        ],
        [{ olderThan: '9000d' }, []],
        [{ olderThan: '1000000000000000w' }, []],
        [{ retention: { a: '10d', b: '300d' } }, ['a/old', 'a/older', '__proto__/older', 'c/older']],
        [
          { retention: { a: { contextRetention: '240h' }, b: { contextRetention: '300d' }, c: {} } },
          ['a/old', 'a/older', '__proto__/older', 'c/older'],
        ],
        [
          { retention: Object.fromEntries([['__proto__', '10d']]), agents: ['__proto__'] },
          ['__proto__/old', '__proto__/older'],
        ],
        [{ agents: ['a', 'c', 'nobody'] }, ['a/older', 'c/older']],
        [{ agents: [] }, []],
        [{ olderThan: '10d', agents: ['b'] }, ['b/old', 'b/older']],
        [{ olderThan: '10d', retention: { a: '9000d' }, agents: ['a'] }, []],
      ]
      const store = storeIn(path)
      for (const [policy, gone] of cases) {
        plantAll()
        assert.deepEqual(removedPaths(await store.housekeep(policy)), gone.map(named).sort(), JSON.stringify(policy))
      }
    }))

  it('keeps and reports entries that a kept entry links to; includeLinked removes them', () =>
    inDirectory(async (path) => {
      const linked = old(path, 'a/linked', 50)
      const chained = old(path, 'a/chained', 60)
      old(path, 'a/linked', 50, [chained])
      const young = old(path, 'b/young', 1, [linked])
      const pair = [old(path, 'c/one', 50, [named('c/two')]), old(path, 'c/two', 50, [named('c/one')])]
      const store = storeIn(path)
      const report = await store.housekeep()
      assert.deepEqual(removedPaths(report), pair, 'links among what goes keep nothing')
      assert.deepEqual(report.keptLinked.sort(), [chained, linked].sort())
      assert.deepEqual(filesBelow(path), [chained, linked, young].sort())
      const rest = await store.housekeep({ includeLinked: true })
      assert.deepEqual([removedPaths(rest), rest.keptLinked], [[chained, linked].sort(), []])
      assert.deepEqual(await store.verify(), {
        entries: 1,
        problems: [],
        danglingLinks: [{ path: young, link: linked }],
      })
    }))

  it('touches nothing that is no whole entry', () =>
    inDirectory(async (path) => {
      const text = entryText({ timestamp: daysAgo(400) })
      const foreign = [
        plant(path, '20250101T000000-notes.md', text),
        plant(path, 'a/notes.txt', text),
        plant(path, named('a/plain'), 'no front matter, and old\n'),
        plant(path, named('a/cut'), text.slice(0, text.indexOf('type:'))),
        plant(path, 'a/.20250101T000000-x.md', text),
        plant(path, 'a/unnamed.md', text),
        plant(path, '.git/20250101T000000-x.md', text),
        plant(path, 'a/s1/deeper/20250101T000000-x.md', text),
        plant(path, 'a/20250101T000000-x.md.bak', text),
      ]
      const report = await storeIn(path).housekeep({ olderThan: '1ms', includeLinked: true })
      assert.deepEqual(removedPaths(report), [])
      assert.deepEqual(filesBelow(path), foreign.sort())
    }))

  it('reports its progress, in batches', () =>
    inDirectory(async (path) => {
      for (let number = 0; number < 600; number++) {
        old(path, `a/n${number}`, 31)
      }
      const told: { done: number; total: number }[] = []
      const store = storeIn(path)
      const report = await store.housekeep({
        onProgress: (progress) => {
          told.push(progress)
          throw new Error('whoever watches fails')
        },
      })
      assert.equal(report.removed.length, 600)
      holds(told.length >= 3, `told ${told.length} times`)
      assert.deepEqual(told.at(-1), { done: 600, total: 600 })
      holds(
        told.every(({ done, total }, index) => total === 600 && done > (told[index - 1]?.done ?? 0)),
        JSON.stringify(told),
      )
      await store.close()
    }))

  it('stops when its signal does, and what went until then is gone', () =>
    inDirectory(async (path) => {
      for (let number = 0; number < 600; number++) {
        old(path, `a/n${number}`, 31)
      }
      const controller = new AbortController()
      const reason = new Error('enough')
      const store = storeIn(path)
      const housekeeping = store.housekeep({
        signal: controller.signal,
        onProgress: () => controller.abort(reason),
      })
      await assert.rejects(housekeeping, (error) => error === reason)
      const left = (await store.list()).length
      holds(left > 0 && left < 600, `${left} are left`)
      assert.equal(filesBelow(path).length, left)
      assert.equal((await store.housekeep()).removed.length, left, 'the next one goes on')
      await store.close()
    }))

  it('counts from the last change on', () =>
    inDirectory(async (path) => {
      const changed = old(path, 'a/changed', 50)
      const gone = old(path, 'a/gone', 50)
      const store = storeIn(path)
      await store.update(changed, {}, 'still holds')
      assert.deepEqual(removedPaths(await store.housekeep()), [gone])
      assert.deepEqual(filesBelow(path), [changed])
    }))

  it('keeps what others change meanwhile', () =>
    inDirectory(async (path) => {
      const numbers = Array.from({ length: 300 }, (_, number) => String(number).padStart(3, '0'))
      const paths = numbers.map((number) => old(path, `a/n${number}`, 31))
      let left: string[] = []
      const store = storeIn(path)
      const report = await store.housekeep({
        onProgress: ({ done, total }) => {
          if (done < total) {
            left = paths.filter((one) => existsSync(join(path, one)))
            for (const one of left.slice(1)) {
              plant(path, one, entryText({ agent: 'a', timestamp: daysAgo(0) }))
            }
            rmSync(join(path, left[0] ?? ''))
          }
        },
      })
      holds(left.length > 1, 'a second batch')
      assert.deepEqual(report.keptChanged.sort(), left)
      assert.equal(report.removed.length, 300 - left.length)
      assert.deepEqual(filesBelow(path), left.slice(1))
      await store.close()
    }))

  it('does not change directories of others', onDisk('directories'), () =>
    inDirectory(async (path) => {
      old(path, 'a/x', 31)
      mkdirSync(join(path, 'empty', 'session'), { recursive: true })
      writeFileSync(join(path, 'README'), 'what this is')
      await storeIn(path).housekeep()
      holds(existsSync(join(path, 'empty', 'session')), 'an empty directory of somebody')
      holds(readdirSync(path).includes('README'), 'a file of somebody')
    }),
  )
})
