/** Memory and disk: threshold, budget, spill-over, statistics. */

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  assertNoTemporaryFile,
  debugLog,
  filesIn,
  inDirectory,
  pointerOf,
  rejectsWith,
  storedResult,
} from './support/fixtures.ts'
import { ContextManager } from './support/managers.ts'
import { isOnDisk } from './support/postgres.ts'
import { existsSync, readFileSync, rmSync } from './support/stored-files.ts'

describe("persist: 'all'", () => {
  it('writes everything and serves small outputs from memory after their files are gone', () =>
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir })
      const small = await manager.saveContext('small', {}, { a: 1 })
      const large = await manager.saveContext('large', {}, 'x'.repeat(40_000))
      assert.equal(filesIn(contextDir).length, 2)
      const { memoryContexts, diskContexts } = manager.stats()
      assert.deepEqual([memoryContexts, diskContexts], [1, 2])
      rmSync(small)
      rmSync(large)
      assert.deepEqual((await manager.loadContext(small)).result, { a: 1 })
      await rejectsWith(() => manager.loadContext(large), 'ERR_CONTEXT_NOT_FOUND')
      await manager.clear()
    }))

  it('lets the oldest leave memory when the budget is full; all stays loadable', () =>
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir, memoryBudget: 10_000 })
      const paths: string[] = []
      for (let index = 0; index < 40; index++) {
        paths.push(await manager.saveContext('tool', { index }, 'x'.repeat(1000)))
        assert.ok(manager.stats().memoryBytes <= 10_000)
      }
      assert.equal((await manager.loadContexts(paths)).length, 40)
      const { memoryContexts, diskContexts, spills } = manager.stats()
      assert.ok(memoryContexts > 0 && memoryContexts < 10, String(memoryContexts))
      assert.equal(diskContexts, 40)
      assert.equal(spills, 0, 'nothing had to be written')
      for (const path of paths) {
        rmSync(path)
      }
      const kept = await manager.loadContexts(paths)
      assert.deepEqual(
        kept.map(({ args }) => args['index']),
        Array.from({ length: memoryContexts }, (_, index) => 40 - memoryContexts + index),
        'the newest stay',
      )
    }))
})

describe("persist: 'large'", () => {
  it('keeps small outputs only in memory, under the path that their file would have', () =>
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir, persist: 'large' })
      const small = await manager.saveContext('small', { q: 1 }, { a: 1 }, 1, 'q')
      const large = await manager.saveContext('large', {}, 'x'.repeat(40_000))
      assert.equal(existsSync(small), false)
      assert.equal(existsSync(large), true)
      assert.ok(small.startsWith(`${contextDir}/`))
      const loaded = await manager.loadContexts([small, large])
      assert.deepEqual(
        loaded.map(({ toolName }) => toolName),
        ['small', 'large'],
      )
      assert.equal(pointerOf(manager, small).sizeBytes, Buffer.byteLength(JSON.stringify(loaded[0])))
      assert.deepEqual(await manager.listContexts(), manager.getAllPointers())
      assert.deepEqual(await manager.listContexts(manager.sessionId), manager.getAllPointers())
      const { contexts, memoryContexts, diskContexts } = manager.stats()
      assert.deepEqual([contexts, memoryContexts, diskContexts], [2, 1, 1])
      await manager.clear()
    }))

  it('counts bytes of JSON against the threshold: at or over it is large', () =>
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir, persist: 'large', persistThreshold: 100 })
      const isWritten = async (result: unknown): Promise<boolean> =>
        existsSync(await manager.saveContext('t', {}, result))
      assert.equal(await isWritten('x'.repeat(97)), false)
      assert.equal(await isWritten('x'.repeat(98)), true)
      assert.equal(await isWritten('é'.repeat(48)), false, '98 bytes')
      assert.equal(await isWritten('é'.repeat(49)), true, '100 bytes')
      assert.equal(await isWritten('\n'.repeat(48)), false, '98 bytes with their escapes')
      assert.equal(await isWritten('\n'.repeat(49)), true)
      assert.equal(await isWritten({ a: 'x'.repeat(92) }), true)
      assert.equal(await isWritten({ a: 'x'.repeat(91) }), false)
      await manager.clear()
    }))

  it('has 32 768 bytes as its default threshold', () =>
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir, persist: 'large' })
      assert.equal(existsSync(await manager.saveContext('t', {}, 'x'.repeat(32_765))), false)
      assert.equal(existsSync(await manager.saveContext('t', {}, 'x'.repeat(32_766))), true)
      await manager.clear()
    }))

  it('writes everything with threshold 0 and nothing with Infinity', () =>
    inDirectory(async (contextDir) => {
      const all = new ContextManager({ contextDir, persist: 'large', persistThreshold: 0 })
      assert.equal(existsSync(await all.saveContext('t', {}, 0)), true)
      const none = new ContextManager({ contextDir, persist: 'large', persistThreshold: Number.POSITIVE_INFINITY })
      assert.equal(existsSync(await none.saveContext('t', {}, 'x'.repeat(100_000))), false)
      assert.equal(none.stats().memoryContexts, 1)
      await all.clear()
      await none.clear()
    }))

  it('moves the oldest to disk when the budget is full; everything stays loadable', () =>
    inDirectory(async (contextDir) => {
      const log = debugLog()
      const manager = new ContextManager({ contextDir, persist: 'large', memoryBudget: 10_000, onDebug: log })
      const paths: string[] = []
      for (let index = 0; index < 40; index++) {
        paths.push(await manager.saveContext('tool', { index }, `${index} ${'x'.repeat(1000)}`))
        assert.ok(manager.stats().memoryBytes <= 10_000)
      }
      const { contexts, memoryContexts, diskContexts, diskBytes, spills } = manager.stats()
      assert.equal(contexts, 40)
      assert.ok(memoryContexts > 0 && memoryContexts < 10)
      assert.equal(memoryContexts + diskContexts, 40)
      assert.equal(spills, diskContexts)
      assert.deepEqual(
        paths.map((path) => existsSync(path)),
        paths.map((_, index) => index < diskContexts),
        'the oldest are on disk',
      )
      const bytes = paths.slice(0, diskContexts).reduce((sum, path) => sum + readFileSync(path).length, 0)
      assert.equal(diskBytes, bytes)
      const loaded = await manager.loadContexts(paths)
      assert.deepEqual(
        loaded.map(({ result }) => Number.parseInt(String(result), 10)),
        paths.map((_, index) => index),
      )
      for (const path of paths.slice(0, diskContexts)) {
        assert.equal(pointerOf(manager, path).sizeBytes, readFileSync(path).length)
      }
      assertNoTemporaryFile(contextDir)
      await manager.clear()
      assert.deepEqual(filesIn(contextDir), [])
    }))

  it('moves the oldest to disk when many saves run at once', () =>
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir, persist: 'large', memoryBudget: 20_000 })
      const paths = await Promise.all(
        Array.from({ length: 300 }, (_, index) => manager.saveContext('tool', { index }, 'y'.repeat(500))),
      )
      const { memoryBytes, memoryContexts, diskContexts } = manager.stats()
      assert.ok(memoryBytes <= 20_000)
      assert.equal(memoryContexts + diskContexts, 300)
      assert.equal(filesIn(contextDir).length, diskContexts)
      assert.equal((await manager.loadContexts(paths)).length, 300)
      await manager.clear()
    }))

  it('writes everything with a budget of 0', () =>
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir, persist: 'large', memoryBudget: 0 })
      const path = await manager.saveContext('tool', {}, 'small')
      assert.equal(storedResult(path), '"small"')
      assert.equal(manager.stats().memoryBytes, 0)
      await manager.clear()
    }))
})

describe('shouldPersist', () => {
  it('overrides the threshold, told the size of the JSON', () =>
    inDirectory(async (contextDir) => {
      const seen: unknown[][] = []
      const manager = new ContextManager({
        contextDir,
        persist: 'large',
        shouldPersist: (toolName, args, sizeBytes) => {
          seen.push([toolName, args, sizeBytes])
          return toolName === 'search'
        },
      })
      const search = await manager.saveContext('search', { q: 'x' }, 'é')
      const huge = await manager.saveContext('read', {}, 'x'.repeat(100_000))
      assert.deepEqual(seen, [
        ['search', { q: 'x' }, 4],
        ['read', {}, 100_002],
      ])
      assert.equal(existsSync(search), true)
      assert.equal(existsSync(huge), false)
      assert.equal((await manager.loadContexts([search, huge])).length, 2)
      await manager.clear()
    }))

  it('may throw: the threshold decides', () =>
    inDirectory(async (contextDir) => {
      const log = debugLog()
      const manager = new ContextManager({
        contextDir,
        persist: 'large',
        onDebug: log,
        shouldPersist: () => {
          throw new Error('undecided')
        },
      })
      assert.equal(existsSync(await manager.saveContext('t', {}, 'small')), false)
      assert.equal(existsSync(await manager.saveContext('t', {}, 'x'.repeat(40_000))), true)
      assert.match(log.messages.join(), /shouldPersist failed/)
      await manager.clear()
    }))
})

describe('stats', () => {
  it('counts contexts, bytes, hits and misses', () =>
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir })
      const { storage, ...before } = manager.stats()
      assert.equal(storage === undefined, isOnDisk)
      assert.deepEqual(before, {
        contexts: 0,
        memoryContexts: 0,
        memoryBytes: 0,
        diskContexts: 0,
        diskBytes: 0,
        memoryHits: 0,
        diskHits: 0,
        misses: 0,
        spills: 0,
        redactions: 0,
      })
      const small = await manager.saveContext('small', {}, 1)
      const large = await manager.saveContext('large', {}, 'x'.repeat(40_000))
      await manager.loadContexts([small, small, large, 'missing.json'])
      const stats = manager.stats()
      assert.deepEqual([stats.memoryHits, stats.diskHits, stats.misses], [2, 1, 1])
      assert.equal(stats.diskBytes, readFileSync(small).length + readFileSync(large).length)
      assert.ok(stats.memoryBytes >= readFileSync(small).length)
      await manager.forget(large)
      assert.equal(manager.stats().diskContexts, 1)
      await manager.clear()
      const { contexts, memoryContexts, memoryBytes, diskContexts, diskBytes } = manager.stats()
      assert.deepEqual([contexts, memoryContexts, memoryBytes, diskContexts, diskBytes], [0, 0, 0, 0, 0])
    }))
})

describe('retention.maxResultBytes', () => {
  it('refuses a longer result, to the byte', () =>
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir, retention: { maxResultBytes: 100 } })
      for (const result of ['x'.repeat(98), 'é'.repeat(49), { a: 'x'.repeat(92) }, '\n'.repeat(49)]) {
        assert.equal(
          JSON.stringify(JSON.parse(storedResult(await manager.saveContext('t', {}, result)))),
          JSON.stringify(result),
        )
      }
      for (const result of ['x'.repeat(99), 'é'.repeat(50), { a: 'x'.repeat(93) }, '\n'.repeat(50), 'x'.repeat(5000)]) {
        await rejectsWith(() => manager.saveContext('t', {}, result), 'ERR_CONTEXT_TOO_LARGE', /maxResultBytes/)
      }
      assert.equal(manager.size, 4)
      assert.equal(filesIn(contextDir).length, 4)
      await manager.clear()
    }))

  it('counts what is stored, not what is left out', () =>
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir, retention: { maxResultBytes: 10 } })
      const path = await manager.saveContext('t', {}, { ['k'.repeat(60)]: undefined })
      assert.equal(storedResult(path), '{}')
      await manager.clear()
    }))
})

describe("durability: 'full'", () => {
  it('stores the same', () =>
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir, durability: 'full' })
      const paths = await Promise.all([1, 2, 3].map((n) => manager.saveContext('t', { n }, 'x'.repeat(n * 20_000))))
      assert.deepEqual(
        paths.map((path) => storedResult(path).length),
        [20_002, 40_002, 60_002],
      )
      assertNoTemporaryFile(contextDir)
      await manager.clear()
      assert.deepEqual(filesIn(contextDir), [])
    }))
})
