/** Unusual values and hostile names: each is stored as documented or refused with a coded error, and the process lives. */

import assert from 'node:assert/strict'
import { basename, dirname } from 'node:path'
import { after, describe, it } from 'node:test'
import { ContextManager } from '../dist/index.js'
import {
  assertNoTemporaryFile,
  filesIn,
  inDirectory,
  nested,
  pointerOf,
  rejectsWith,
  storedResult,
  unwrap,
  wrong,
} from './support/fixtures.ts'

const ANY = Symbol('whatever it is')
/** Values this large take their time, above all with a debug build. */
const LONG = { timeout: 120_000 }

/** A function that makes an invalid value for each use, and the form in which it is stored. */
type Case = [name: string, make: () => unknown, expected: unknown, expectedAsArgument?: unknown]

function cyclic(): unknown {
  const node: Record<string, unknown> = { name: 'root', list: [] }
  node['self'] = node
  ;(node['list'] as unknown[]).push(node, { parent: node })
  return node
}

function throws(message: string): () => never {
  return () => {
    throw new Error(message)
  }
}

class WithToJson {
  hidden = 1
  toJSON(): unknown {
    return { shown: 2 }
  }
}

class WithPrivate {
  #secret = 1
  shown = this.#secret + 1
}

const values: Case[] = [
  ['a BigInt', () => 10n, '[BigInt 10]'],
  [
    'a BigInt inside',
    () => ({ a: [1n, { b: -5n }], c: 'kept' }),
    { a: ['[BigInt 1]', { b: '[BigInt -5]' }], c: 'kept' },
  ],
  ['a cycle', cyclic, { name: 'root', list: ['[Circular]', { parent: '[Circular]' }], self: '[Circular]' }],
  [
    'a value that occurs twice but is no cycle',
    () => {
      const shared = { x: 1n }
      return [shared, shared]
    },
    [{ x: '[BigInt 1]' }, { x: '[BigInt 1]' }],
  ],
  ['a throwing toJSON', () => ({ a: { toJSON: throws('no json') }, b: 1 }), { a: '[Throws: no json]', b: 1 }],
  ['a throwing toJSON at the root', () => ({ toJSON: throws('no json') }), '[Throws: no json]'],
  [
    'a throwing getter',
    () => ({
      get a(): never {
        throw new Error('no value')
      },
      b: 1,
    }),
    { a: '[Throws: no value]', b: 1 },
  ],
  [
    'a getter that throws something odd',
    () => ({
      get a(): never {
        throw Object.create(null)
      },
      b: 1,
    }),
    ANY,
  ],
  ['a revoked proxy', () => revoked({}), ANY],
  ['a revoked proxy inside', () => ({ a: revoked({}), b: revoked([]), c: 1 }), ANY],
  [
    'a proxy whose traps throw',
    () =>
      new Proxy({}, { ownKeys: throws('keys'), get: throws('get'), getOwnPropertyDescriptor: throws('descriptor') }),
    ANY,
  ],
  [
    'an array proxy with a huge length',
    () => ({ a: new Proxy([1n], { get: (t, k) => (k === 'toJSON' ? throws('x') : Reflect.get(t, k)) }) }),
    ANY,
  ],
  ['undefined', () => undefined, null],
  ['undefined inside', () => ({ a: undefined, b: [undefined] }), { b: [null] }],
  ['a function', () => () => 1, null],
  ['functions inside', () => ({ a: () => 1, b: [() => 1] }), { b: [null] }],
  ['a symbol', () => Symbol('s'), null],
  ['symbols inside', () => ({ a: Symbol('s'), [Symbol('key')]: 1, b: [Symbol('s')] }), { b: [null] }],
  ['NaN', () => Number.NaN, null],
  ['Infinity inside', () => [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.NaN], [null, null, null]],
  ['a date', () => new Date(0), '1970-01-01T00:00:00.000Z'],
  ['an invalid date', () => [new Date(Number.NaN)], [null]],
  ['a map', () => new Map([[1, 2]]), [[1, 2]]],
  ['a set', () => ({ set: new Set([1]) }), { set: [1] }],
  ['a weak map', () => new WeakMap(), '[WeakMap]'],
  ['a regular expression', () => [/x/g], ['/x/g']],
  ['an error', () => ({ error: new TypeError('x') }), { error: { name: 'TypeError', message: 'x' } }],
  ['a typed array', () => new Uint8Array([1, 2]), new Uint8Array([1, 2]), { 0: 1, 1: 2 }],
  ['a BigInt array', () => new BigInt64Array([1n, 2n]), { 0: '[BigInt 1]', 1: '[BigInt 2]' }],
  ['a buffer', () => Buffer.from('ab'), 'ab'],
  ['a buffer that is no text', () => Buffer.from([0xff]), new Uint8Array([255]), { type: 'Buffer', data: [255] }],
  ['an array buffer', () => new ArrayBuffer(8), new Uint8Array(8), '[ArrayBuffer, 8 bytes]'],
  ['a data view', () => new DataView(new ArrayBuffer(8)), new Uint8Array(8), '[DataView, 8 bytes]'],
  ['a promise inside', () => [Promise.resolve(1)], ['[Promise]']],
  ['a generator', () => (function* generate() {})(), '[Generator]'],
  ['boxed values', () => [Object(1), Object('a'), Object(true), Object(1n)], [1, 'a', true, '[BigInt 1]']],
  ['a class instance with toJSON', () => new WithToJson(), { shown: 2 }],
  ['a class instance with private fields', () => new WithPrivate(), { shown: 2 }],
  ['an object without a prototype', () => Object.assign(Object.create(null) as object, { a: 1 }), { a: 1 }],
  ['a lone surrogate', () => 'a\ud800b', 'a\ud800b'],
  [
    'lone surrogates inside',
    () => ({ '\udc00': ['\ud800', '\udc00\ud800'] }),
    { '\udc00': ['\ud800', '\udc00\ud800'] },
  ],
  ['NUL characters', () => ({ 'a\0b': '\0\0', c: ['\0'] }), { 'a\0b': '\0\0', c: ['\0'] }],
  [
    'control characters',
    () => '\u0001\u001f\u007f\u0080\u2028\u2029\ufeff',
    '\u0001\u001f\u007f\u0080\u2028\u2029\ufeff',
  ],
  ['a prototype key', () => JSON.parse('{"__proto__":{"polluted":true}}'), ANY],
  ['a sparse array', () => new Array(3), [null, null, null]],
  ['the global object', () => globalThis, ANY],
  ['process.env', () => ({ ...process.env }), ANY],
]

function revoked(target: object): unknown {
  const { proxy, revoke } = Proxy.revocable(target, {})
  revoke()
  return proxy
}

/** A directory with an earlier context, which must survive `work`. */
async function beside(work: (manager: ContextManager, contextDir: string) => Promise<void>): Promise<void> {
  await inDirectory(async (contextDir) => {
    const manager = new ContextManager({ contextDir })
    const earlier = await manager.saveContext('earlier', {}, { large: 'x'.repeat(40_000) })
    await work(manager, contextDir)
    assertNoTemporaryFile(contextDir)
    assert.equal(filesIn(contextDir).length, manager.size, 'files and pointers agree')
    assert.deepEqual((await manager.loadContext(earlier)).result, { large: 'x'.repeat(40_000) })
    await manager.clear()
    assert.deepEqual(filesIn(contextDir), [])
  })
}

describe('an unusual result', () => {
  for (const [name, make, expected, expectedAsArgument = expected] of values) {
    it(`is stored as documented: ${name}`, () =>
      beside(async (manager) => {
        for (const wrap of [(value: unknown) => value, (value: unknown) => ({ wrapped: [value] })]) {
          const path = await manager.saveContext('tool', {}, wrap(make()))
          const { result } = await manager.loadContext(path)
          // Bytes are in a file beside the record.
          if (!(expected instanceof Uint8Array)) {
            assert.equal(JSON.stringify(JSON.parse(storedResult(path))), JSON.stringify(result))
          }
          if (expected !== ANY) {
            assert.deepEqual(result, wrap(expected))
          }
        }
      }))

    it(`is stored as arguments, too: ${name}`, () =>
      beside(async (manager) => {
        const path = await manager.saveContext('tool', { value: make(), other: 1 }, 'x')
        const { args } = await manager.loadContext(path)
        const without =
          [undefined, null].includes(wrong(expectedAsArgument)) && JSON.stringify({ v: plain(make) }) === '{}'
        if (expected !== ANY) {
          assert.deepEqual(args, without ? { other: 1 } : { value: expectedAsArgument, other: 1 })
        }
        assert.equal(args['other'], 1)
        assert.equal(typeof pointerOf(manager, path).args, 'object')
      }))
  }

  function plain(make: () => unknown): unknown {
    const value = make()
    return typeof value === 'object' || typeof value === 'bigint' ? 1 : value
  }
})

describe('deep nesting', () => {
  const kinds: [string, (inner: unknown) => unknown][] = [
    ['arrays', (inner) => [inner]],
    ['objects', (inner) => ({ inner })],
    ['both', (inner) => [{ inner }]],
  ]
  for (const [name, wrap] of kinds) {
    for (const depth of [150, 5000, 100_000]) {
      it(`of ${depth} ${name} is stored, cut at 10 000 levels at most`, LONG, () =>
        beside(async (manager) => {
          const path = await manager.saveContext('tool', {}, nested(depth, wrap))
          const found = unwrap((await manager.loadContext(path)).result)
          const levels = name === 'both' ? 2 * depth : depth
          if (found.core === '[Too deep]') {
            assert.ok(levels > 10_000)
            assert.equal(found.depth, 10_000)
          } else {
            assert.deepEqual(found, { depth: levels, core: 'core' })
          }
          assert.equal((await manager.listContexts()).length, 2)
        }),
      )
    }

    it(`of 100 000 ${name} in the arguments is stored`, LONG, () =>
      beside(async (manager, contextDir) => {
        const path = await manager.saveContext('tool', { first: 'login', deep: nested(100_000, wrap) }, 'x')
        const pointer = pointerOf(manager, path)
        assert.equal(pointer.argsTruncated, true)
        assert.equal(pointer.toolDescription, 'tool: login')
        const { args } = await new ContextManager({ contextDir }).loadContext(path)
        assert.ok(unwrap(args['deep']).depth >= 9999)
        assert.deepEqual(manager.selectRelevantContexts('login', manager.getAllPointers()), [path])
        assert.equal((await manager.listContexts()).length, 2)
      }),
    )
  }
})

describe('a huge result', () => {
  it('of 300 MB is refused', LONG, () =>
    beside(async (manager) => {
      const text = 'x'.repeat(300_000_000)
      await rejectsWith(() => manager.saveContext('tool', {}, text), 'ERR_CONTEXT_TOO_LARGE', /maxResultBytes/)
      await rejectsWith(() => manager.saveContext('tool', {}, { text }), 'ERR_CONTEXT_TOO_LARGE')
      assert.equal(manager.size, 1)
    }),
  )

  it('whose JSON no string of V8 could hold is refused', LONG, () =>
    beside(async (manager) => {
      const text = 'x'.repeat(200_000_000)
      await rejectsWith(() => manager.saveContext('tool', {}, [text, text, text]), 'ERR_CONTEXT_TOO_LARGE')
      await rejectsWith(() => manager.saveContext('tool', {}, [1n, text, text, text]), 'ERR_CONTEXT_TOO_LARGE')
      assert.equal(manager.size, 1)
    }),
  )

  it('of 70 MB is refused by default and stored on demand', LONG, () =>
    beside(async (manager, contextDir) => {
      const text = 'line of text "x"\n'.repeat(350_000)
      const result = Array.from({ length: 12 }, () => text)
      for (const value of [text.repeat(12), result]) {
        await rejectsWith(() => manager.saveContext('tool', {}, value), 'ERR_CONTEXT_TOO_LARGE', /maxResultBytes/)
      }
      const generous = new ContextManager({ contextDir, retention: { maxResultBytes: 100_000_000 } })
      const path = await generous.saveContext('tool', {}, result)
      assert.ok(storedResult(path) === JSON.stringify(result), 'the text differs')
      const loaded = await generous.loadContext<string[]>(path)
      assert.ok(loaded.result.length === 12 && loaded.result.every((line) => line === text), 'the value differs')
      await generous.clear()
    }),
  )
})

describe('hostile names', () => {
  const names = [
    '../../x',
    '..\\..\\x',
    '/etc/passwd',
    '.',
    '..',
    '',
    ' ',
    'x'.repeat(5000),
    '東'.repeat(5000),
    'CON',
    'nul.json',
    'aux',
    '😀🚀',
    'a\0b',
    'a\nb\r\n',
    'a/b',
    'C:\\x',
    '-rf',
    '~',
    '$(touch x)',
    '`x`',
    '%00',
    'x.lease',
    '.x.tmp',
    '\ud800',
    '\u202egpj.exe',
    '__proto__',
  ]
  for (const name of names) {
    const shown = JSON.stringify(name.length > 20 ? `${name.slice(0, 20)}…` : name)
    it(`of a tool stay in the directory: ${shown}`, () =>
      beside(async (manager, contextDir) => {
        const path = await manager.saveContext(name, { name }, name, wrong(name), name)
        assert.equal(dirname(path), contextDir)
        assert.match(basename(path), /^[A-Za-z0-9_-]+\.json$/)
        assert.match(basename(path), /^[A-Za-z0-9]|^_/)
        const stored = await manager.loadContext(path)
        const wellFormed = name.toWellFormed()
        assert.equal(stored.toolName, wellFormed)
        assert.equal(stored.result, name)
        assert.equal(pointerOf(manager, path).toolName, wellFormed)
        assert.equal(manager.getPointersForQuery(name).length, 1)
        assert.equal(manager.getPointersForTask(wrong(name)).length, 1)
        assert.equal(manager.selectRelevantContexts(name, manager.getAllPointers()).length > 0, true)
        assert.equal(await manager.forget(path), true)
      }))
  }

  for (const sessionId of names.filter((name) => name !== '' && name.length <= 200)) {
    it(`of a session stay in the directory or are refused: ${JSON.stringify(sessionId)}`, () =>
      inDirectory(async (contextDir) => {
        let manager: ContextManager
        try {
          manager = new ContextManager({ contextDir, sessionId })
        } catch (error) {
          const { code, message } = error as { code?: string; message: string }
          assert.equal(code, 'ERR_CONTEXT_INVALID_ARGUMENT')
          assert.match(message, /sessionId/)
          return
        }
        const other = new ContextManager({ contextDir, sessionId: `${sessionId}!` })
        const path = await manager.saveContext('tool', {}, 1)
        await other.saveContext('tool', {}, 2)
        assert.equal(dirname(path), contextDir)
        assert.match(basename(path), /^[A-Za-z0-9_]+-tool_[0-9a-f_]+\d+_\d+_[0-9a-f]{16}\.json$/)
        assert.equal((await manager.loadContext(path)).sessionId, sessionId)
        assert.equal((await manager.listContexts(sessionId)).length, 1)
        await manager.clear()
        assert.equal(filesIn(contextDir).length, 1, "the other session's file stays")
        await other.clear()
        assert.deepEqual(filesIn(contextDir), [])
      }))
  }
})

describe('arguments that are no objects', () => {
  for (const [name, value] of [
    ['undefined', undefined],
    ['null', null],
    ['a text', 'text'],
    ['a number', 5],
    ['an array', []],
    ['a function', () => {}],
    ['a symbol', Symbol('s')],
    ['a BigInt', 1n],
    ['a revoked proxy', revoked({})],
  ] as const) {
    it(`are refused or stored, never lost: ${name}`, () =>
      beside(async (manager) => {
        if (name === 'a revoked proxy') {
          const saved = await manager.saveContext('tool', wrong(value), 1).catch((error: { code?: string }) => {
            assert.equal(error.code, 'ERR_CONTEXT_INVALID_ARGUMENT')
          })
          assert.equal(manager.size, saved === undefined ? 1 : 2)
          return
        }
        await rejectsWith(() => manager.saveContext('tool', wrong(value), 1), 'ERR_CONTEXT_INVALID_ARGUMENT', /args/)
        assert.equal(manager.size, 1)
      }))
  }

  it('but become something else in JSON are stored under `value`', () =>
    beside(async (manager) => {
      const table: [unknown, unknown][] = [
        [new Date(0), { value: '1970-01-01T00:00:00.000Z' }],
        [{ toJSON: () => [1, 2] }, { value: [1, 2] }],
        [{ toJSON: () => undefined }, { value: null }],
        [{ toJSON: throws('no json') }, { value: '[Throws: no json]' }],
        [Object('boxed'), { value: 'boxed' }],
        [new Map([[1, 2]]), { value: [[1, 2]] }],
      ]
      for (const [args, expected] of table) {
        const path = await manager.saveContext('tool', wrong(args), 1)
        assert.deepEqual((await manager.loadContext(path)).args, expected)
      }
    }))
})

describe('a getter that meddles', () => {
  it('saves from within a save', () =>
    beside(async (manager) => {
      const inner: Promise<string>[] = []
      const result = {
        before: 'a',
        get meddles(): string {
          inner.push(manager.saveContext('inner', {}, { text: 'inner', list: [1, 2, 3] }))
          return 'b'
        },
        after: ['c', { d: 'e' }],
      }
      const path = await manager.saveContext('outer', {}, result)
      assert.deepEqual((await manager.loadContext(path)).result, {
        before: 'a',
        meddles: 'b',
        after: ['c', { d: 'e' }],
      })
      for (const saved of await Promise.all(inner)) {
        assert.deepEqual((await manager.loadContext(saved)).result, { text: 'inner', list: [1, 2, 3] })
      }
    }))

  it('changes what is being saved', () =>
    beside(async (manager) => {
      const result: Record<string, unknown> = { list: [1, 2, 3] }
      Object.defineProperty(result, 'meddles', {
        enumerable: true,
        get: () => {
          delete result['last']
          result['new'] = true
          ;(result['list'] as unknown[]).length = 0
          return 'x'
        },
      })
      result['last'] = 'gone'
      const path = await manager.saveContext('outer', {}, result)
      assert.deepEqual((await manager.loadContext(path)).result, { list: [1, 2, 3], meddles: 'x' })
    }))
})

describe('the process', () => {
  const problems: unknown[] = []
  const note = (reason: unknown): void => {
    problems.push(reason)
  }
  process.on('unhandledRejection', note)
  after(() => process.off('unhandledRejection', note))

  it('has no unhandled rejection after failed calls', () =>
    beside(async (manager) => {
      await rejectsWith(() => manager.saveContext(wrong(5), {}, 1), 'ERR_CONTEXT_INVALID_ARGUMENT')
      await rejectsWith(() => manager.loadContext('missing.json'), 'ERR_CONTEXT_NOT_FOUND')
      await new Promise((resolve) => setTimeout(resolve, 20))
      assert.deepEqual(problems, [])
    }))
})
