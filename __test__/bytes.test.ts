/** Bytes of results: stored beside the record, exact, bound to the handle, gone with the record. */

import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { contextTools, toText } from '../dist/index.js'
import { inDirectory, MemoryFileSystem, rejectsWith, wrong } from './support/fixtures.ts'
import { ContextManager } from './support/managers.ts'
import { readdirSync, readFileSync, writeFileSync } from './support/stored-files.ts'

/** Every byte there is. */
const ALL = Uint8Array.from({ length: 256 }, (_, byte) => byte)
/** The signature and the header of a PNG of 640 by 480 pixels. */
const PNG = Buffer.concat([
  Buffer.from('89504e470d0a1a0a0000000d4948445200000280000001e00806000000', 'hex'),
  Buffer.alloc(20_000, 0xfe),
])

const files = (directory: string, end: string): string[] => readdirSync(directory).filter((name) => name.endsWith(end))

/** Managers that keep a context in each of the places there are. */
const places: Record<string, (directory: string) => ContextManager> = {
  'on disk': (contextDir) => new ContextManager({ contextDir, persistThreshold: 0 }),
  'in memory and on disk': (contextDir) => new ContextManager({ contextDir }),
  'in memory only': (contextDir) => new ContextManager({ contextDir, persist: 'large', persistThreshold: 1e9 }),
  'pushed out of memory': (contextDir) =>
    new ContextManager({ contextDir, persist: 'large', persistThreshold: 1e9, memoryBudget: 1 }),
  'in an injected file system': () =>
    new ContextManager({ contextDir: '/virtual/contexts', fileSystem: new MemoryFileSystem(), persistThreshold: 0 }),
}

/** Values with the forms in which they are loaded. */
const values: Record<string, [value: () => unknown, loaded: unknown]> = {
  'a Uint8Array': [() => ALL, ALL],
  'a Buffer': [() => Buffer.from(ALL), ALL],
  'a part of a larger one': [() => new Uint8Array([9, ...ALL, 9]).subarray(1, 257), ALL],
  'an ArrayBuffer': [() => ALL.slice().buffer, ALL],
  'a DataView': [() => new DataView(ALL.slice().buffer), ALL],
  'a Blob': [() => new Blob([ALL], { type: 'image/png' }), ALL],
  nothing: [() => new Uint8Array(), new Uint8Array()],
  'control characters': [() => new Uint8Array([0, 1, 2]), new Uint8Array([0, 1, 2])],
  'bytes within data': [
    () => ({ name: 'a', list: [1, ALL, { deep: PNG }] }),
    { name: 'a', list: [1, ALL, { deep: new Uint8Array(PNG) }] },
  ],
  'bytes beside a BigInt': [() => ({ big: 1n, bytes: ALL }), { big: '[BigInt 1]', bytes: ALL }],
  'bytes in a map': [() => new Map([['bytes', ALL]]), { bytes: ALL }],
  'the member __proto__': [() => JSON.parse('{"__proto__":{"a":1}}'), JSON.parse('{"__proto__":{"a":1}}')],
  'an image of MCP': [
    () => [{ type: 'image', mimeType: 'image/png', data: PNG.toString('base64') }],
    [{ type: 'image', mimeType: 'image/png', data: PNG.toString('base64') }],
  ],
  'a data URL': [
    () => ({ image_url: { url: `data:image/png;base64,${PNG.toString('base64')}` } }),
    { image_url: { url: `data:image/png;base64,${PNG.toString('base64')}` } },
  ],
  'what looks like a reference': [
    () => ({ type: 'bytes', mediaType: 'image/png', size: 1, sha256: '0'.repeat(64) }),
    { type: 'bytes', mediaType: 'image/png', size: 1, sha256: '0'.repeat(64) },
  ],
}

describe('bytes', () => {
  for (const [place, open] of Object.entries(places)) {
    test(`come back as they were: ${place}`, () =>
      inDirectory(async (directory) => {
        const manager = open(directory)
        for (const [name, [value, loaded]] of Object.entries(values)) {
          const path = await manager.saveContext('tool', { name }, value())
          assert.deepEqual((await manager.loadContext(path)).result, loaded, name)
          const [context] = await manager.loadContexts([path])
          assert.deepEqual(context?.result, loaded, name)
          assert.ok(!('bytes' in (context as object)), name)
        }
        await manager.clear()
      }))
  }

  test('are in a file of their own, which goes with the context', () =>
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir, persistThreshold: 0 })
      const one = await manager.saveContext('screenshot', { n: 1 }, PNG)
      const two = await manager.saveContext('screenshot', { n: 2 }, { image: PNG })
      assert.equal(files(contextDir, '.bin').length, 2)
      assert.ok(readFileSync(one.replace(/json$/, 'bin')).includes(PNG), 'as they are')
      const record = readFileSync(one, 'utf8')
      assert.ok(record.length < 1500, record)
      assert.match(
        record,
        /"result":\{"type":"bytes","mediaType":"image\/png","size":20029,.*"width":640,"height":480\}\}$/,
      )
      const [pointer] = manager.getAllPointers()
      assert.equal(pointer?.sizeBytes, record.length + PNG.length)
      assert.deepEqual(
        (await manager.listContexts()).find(({ filepath }) => filepath === one)?.sizeBytes,
        pointer?.sizeBytes,
      )
      assert.equal(manager.stats().diskBytes >= 2 * PNG.length, true)
      assert.equal(await manager.forget(one), true)
      assert.equal(files(contextDir, '.bin').length, 1)
      assert.ok(two)
      await manager.clear()
      assert.deepEqual(files(contextDir, '.bin'), [])
    }))

  test('of sessions that are over are swept', () =>
    inDirectory(async (contextDir) => {
      const over = new ContextManager({ contextDir, persistThreshold: 0 })
      await over.saveContext('screenshot', {}, PNG)
      await over.close()
      const manager = new ContextManager({ contextDir, retention: { maxBytes: 10_000 } })
      const report = await manager.sweep()
      assert.equal(report.deletedFiles, 1)
      assert.ok(report.deletedBytes > PNG.length, 'the record and its bytes')
      assert.deepEqual(files(contextDir, '.bin'), [])
    }))

  test('that were replaced are not redeemed', () =>
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir, persistThreshold: 0 })
      const { handle = '', filepath = '' } = await manager.offload('screenshot', {}, PNG)
      const place = filepath.replace(/json$/, 'bin')
      const planted = readFileSync(place)
      planted[planted.length - 1] = 0
      writeFileSync(place, planted)
      await rejectsWith(() => manager.loadContext(filepath), 'ERR_CONTEXT_CORRUPT')
      const other = new ContextManager({ contextDir })
      await rejectsWith(() => other.loadContext(handle), 'ERR_CONTEXT_CORRUPT')
      await rejectsWith(() => manager.readContext(filepath, { bytes: { from: 0 } }), 'ERR_CONTEXT_CORRUPT')
      assert.deepEqual(await manager.loadContexts([filepath]), [])
    }))

  test('are shown by type, size and dimensions, and read as base64', () =>
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir })
      const shown = await manager.offload('screenshot', { page: 1 }, new Uint8Array(PNG))
      assert.equal(shown.isOffloaded, true)
      assert.ok(shown.sizeBytes >= PNG.length)
      assert.match(
        shown.text,
        /^\[Output of "screenshot" stored as ctx_\w+: 20029 bytes of image\/png, 640 x 480 pixels\.\]\n/,
      )
      const again = await manager.offload('screenshot', { page: 1 }, PNG)
      assert.equal(again.text, shown.text, 'the same call, the same text')
      const slice = await manager.readContext(shown.handle ?? '', { bytes: { from: 8, to: 16 } })
      assert.deepEqual(slice, {
        filepath: shown.handle,
        text: PNG.subarray(8, 16).toString('base64'),
        encoding: 'base64',
        mediaType: 'image/png',
        totalBytes: PNG.length,
        totalLines: 0,
        bytes: { from: 8, to: 16 },
      })
      const small = await manager.offload('screenshot', {}, ALL)
      assert.deepEqual([small.isOffloaded, small.text], [false, '[256 bytes of application/octet-stream]'])
      assert.equal(small.result, ALL)
    }))

  test('are paged through by a model', () =>
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir })
      const { handle = '' } = await manager.offload('shots', {}, { list: [{ image: PNG }], note: 'n' })
      const tool = contextTools(manager).find(({ name }) => name === 'read_context_slice')
      const pieces: Buffer[] = []
      let call: Record<string, unknown> | undefined = { id: handle, json_path: '$.list[0].image', max_bytes: 4000 }
      while (call !== undefined) {
        const text: string = toText((await tool?.execute(wrong(call))) ?? wrong(undefined))
        const [, body = ''] = />\n(.*)\n<\//.exec(text) ?? []
        pieces.push(Buffer.from(body, 'base64'))
        const next = /More: read_context_slice\((\{.*?\})\)/.exec(text)?.[1]
        call = next === undefined ? undefined : (JSON.parse(next) as Record<string, unknown>)
      }
      assert.ok(Buffer.concat(pieces).equals(PNG))
    }))

  test('beside the name of a secret go with it; those that are text are redacted', () =>
    inDirectory(async (contextDir) => {
      const token = `ghp_${'x7Kq2mPz9RtVw4Yb1NcLd8Fh'}3GjS5aEu6oTi`
      const manager = new ContextManager({ contextDir, persistThreshold: 0 })
      const data = Buffer.from(`GITHUB_TOKEN is ${token} and some more text to be long enough\n`).toString('base64')
      const block = { type: 'file', mediaType: 'text/plain', data }
      const path = await manager.saveContext('tool', {}, { password: ALL, block })
      const { result } = await manager.loadContext<{ password: unknown; block: { data: string } }>(path)
      assert.match(String(result.password), /^\[REDACTED/)
      assert.match(
        Buffer.from(result.block.data, 'base64').toString(),
        /^GITHUB_TOKEN is \[REDACTED:github-token\] and/,
      )
      for (const name of readdirSync(contextDir)) {
        const text = readFileSync(join(contextDir, name), 'latin1')
        assert.ok(!text.includes(token) && !text.includes(data), name)
      }
    }))

  test('of streams that are no text are exact, and cut where they are too many', () =>
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir, retention: { maxResultBytes: 30_000 } })
      async function* stream(count: number): AsyncGenerator<Uint8Array> {
        for (let number = 0; number < count; number += 1) {
          yield ALL
        }
      }
      const whole = await manager.loadContext(await manager.saveContext('download', {}, stream(3)))
      assert.deepEqual(whole.result, new Uint8Array([...ALL, ...ALL, ...ALL]))
      const cut = await manager.loadContext<Uint8Array>(await manager.saveContext('download', {}, stream(1000)))
      assert.equal(cut.cut, true)
      assert.ok(cut.result.length > 29_000 && cut.result.length <= 30_000)
      const pointers = manager.getAllPointers()
      assert.deepEqual(
        pointers.map(({ cut }) => cut),
        [undefined, true],
      )
      assert.deepEqual((await manager.listContexts()).filter(({ cut }) => cut === true).length, 1)
    }))

  test('of any value are recoverable, and its shape is kept', () =>
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir, persistThreshold: 0, redaction: false })
      const bytes = fc.uint8Array({ maxLength: 200 }).map((given) => new Uint8Array([0xff, ...given]))
      const { value } = fc.letrec((tie) => ({
        value: fc.oneof(
          { maxDepth: 4 },
          bytes,
          fc.string(),
          fc.integer(),
          bytes.map((given) => ({ type: 'image', mimeType: 'image/png', data: Buffer.from(given).toString('base64') })),
          fc.array(tie('value'), { maxLength: 4 }),
          fc.dictionary(fc.string(), tie('value'), { maxKeys: 4 }),
        ),
      }))
      await fc.assert(
        fc.asyncProperty(value, async (given) => {
          const path = await manager.saveContext('tool', {}, given)
          const { result } = await manager.loadContext(path)
          assert.deepEqual(plain(result), plain(given))
          await manager.forget(path)
        }),
        { numRuns: 60 },
      )
      assert.deepEqual(files(contextDir, '.bin'), [])
    }))
})

/** A copy in which objects have the same prototype. */
function plain(value: unknown): unknown {
  if (value instanceof Uint8Array) {
    return `bytes ${Buffer.from(value).toString('hex')}`
  }
  if (Array.isArray(value)) {
    return value.map(plain)
  }
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, plain(member)]))
  }
  return value
}
