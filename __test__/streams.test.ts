/** Streams that are too long for memory: they are kept in files while they come. */

import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { describe, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import type { StoredContext } from '../dist/index.js'
import { MemoryFileSystem } from './support/fixtures.ts'
import { ContextManager } from './support/managers.ts'
import { contextsIn, holds, inDirectory, namesIn, PATIENT, run, temporariesIn } from './support/processes.ts'
import { Canaries } from './support/secrets.ts'
import { readFileSync } from './support/stored-files.ts'

const MIB = 1024 * 1024

async function* of<T>(...chunks: T[]): AsyncGenerator<T> {
  yield* chunks
}

/** Pieces of `size`, which divides nothing. */
async function* piecesOf<T extends string | Buffer>(whole: T, size: number): AsyncGenerator<T> {
  for (let from = 0; from < whole.length; from += size) {
    yield whole.slice(from, from + size) as T
  }
}

function longText(bytes: number): string {
  let text = ''
  for (let line = 0; text.length < bytes; line++) {
    text += `src/module-${line % 97}.ts:${line}: "quoted" \\ back — 😀 ${'words '.repeat(line % 13)}\n`
  }
  return text
}

function* objects(count: number): Generator<Record<string, unknown>> {
  for (let id = 0; id < count; id++) {
    yield { id, name: `name ${id}`, tags: ['a', null, id / 7], text: 'é"\\'.repeat(id % 50), at: new Date(id) }
  }
}

const loaded = async (manager: ContextManager, result: unknown): Promise<StoredContext> =>
  manager.loadContext(await manager.saveContext('tool', { a: 1 }, result))

/** A stream and what it is as a whole have the same record and the same handle. */
async function isStoredAlike(manager: ContextManager, stream: AsyncIterable<unknown>, whole: unknown): Promise<void> {
  const streamed = await loaded(manager, stream)
  const expected = await loaded(manager, whole)
  assert.equal(streamed.handle, expected.handle)
  assert.equal(streamed.cut, undefined)
  holds(Buffer.isBuffer(whole) ? whole.equals(streamed.result as Buffer) : true, 'other bytes')
  if (!Buffer.isBuffer(whole)) {
    assert.deepEqual(streamed.result, expected.result)
  }
}

const withManager = (
  body: (manager: ContextManager, directory: string) => Promise<void>,
  options: ConstructorParameters<typeof ContextManager>[0] = {},
): (() => Promise<void>) =>
  inDirectory(async (contextDir) => {
    const manager = new ContextManager({ contextDir, ...options })
    await body(manager, contextDir)
    for (let attempt = 0; attempt < 200 && temporariesIn(contextDir).length > 0; attempt++) {
      // What was given up is removed in the background.
      await setTimeout(25)
    }
    assert.deepEqual(temporariesIn(contextDir), [])
    await manager.clear()
    assert.deepEqual(namesIn(contextDir), [])
  })

describe('a long stream is stored as the whole value is', PATIENT, () => {
  test(
    'texts, whose characters are cut between chunks',
    withManager(async (manager) => {
      const text = longText(20 * MIB)
      await isStoredAlike(manager, piecesOf(text, 65_537), text)
      await isStoredAlike(manager, of(text.slice(0, 9 * MIB)), text.slice(0, 9 * MIB))
    }),
  )

  test(
    'bytes that are text',
    withManager(async (manager) => {
      const text = longText(6 * MIB)
      await isStoredAlike(manager, piecesOf(Buffer.from(text), 70_001), text)
      await isStoredAlike(manager, Readable.from(piecesOf(Buffer.from(text), 70_001)), text)
    }),
  )

  test(
    'bytes, which are in a file of their own',
    withManager(async (manager) => {
      const bytes = randomBytes(20 * MIB)
      await isStoredAlike(manager, piecesOf(bytes, 65_537), bytes)
      const late = Buffer.concat([Buffer.from(longText(5 * MIB)), Buffer.from([0xff, 0, 0xfe])])
      await isStoredAlike(manager, piecesOf(late, 65_537), late)
      const unfinished = Buffer.concat([Buffer.from(longText(5 * MIB)), Buffer.from('€').subarray(0, 2)])
      await isStoredAlike(manager, piecesOf(unfinished, 65_537), unfinished)
    }),
  )

  test(
    'values, with the bytes that they hold',
    withManager(async (manager) => {
      const values = [...objects(60_000)]
      await isStoredAlike(manager, Readable.from(values), values)
      const image = { data: randomBytes(3000).toString('base64'), mimeType: 'image/png' }
      const mixed = [
        ...values.slice(0, 10_000),
        { bytes: randomBytes(10) },
        image,
        'text',
        randomBytes(9),
        ...values.slice(0, 9),
      ]
      await isStoredAlike(manager, of(...mixed), mixed)
    }),
  )

  test(
    'texts and bytes before other values are the first of them',
    withManager(async (manager) => {
      const text = longText(5 * MIB)
      await isStoredAlike(manager, of<unknown>(text, { b: 1 }, 'c'), [text, { b: 1 }, 'c'])
      const bytes = randomBytes(5 * MIB)
      await isStoredAlike(manager, of<unknown>(bytes, { b: 1 }), [bytes, { b: 1 }])
    }),
  )

  test(
    'the body of a response is a member of it',
    withManager(async (manager) => {
      const body = longText(5 * MIB)
      const { result, handle } = await loaded(manager, new Response(body, { headers: { 'x-a': 'b' } }))
      const whole = await loaded(manager, result)
      assert.deepEqual([(result as { body: string }).body === body, handle], [true, whole.handle])
      const bytes = randomBytes(5 * MIB)
      const stored = await loaded(manager, new Response(bytes))
      holds(bytes.equals((stored.result as { body: Buffer }).body), 'other bytes')
      const { text } = await manager.offload('fetch', {}, new Response(body))
      holds(/bytes of JSON/.test(text) && text.includes('"x-a"') === false, text)
    }),
  )
})

test(
  'secrets across the borders of pieces reach no file',
  PATIENT,
  withManager(async (manager, directory) => {
    const canaries = new Canaries()
    const secret = canaries.token()
    const line = 'a line of words that are none\n'
    let text = ''
    for (let place = 1; text.length < 6 * MIB; place++) {
      const end = place * 65_536 - (place % (secret.length + 3))
      text += `${line.repeat(Math.max(0, Math.floor((end - text.length) / line.length)))}key ${secret} end\n`
    }
    const isClean = (): void => {
      for (const name of namesIn(directory)) {
        canaries.assertAbsent(readFileSync(join(directory, name), 'utf8'), name)
      }
    }
    async function* watched(): AsyncGenerator<string> {
      let number = 0
      for await (const piece of piecesOf(text, 65_536)) {
        yield piece
        if (++number % 20 === 0) {
          isClean()
        }
      }
    }
    const { result, handle } = await loaded(manager, watched())
    isClean()
    assert.equal((result as string).includes('[REDACTED:'), true)
    assert.equal(handle, (await loaded(manager, text)).handle)
    const values = Array.from({ length: 60_000 }, (_, id) => ({
      id,
      ...(id % 50 === 0 ? { password: secret, note: `key ${secret}` } : { password: null, note: 'nothing to hide' }),
    }))
    await isStoredAlike(manager, of(...values), values)
    isClean()
    const perCall = 2 * Math.ceil(values.length / 50)
    holds(manager.stats().redactions > 2 * perCall, `${manager.stats().redactions} redactions`)
  }),
)

describe('of a stream that is not kept whole', PATIENT, () => {
  const maxResultBytes = 5 * MIB

  test(
    'the beginning is stored up to maxResultBytes',
    withManager(
      async (manager) => {
        const text = longText(12 * MIB)
        const kinds: [AsyncIterable<unknown>, (result: unknown) => number][] = [
          [piecesOf(text, 65_537), (result) => Buffer.byteLength(JSON.stringify(result))],
          [piecesOf(randomBytes(12 * MIB), 65_537), (result) => (result as Buffer).length],
          [Readable.from(objects(100_000)), (result) => Buffer.byteLength(JSON.stringify(result))],
          [new Response(text) as unknown as AsyncIterable<unknown>, (result) => JSON.stringify(result).length],
        ]
        for (const [stream, size] of kinds) {
          const { result, cut, success } = await loaded(manager, stream)
          assert.deepEqual([cut, success], [true, undefined])
          const bytes = size(result)
          holds(bytes <= maxResultBytes && bytes > maxResultBytes * 0.9, `${bytes} bytes`)
        }
        const passed = manager.recordStream('shell', {}, piecesOf(text, 65_537))
        let read = ''
        for await (const piece of passed) {
          read += piece
        }
        holds(read === text, 'the reader gets all of it')
        const { result, cut } = await manager.loadContext(await passed.stored)
        assert.deepEqual([cut, text.startsWith(result as string)], [true, true])
      },
      { retention: { maxResultBytes } },
    ),
  )

  test(
    'what came before it failed or was abandoned is stored',
    withManager(async (manager, directory) => {
      const text = longText(5 * MIB)
      async function* failing(): AsyncGenerator<string> {
        yield* piecesOf(text, 65_537)
        throw new Error('connection reset')
      }
      const { result, cut, success, error } = await loaded(manager, failing())
      assert.deepEqual([result === text, cut, success, error], [true, true, false, 'Error: connection reset'])
      const abandoned = manager.recordStream('shell', {}, piecesOf(text, 65_537))
      let read = 0
      for await (const piece of abandoned) {
        read += piece.length
        if (read > 4 * MIB) {
          holds(temporariesIn(directory).length > 0, 'it is in a file')
          break
        }
      }
      const left = await manager.loadContext(await abandoned.stored)
      assert.deepEqual([left.result === text.slice(0, read), left.cut], [true, true])
      assert.equal(contextsIn(directory).length, 2)
    }),
  )

  test(
    'nothing is left when it cannot be stored',
    withManager(async (manager) => {
      const text = longText(5 * MIB)
      const wrong = { callId: 5 as unknown as string }
      await assert.rejects(manager.saveContext('t', {}, piecesOf(text, 65_537), null, null, wrong), /callId/)
      assert.equal(manager.size, 0)
    }),
  )
})

describe('offload of a long stream', PATIENT, () => {
  test(
    'gives a placeholder that counts what it leaves out, and the handle of the whole value',
    withManager(async (manager) => {
      const text = Array.from({ length: 150_000 }, (_, id) => `line ${id} of some words — 😀 that say little\n`).join(
        '',
      )
      const bytes = Buffer.byteLength(text)
      const streamed = await manager.offload('build', {}, piecesOf(text, 65_537))
      const whole = await manager.offload('build', {}, text)
      const { isOffloaded, sizeBytes, handle } = streamed
      assert.deepEqual([isOffloaded, sizeBytes, handle], [true, bytes, whole.handle])
      const lines = text.split('\n').length - 1
      holds(streamed.text.includes(`: ${bytes} bytes in ${lines} lines of text.`), streamed.text)
      const leftOut = [...streamed.text.matchAll(/\[… (\d+) bytes of /g)].reduce(
        (sum, [, count]) => sum + Number(count),
        0,
      )
      const shown = streamed.text.split('\n').filter((line) => line.startsWith('line '))
      const shownBytes = shown.reduce((sum, line) => sum + Buffer.byteLength(line) + 1, 0)
      assert.equal(leftOut + shownBytes, bytes)
      const { text: slice } = await manager.readContext(handle ?? '', { lines: { from: lines, to: lines } })
      assert.equal(slice.trimEnd(), text.trimEnd().split('\n').at(-1))
      const found = await manager.search('words that say')
      holds(found.length > 0, 'it is found')
      const values = await manager.offload('query', {}, Readable.from(objects(60_000)))
      holds(values.text.includes('array of 60000 elements'), values.text)
    }),
  )

  test(
    'that stays in the conversation keeps it in memory',
    withManager(
      async (manager) => {
        const text = longText(5 * MIB)
        const { text: whole, isOffloaded } = await manager.offload('exempt', {}, piecesOf(text, 65_537))
        assert.deepEqual([whole === text, isOffloaded], [true, false])
      },
      { offload: { exemptTools: ['exempt'] } },
    ),
  )
})

describe('an aborted signal', () => {
  const inMemory = (): ContextManager =>
    new ContextManager({ contextDir: '/virtual/contexts', fileSystem: new MemoryFileSystem() })

  test('ends the offload of a stream that never yields, which is returned', async () => {
    const manager = inMemory()
    const stop = new AbortController()
    let returned = 0
    const never: AsyncIterableIterator<string> = {
      next: () => new Promise(() => {}),
      return: () => {
        returned += 1
        return new Promise(() => {})
      },
      [Symbol.asyncIterator]() {
        return this
      },
    }
    const offloaded = manager.offload('tool', {}, never, { signal: stop.signal })
    stop.abort(new Error('enough'))
    const { handle = '' } = await offloaded
    const { cut, error } = await manager.loadContext(handle)
    assert.deepEqual([cut, error, returned], [true, 'Error: enough', 1])
  })

  test('ends the offload of a promise that never settles', async () => {
    const stop = new AbortController()
    const offloaded = inMemory().offload('tool', {}, new Promise(() => {}), { signal: stop.signal })
    stop.abort(new Error('enough'))
    await assert.rejects(offloaded, /enough/)
  })
})

test(
  'a stream of 256 MB takes a bounded part of memory',
  { ...PATIENT, skip: process.platform !== 'linux' },
  inDirectory(async (contextDir) => {
    for (const kind of ['text', 'bytes', 'values']) {
      const [line = ''] = await run('stream-memory.mjs', [contextDir, kind, 'saveContext', '256'])
      const { growth } = JSON.parse(line) as { growth: number }
      console.log(`${kind}: resident memory grew by ${(growth / MIB).toFixed(1)} MiB`)
      holds(growth < 128 * MIB, `${kind}: ${growth} bytes`)
    }
  }),
)
