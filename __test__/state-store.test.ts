/** `StateStore`: values, keys and namespaces, conditions, expiry, listing, batches, transactions, watching. */

import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import fc from 'fast-check'
import type { JsonValue, StateItem, StateStoreOptions } from '../dist/index.js'
import { inDirectory, nested, rejectsWith, throwsWith, unwrap, wrong } from './support/fixtures.ts'
import { PATIENT } from './support/processes.ts'
import { inDatabase, StateStore } from './support/state-stores.ts'

/** Runs a test on a store of its own. */
function withStore(work: (store: StateStore, directory: string) => Promise<void>, options: StateStoreOptions = {}) {
  return () =>
    inDirectory(async (directory) => {
      const store = new StateStore({ path: join(directory, 'state.db'), ...options })
      try {
        await work(store, directory)
      } finally {
        await store.close()
      }
    })
}

const keysOf = (items: readonly StateItem[]): string[] => items.map(({ key }) => key)

describe('values', () => {
  test(
    'JSON comes back equal, in its order and spelling',
    withStore(async (store) => {
      const values: JsonValue[] = [
        null,
        '',
        '\ud800 and \udfff\u0000',
        { b: 1, a: [1e21, -0.5, 1e-7], '': { '\ud83d': 'é' } },
        JSON.parse('{"__proto__": {"x": 1}, "constructor": 2}') as JsonValue,
        [[], {}, [null, true, false]],
      ]
      for (const [index, value] of values.entries()) {
        const key = `k${index}`
        const written = await store.put(['values'], key, value)
        assert.equal(written.value, value)
        const read = await store.get(['values'], key)
        assert.equal(JSON.stringify(read?.value), JSON.stringify(value))
        assert.deepEqual({ ...read, value }, { ...written, value })
      }
      const { items } = await store.list(['values'])
      assert.deepEqual(
        items.map(({ value }) => JSON.stringify(value)),
        values.map((value) => JSON.stringify(value)),
      )
    }),
  )

  test(
    'deep nesting comes back',
    withStore(async (store) => {
      await store.put(['deep'], 'k', nested(1500, (inner) => [inner]) as JsonValue)
      assert.deepEqual(unwrap((await store.get(['deep'], 'k'))?.value), { depth: 1500, core: 'core' })
      assert.deepEqual(keysOf((await store.list([], { filter: { a: 1 } })).items), [])
    }),
  )

  test(
    'bytes come back exact, as a Uint8Array',
    withStore(async (store) => {
      const bytes = Uint8Array.from({ length: 256 }, (_, byte) => byte)
      await store.put(['bytes'], 'all', Buffer.from(bytes), { mediaType: 'application/octet-stream' })
      await store.put(['bytes'], 'none', new Uint8Array())
      await store.put(['bytes'], 'text', 'between')
      const all = await store.get(['bytes'], 'all')
      assert.deepEqual(all?.value, bytes)
      assert.equal(all?.mediaType, 'application/octet-stream')
      const { items } = await store.list(['bytes'])
      assert.deepEqual(
        items.map(({ value }) => value),
        [bytes, new Uint8Array(), 'between'],
      )
      const read = await store.batch([
        { type: 'get', namespace: ['bytes'], key: 'none' },
        { type: 'get', namespace: ['bytes'], key: 'missing' },
        { type: 'get', namespace: ['bytes'], key: 'all' },
      ])
      assert.deepEqual([read[0]?.value, read[1], read[2]?.value], [new Uint8Array(), undefined, bytes])
    }),
  )

  // Longer ones cross in pieces of 262 144 units, and are read in pieces of a mebibyte.
  test(
    'long texts come back, whatever is where one of their pieces ends',
    PATIENT,
    withStore(async (store) => {
      const shift = fc.integer({ min: 0, max: 8 })
      const around = fc.array(fc.constantFrom('a', '\\', '"', '\n', '\u0001', 'é', '€', '😀', '\ud83d', '\udc00'), {
        minLength: 8,
        maxLength: 16,
      })
      await fc.assert(
        fc.asyncProperty(shift, around, async (shift, around) => {
          const middle = around.join('')
          const text = `${'x'.repeat(262_144 - shift)}${middle}${'y'.repeat(786_432 - 9)}${middle}${'é'.repeat(600_000)}${middle}`
          await store.put(['long'], 'text', text)
          const [read] = await store.batch([{ type: 'get', namespace: ['long'], key: 'text' }])
          const { items } = await store.list(['long'])
          for (const item of [await store.get(['long'], 'text'), read, items[0]]) {
            assert.ok(item?.value === text) // not `equal`, which would print it
          }
        }),
        { numRuns: 8 },
      )
    }),
  )

  test('large ones come back, and larger ones than allowed are refused', PATIENT, () =>
    withStore(
      async (store) => {
        const bytes = new Uint8Array(5 * 1024 * 1024).map((_, index) => index % 251)
        await store.put(['large'], 'bytes', bytes)
        assert.equal(Buffer.compare((await store.get(['large'], 'bytes'))?.value as Uint8Array, bytes), 0)
        for (const text of ['é'.repeat(2 * 1024 * 1024), 'x'.repeat(5 * 1024 * 1024)]) {
          await store.put(['large'], 'text', text)
          assert.ok((await store.get(['large'], 'text'))?.value === text)
        }
        for (const value of [new Uint8Array(6 * 1024 * 1024 + 1), 'x'.repeat(6 * 1024 * 1024), 'é'.repeat(4e6)]) {
          await rejectsWith(() => store.put(['large'], 'bytes', value), 'ERR_CONTEXT_TOO_LARGE', /maxValueBytes/)
        }
        assert.equal(Buffer.compare((await store.get(['large'], 'bytes'))?.value as Uint8Array, bytes), 0)
      },
      { maxValueBytes: 6 * 1024 * 1024 },
    )(),
  )

  test(
    'what JSON cannot hold is refused',
    withStore(async (store) => {
      const cycle: Record<string, unknown> = {}
      cycle['self'] = cycle
      for (const value of [undefined, () => 1, Symbol('x'), 1n, cycle]) {
        await rejectsWith(
          () => store.put(['a'], 'k', wrong<JsonValue>(value)),
          'ERR_CONTEXT_INVALID_ARGUMENT',
          /^value must be/,
        )
      }
      assert.equal((await store.stats()).items, 0)
    }),
  )

  test(
    'later changes to a value do not count',
    withStore(async (store) => {
      const value = { list: [1] }
      const bytes = new Uint8Array([1, 2])
      const writing = [store.put(['a'], 'json', value), store.put(['a'], 'bytes', bytes)]
      value.list.push(2)
      bytes.fill(9)
      await Promise.all(writing)
      assert.deepEqual((await store.get(['a'], 'json'))?.value, { list: [1] })
      assert.deepEqual((await store.get(['a'], 'bytes'))?.value, new Uint8Array([1, 2]))
    }),
  )

  test(
    'nothing is redacted unless it is asked for',
    withStore(async (store, directory) => {
      const secret = ['gh', 'p_', 'Zx81kQpW3nVt7LsYb2MdRf9CuJ5hEoGa6iTq'].join('')
      await store.put(['a'], 'k', { secret })
      assert.deepEqual((await store.get(['a'], 'k'))?.value, { secret })
      const reports: unknown[] = []
      const redaction = { onRedaction: (report: unknown) => void reports.push(report) }
      const redacting = new StateStore({ path: join(directory, 'redacted.db'), redaction })
      const written = await redacting.put(['a'], 'k', { secret })
      const stored = { secret: '[REDACTED:github-token]' }
      assert.deepEqual(written.value, stored)
      assert.deepEqual((await redacting.get(['a'], 'k'))?.value, stored)
      const text = await redacting.put(['a'], 'text', Buffer.from(`token ${secret}`))
      assert.equal(Buffer.from(text.value).toString(), 'token [REDACTED:github-token]')
      const findings = [{ rule: 'github-token', count: 1 }]
      assert.deepEqual(reports, [
        { kind: 'state', key: 'k', filepath: redacting.path, findings },
        { kind: 'state', key: 'text', filepath: redacting.path, findings },
      ])
      await rejectsWith(
        () => redacting.put(['a'], secret, 1),
        'ERR_CONTEXT_INVALID_ARGUMENT',
        /^key must hold no secret/,
      )
      await redacting.close()
    }),
  )
})

describe('namespaces and keys', () => {
  test(
    'are compared by segments and code points, unchanged',
    withStore(async (store) => {
      const places: [string[], string][] = [
        [['u', '1'], 'k'],
        [['u', '10'], 'k'],
        [['u1'], 'k'],
        [['u', '1', 'x'], 'k'],
        [['u\0', '\u0001'], 'k\0'],
        [['é'], 'é'],
        [['e\u0301'], 'e\u0301'],
        [['\ud800'], '\udfff'],
        [['\ufffd'], '\ufffd'],
        [['😀'], '😀'],
      ]
      for (const [index, [namespace, key]] of places.entries()) {
        await store.put(namespace, key, index)
      }
      for (const [index, [namespace, key]] of places.entries()) {
        const item = await store.get(namespace, key)
        assert.deepEqual([item?.namespace, item?.key, item?.value], [namespace, key, index])
      }
      assert.deepEqual(
        (await store.list(['u', '1'])).items.map(({ value }) => value),
        [0, 3],
      )
      const { items } = await store.list([])
      assert.deepEqual(
        items.map(({ namespace, key }) => [namespace, key]),
        [...places].sort(([left], [right]) => comparePoints(left, right)),
      )
    }),
  )

  test(
    'wrong ones are refused',
    withStore(async (store) => {
      for (const namespace of [[], [''], ['a', ''], 'a', null, undefined, [1], ['x'.repeat(5000)]]) {
        await rejectsWith(() => store.get(wrong(namespace), 'k'), 'ERR_CONTEXT_INVALID_ARGUMENT', /^namespace/)
        await rejectsWith(() => store.put(wrong(namespace), 'k', 1), 'ERR_CONTEXT_INVALID_ARGUMENT', /^namespace/)
      }
      for (const key of ['', 1, null, 'é'.repeat(2049)]) {
        await rejectsWith(() => store.delete(['a'], wrong(key)), 'ERR_CONTEXT_INVALID_ARGUMENT', /key must/)
      }
      // An index of PostgreSQL takes less.
      await store.put(['a'], 'é'.repeat(inDatabase ? 1299 : 2048), 1)
    }),
  )

  test(
    'of a store with one of its own are below it',
    withStore(async (store, directory) => {
      const tenant = new StateStore({ path: join(directory, 'state.db'), namespace: ['tenant', 'a'] })
      await tenant.put(['n'], 'k', 1)
      await store.put(['tenant', 'b', 'n'], 'k', 2)
      assert.deepEqual((await store.get(['tenant', 'a', 'n'], 'k'))?.value, 1)
      assert.deepEqual(
        (await tenant.list([])).items.map(({ namespace }) => namespace),
        [['n']],
      )
      assert.deepEqual(await tenant.namespaces({ maxDepth: 1 }), { namespaces: [['n']] })
      await tenant.close()
    }),
  )

  test(
    'are listed with prefix, suffix and depth, page by page',
    withStore(async (store) => {
      for (const namespace of [['a', 'x'], ['a', 'y', 'z'], ['b', 'x'], ['a']]) {
        await store.put(namespace, 'k', 1)
      }
      assert.deepEqual((await store.namespaces()).namespaces, [['a'], ['a', 'x'], ['a', 'y', 'z'], ['b', 'x']])
      assert.deepEqual((await store.namespaces({ prefix: ['a'], suffix: ['x'] })).namespaces, [['a', 'x']])
      assert.deepEqual((await store.namespaces({ maxDepth: 1 })).namespaces, [['a'], ['b']])
      const first = await store.namespaces({ limit: 3 })
      assert.deepEqual(await store.namespaces({ limit: 3, cursor: first.cursor }), { namespaces: [['b', 'x']] })
      await store.delete(['b', 'x'], 'k')
      assert.deepEqual((await store.namespaces({ prefix: ['b'] })).namespaces, [])
      await rejectsWith(() => store.namespaces({ maxDepth: 0 }), 'ERR_CONTEXT_INVALID_ARGUMENT', /^maxDepth/)
    }),
  )
})

function comparePoints(left: readonly string[], right: readonly string[]): number {
  const points = (segments: readonly string[]) =>
    segments.map((segment) => Array.from(segment, (c) => c.codePointAt(0) ?? 0))
  const [one, other] = [points(left), points(right)]
  for (let index = 0; index < Math.max(one.length, other.length); index++) {
    const [a, b] = [one[index] ?? [], other[index] ?? []]
    for (let at = 0; at < Math.max(a.length, b.length); at++) {
      const difference = (a[at] ?? -1) - (b[at] ?? -1)
      if (difference !== 0) {
        return difference
      }
    }
  }
  return 0
}

describe('revisions', () => {
  test(
    'guard changes, and are never used again',
    withStore(async (store) => {
      const first = await store.put(['a'], 'k', 1, { ifRevision: null })
      await rejectsWith(() => store.put(['a'], 'k', 2, { ifRevision: null }), 'ERR_CONTEXT_CONFLICT', /"k"/)
      const second = await store.put(['a'], 'k', 2, { ifRevision: first.revision })
      assert.equal(second.createdAt, first.createdAt)
      await rejectsWith(() => store.put(['a'], 'k', 3, { ifRevision: first.revision }), 'ERR_CONTEXT_CONFLICT')
      await rejectsWith(() => store.delete(['a'], 'k', { ifRevision: first.revision }), 'ERR_CONTEXT_CONFLICT')
      assert.equal(await store.delete(['a'], 'k', { ifRevision: second.revision }), true)
      assert.equal(await store.delete(['a'], 'k'), false)
      const third = await store.put(['a'], 'k', 4, { ifRevision: null })
      assert.equal(new Set([first.revision, second.revision, third.revision]).size, 3)
    }),
  )

  test(
    'let one of many writers through',
    withStore(async (store) => {
      const writing = Array.from({ length: 50 }, (_, by) => store.put(['a'], 'k', by, { ifRevision: null }))
      const settled = await Promise.allSettled(writing)
      assert.equal(settled.filter(({ status }) => status === 'fulfilled').length, 1)
      assert.equal((await store.get(['a'], 'k'))?.value, 0)
    }),
  )

  test(
    'changes of one store take effect in the order of their calls',
    withStore(async (store) => {
      const revisions = await Promise.all(Array.from({ length: 200 }, (_, by) => store.put(['a'], 'k', by)))
      assert.equal((await store.get(['a'], 'k'))?.value, 199)
      const numbers = revisions.map(({ revision }) => Number.parseInt(revision, 10))
      assert.deepEqual(
        numbers,
        [...numbers].sort((left, right) => left - right),
      )
    }),
  )
})

describe('expiry', () => {
  test(
    'an expired item is absent everywhere, and is removed',
    withStore(async (store) => {
      assert.equal((await store.put(['a'], 'later', 1, { ttl: '1h' })).expiresAt?.endsWith('Z'), true)
      // The last write before the item expires: a later one would remove it.
      const item = await store.put(['a'], 'k', 1, { ttl: 20 })
      assert.equal(new Date(item.expiresAt ?? '').getTime() - new Date(item.updatedAt).getTime(), 20)
      await setTimeout(40)
      assert.equal(await store.get(['a'], 'k'), undefined)
      assert.deepEqual(keysOf((await store.list(['a'])).items), ['later'])
      assert.deepEqual(keysOf(await store.search(['a'], 'k')), [])
      await rejectsWith(() => store.delete(['a'], 'k', { ifRevision: item.revision }), 'ERR_CONTEXT_CONFLICT')
      // The refused delete wrote nothing, so that nothing was removed beside it.
      const { expiredItems } = await store.stats()
      assert.equal(expiredItems, 1)
      assert.deepEqual(await store.sweep(), { expiredItems: 1, changes: 3, erased: !inDatabase })
      const left = await store.stats()
      assert.deepEqual([left.items, left.expiredItems], [1, 0])
      const kept = await store.put(['a'], 'k', 2, { ifRevision: null })
      assert.equal(kept.expiresAt, undefined)
      const time = new Date(Date.now() + 60_000)
      for (const expiresAt of [time, time.getTime(), time.toISOString()]) {
        assert.equal((await store.put(['a'], 'at', 1, { expiresAt })).expiresAt, time.toISOString())
      }
      await store.batch([{ type: 'put', namespace: ['a'], key: 'at', value: 1, expiresAt: Date.now() - 1 }])
      assert.equal(await store.get(['a'], 'at'), undefined)
      for (const options of [{ expiresAt: 'soon' }, { expiresAt: time, ttl: 1 }, { expiresAt: Number.NaN }]) {
        await rejectsWith(() => store.put(['a'], 'k', 1, wrong(options)), 'ERR_CONTEXT_INVALID_ARGUMENT', /^expiresAt/)
      }
      for (const ttl of [0, -1, 1.5, Number.NaN, 'soon', '0s', {}]) {
        await rejectsWith(() => store.put(['a'], 'k', 1, { ttl: wrong(ttl) }), 'ERR_CONTEXT_INVALID_ARGUMENT', /^ttl/)
      }
    }),
  )
})

describe('listing', () => {
  test(
    'pages join in either order, within a prefix of keys',
    withStore(async (store) => {
      for (const key of ['b1', 'a2', 'b3', 'a1', 'b2', 'c']) {
        await store.put(['n'], key, key)
      }
      for (const [order, expected] of [
        ['key', ['b1', 'b2', 'b3']],
        ['updated', ['b2', 'b3', 'b1']],
      ] as const) {
        const first = await store.list(['n'], { order, keyPrefix: 'b', limit: 2 })
        const second = await store.list(['n'], { order, keyPrefix: 'b', limit: 2, cursor: first.cursor })
        assert.deepEqual([...keysOf(first.items), ...keysOf(second.items)], expected)
        assert.equal(second.cursor, undefined)
      }
      await rejectsWith(() => store.list([], { cursor: 'x' }), 'ERR_CONTEXT_INVALID_ARGUMENT', /^cursor/)
      await rejectsWith(() => store.list([], { order: wrong('size') }), 'ERR_CONTEXT_INVALID_ARGUMENT', /^order/)
    }),
  )

  const FILTERS = [
    { type: 'a' },
    { type: { $ne: 'a' } },
    { n: { $gt: 2, $lte: 5 } },
    { '$.deep.user': { $in: ['u1', 'u2'] } },
    { deep: { $exists: false } },
    { deep: { user: 'u1' } },
    { type: 'a', n: { $gte: 4 } },
    { type: null },
    { 'odd.name': 1 },
  ]

  test(
    'filters compare members, with an index and without one',
    withStore(async (store, directory) => {
      for (let n = 0; n < 8; n++) {
        const deep = n % 2 === 0 ? { deep: { user: `u${n % 3}` } } : {}
        await store.put(['n'], `k${n}`, { type: n % 3 === 0 ? 'a' : 'b', n, ...deep, 'odd.name': n })
      }
      await store.put(['n'], 'list', ['a'])
      await store.put(['n'], 'null', { type: null, n: '4' })
      await store.put(['n'], 'bytes', new Uint8Array([1]))
      const found = async (store: StateStore) =>
        Promise.all(FILTERS.map(async (filter) => keysOf((await store.list(['n'], { filter })).items).join(' ')))
      const expected = [
        'k0 k3 k6',
        'k1 k2 k4 k5 k7 list null',
        'k3 k4 k5',
        'k2 k4',
        'k1 k3 k5 k7 list null',
        'k4',
        'k6',
        'null',
        'k1',
      ]
      assert.deepEqual(await found(store), expected)
      const indexes = ['$.type', '$.n', '$.deep.user']
      const indexed = new StateStore({ path: join(directory, 'state.db'), indexes })
      assert.deepEqual(await found(indexed), expected)
      await indexed.close()
      assert.equal(
        (await store.list([], { filter: wrong({ a: { $in: null, $exists: undefined, $no: null } }) })).items.length,
        11,
      )
      for (const filter of [{ a: { $gx: 1 } }, { a: { $in: 1 } }, { a: { $exists: 1 } }, { '$.': 1 }, { a: 1n }, []]) {
        await rejectsWith(() => store.list([], { filter: wrong(filter) }), 'ERR_CONTEXT_INVALID_ARGUMENT', /filter/)
      }
      throwsWith(() => new StateStore({ indexes: ['type'] }), 'ERR_CONTEXT_INVALID_ARGUMENT', /^indexes\[0\]/)
    }),
  )
})

describe('search', () => {
  test(
    'ranks, and gives the same in every store',
    withStore(async (store, directory) => {
      await store.put(['notes'], 'tea', { text: 'How to brew green tea', lang: 'en' })
      await store.put(['notes'], 'bread', { text: 'Bread goes with tea', lang: 'de' })
      await store.put(['notes'], 'car', { text: 'Electric cars' })
      await store.put(['notes'], 'file', Buffer.from('tea in a file'))
      const hits = await store.search(['notes'], 'brewing tea')
      assert.equal(hits[0]?.key, 'tea')
      assert.deepEqual(keysOf(hits).sort(), ['bread', 'file', 'tea'])
      assert.ok(hits.every(({ score }, index) => score > 0 && score <= (hits[index - 1]?.score ?? score)))
      assert.deepEqual(keysOf(await store.search([], 'tea', { filter: { lang: 'de' } })), ['bread'])
      assert.equal((await store.search([], 'tea', { limit: 1 })).length, 1)
      const other = new StateStore({ path: join(directory, 'state.db') })
      assert.deepEqual(await other.search(['notes'], 'brewing tea'), hits)
      await other.close()
    }),
  )
})

describe('batch', () => {
  test(
    'is done as a whole, or not at all',
    withStore(async (store) => {
      const { revision } = await store.put(['a'], 'k', 1)
      const [put, read, deleted, missing] = await store.batch([
        { type: 'put', namespace: ['a'], key: 'new', value: { x: 1 }, ifRevision: null, mediaType: 'text/plain' },
        { type: 'get', namespace: ['a'], key: 'new' },
        { type: 'delete', namespace: ['a'], key: 'k', ifRevision: revision },
        { type: 'delete', namespace: ['a'], key: 'k' },
      ])
      assert.deepEqual(read, put)
      assert.deepEqual([deleted, missing], [true, false])
      await rejectsWith(
        () =>
          store.batch([
            { type: 'put', namespace: ['a'], key: 'other', value: 1 },
            { type: 'delete', namespace: ['a'], key: 'new' },
            { type: 'put', namespace: ['a'], key: 'gone', value: 1, ifRevision: revision },
          ]),
        'ERR_CONTEXT_CONFLICT',
      )
      assert.deepEqual(keysOf((await store.list([])).items), ['new'])
      assert.deepEqual(await store.batch([]), [])
      for (const operation of [
        { type: 'drop', namespace: ['a'], key: 'k' },
        { type: 'get', namespace: ['a'] },
      ]) {
        await rejectsWith(() => store.batch([wrong(operation)]), 'ERR_CONTEXT_INVALID_ARGUMENT', /^operations\[0\]/)
      }
      await rejectsWith(
        () => store.batch([wrong({ type: 'get', namespace: ['a'], key: 'k', value: 1 })]),
        'ERR_CONTEXT_INVALID_ARGUMENT',
        /value must be absent/,
      )
    }),
  )
})

describe('transaction', () => {
  test(
    'is repeated until nothing that it read has changed',
    withStore(async (store, directory) => {
      const others = Array.from({ length: 4 }, () => new StateStore({ path: join(directory, 'state.db') }))
      await Promise.all(
        others.map(async (other) => {
          for (let round = 0; round < 10; round++) {
            await other.transaction(
              async (view) => {
                const count = ((await view.get(['a'], 'count'))?.value ?? 0) as number
                await setTimeout(1)
                view.put(['a'], 'count', count + 1)
                view.put(['a'], `by ${count}`, round)
              },
              { attempts: 1000 },
            )
          }
        }),
      )
      assert.equal((await store.get(['a'], 'count'))?.value, 40)
      assert.equal((await store.list(['a'], { keyPrefix: 'by ' })).items.length, 40)
      await Promise.all(others.map((other) => other.close()))
    }),
  )

  test(
    'sees what it wrote, and writes nothing when it fails',
    withStore(async (store) => {
      await store.put(['a'], 'k', 1)
      const result = await store.transaction(async (view) => {
        view.put(['a'], 'new', { x: 1 })
        view.delete(['a'], 'k')
        return [(await view.get(['a'], 'new'))?.value, await view.get(['a'], 'k')]
      })
      assert.deepEqual(result, [{ x: 1 }, undefined])
      await assert.rejects(
        store.transaction((view) => {
          view.put(['a'], 'other', 1)
          throw new Error('as a test')
        }),
        /as a test/,
      )
      assert.deepEqual(keysOf((await store.list([])).items), ['new'])
      let calls = 0
      const attempts = store.transaction(
        async (view) => {
          calls++
          await view.get(['a'], 'new')
          await store.put(['a'], 'new', calls)
          view.put(['a'], 'other', 1)
        },
        { attempts: 3 },
      )
      await rejectsWith(() => attempts, 'ERR_CONTEXT_CONFLICT')
      assert.equal(calls, 3)
    }),
  )
})

describe('watch', () => {
  test(
    'sees the changes of every store from its first step on, and ends with the store',
    withStore(async (store, directory) => {
      const other = new StateStore({ path: join(directory, 'state.db') })
      await store.put(['w'], 'before', 1)
      const changes = store.watch(['w'])[Symbol.asyncIterator]()
      const first = changes.next()
      const written = await store.put(['w'], 'k', 1)
      await other.put(['x'], 'elsewhere', 1)
      await other.delete(['w'], 'k')
      const seen = [(await first).value, (await changes.next()).value]
      assert.deepEqual(
        seen.map((change) => [change?.type, change?.namespace, change?.key]),
        [
          ['put', ['w'], 'k'],
          ['delete', ['w'], 'k'],
        ],
      )
      assert.equal(seen[0]?.revision, written.revision)
      const replayed = []
      for await (const change of other.watch([], { since: seen[0]?.cursor })) {
        replayed.push(change.key)
        if (replayed.length === 2) {
          break
        }
      }
      assert.deepEqual(replayed, ['elsewhere', 'k'])
      const waiting = changes.next()
      await store.close()
      assert.deepEqual(await waiting, { done: true, value: undefined })
      await other.close()
    }),
  )

  test(
    'is ended by its signal, and refuses a cursor whose changes are gone',
    withStore(
      async (store) => {
        const { cursor } = await store.stats()
        const controller = new AbortController()
        const aborted = store.watch([], { signal: controller.signal })[Symbol.asyncIterator]().next()
        controller.abort(new Error('enough'))
        await assert.rejects(aborted, /enough/)
        for (let n = 0; n < 5; n++) {
          await store.put(['a'], 'k', n)
        }
        const next = (since: string) => store.watch([], { since })[Symbol.asyncIterator]().next()
        await rejectsWith(() => next(cursor), 'ERR_CONTEXT_CURSOR_EXPIRED')
        await rejectsWith(() => next('elsewhere-1'), 'ERR_CONTEXT_CURSOR_EXPIRED')
        await rejectsWith(() => next('wrong'), 'ERR_CONTEXT_INVALID_ARGUMENT', /^since/)
        await rejectsWith(
          () => store.watch(wrong('a'))[Symbol.asyncIterator]().next(),
          'ERR_CONTEXT_INVALID_ARGUMENT',
          /^prefix/,
        )
      },
      { maxChanges: 2 },
    ),
  )
})

test('a store does what a map does', PATIENT, () =>
  withStore(async (store) => {
    const name = fc.constantFrom('a', 'b', 'ab', '\0', '\u0001', '\ud800', 'é')
    const operation = fc.record({
      type: fc.constantFrom('put', 'delete', 'get', 'list'),
      namespace: fc.array(name, { minLength: 1, maxLength: 3 }),
      key: name,
      value: fc.jsonValue() as fc.Arbitrary<JsonValue>,
    })
    let run = 0
    await fc.assert(
      fc.asyncProperty(fc.array(operation, { maxLength: 30 }), async (operations) => {
        const root = `run ${run++}`
        const model = new Map<string, string>()
        for (const { type, namespace, key, value } of operations) {
          const place = JSON.stringify([namespace, key])
          const at = [root, ...namespace]
          if (type === 'put') {
            await store.put(at, key, value)
            model.set(place, JSON.stringify(value))
          } else if (type === 'delete') {
            assert.equal(await store.delete(at, key), model.delete(place))
          } else if (type === 'get') {
            assert.equal(JSON.stringify((await store.get(at, key))?.value), model.get(place))
          } else {
            const { items } = await store.list(at)
            const below = [...model].filter(([place]) => {
              const [other] = JSON.parse(place) as [string[]]
              return namespace.every((segment, index) => other[index] === segment)
            })
            assert.deepEqual(
              items
                .map((item) => [JSON.stringify([item.namespace.slice(1), item.key]), JSON.stringify(item.value)])
                .sort(),
              below.sort(),
            )
          }
        }
      }),
      { numRuns: 60 },
    )
  })(),
)
