import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { type Encoded, encode, FLAT, STRING, TEXT } from '../lib/native/snapshot.ts'
import { stringify } from '../lib/native/stringify.ts'
import { bytesAsText } from './support/fixtures.ts'
import { PATIENT } from './support/processes.ts'

/** What `JSON.stringify` says, and `null` for what it leaves out. Bytes that are text are written as text. */
const expected = (value: unknown): string => JSON.stringify(value, bytesAsText) ?? 'null'

/** The JSON text of a snapshot, as the Rust side makes it: the format as documented, read without regard to speed. */
function decode(encoded: Encoded): string {
  if (encoded.kind === TEXT) {
    return encoded.text
  }
  if (encoded.kind === STRING) {
    return JSON.stringify(encoded.text)
  }
  const operations = encoded.operations.slice(0, encoded.length)
  const doubles = new DataView(operations.buffer)
  const isLittleEndian = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1
  const strings = encoded.chunks.join('') + encoded.text
  const [valueEnd, valueUnits] = [at(0), at(1)]
  let position = 2
  let unit = 0

  function at(index: number): number {
    const operation = operations[index]
    assert.ok(operation !== undefined, 'operations end early')
    return operation
  }
  const takeString = (length: number): string => {
    assert.ok(unit + length <= strings.length, 'strings end early')
    unit += length
    return strings.slice(unit - length, unit)
  }
  const readKeyLists = (): string[][] => {
    const lists: string[][] = []
    unit = valueUnits
    for (let index = valueEnd; index < operations.length; ) {
      const count = at(index++)
      lists.push(Array.from({ length: count }, () => takeString(at(index++))))
    }
    assert.equal(unit, strings.length)
    unit = 0
    return lists
  }
  const keyLists = readKeyLists()
  const list = <T>(count: number, read: () => T): T[] => Array.from({ length: count }, read)
  const object = (entries: readonly (readonly [string, string | undefined])[]): string =>
    `{${entries.flatMap(([key, value]) => (value === undefined ? [] : [key + value])).join()}}`

  function read(): string | undefined {
    const operation = at(position++)
    const payload = operation >> 4
    switch (operation & 15) {
      case 0:
        return ['null', 'true', 'false', undefined][payload]
      case 1:
        return String(payload)
      case 2:
        position += (position & 1) + 2
        return String(doubles.getFloat64((position - 2) * 4, isLittleEndian))
      case 3:
        return JSON.stringify(takeString(payload))
      case 4:
        return `[${list(payload, () => read() ?? 'null').join()}]`
      case 5:
        return object((keyLists[payload] ?? assert.fail('unknown key list')).map((key) => [key, read()] as const))
      case 6:
        return object(list(payload, () => [`${JSON.stringify(takeString(at(position++)))}:`, read()] as const))
      default:
        return assert.fail(`unknown operation ${operation}`)
    }
  }
  const text = read() ?? 'null'
  assert.equal(position, valueEnd)
  assert.equal(unit, valueUnits)
  return text
}

/** Anything goes: lone surrogates, `-0`, sparse arrays, dates, typed arrays, boxed values, null prototypes. */
const anything = fc.anything({
  key: fc.oneof(fc.string(), fc.string({ unit: 'binary' }), fc.constantFrom('__proto__', 'toString', '0', '17', '')),
  values: [
    fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.string({ unit: fc.integer({ min: 0xd7ff, max: 0xe001 }).map((code) => String.fromCharCode(code)) }),
    ),
    fc.double(),
    fc.integer(),
    fc.maxSafeInteger(),
    fc.boolean(),
    fc.constantFrom(null, undefined, Number.NaN, -0, 1e21, 1e-7, 5e-324, 134217727, 134217728, -134217728, -134217729),
    fc.constantFrom<unknown>(Symbol('symbol'), () => 1),
  ],
  withBoxedValues: true,
  withDate: true,
  withNullPrototype: true,
  withObjectString: true,
  withSparseArray: true,
  withTypedArray: true,
  maxDepth: 4,
})

class Point {
  x = 1
  y = 2
  get sum(): number {
    return this.x + this.y
  }
}

function nested(depth: number, innermost: unknown): unknown {
  let value = innermost
  for (let level = 0; level < depth; level++) {
    value = level % 2 === 0 ? [value] : { inner: value }
  }
  return value
}

const withGetter = (get: () => unknown): object => Object.defineProperty({}, 'a', { enumerable: true, get })

const throwing = (thrown: unknown) => (): never => {
  throw thrown
}

const withPrototype = (value: object, prototype: object | null): unknown => Object.setPrototypeOf(value, prototype)

/** Unusual values that `JSON.stringify` can write. Functions, because some change when read. */
const unusual: Record<string, () => unknown> = {
  undefined: () => undefined,
  function: () => () => 1,
  symbol: () => Symbol('top'),
  'dropped in objects, null in arrays': () => ({
    a: undefined,
    b: () => 1,
    c: Symbol('c'),
    d: [undefined, () => 1, Symbol('d')],
  }),
  'all dropped': () => ({ a: undefined, b: { c: undefined }, d: [{ e: undefined }] }),
  'not finite': () => [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, -0, { zero: -0 }],
  numbers: () => [
    0,
    1,
    -1,
    1.5,
    1e21,
    123456789012345680000,
    1e-7,
    0.000001,
    2 ** 27,
    -(2 ** 27) - 1,
    2 ** 53,
    2 ** 31,
    1.7976931348623157e308,
  ],
  'boxed primitives': () => [Object(1), Object('text'), Object(false), new Number(Number.NaN)],
  'boxed in disguise': () => [
    withPrototype(new Number(5), Object.prototype),
    withPrototype(new String('text'), Object.prototype),
    withPrototype(new Boolean(true), null),
    withPrototype(new Number(5), { valueOf: () => 6, toString: () => 'seven' }),
  ],
  'boxed symbol': () => [Object(Symbol('boxed'))],
  'plain objects in disguise': () => [
    withPrototype({ a: 1 }, Number.prototype),
    { [Symbol.toStringTag]: 'Number', a: 1 },
  ],
  'boxed with valueOf': () => Object.assign(new Number(1), { valueOf: () => 7, toString: () => 'eight' }),
  'class instance': () => ({ point: new Point() }),
  'typed array': () => ({ bytes: new Uint8Array([1, 2]), floats: new Float64Array([0.5]) }),
  'sparse array': () => Object.assign(new Array(5), { 1: 1, 3: 2 }),
  'array with properties': () => Object.assign([1], { extra: 1 }),
  'subclass of Array': () => new (class extends Array {})(3),
  'null prototype': () => Object.assign(Object.create(null), { a: { b: 1 } }),
  'inherited keys': () => Object.assign(Object.create({ inherited: 1 }), { own: 1 }),
  'not enumerable': () => Object.defineProperty({ a: 1 }, 'hidden', { value: 1 }),
  'symbol keys': () => ({ [Symbol('key')]: 1, a: 1 }),
  '__proto__ as a key': () => JSON.parse('{"__proto__":{"a":1},"b":2}'),
  'key order': () => ({ b: 1, 2: 1, a: 1, 1: 1 }),
  'lone surrogates': () => ['\ud800', '\udc00', 'a\udfffb', { '\ud834': '\udf06\ud834' }, '\ud834\udf06'],
  'halves side by side': () => ['\ud834', '\udf06', { a: '\ud834', b: '\udf06' }],
  escapes: () => ['\u0000\u0001\b\t\n\v\f\r\u001f"\\/\u007f\u2028\u2029\ufeff', { '"\n': 1 }],
  'toJSON with its key': () => {
    const value = { toJSON: (key: string) => `key ${key}` }
    return { a: value, list: [value, [value]] }
  },
  'toJSON at the top': () => ({ toJSON: (key: string) => [key, typeof key] }),
  'toJSON of a function': () => ({ call: Object.assign(() => 1, { toJSON: () => 'called' }) }),
  'toJSON not callable': () => ({ toJSON: 5, a: { toJSON: null } }),
  'toJSON gives undefined': () => ({ a: { toJSON: () => undefined }, b: [{ toJSON: () => undefined }] }),
  Date: () => ({ at: new Date(0), invalid: new Date(Number.NaN) }),
  URL: () => ({ url: new URL('https://example.com/a') }),
  getter: () => withGetter(() => ({ b: 1 })),
  'getter that removes its neighbour': () => {
    const value: { b?: number } = withGetter(() => delete value.b)
    return Object.assign(value, { b: 2, constructor: 3 })
  },
  'getter that adds a neighbour': () => {
    const value = withGetter(() => Object.assign(value, { late: 1 }) && 1)
    return Object.assign(value, { b: 2 })
  },
  'getter that shortens the array': () => {
    const list: unknown[] = [0, 1, 2]
    return Object.defineProperty(list, 0, { enumerable: true, get: () => list.splice(1).length })
  },
  'getter that encodes': () => ({
    before: 'text',
    get a() {
      return decode(encode({ inner: ['x', 1] }))
    },
    after: 'more',
  }),
  'Proxy of an object': () => new Proxy({ a: 1, b: [2] }, {}),
  'Proxy of an array': () => [new Proxy([1, { a: 2 }], {})],
  'Proxy with other keys': () =>
    new Proxy(
      {},
      {
        ownKeys: () => ['x', 'y'],
        getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true }),
        get: (_, key) => (key === 'toJSON' ? undefined : String(key)),
      },
    ),
  'Proxy with another length': () =>
    new Proxy([1, 2, 3], { get: (target, key) => (key === 'length' ? '2' : Reflect.get(target, key)) }),
  'Proxy of a function': () => ({ a: new Proxy(() => 1, {}) }),
  'shared references': () => {
    const shared = { a: [1] }
    return [shared, shared, { shared }]
  },
  'raw JSON': () => {
    const { rawJSON } = JSON as { rawJSON?: (text: string) => unknown }
    return rawJSON === undefined ? null : { big: rawJSON('12345678901234567890') }
  },
  'nested 99 deep': () => nested(99, 1),
  'nested 101 deep': () => nested(101, { a: 1 }),
  'long strings': () => ['x'.repeat(100_000), 'short', 'é'.repeat(40_000), { a: '字'.repeat(32_768) }],
  'many strings': () => Array.from({ length: 20_000 }, (_, index) => `string ${index}`),
  'many keys': () =>
    Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [`key ${index}`, { [`inner ${index}`]: index / 3 }])),
  'a long key': () => ({ ['k'.repeat(70_000)]: 1 }),
  'an empty key': () => ({ '': { '': [] } }),
  empty: () => [{}, [], '', { a: {} }],
}

/** What JSON makes `{}` of, or only its own members, with what is written. */
const converted: Record<string, [() => unknown, string]> = {
  'Map, Set, RegExp, Error': [
    () => [new Map([[1, 2]]), new Set([1]), /x/, new Error('message')],
    '[[[1,2]],[1],"/x/",{"name":"Error","message":"message"}]',
  ],
  'Map of names': [() => ({ map: new Map([['a', new Map([['b', 1]])]]) }), '{"map":{"a":{"b":1}}}'],
  'Map with a property': [() => Object.assign(new Map([['a', 1]]), { extra: 2 }), '{"a":1,"extra":2}'],
  'Map that holds itself': [
    () => {
      const map = new Map<string, unknown>()
      return map.set('self', [map])
    },
    '{"self":["[Circular]"]}',
  ],
  'error with a cause and members': [
    () => ({ reason: Object.assign(new TypeError('no', { cause: new RangeError('far') }), { code: 'ENOENT' }) }),
    '{"reason":{"name":"TypeError","message":"no","cause":{"name":"RangeError","message":"far"},"code":"ENOENT"}}',
  ],
  'error of many': [
    () => new AggregateError([new Error('one')], 'all'),
    '{"name":"AggregateError","message":"all","errors":[{"name":"Error","message":"one"}]}',
  ],
  'URL and its parameters': [
    () => [new URL('https://a/b'), new URLSearchParams('a=1&a=2'), new Headers({ b: 'c' })],
    // Bun's classes say how they are written.
    'toJSON' in URLSearchParams.prototype
      ? '["https://a/b",{"a":["1","2"]},{"b":"c"}]'
      : '["https://a/b",[["a","1"],["a","2"]],[["b","c"]]]',
  ],
  'what has no members to show': [
    () => [Promise.resolve(), new WeakMap(), new Blob(['ab'], { type: 'a/b' }), new ArrayBuffer(2)],
    '["[Promise]","[WeakMap]","[Blob a/b, 2 bytes]","[ArrayBuffer, 2 bytes]"]',
  ],
  'Response within data': [
    () => ({ response: new Response('body', { status: 201, headers: { a: 'b', 'content-type': 'c/d' } }) }),
    '{"response":{"url":"","status":201,"statusText":"","headers":[["a","b"],["content-type","c/d"]]}}',
  ],
}

/** Values that make `JSON.stringify` throw, and what is stored of them. */
const tolerated: Record<string, [value: () => unknown, text: string]> = {
  BigInt: [() => 10n, '"[BigInt 10]"'],
  'BigInt inside': [
    () => ({ a: 1, b: [-5n, Object(7n)], c: 'rest' }),
    '{"a":1,"b":["[BigInt -5]","[BigInt 7]"],"c":"rest"}',
  ],
  cycle: [
    () => {
      const value = { a: 1 }
      return Object.assign(value, { self: value, list: [value, { value }] })
    },
    '{"a":1,"self":"[Circular]","list":["[Circular]",{"value":"[Circular]"}]}',
  ],
  'shared references beside a cycle': [
    () => {
      const shared = { a: 1 }
      const list: unknown[] = [shared, shared]
      list.push(list)
      return list
    },
    '[{"a":1},{"a":1},"[Circular]"]',
  ],
  'throwing getter': [
    () => ({ a: 1, b: withGetter(throwing(Error('no "b"'))), c: 2 }),
    '{"a":1,"b":{"a":"[Throws: no \\"b\\"]"},"c":2}',
  ],
  'throwing toJSON': [() => [{ toJSON: throwing(TypeError('no')) }, 1], '["[Throws: no]",1]'],
  'throwing toJSON getter': [
    () => Object.defineProperty({}, 'toJSON', { get: throwing(Error('hidden')) }),
    '"[Throws: hidden]"',
  ],
  'throwing valueOf': [() => [Object.assign(Object(1), { valueOf: throwing(Error('bad')) })], '["[Throws: bad]"]'],
  'thrown string': [() => withGetter(throwing('text')), '{"a":"[Throws: text]"}'],
  'thrown undefined': [() => withGetter(throwing(undefined)), '{"a":"[Throws: undefined]"}'],
  'thrown symbol': [() => withGetter(throwing(Symbol('s'))), '{"a":"[Throws: Symbol(s)]"}'],
  'thrown without prototype': [() => withGetter(throwing(Object.create(null))), '{"a":"[Throws: unknown error]"}'],
  'error whose message throws': [
    () => withGetter(throwing(Object.defineProperty(new Error(), 'message', { get: throwing(Error('deeper')) }))),
    '{"a":"[Throws: unknown error]"}',
  ],
  'everything else as ever': [
    () => [
      1n,
      undefined,
      () => 1,
      Symbol('s'),
      Number.NaN,
      -0,
      { a: undefined, b: Object('boxed'), c: new Date(0) },
      new Map([[1, 2]]),
      new Uint8Array([3]),
      '\ud800',
      ...new Array(1),
      null,
      true,
    ],
    '["[BigInt 1]",null,null,null,null,0,{"b":"boxed","c":"1970-01-01T00:00:00.000Z"},[[1,2]],{"0":3},"\\ud800",null,null,true]',
  ],
  'toJSON keeps its key': [
    () => [1n, { toJSON: (key: string) => key }, { a: { toJSON: (key: string) => key } }],
    '["[BigInt 1]","1",{"a":"a"}]',
  ],
  'toJSON of a function': [() => [1n, Object.assign(() => 1, { toJSON: () => 2 })], '["[BigInt 1]",2]'],
  'boxed in disguise': [
    () => [
      1n,
      withPrototype(new Number(5), Object.prototype),
      withPrototype(new Boolean(true), null),
      { [Symbol.toStringTag]: 'Number', a: 1 },
    ],
    '["[BigInt 1]",null,true,{"a":1}]',
  ],
  'BigInt in a class instance': [() => Object.assign(new Point(), { big: 2n }), '{"x":1,"y":2,"big":"[BigInt 2]"}'],
}

describe('stringify', () => {
  test('equals JSON.stringify on any JSON value', () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: 'binary' }), (value) => assert.equal(stringify(value), expected(value))),
    )
  })

  test('equals JSON.stringify on anything it accepts', () => {
    fc.assert(
      fc.property(anything, (value) => assert.equal(stringify(value), expected(value))),
      { numRuns: 500 },
    )
  })

  test('writes everything but the marked part as JSON.stringify does', () => {
    fc.assert(
      fc.property(anything, (value) => {
        assert.equal(stringify([value, { key: value }, 1n]), expected([value, { key: value }, '[BigInt 1]']))
      }),
      { numRuns: 1000 },
    )
  })

  for (const [name, [value, text]] of Object.entries(converted)) {
    test(name, () => assert.equal(stringify(value()), text))
  }

  for (const [name, value] of Object.entries(unusual)) {
    test(name, () => {
      assert.equal(stringify(value()), expected(value()))
      assert.equal(stringify([1n, value()]), expected(['[BigInt 1]', value()]))
    })
  }

  for (const [name, [value, text]] of Object.entries(tolerated)) {
    test(name, () => {
      assert.throws(() => JSON.stringify(value()))
      assert.equal(stringify(value()), text)
    })
  }

  test('marks a revoked Proxy', () => {
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    assert.match(stringify({ a: 1, proxy }), /^\{"a":1,"proxy":"\[Throws: .*\]"\}$/)
    const list = Proxy.revocable([], {})
    list.revoke()
    assert.match(stringify([list.proxy, 1]), /^\["\[Throws: .*\]",1\]$/)
  })

  test('marks a Proxy whose traps throw', () => {
    const fail = throwing(new Error('trap'))
    assert.equal(stringify([new Proxy({}, { ownKeys: fail })]), '["[Throws: trap]"]')
    assert.equal(stringify([new Proxy({}, { get: fail })]), '["[Throws: trap]"]')
    assert.equal(stringify([1n, new Proxy({ a: 1 }, { getPrototypeOf: fail })]), '["[BigInt 1]",{"a":1}]')
  })

  test('survives a thrown Proxy that was revoked', () => {
    const { proxy, revoke } = Proxy.revocable(new Error(), {})
    revoke()
    const value = Object.assign(withGetter(throwing(proxy)), { b: 1 })
    assert.equal(stringify(value), '{"a":"[Throws: unknown error]","b":1}')
  })

  test('cuts what is nested 100 000 deep', () => {
    let value: unknown = 1n // some engines go that deep without it
    for (let level = 0; level < 100_000; level++) {
      value = [value]
    }
    const text = stringify(value)
    assert.equal(text, `${'['.repeat(10_000)}"[Too deep]"${']'.repeat(10_000)}`)
  })

  test('keeps values on the last level', () => {
    let value: unknown = [1, {}]
    for (let level = 0; level < 9999; level++) {
      value = [value]
    }
    assert.equal(stringify([value, 1n]).replaceAll(/^\[+|\]+,"\[BigInt 1\]"\]$/g, ''), '"[Too deep]"')
    assert.equal(stringify({ a: 1n, value: (value as unknown[])[0] }).match(/1,.*"/)?.[0], '1,"[Too deep]"')
  })

  test('stops at an endless chain of getters', () => {
    const link = (): object => ({
      get next() {
        return link()
      },
    })
    assert.match(stringify(link()), /\{"next":"\[Too deep\]"\}+$/)
  })

  test('follows a patched BigInt.prototype.toJSON', () => {
    const prototype = BigInt.prototype as { toJSON?: (key: string) => unknown }
    prototype.toJSON = function (this: bigint, key: string) {
      return `${typeof this} ${this} at ${key}`
    }
    try {
      const value: unknown[] = [5n, { a: 6n }]
      assert.equal(stringify(value), expected(value))
      assert.equal(decode(encode(value)), expected(value))
      const thrown = withGetter(throwing(Error('thrown')))
      assert.equal(stringify([...value, thrown]), `${expected(value).slice(0, -1)},{"a":"[Throws: thrown]"}]`)
    } finally {
      delete prototype.toJSON
    }
  })

  test('lets the error of a text that is too long through, and no other RangeError', () => {
    const failing = (message: string) => ({ toJSON: throwing(new RangeError(message)) })
    assert.throws(() => stringify(failing('Invalid string length')), RangeError) // V8
    assert.throws(() => stringify(failing('Out of memory')), RangeError) // JavaScriptCore
    assert.equal(stringify(failing('other')), '"[Throws: other]"')
  })
})

describe('encode', () => {
  const encoded = (value: unknown): string => decode(encode(value))

  test('equals JSON.stringify on any JSON value', () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: 'binary', maxDepth: 6 }), (value) =>
        assert.equal(encoded(value), expected(value)),
      ),
      { numRuns: 1000 },
    )
  })

  test('equals JSON.stringify on anything it accepts', () => {
    fc.assert(
      fc.property(anything, (value) => assert.equal(encoded(value), expected(value))),
      { numRuns: 2000 },
    )
  })

  for (const [name, [value, text]] of Object.entries(converted)) {
    test(name, () => assert.equal(encoded(value()), text))
  }

  for (const [name, value] of Object.entries(unusual)) {
    test(name, () => {
      assert.equal(encoded(value()), expected(value()))
      assert.equal(
        encoded({ before: ['text', 0.5], value: value(), after: 'text' }),
        expected({ before: ['text', 0.5], value: value(), after: 'text' }),
      )
    })
  }

  for (const [name, [value, text]] of Object.entries(tolerated)) {
    test(name, () => assert.equal(encoded(value()), text))
  }

  test('calls a getter once', () => {
    let calls = 0
    const value = {
      empty: {},
      get member(): object {
        calls += 1
        return { of: new Set([calls]), deeper: {} }
      },
    }
    assert.equal(encoded(value), '{"empty":{},"member":{"of":[1],"deeper":{}}}')
    assert.equal(calls, 1)
  })

  test('ends on a value whose getters have no end', () => {
    const endless = (): object => ({
      get next(): object {
        return endless()
      },
    })
    assert.match(encoded({ map: new Map([['a', {}]]), endless: endless() }), /\[Too deep\]/)
  })

  test('takes strings as they are', () => {
    assert.equal(encode('text').kind, STRING)
    assert.equal(encoded('lone \ud800'), '"lone \\ud800"')
  })

  test('follows a toJSON patched in at run time', () => {
    for (const prototype of [Object.prototype, Array.prototype, String.prototype, Number.prototype]) {
      const value = { a: [1, 'text', { b: 2 }] }
      Object.defineProperty(prototype, 'toJSON', { configurable: true, value: (key: string) => `patched ${key}` })
      try {
        assert.equal(encoded(value), expected(value))
      } finally {
        delete (prototype as { toJSON?: unknown }).toJSON
      }
    }
  })

  test('ignores enumerable keys patched into Object.prototype', () => {
    Object.assign(Object.prototype, { polluted: 1 })
    try {
      assert.equal(encoded([{ a: 1 }, {}]), '[{"a":1},{}]')
    } finally {
      delete (Object.prototype as { polluted?: unknown }).polluted
    }
  })

  test('keeps no trace of a value that failed', () => {
    assert.equal(
      encoded({ text: 'left over', list: ['x'.repeat(40_000), 1n] }).length,
      40_000 + '{"text":"left over","list":["","[BigInt 1]"]}'.length,
    )
    assert.equal(encoded({ a: 'b' }), '{"a":"b"}')
  })

  test('outlives more key lists than it remembers', () => {
    for (let round = 0; round < 300; round++) {
      const value = Array.from({ length: 40 }, (_, index) => ({ [`key ${round} ${index}`]: index, shared: 'x' }))
      assert.equal(encoded(value), expected(value))
    }
  })

  test('releases a buffer that grew', () => {
    const value = Array.from({ length: 300_000 }, (_, index) => index)
    assert.equal(encoded(value), expected(value))
    const after = encode([1])
    assert.ok(after.operations.length < 300_000)
    assert.equal(decode(after), '[1]')
  })

  test('leaves a huge array to JSON.stringify', PATIENT, () => {
    const value = { list: new Array(2 ** 24) }
    assert.equal(encode(value).kind, TEXT)
    assert.ok(encoded(value) === expected(value)) // not `equal`, which would print it
  })

  test('uses operations for objects and arrays', () => {
    for (const value of [{ a: 1 }, [1], [{ a: [1] }, { a: [2] }]]) {
      assert.equal(encode(value).kind, FLAT)
    }
    assert.equal(encode(1n).kind, TEXT)
  })

  test('takes the keys that an object has, not those of the object before it', () => {
    const alike = Object.create(null) as Record<string, unknown>
    Object.assign(alike, { type: 'x', data: 1 })
    const hidden = Object.defineProperty({ type: 'x', data: 1 }, 'extra', { value: 1, enumerable: false })
    const rows = [
      { type: 'x', data: 1 },
      { type: 'Buffer', data: [104, 105] },
      { data: 1, type: 'x' },
      { type: 'x' },
      { type: 'x', data: 1, more: 2 },
      alike,
      hidden,
      { type: undefined, data: Symbol('absent') },
      {},
      { toJSON: 1, data: 2 },
    ]
    assert.equal(encoded(rows), JSON.stringify(rows).replace('{"type":"Buffer","data":[104,105]}', '"hi"'))
  })

  test('leaves an object to JSON.stringify whose getter removes a key', () => {
    const shrinking = () => ({
      get first() {
        delete (this as { second?: number }).second
        return 1
      },
      second: 2,
    })
    const rows = () => [{ first: 0, second: 0 }, shrinking()]
    assert.equal(encoded(rows()), JSON.stringify(rows()))
  })
})
