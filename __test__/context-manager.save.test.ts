/** `saveContext`: the file, its name, its bytes, the description. */

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { basename, dirname, join } from 'node:path'
import { describe, it } from 'node:test'
import {
  assertNoTemporaryFile,
  canonical,
  debugLog,
  filesIn,
  inDirectory,
  only,
  pointerOf,
  storedResult,
} from './support/fixtures.ts'
import { ContextManager } from './support/managers.ts'
import { isVisible, onDisk } from './support/postgres.ts'
import { readFileSync, rmSync, statSync } from './support/stored-files.ts'

const NAME = /^[A-Za-z0-9_-]+_[0-9a-f]{12}_\d+_\d+_[0-9a-f]{16}\.json$/
const hashOf = (filepath: string): string | undefined =>
  /_([0-9a-f]{12})_\d+_\d+_[0-9a-f]{16}\.json$/.exec(filepath)?.[1]

describe('the file', () => {
  it('is created with its directory, with access for the owner only, even with umask 0', onDisk('modes'), () =>
    inDirectory(async (directory) => {
      const contextDir = join(directory, 'a', 'b')
      const previous = process.umask(0)
      try {
        const manager = new ContextManager({ contextDir })
        const path = await manager.saveContext('read_file', { path: 'src/a.ts' }, 'text')
        assert.equal(dirname(path), contextDir)
        assert.equal(statSync(contextDir).mode & 0o777, 0o700)
        assert.equal(statSync(join(directory, 'a')).mode & 0o777, 0o700)
        assert.equal(statSync(path).mode & 0o777, 0o600)
        assertNoTemporaryFile(contextDir)
        await manager.clear()
      } finally {
        process.umask(previous)
      }
    }),
  )

  it('leaves the mode of a directory that exists', onDisk('modes'), () =>
    inDirectory(async (contextDir) => {
      const before = statSync(contextDir).mode
      const manager = new ContextManager({ contextDir })
      await manager.saveContext('tool', {}, 1)
      assert.equal(statSync(contextDir).mode, before)
      await manager.clear()
    }),
  )

  it('comes back when the directory is removed under a live session', () =>
    inDirectory(async (directory) => {
      const contextDir = join(directory, 'contexts')
      const manager = new ContextManager({ contextDir })
      await manager.saveContext('tool', {}, 1)
      rmSync(contextDir, { recursive: true })
      const path = await manager.saveContext('tool', {}, 2)
      assert.equal(storedResult(path), '2')
      await manager.clear()
    }))

  it('has the documented keys in the documented order', () =>
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir, sessionId: 'the session' })
      const args = { path: 'src/a "b".ts', z: 1, a: { y: [1, 2], b: null } }
      const result = { sourceUrls: ['https://a.example', 'https://b.example'], text: 'x' }
      const path = await manager.saveContext('read_file', args, result, 7, 'q_1', {
        success: false,
        error: 'broke "here"',
        message: 'line\nbreak',
      })
      const timestamp = new Date(pointerOf(manager, path).timestamp).toISOString()
      const expected = JSON.stringify({
        toolName: 'read_file',
        toolDescription: 'read_file: src/a "b".ts',
        timestamp,
        taskId: 7,
        queryId: 'q_1',
        sessionId: 'the session',
        sourceUrls: result.sourceUrls,
        success: false,
        error: 'broke "here"',
        message: 'line\nbreak',
        handle: pointerOf(manager, path).handle,
        args,
        result,
      })
      assert.equal(readFileSync(path, 'utf8'), expected)
      assert.deepEqual(await manager.loadContext(path), JSON.parse(expected))
      await manager.clear()
    }))

  it('leaves out what was not told', () =>
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir })
      const path = await manager.saveContext('tool', {}, 1)
      const timestamp = new Date(pointerOf(manager, path).timestamp).toISOString()
      const expected = { toolName: 'tool', toolDescription: 'tool', timestamp, sessionId: manager.sessionId }
      assert.equal(
        readFileSync(path, 'utf8'),
        JSON.stringify({ ...expected, handle: pointerOf(manager, path).handle, args: {}, result: 1 }),
      )
      await manager.clear()
    }))

  it('holds the time of the call', () =>
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir })
      const before = Date.now()
      const path = await manager.saveContext('tool', {}, 1)
      const after = Date.now()
      const { timestamp } = pointerOf(manager, path)
      assert.ok(timestamp >= before && timestamp <= after)
      assert.equal(Date.parse((await manager.loadContext(path)).timestamp), timestamp)
      await manager.clear()
    }))

  it('takes task ids of both kinds', () =>
    inDirectory(async (contextDir) => {
      const manager = new ContextManager<number | string>({ contextDir })
      for (const task of [0, -3, 1.5, 1e21, '7', '', 'task "x"', '東京']) {
        const path = await manager.saveContext('tool', {}, 1, task)
        assert.equal((await manager.loadContext(path)).taskId, task)
        assert.match(readFileSync(path, 'utf8'), /"taskId":/)
        assert.deepEqual(
          manager.getPointersForTask(task).map((pointer) => pointer.taskId),
          [task],
        )
      }
      assert.deepEqual(manager.getPointersForTask(7), [], 'a number is not its text')
      await manager.clear()
    }))

  it('takes null for an absent task and query', () =>
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir })
      const path = await manager.saveContext('tool', {}, 1, null, null, null)
      assert.doesNotMatch(readFileSync(path, 'utf8'), /taskId|queryId|success/)
      await manager.clear()
    }))
})

describe("the result's text", () => {
  const sample = {
    z: 1,
    a: [1.5, -0, 0, 1e21, 1e-7, 123456789012345680000, 0.1 + 0.2, Number.MAX_SAFE_INTEGER, 5e-324],
    10: 'ten',
    2: 'two',
    'key "with" \\ quotes': 'a"b\\c\b\f\n\r\t\u0000\u001f\u007f\u2028\u2029',
    lone: 'a\ud800b\udc00c',
    '\udfff lone key': 1,
    pair: '😀',
    cjk: '東京都',
    empty: [{}, [], '', null, undefined, true, false],
    absent: undefined,
    nested: { deep: { deeper: [{ deepest: [[[]]] }] } },
    ['__proto__']: 'own',
    proto: JSON.parse('{"__proto__":{"x":1},"constructor":null}') as unknown,
  }
  const results: [string, unknown][] = [
    ['an object', sample],
    ['an array', [sample, sample]],
    ['an empty string', ''],
    ['a string', 'text "quoted"\n😀 \ud83d'],
    ['an empty object', {}],
    ['an empty array', []],
    ['null', null],
    ['zero', 0],
    ['negative zero', -0],
    ['a small number', 5e-324],
    ['a large number', 1.7976931348623157e308],
    ['true', true],
    ['false', false],
    ['a large text of CJK', '東京都😀'.repeat(20_000)],
    ['a large text of ASCII', 'line of text "x"\n'.repeat(20_000)],
    ['many alike objects', Array.from({ length: 5000 }, (_, id) => ({ id, name: `n${id}`, tags: ['a', id] }))],
    ['text that looks like a record', '{"toolName":"x","result":1}'],
    ['holes', new Array(3)],
  ]
  for (const [name, result] of results) {
    it(`is that of JSON.stringify: ${name}`, () =>
      inDirectory(async (contextDir) => {
        const manager = new ContextManager({ contextDir })
        const path = await manager.saveContext('tool', {}, result)
        const expected = JSON.stringify(result)
        if (isVisible(Buffer.byteLength(expected))) {
          assert.equal(storedResult(path), expected)
        }
        assert.equal(JSON.stringify((await manager.loadContext(path)).result), JSON.stringify(JSON.parse(expected)))
        await manager.clear()
      }))
  }

  it('is the same when a callback needs its size first', () =>
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir, shouldPersist: () => true })
      for (const [name, result] of results) {
        const path = await manager.saveContext('tool', {}, result)
        const expected = JSON.stringify(result)
        if (isVisible(Buffer.byteLength(expected))) {
          assert.equal(storedResult(path), expected, name)
        }
      }
      await manager.clear()
    }))

  it('is that of the moment of the call', () =>
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir })
      const args: Record<string, unknown> = { path: 'before', list: [1] }
      const result = { state: 'before', list: ['before'], extra: { n: 1 } }
      const expected = JSON.stringify(result)
      const saving = manager.saveContext('tool', args, result)
      args['path'] = 'after'
      result.state = 'after'
      result.list.push('after')
      result.extra.n = 2
      const path = await saving
      assert.equal(storedResult(path), expected)
      assert.deepEqual((await manager.loadContext(path)).args, { path: 'before', list: [1] })
      assert.deepEqual(pointerOf(manager, path).args, { path: 'before', list: [1] })
      assert.equal(pointerOf(manager, path).toolDescription, 'tool: before')
      await manager.clear()
    }))
})

describe('the name', () => {
  it('has tool, hash, time, counter and random part', () =>
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir })
      const path = await manager.saveContext('read-file.v2', {}, 1)
      const pointer = pointerOf(manager, path)
      assert.match(basename(path), NAME)
      assert.ok(basename(path).startsWith(`read_file_v2_${hashOf(path)}_${pointer.timestamp}_`))
      assert.equal(pointer.filename, basename(path))
      assert.equal(path, join(contextDir, pointer.filename))
      await manager.clear()
    }))

  it("begins with the session's name when the caller gave it", () =>
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir, sessionId: 'run 7/ä' })
      const path = await manager.saveContext('grep', {}, 1)
      assert.ok(basename(path).startsWith('run_7__-grep_'), basename(path))
      assert.match(basename(path), NAME)
      await manager.clear()
    }))

  it('stays under 200 bytes whatever tool and session are called', () =>
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir, sessionId: '東'.repeat(200) })
      for (const tool of ['x'.repeat(5000), '😀'.repeat(500), '../../etc/passwd']) {
        const path = await manager.saveContext(tool, {}, 1)
        assert.ok(Buffer.byteLength(basename(path)) < 200)
        assert.match(basename(path), NAME)
        assert.equal(dirname(path), contextDir)
        assert.equal((await manager.loadContext(path)).toolName, tool)
      }
      await manager.clear()
    }))

  it('differs when the same call is saved twice: both results stay', () =>
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir })
      const paths = await Promise.all(['one', 'two', 'one'].map((result) => manager.saveContext('t', { a: 1 }, result)))
      assert.equal(new Set(paths).size, 3)
      const loaded = await manager.loadContexts(paths)
      assert.deepEqual(
        loaded.map(({ result }) => result),
        ['one', 'two', 'one'],
      )
      assert.equal(filesIn(contextDir).length, 3)
      await manager.clear()
    }))

  it('has the first 12 hex digits of the SHA-256 of the canonical arguments', () =>
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir })
      const samples: Record<string, unknown>[] = [
        {},
        { b: 1, a: 2 },
        { b: { d: [1, { z: null, y: true }], c: 'text\n"x"' }, a: -0.5, 10: 'x', 9: 'y' },
        { text: '東京 😀 \u007f\u2028' },
        { absent: undefined, list: [undefined, Number.NaN] },
      ]
      for (const args of samples) {
        const expected = createHash('sha256')
          .update(canonical(JSON.parse(JSON.stringify(args))))
          .digest('hex')
        assert.equal(hashOf(await manager.saveContext('t', args, 1)), expected.slice(0, 12), JSON.stringify(args))
      }
      await manager.clear()
    }))

  it('has the same hash for reordered arguments and another for different ones', () =>
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir })
      const hash = async (args: Record<string, unknown>): Promise<string | undefined> =>
        hashOf(await manager.saveContext('t', args, 1))
      const first = await hash({ a: 1, b: { c: [1, { d: 1, e: 2 }], f: 3 } })
      assert.equal(await hash({ b: { f: 3, c: [1, { e: 2, d: 1 }] }, a: 1 }), first)
      assert.notEqual(await hash({ a: 1, b: { c: [1, { d: 1, e: 3 }], f: 3 } }), first)
      assert.notEqual(await hash({ a: 1, b: { c: [{ d: 1, e: 2 }, 1], f: 3 } }), first)
      assert.notEqual(await hash({ a: '1', b: { c: [1, { d: 1, e: 2 }], f: 3 } }), first)
      await manager.clear()
    }))
})

describe('the description', () => {
  const describeWith = (args: Record<string, unknown>): Promise<string> =>
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir })
      const path = await manager.saveContext('tool', args, 1)
      const { toolDescription } = pointerOf(manager, path)
      assert.equal((await manager.loadContext(path)).toolDescription, toolDescription)
      await manager.clear()
      return toolDescription
    })
  const fifty = 'x'.repeat(50)
  const table: [string, Record<string, unknown>, string][] = [
    ['no arguments', {}, 'tool'],
    ['a first argument that is a text', { query: 'login form', limit: 5 }, 'tool: login form'],
    ['the first in insertion order', { z: 'last letter', a: 'first letter' }, 'tool: last letter'],
    ['an empty text', { query: '', path: 'x' }, 'tool with 2 argument(s)'],
    ['a number', { limit: 5 }, 'tool with 1 argument(s)'],
    ['an object', { filter: { a: 'b' }, c: 1, d: 2 }, 'tool with 3 argument(s)'],
    ['50 characters', { query: fifty }, `tool: ${fifty}`],
    ['51 characters', { query: `${fifty}y` }, `tool: ${fifty}...`],
    ['a pair on the border', { query: `${'x'.repeat(49)}😀z` }, `tool: ${'x'.repeat(49)}...`],
    ['a pair before the border', { query: `${'x'.repeat(48)}😀z` }, `tool: ${'x'.repeat(48)}😀...`],
    ['25 pairs', { query: '😀'.repeat(25) }, `tool: ${'😀'.repeat(25)}`],
    ['26 pairs', { query: '😀'.repeat(26) }, `tool: ${'😀'.repeat(25)}...`],
    ['special characters', { query: 'a "b" \\ \n c' }, 'tool: a "b" \\ \n c'],
  ]
  for (const [name, args, expected] of table) {
    it(`of ${name}`, async () => assert.equal(await describeWith(args), expected))
  }

  it('is what `describe` says', () =>
    inDirectory(async (contextDir) => {
      const seen: unknown[] = []
      const manager = new ContextManager({
        contextDir,
        describe: (toolName, args) => {
          seen.push([toolName, args])
          return `Looked for "${String(args['query'])}" 東京 \ud800`
        },
      })
      const path = await manager.saveContext('grep', { query: 'login' }, 1)
      assert.deepEqual(seen, [['grep', { query: 'login' }]])
      assert.equal(pointerOf(manager, path).toolDescription, 'Looked for "login" 東京 \ufffd')
      assert.equal((await manager.loadContext(path)).toolDescription, 'Looked for "login" 東京 \ufffd')
      await manager.clear()
    }))

  it('is the default one when `describe` throws or gives no text', () =>
    inDirectory(async (contextDir) => {
      for (const describeOrThrow of [
        () => {
          throw new Error('no words')
        },
        () => 5 as unknown as string,
        () => undefined as unknown as string,
      ]) {
        const log = debugLog()
        const manager = new ContextManager({ contextDir, describe: describeOrThrow, onDebug: log })
        const path = await manager.saveContext('grep', { query: 'login' }, 1)
        assert.equal(pointerOf(manager, path).toolDescription, 'grep: login')
        assert.match(log.messages.join(), /describe failed/)
        await manager.clear()
      }
    }))
})

describe('sourceUrls', () => {
  it('of the result show in pointer and record; the result stays as given', () =>
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir })
      const result = { text: 'x', sourceUrls: ['https://a.example/ä?b="c"', 'lone \ud800', ''] }
      const path = await manager.saveContext('fetch', {}, result)
      assert.deepEqual(pointerOf(manager, path).sourceUrls, result.sourceUrls)
      const loaded = await manager.loadContext(path)
      assert.deepEqual(loaded.sourceUrls, result.sourceUrls)
      assert.deepEqual(loaded.result, result)
      assert.deepEqual(only(await manager.listContexts()).sourceUrls, result.sourceUrls)
      await manager.clear()
    }))

  it('are absent when the result has none, or something else by that name', () =>
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir })
      class Inherits {
        get sourceUrls(): string[] {
          return ['https://prototype.example']
        }
      }
      const hostile = Object.defineProperty({}, 'sourceUrls', {
        enumerable: true,
        get: () => {
          throw new Error('no urls')
        },
      })
      for (const result of [{}, { sourceUrls: 'x' }, { sourceUrls: [1] }, { sourceUrls: null }, 'x', null, [1]]) {
        const path = await manager.saveContext('fetch', {}, result)
        assert.equal(pointerOf(manager, path).sourceUrls, undefined)
        assert.deepEqual((await manager.loadContext(path)).result, result)
      }
      assert.equal(pointerOf(manager, await manager.saveContext('t', {}, new Inherits())).sourceUrls, undefined)
      const path = await manager.saveContext('t', {}, hostile)
      assert.deepEqual((await manager.loadContext(path)).result, { sourceUrls: '[Throws: no urls]' })
      await manager.clear()
    }))
})
