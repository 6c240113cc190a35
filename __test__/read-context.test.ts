/** Parts of stored results: lines, bytes, matches, JSON paths. */

import assert from 'node:assert/strict'
import { closeSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { ContextManagerOptions, ContextSlice, SliceOptions } from '../dist/index.js'
import { filesIn, inDirectory, MemoryFileSystem, nested, rejectsWith, storedResult, wrong } from './support/fixtures.ts'
import { ContextManager } from './support/managers.ts'
import { onDisk } from './support/postgres.ts'
import { holds, PATIENT } from './support/processes.ts'
import { readFileSync, rmSync, truncateSync, writeFileSync } from './support/stored-files.ts'

const INVALID = 'ERR_CONTEXT_INVALID_ARGUMENT'
const LINES = Array.from({ length: 100 }, (_, index) => `line ${index + 1}`).join('\n')
const ORDERS = {
  orders: [
    { id: 1, customer: 'Ada', total: 12.5, items: ['pen', 'ink'] },
    { id: 2, customer: 'Grace', total: 99, items: ['compiler'] },
    { id: 3, customer: 'Åse 😀', total: 7, items: [] },
  ],
  note: 'first\nsecond\nthird',
}

/** A manager in its own directory, with all contexts on disk and none in memory. */
function withManager(
  work: (manager: ContextManager, directory: string) => Promise<void>,
  options: ContextManagerOptions = { persistThreshold: 0 },
): () => Promise<void> {
  return () => inDirectory((contextDir) => work(new ContextManager({ contextDir, ...options }), contextDir))
}

/** A slice and all that `next` leads to, each within its bound. */
async function follow(manager: ContextManager, path: string, options: SliceOptions): Promise<ContextSlice[]> {
  const slices: ContextSlice[] = []
  for (let next: SliceOptions | undefined = options; next !== undefined; ) {
    const slice: ContextSlice = await manager.readContext(path, next)
    const size = Buffer.byteLength(slice.text)
    holds(size <= (options.maxBytes ?? 32_768), `${size} bytes`)
    holds(slices.push(slice) < 10_000, 'it ends')
    next = slice.next
  }
  return slices
}

const joined = (slices: readonly ContextSlice[]): string => slices.map(({ text }) => text).join('')

describe('readContext', () => {
  it(
    'reads from the start when nothing else is asked: a text as it is, anything else as its stored JSON',
    withManager(async (manager) => {
      const text = await manager.saveContext('read_file', {}, LINES)
      assert.deepEqual(await manager.readContext(text), {
        filepath: text,
        text: LINES,
        totalBytes: LINES.length,
        totalLines: 100,
        bytes: { from: 0, to: LINES.length },
        lines: { from: 1, to: 100 },
      })
      const object = await manager.saveContext('query', {}, ORDERS)
      assert.equal((await manager.readContext(object, null)).text, storedResult(object))
      const nothing = await manager.saveContext('none', {}, undefined)
      assert.equal((await manager.readContext(nothing, {})).text, 'null')
      const empty = await manager.saveContext('none', {}, '')
      assert.deepEqual(await manager.readContext(empty, wrong({ lines: null, maxBytes: undefined, grep: null })), {
        filepath: empty,
        text: '',
        totalBytes: 0,
        totalLines: 0,
        bytes: { from: 0, to: 0 },
      })
      const lone = await manager.saveContext('lone', {}, 'a\ud800b')
      assert.equal((await manager.readContext(lone)).text, 'a\ufffdb')
    }),
  )

  it(
    'is bounded, by default by 32 KB, and goes on',
    withManager(async (manager) => {
      const long = 'é😀 '.repeat(20_000)
      const path = await manager.saveContext('long', {}, long)
      const [first, ...others] = await follow(manager, path, {})
      assert.deepEqual([first?.bytes, first?.next], [{ from: 0, to: 32_767 }, { bytes: { from: 32_767 } }])
      assert.equal(joined([first as ContextSlice, ...others]), long)
      assert.equal(others.length, 4)
    }),
  )

  it(
    'reads lines and bytes, and says where they stand',
    withManager(async (manager) => {
      const path = await manager.saveContext('read_file', {}, LINES)
      const lines = await manager.readContext(path, { lines: { from: 3, to: 4 } })
      assert.equal(lines.text, 'line 3\nline 4\n')
      assert.deepEqual([lines.bytes, lines.lines, lines.next], [{ from: 14, to: 28 }, { from: 3, to: 4 }, undefined])
      assert.equal((await manager.readContext(path, { bytes: { from: 14, to: 20 } })).text, 'line 3')
      const beyond = await manager.readContext(path, { lines: { from: 101 } })
      assert.deepEqual([beyond.text, beyond.totalLines, beyond.lines, beyond.next], ['', 100, undefined, undefined])
      const bounded = await manager.readContext(path, { lines: { from: 10, to: 90 }, maxBytes: 20 })
      assert.deepEqual(
        [bounded.text, bounded.next],
        ['line 10\nline 11\n', { lines: { from: 12, to: 90 }, maxBytes: 20 }],
      )
    }),
  )

  it(
    'gives every character once, whatever the text and the bound',
    withManager(async (manager) => {
      const part = fc.constantFrom('a', 'é', '😀', '\n', '\r\n', '"', '\\', '\u0001', 'word ')
      const text = fc.array(part, { maxLength: 60 }).map((parts) => parts.join(''))
      await fc.assert(
        fc.asyncProperty(text, fc.integer({ min: 4, max: 40 }), async (text, maxBytes) => {
          const plain = await manager.saveContext('plain', {}, text)
          const inside = await manager.saveContext('inside', {}, { key: [text] })
          for (const options of [{ maxBytes }, { lines: {}, maxBytes }, { bytes: { from: 0 }, maxBytes }]) {
            assert.equal(joined(await follow(manager, plain, options)), text)
            assert.equal(joined(await follow(manager, inside, { jsonPath: '$..key[0]', ...options })), text)
            assert.equal(joined(await follow(manager, inside, options)), JSON.stringify({ key: [text] }))
          }
        }),
        { numRuns: 25 },
      )
    }),
  )

  it(
    'finds lines: by a pattern, a RegExp, with context and in pieces',
    withManager(async (manager) => {
      const path = await manager.saveContext('read_file', {}, LINES)
      const found = await manager.readContext(path, {
        grep: { pattern: '^LINE 1[01]$', ignoreCase: true, before: 1, after: 1 },
      })
      assert.equal(found.text, '9-line 9\n10:line 10\n11:line 11\n12-line 12\n')
      assert.deepEqual(found.matches, [
        { line: 10, byteOffset: 63, text: 'line 10' },
        { line: 11, byteOffset: 71, text: 'line 11' },
      ])
      assert.deepEqual([found.lines, found.totalLines, found.bytes], [{ from: 10, to: 11 }, 100, undefined])
      assert.equal((await manager.readContext(path, { grep: 'line 5$' })).text, '5:line 5\n')
      assert.equal((await manager.readContext(path, { grep: /LINE \d0$/i, maxBytes: 24 })).text, '10:line 10\n')
      const pattern = /^line \d*7$/g
      const slices = await follow(manager, path, { grep: { pattern, after: 1 }, maxBytes: 40 })
      assert.deepEqual(
        slices.flatMap(({ matches = [] }) => matches.map(({ line }) => line)),
        [7, 17, 27, 37, 47, 57, 67, 77, 87, 97],
      )
      assert.deepEqual(slices[0]?.next, { grep: { pattern, after: 1, from: 27 }, maxBytes: 40 })
      const none = await manager.readContext(path, { grep: 'nowhere' })
      assert.deepEqual([none.text, none.matches, none.next], ['', [], undefined])
    }),
  )

  it(
    'shows a long line around its matches',
    withManager(async (manager) => {
      const path = await manager.saveContext('query', {}, { rows: Array.from({ length: 5000 }, (_, id) => ({ id })) })
      const found = await manager.readContext(path, { grep: '"id":(1234|4321)\\b' })
      assert.deepEqual(
        found.matches?.map(({ text }) => text),
        ['"id":1234', '"id":4321'],
      )
      holds(found.text.length < 1200 && /^1:….*1234.*…\n1:….*4321.*…\n$/s.test(found.text), found.text)
      const [match] = found.matches ?? []
      const from = match?.byteOffset ?? 0
      assert.equal((await manager.readContext(path, { bytes: { from, to: from + 9 } })).text, '"id":1234')
    }),
  )

  it(
    'follows JSON paths: one value is the text, several are a line each',
    withManager(async (manager) => {
      const path = await manager.saveContext('query', {}, ORDERS)
      const one = await manager.readContext(path, { jsonPath: '$.orders[?@.total > 90].customer' })
      assert.deepEqual([one.text, one.paths, one.totalBytes], ['Grace', ["$['orders'][1]['customer']"], 5])
      const lines = await manager.readContext(path, { jsonPath: '$.note', lines: { from: 2, to: 2 } })
      assert.deepEqual([lines.text, lines.totalLines], ['second\n', 3])
      const several = await manager.readContext(path, { jsonPath: '$.orders[*].items' })
      assert.equal(several.text, '["pen","ink"]\n["compiler"]\n[]')
      assert.deepEqual(
        several.paths,
        [0, 1, 2].map((index) => `$['orders'][${index}]['items']`),
      )
      const some = await manager.readContext(path, { jsonPath: '$..customer', grep: 'a' })
      assert.deepEqual(
        [some.text, some.paths],
        ['1:"Ada"\n2:"Grace"\n', ["$['orders'][0]['customer']", "$['orders'][1]['customer']"]],
      )
      const bounded = await manager.readContext(path, { jsonPath: '$.orders[*].items', maxBytes: 20 })
      assert.deepEqual(
        [bounded.text, bounded.next],
        ['["pen","ink"]\n', { jsonPath: '$.orders[*].items', maxBytes: 20, lines: { from: 2 } }],
      )
      const cut = await manager.readContext(path, { jsonPath: '$..note', maxBytes: 5 })
      assert.deepEqual(cut.next, { jsonPath: "$['note']", maxBytes: 5, bytes: { from: 5 } })
      const none = await manager.readContext(path, { jsonPath: '$.missing' })
      assert.deepEqual([none.text, none.paths, none.next], ['', [], undefined])
      const text = await manager.saveContext('read_file', {}, LINES)
      assert.equal((await manager.readContext(text, { jsonPath: '$', lines: { to: 1 } })).text, 'line 1\n')
      assert.equal((await manager.readContext(text, { jsonPath: '$.a' })).text, '')
    }),
  )

  it(
    'keeps what is stored exactly, and reads what others wrote',
    withManager(async (manager, contextDir) => {
      const result = '{ "n": [1.50, 1e400, 12345678901234567890],\r\n  "\\u0061": {} }'
      const path = join(contextDir, 'theirs.json')
      writeFileSync(path, `{"result": ${result} , "toolName": "theirs"}\n`)
      assert.equal((await manager.readContext(path)).text, result)
      assert.equal(
        (await manager.readContext('theirs.json', { jsonPath: '$.n[*]' })).text,
        '1.50\n1e400\n12345678901234567890',
      )
      assert.equal((await manager.readContext(path, { jsonPath: '$.a' })).text, '{}')
    }),
  )

  it(
    'reads what only memory holds, and what an injected file system holds',
    withManager(
      async (manager, contextDir) => {
        const long = `${LINES}\n`.repeat(10)
        for (const result of [LINES, long, ORDERS]) {
          const path = await manager.saveContext('tool', {}, result)
          const text = typeof result === 'string' ? result : JSON.stringify(result)
          assert.equal((await manager.readContext(path)).text, text)
          assert.equal((await manager.readContext(path, { jsonPath: '$' })).text, text)
        }
        assert.deepEqual(filesIn(contextDir), [])
        const fileSystem = new MemoryFileSystem()
        const injected = new ContextManager({ contextDir: '/virtual', fileSystem, persistThreshold: 0 })
        const path = await injected.saveContext('tool', {}, ORDERS)
        const slice = await injected.readContext(path, { jsonPath: '$.orders[2].customer' })
        assert.equal(slice.text, 'Åse 😀')
        assert.deepEqual(fileSystem.argumentsOf('readFile'), [[path]])
        await rejectsWith(() => injected.readContext('/virtual/missing.json'), 'ERR_CONTEXT_NOT_FOUND')
      },
      { persist: 'large' },
    ),
  )

  it(
    'counts as a load, and rejects as one',
    withManager(async (manager, contextDir) => {
      const path = await manager.saveContext('tool', {}, LINES)
      await manager.readContext(path)
      assert.deepEqual([manager.stats().diskHits, manager.stats().misses], [1, 0])
      await rejectsWith(
        () => manager.readContext(join(contextDir, 'missing.json')),
        'ERR_CONTEXT_NOT_FOUND',
        /missing\.json/,
      )
      await rejectsWith(() => manager.readContext('/etc/passwd'), 'ERR_CONTEXT_OUTSIDE_DIRECTORY', /passwd/)
      await rejectsWith(() => manager.readContext(''), 'ERR_CONTEXT_OUTSIDE_DIRECTORY')
      const broken: [string, (content: string) => string][] = [
        ['cut', (content) => content.slice(0, -20)],
        ['broken in its middle', (content) => content.replace('line 50', '"')],
        ['followed by something', (content) => `${content}x`],
        ['empty', () => ''],
        ['foreign', () => '{"name":"x"}'],
      ]
      for (const [index, [name, breakIt]] of broken.entries()) {
        const file = join(contextDir, `${index}.json`)
        writeFileSync(file, breakIt(readFileSync(path, 'utf8')))
        await rejectsWith(
          () => manager.readContext(file, { lines: { to: 1 } }),
          'ERR_CONTEXT_CORRUPT',
          new RegExp(`${index}\\.json`),
        )
        holds(manager.stats().misses === 2 + index, name)
      }
      truncateSync(path, 100)
      await rejectsWith(() => manager.readContext(path), 'ERR_CONTEXT_CORRUPT')
      rmSync(path)
      await rejectsWith(() => manager.readContext(path), 'ERR_CONTEXT_NOT_FOUND')
    }),
  )

  const refused: [unknown, RegExp][] = [
    [5, /^options/],
    ['lines', /^options/],
    [{ lines: {}, bytes: {} }, /^bytes must be absent beside lines/],
    [{ lines: {}, grep: 'x' }, /^grep must be absent beside lines/],
    [{ bytes: {}, grep: 'x' }, /^grep must be absent beside bytes/],
    [{ lines: 5 }, /^lines/],
    [{ lines: { from: 0 } }, /^lines\.from must be a whole number from 1 up, not 0/],
    [{ lines: { from: 1.5 } }, /^lines\.from/],
    [{ lines: { from: '1' } }, /^lines\.from/],
    [{ lines: { to: Infinity } }, /^lines\.to/],
    [{ lines: { from: 5, to: 4 } }, /^lines\.to must be at least/],
    [{ bytes: { from: -1 } }, /^bytes\.from/],
    [{ bytes: { from: 5, to: 4 } }, /^bytes\.to/],
    [{ maxBytes: 3 }, /^maxBytes must be a whole number from 4 up, not 3/],
    [{ maxBytes: Infinity }, /^maxBytes/],
    [{ maxBytes: '100' }, /^maxBytes/],
    [{ jsonPath: 5 }, /^jsonPath/],
    [{ jsonPath: '' }, /^jsonPath .*RFC 9535/],
    [{ jsonPath: '$.a[' }, /^jsonPath .*at character 5/],
    [{ jsonPath: `$[?${'length('.repeat(50)}` }, /^jsonPath/],
    [{ jsonPath: '$[?unknown(@)]' }, /^jsonPath/],
    [{ grep: 5 }, /^grep/],
    [{ grep: {} }, /^grep\.pattern/],
    [{ grep: { pattern: 'x', before: -1 } }, /^grep\.before/],
    [{ grep: { pattern: 'x', after: 0.5 } }, /^grep\.after/],
    [{ grep: { pattern: 'x', ignoreCase: 1 } }, /^grep\.ignoreCase/],
    [{ grep: { pattern: 'x', from: 0 } }, /^grep\.from/],
    [{ grep: { pattern: 'x', fromByte: -1 } }, /^grep\.fromByte/],
    [{ grep: 'a(' }, /^grep .*unclosed group, at character 2/],
    [{ grep: 'a(?=b)' }, /^grep .*look-around/],
    [{ grep: /a(?<!b)/ }, /^grep .*look-around is not supported, at character 2/],
    [{ grep: /(a)\1/ }, /^grep .*back references are not supported, at character 4/],
    [{ grep: /a/y }, /^grep .*the flag y/],
    [{ grep: '(a{1000}){1000}' }, /^grep .*repeats too much/],
    [{ grep: /(a{1000}){1000}/ }, /^grep .*repeats too much/],
    [{ signal: 5 }, /^signal/],
  ]
  it(
    'rejects what cannot be read',
    withManager(async (manager) => {
      const path = await manager.saveContext('tool', {}, ORDERS)
      for (const [options, pattern] of refused) {
        await rejectsWith(() => manager.readContext(path, wrong(options)), INVALID, pattern)
      }
      await rejectsWith(() => manager.readContext(wrong(5)), INVALID, /^filepath/)
      // The arguments are looked at before the file is.
      await rejectsWith(() => manager.readContext('missing.json', { grep: '(' }), INVALID)
    }),
  )

  it(
    'reads 10 000 levels, and ends hostile paths',
    PATIENT,
    withManager(async (manager) => {
      const path = await manager.saveContext(
        'deep',
        {},
        nested(9000, (inner) => [inner]),
      )
      const deep = `$${'[0]'.repeat(9000)}`
      const slice = await manager.readContext(path, { jsonPath: deep })
      assert.deepEqual([slice.text, slice.paths], ['core', [deep]])
      const wide = await manager.saveContext(
        'wide',
        {},
        nested(60, (inner) => [inner]),
      )
      await rejectsWith(() => manager.readContext(wide, { jsonPath: `$${'..*'.repeat(30)}` }), INVALID, /narrow it/)
    }),
  )

  it(
    'stops when its signal says so',
    withManager(async (manager) => {
      const path = await manager.saveContext(
        'wide',
        {},
        nested(60, (inner) => [inner]),
      )
      const reason = new Error('no longer needed')
      const is = (error: unknown): boolean => error === reason
      await assert.rejects(manager.readContext(path, { signal: AbortSignal.abort(reason) }), is)
      const controller = new AbortController()
      const reading = manager.readContext(path, { jsonPath: `$${'..*'.repeat(30)}`, signal: controller.signal })
      setTimeout(() => controller.abort(reason), 20)
      await assert.rejects(reading, is)
      const { next } = await manager.readContext(path, { maxBytes: 4, signal: new AbortController().signal })
      assert.deepEqual(next, { maxBytes: 4, bytes: { from: 4 } }, 'a signal is for one call')
    }),
  )
})

describe('a result of 50 MB', () => {
  const LINE = Buffer.from(`${'The quick brown fox "jumps" '.replaceAll('"', '\\"').repeat(4)}é\\n`)
  const ROW = Buffer.from('{"id":12345,"name":"a name","tags":["one","two"],"nested":{"score":0.125}},')

  /** Writes a record with a result of so many pieces, without a string of its size. */
  function writeLarge(path: string, open: string, piece: Buffer, close: string): void {
    const many = Buffer.concat(new Array<Buffer>(1000).fill(piece))
    const file = openSync(path, 'w')
    writeSync(file, `{"toolName":"large","args":{},"result":${open}`)
    for (let size = 0; size < 50_000_000; size += many.length) {
      writeSync(file, many)
    }
    writeSync(file, `${close}}`)
    closeSync(file)
  }

  it(
    'is read in part without growing the JavaScript heap by it',
    { ...PATIENT, ...onDisk('files that are written in pieces') },
    withManager(async (manager, contextDir) => {
      const text = join(contextDir, 'text.json')
      const rows = join(contextDir, 'rows.json')
      writeLarge(text, '"', LINE, 'the needle"')
      writeLarge(rows, '[', ROW, '{"id":"needle"}]')
      const reads: [string, SliceOptions, RegExp][] = [
        [text, {}, /^The quick/],
        [text, { lines: { from: 300_000 } }, /^The quick/],
        [text, { bytes: { from: 40_000_000 } }, /quick/],
        [text, { grep: { pattern: /nee\w+$/, before: 2 } }, /:the needle\n$/],
        [rows, { bytes: { from: 40_000_000 } }, /"name":"a name"/],
        [rows, { grep: 'needle' }, /"id":"needle"/],
        [rows, { jsonPath: '$[500000].nested' }, /^\{"score":0\.125\}$/],
        [rows, { jsonPath: "$[?@.id == 'needle']" }, /^\{"id":"needle"\}$/],
        [rows, { jsonPath: '$[-3:]' }, /"id":12345/],
      ]
      const before = process.memoryUsage().heapUsed
      for (const [path, options, pattern] of reads) {
        const slice = await manager.readContext(path, { ...options, maxBytes: 2048 })
        assert.match(slice.text, pattern)
      }
      const growth = process.memoryUsage().heapUsed - before
      holds(growth < 20_000_000, `the heap grew by ${growth} bytes`)
    }),
  )
})
