/** Saves that are called in one run of synchronous code are sent together: each is stored as it was at its call, in their order. */

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { ContextManager } from '../dist/index.js'
import { inDirectory } from './support/fixtures.ts'

const inManager = (use: (manager: ContextManager) => Promise<void>) =>
  inDirectory(async (directory) => {
    const manager = new ContextManager({ contextDir: join(directory, 'contexts') })
    await use(manager)
    await manager.close()
  })

const resultsOf = async (manager: ContextManager, paths: readonly string[]) =>
  (await manager.loadContexts(paths)).map(({ result }) => result)

describe('saves of one run of synchronous code', () => {
  it('are all stored, whatever their number and sizes', () =>
    inManager(async (manager) => {
      const sizes = [0, 1, 100, 8000, 8200, 40_000]
      const results = Array.from({ length: 300 }, (_, index) => ({
        index,
        text: `é${'x'.repeat(sizes[index % sizes.length] ?? 0)}`,
        numbers: [index / 7, -0.5, 2 ** 40 + index],
      }))
      const paths = await Promise.all(
        results.map((result, index) => manager.saveContext(`tool ${index % 3}`, { index, half: index / 2 }, result)),
      )
      assert.deepEqual(await resultsOf(manager, paths), results)
      const [first] = await manager.loadContexts(paths.slice(1, 2))
      assert.deepEqual(first?.args, { index: 1, half: 0.5 })
    }))

  it('keep the values of their calls', () =>
    inManager(async (manager) => {
      const args = { step: 1 }
      const result = { list: ['one'] }
      const first = manager.saveContext('t', args, result)
      args.step = 2
      result.list.push('two')
      const second = manager.saveContext('t', args, result)
      result.list.length = 0
      const records = await manager.loadContexts(await Promise.all([first, second]))
      assert.deepEqual(
        records.map(({ args, result }) => [args, result]),
        [
          [{ step: 1 }, { list: ['one'] }],
          [{ step: 2 }, { list: ['one', 'two'] }],
        ],
      )
    }))

  it('keep task, query and details', () =>
    inManager(async (manager) => {
      const saved = await Promise.all([
        manager.saveContext('t', {}, 1, 7, 'q"1'),
        manager.saveContext('t', {}, 2, null, null, { success: false, error: 'broken', callId: 'c1' }),
        manager.saveContext('t', {}, 'three', 0),
      ])
      const [first, second, third] = await manager.loadContexts(saved)
      assert.equal(first?.taskId, 7)
      assert.equal(first?.queryId, 'q"1')
      assert.equal(second?.error, 'broken')
      assert.equal(second?.callId, 'c1')
      assert.equal(third?.taskId, 0)
      assert.equal(third?.result, 'three')
    }))

  it('are saved before what is called after them', () =>
    inManager(async (manager) => {
      const before = manager.saveContext('t', { n: 1 }, 'before')
      const cleared = manager.clear()
      const after = manager.saveContext('t', { n: 2 }, 'after')
      await Promise.all([before, cleared, after])
      assert.deepEqual(
        manager.getAllPointers().map(({ args }) => args),
        [{ n: 2 }],
      )
      const forgotten = manager.saveContext('t', { n: 3 }, 'forgotten')
      manager.clearPointers()
      await forgotten
      assert.equal(manager.size, 0)
    }))

  it('may call the manager again while their values are read', () =>
    inManager(async (manager) => {
      const inner: Promise<string>[] = []
      const nested = (name: string) => ({
        name,
        get value() {
          inner.push(manager.saveContext('inner', { name }, { of: name }))
          return name
        },
      })
      const outer = await manager.saveContext('outer', nested('args'), nested('result'))
      const [record] = await manager.loadContexts([outer])
      assert.deepEqual(record?.args, { name: 'args', value: 'args' })
      assert.deepEqual(record?.result, { name: 'result', value: 'result' })
      const results = await resultsOf(manager, await Promise.all(inner))
      assert.ok(results.length >= 2)
    }))

  it('go to their managers', () =>
    inDirectory(async (directory) => {
      const managers = ['a', 'b', 'c'].map((name) => new ContextManager({ contextDir: join(directory, name) }))
      const saved = await Promise.all(
        Array.from({ length: 30 }, (_, index) => managers[index % 3]?.saveContext('t', { index }, index)),
      )
      for (const [index, path] of saved.entries()) {
        assert.ok(path?.startsWith(join(directory, 'abc'[index % 3] ?? '')))
      }
      await Promise.all(managers.map((manager) => manager.close()))
    }))

  it('store arguments that are no plain objects', () =>
    inManager(async (manager) => {
      const odd = [new Map([['a', 1]]), new Date(0), { toJSON: () => [1] }, Buffer.from('text'), new Error('no')]
      const paths = await Promise.all(odd.map((args) => manager.saveContext('t', args as object as never, null)))
      const records = await manager.loadContexts(paths)
      assert.deepEqual(
        records.map(({ args }) => args),
        [
          { a: 1 },
          { value: '1970-01-01T00:00:00.000Z' },
          { value: [1] },
          { value: 'text' },
          { name: 'Error', message: 'no' },
        ],
      )
    }))
})
