/** Pointers: all, by query, by task; copies, order, sizes. */

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ContextPointer } from '../dist/index.js'
import { deferred, inDirectory, MemoryFileSystem, only, pointerOf } from './support/fixtures.ts'
import { ContextManager } from './support/managers.ts'
import { statSync } from './support/stored-files.ts'

const toolsOf = (pointers: readonly ContextPointer[]): string[] => pointers.map(({ toolName }) => toolName)

describe('pointers', () => {
  it('are none at first', () => {
    const manager = new ContextManager()
    assert.deepEqual(manager.getAllPointers(), [])
    assert.deepEqual(manager.getPointersForQuery('q'), [])
    assert.deepEqual(manager.getPointersForTask(1), [])
    assert.equal(manager.size, 0)
  })

  it('say everything about a context', () =>
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir, sessionId: 's' })
      const filepath = await manager.saveContext('grep', { pattern: 'login', n: [1] }, 'x', 3, 'q_1', { success: true })
      const { timestamp, sizeBytes, filename, handle, ...rest } = only(manager.getAllPointers())
      assert.deepEqual(rest, {
        filepath,
        toolName: 'grep',
        toolDescription: 'grep: login',
        args: { pattern: 'login', n: [1] },
        taskId: 3,
        queryId: 'q_1',
        sessionId: 's',
        success: true,
      })
      assert.match(handle ?? '', /^ctx_[0-9a-f]{16}$/)
      assert.ok(filepath.endsWith(filename))
      assert.ok(Number.isInteger(timestamp))
      assert.equal(sizeBytes, statSync(filepath).size)
      assert.deepEqual(await manager.listContexts(), manager.getAllPointers())
      await manager.clear()
    }))

  it('are filtered by query and by task', () =>
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir })
      for (const [tool, task, query] of [
        ['a', 1, 'q1'],
        ['b', 2, 'q1'],
        ['c', 1, 'q2'],
        ['d', undefined, 'q2'],
        ['e', 2, undefined],
        ['f', undefined, undefined],
        ['g', 1, 'q1'],
      ] as const) {
        await manager.saveContext(tool, {}, 1, task, query)
      }
      assert.deepEqual(toolsOf(manager.getAllPointers()), ['a', 'b', 'c', 'd', 'e', 'f', 'g'])
      assert.deepEqual(toolsOf(manager.getPointersForQuery('q1')), ['a', 'b', 'g'])
      assert.deepEqual(toolsOf(manager.getPointersForQuery('q2')), ['c', 'd'])
      assert.deepEqual(toolsOf(manager.getPointersForTask(1)), ['a', 'c', 'g'])
      assert.deepEqual(toolsOf(manager.getPointersForTask(2)), ['b', 'e'])
      assert.deepEqual(manager.getPointersForQuery('q3'), [])
      assert.deepEqual(manager.getPointersForQuery(''), [])
      assert.deepEqual(manager.getPointersForTask(3), [])
      for (const absent of [undefined, null]) {
        assert.deepEqual(manager.getPointersForQuery(absent), [])
        assert.deepEqual(manager.getPointersForTask(absent), [])
      }
      assert.equal(manager.size, 7)
      await manager.clear()
    }))

  it('tell apart whatever ids callers use', () =>
    inDirectory(async (contextDir) => {
      const manager = new ContextManager<number | string>({ contextDir, persist: 'large' })
      const queries = [
        '',
        ' ',
        'a',
        'A',
        'a ',
        '"',
        '\\',
        '東京',
        '😀',
        '__proto__',
        'constructor',
        'x'.repeat(5000),
        'n\0',
      ]
      await Promise.all(queries.map((query, index) => manager.saveContext('t', {}, 1, query, query).then(() => index)))
      for (const query of queries) {
        assert.equal(only(manager.getPointersForQuery(query)).queryId, query)
        assert.equal(only(manager.getPointersForTask(query)).taskId, query)
      }
      await manager.clear()
    }))

  it('stand in the order of the calls, also when saves finish out of order', async () => {
    const fileSystem = new MemoryFileSystem()
    const gate = deferred()
    const write = fileSystem.writeFile.bind(fileSystem)
    fileSystem.writeFile = async (path, content) => {
      if (path.includes('first')) {
        await gate.promise
      }
      await write(path, content)
    }
    const manager = new ContextManager({ contextDir: '/contexts', fileSystem })
    const first = manager.saveContext('first', {}, 1, 1, 'q')
    await manager.saveContext('second', {}, 2, 1, 'q')
    await manager.saveContext('third', {}, 3, 1, 'q')
    assert.deepEqual(toolsOf(manager.getAllPointers()), ['second', 'third'])
    gate.resolve()
    await first
    for (const pointers of [
      manager.getAllPointers(),
      manager.getPointersForQuery('q'),
      manager.getPointersForTask(1),
      await manager.listContexts(),
      await manager.selectContexts('nothing like it'),
    ]) {
      assert.deepEqual(toolsOf(pointers), ['first', 'second', 'third'])
    }
    await manager.clear()
  })

  it('stand in the order of the calls when large and small saves run at once', () =>
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir })
      const large = 'x'.repeat(3_000_000)
      await Promise.all(
        Array.from({ length: 60 }, (_, index) =>
          manager.saveContext(`tool${index}`, {}, index % 10 === 0 ? large : index, index % 2, `q${index % 3}`),
        ),
      )
      const all = Array.from({ length: 60 }, (_, index) => index)
      const name = (index: number): string => `tool${index}`
      assert.deepEqual(toolsOf(manager.getAllPointers()), all.map(name))
      assert.deepEqual(toolsOf(manager.getPointersForTask(1)), all.filter((index) => index % 2 === 1).map(name))
      assert.deepEqual(toolsOf(manager.getPointersForQuery('q2')), all.filter((index) => index % 3 === 2).map(name))
      await manager.clear()
    }))

  it('are all there when they are many', () =>
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir, persist: 'large' })
      const count = 9000
      await Promise.all(Array.from({ length: count }, (_, index) => manager.saveContext('t', { index }, index, 1, 'q')))
      const expected = Array.from({ length: count }, (_, index) => index)
      for (const pointers of [
        manager.getAllPointers(),
        manager.getPointersForQuery('q'),
        manager.getPointersForTask(1),
        await manager.selectContexts('nothing'),
      ]) {
        assert.deepEqual(
          pointers.map(({ args }) => args['index']),
          expected,
        )
      }
      assert.equal(manager.size, count)
      assert.equal((await manager.listContexts()).length, count)
      await manager.clear()
      assert.equal(manager.size, 0)
    }))

  it('are deep copies', () =>
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir })
      const result = { sourceUrls: ['https://a.example'] }
      const filepath = await manager.saveContext('t', { nested: { list: [1, { x: 1 }] } }, result, 1, 'q')
      const fresh = JSON.stringify(manager.getAllPointers())
      const getters = [
        () => manager.getAllPointers(),
        () => manager.getPointersForQuery('q'),
        () => manager.getPointersForTask(1),
      ]
      for (const get of getters) {
        const pointer = only(get())
        const inner = pointer.args['nested'] as { list: unknown[] }
        inner.list.push('intruder')
        ;(inner.list[1] as { x: number }).x = 99
        pointer.args['more'] = true
        pointer.sourceUrls?.push('https://evil.example')
        pointer.toolName = 'changed'
        pointer.filepath = '/etc/passwd'
        get().pop()
      }
      for (const get of getters) {
        assert.equal(JSON.stringify(get()), fresh)
      }
      assert.deepEqual((await manager.loadContext(filepath)).args, { nested: { list: [1, { x: 1 }] } })
      const loaded = await manager.loadContext<{ sourceUrls: string[] }>(filepath)
      loaded.result.sourceUrls.push('changed')
      assert.deepEqual((await manager.loadContext(filepath)).result, result)
      await manager.clear()
    }))

  it('are plain objects', () =>
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir })
      await manager.saveContext('t', { a: 1 }, 1)
      const pointer = only(manager.getAllPointers())
      assert.equal(Object.getPrototypeOf(pointer), Object.prototype)
      assert.deepEqual(structuredClone(pointer), pointer)
      assert.deepEqual(JSON.parse(JSON.stringify(pointer)), pointer)
      assert.equal(Object.isFrozen(pointer), false)
      await manager.clear()
    }))

  it('hold up to 4 KB of arguments; the file has them whole', () =>
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir })
      const size = (args: unknown): number => Buffer.byteLength(JSON.stringify(args))
      const fitting = { text: 'x'.repeat(4096 - size({ text: '' })) }
      assert.equal(size(fitting), 4096)
      const whole = pointerOf(manager, await manager.saveContext('t', fitting, 1))
      assert.deepEqual(whole.args, fitting)
      assert.equal(whole.argsTruncated, undefined)
      const longer: Record<string, unknown>[] = [
        { text: 'x'.repeat(4097) },
        { path: 'src/a.ts', text: '東京😀'.repeat(3000), last: 1 },
        { list: Array.from({ length: 5000 }, (_, index) => index) },
        Object.fromEntries(Array.from({ length: 2000 }, (_, index) => [`key${index}`, { value: index }])),
        { quotes: '"\\\n\ud800'.repeat(3000) },
      ]
      for (const args of longer) {
        const path = await manager.saveContext('t', args, 1)
        const pointer = pointerOf(manager, path)
        assert.equal(pointer.argsTruncated, true)
        assert.ok(size(pointer.args) <= 4096 + 16, `${size(pointer.args)} bytes`)
        assert.equal(typeof pointer.args, 'object')
        assert.deepEqual((await manager.loadContext(path)).args, args)
        const listed = only((await manager.listContexts()).filter(({ filepath }) => filepath === path))
        assert.deepEqual(listed, pointer)
      }
      await manager.clear()
    }))

  it("tell the file's size, whatever the text", () =>
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir })
      for (const result of ['', 'ä東😀', '\ud800', 'x'.repeat(100_000), { a: ['東'] }, null]) {
        const path = await manager.saveContext('tööl 😀', { q: '東' }, result)
        assert.equal(pointerOf(manager, path).sizeBytes, statSync(path).size)
      }
      await manager.clear()
    }))

  it('appear only for saves that worked', async () => {
    const fileSystem = new MemoryFileSystem()
    const manager = new ContextManager({ contextDir: '/contexts', fileSystem })
    await manager.saveContext('good', {}, 1)
    fileSystem.writeFile = async () => {
      throw new Error('no')
    }
    await assert.rejects(manager.saveContext('bad', {}, 1))
    assert.deepEqual(toolsOf(manager.getAllPointers()), ['good'])
    assert.equal(manager.size, 1)
  })
})
