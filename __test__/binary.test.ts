/** Binary data that is text is stored as text, so that no secret in it reaches the disk. */

import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import {
  ContextHistory,
  ContextManager,
  createToolRecorder,
  redactValue,
  summariseStep,
  type ToolResponse,
} from '../dist/index.js'
import { encode, STRING } from '../lib/native/snapshot.ts'
import { stringify } from '../lib/native/stringify.ts'
import { inDirectory, wrong } from './support/fixtures.ts'

const TOKEN = `ghp_${'x7Kq2mPz9RtVw4Yb1NcLd8Fh'}3GjS5aEu6oTi`
const TEXT = `GITHUB_TOKEN is ${TOKEN}\n`
const REDACTED = 'GITHUB_TOKEN is [REDACTED:github-token]\n'
/** An unfinished character behind the text. */
const BINARY = Buffer.from([...Buffer.from('binary'), 0xff, 0xc3])

/** What a command prints, as bytes. */
const printed = (): Buffer => execFileSync(process.execPath, ['-p', `${JSON.stringify(TEXT)}.trim()`])

/** The text in every form that bytes take in JavaScript. */
const forms: Record<string, () => object> = {
  'a Buffer': () => Buffer.from(TEXT),
  'a Uint8Array': () => new TextEncoder().encode(TEXT),
  'a part of a larger one': () => Buffer.from(`before${TEXT}after`).subarray(6, 6 + TEXT.length),
  'a shared Uint8Array': () => {
    const bytes = new Uint8Array(new SharedArrayBuffer(TEXT.length))
    bytes.set(Buffer.from(TEXT))
    return bytes
  },
  'a serialised Buffer': () => JSON.parse(JSON.stringify(Buffer.from(TEXT))) as object,
  'a serialised Buffer, keys sorted': () => ({ data: [...Buffer.from(TEXT)], type: 'Buffer' }),
}

/** Everything that lies in a directory. */
function textsIn(directory: string): string {
  const paths = readdirSync(directory, { recursive: true }).map((name) => join(directory, String(name)))
  return paths.flatMap((path) => (statSync(path).isFile() ? [readFileSync(path, 'utf8')] : [])).join('\n')
}

function assertNoToken(directory: string): void {
  const text = textsIn(directory)
  assert.ok(text.includes('[REDACTED:github-token]'), `something was stored: ${text.slice(0, 500)}`)
  assert.ok(!text.includes(TOKEN.slice(0, 12)), 'the token')
  const numbers = text.replaceAll(/\s/g, '')
  assert.ok(!numbers.includes([...Buffer.from(TOKEN.slice(4, 12))].join(',')), 'the token as numbers')
  assert.ok(!/"\d+":103,"\d+":104,"\d+":112/.test(numbers), 'the token as members')
}

describe('binary data', () => {
  for (const [name, make] of Object.entries(forms)) {
    test(`that is text is written as text: ${name}`, () => {
      const json = JSON.stringify(TEXT)
      assert.equal(stringify(make()), json)
      assert.deepEqual([encode(make()).kind, encode(make()).text], [STRING, TEXT])
      const inside = { a: [make(), { b: make() }], c: 1 }
      assert.equal(stringify(inside), `{"a":[${json},{"b":${json}}],"c":1}`)
      assert.equal(stringify([make(), 1n]), `[${json},"[BigInt 1]"]`)
    })

    test(`holds no secret on the disk: ${name}`, () =>
      inDirectory(async (directory) => {
        const manager = new ContextManager({ contextDir: join(directory, 'contexts') })
        const sized = new ContextManager({ contextDir: join(directory, 'sized'), shouldPersist: () => true })
        const history = new ContextHistory({ path: join(directory, 'history.jsonl') })
        const recorder = createToolRecorder(manager, { history })
        const results: [unknown, unknown][] = [
          [make(), REDACTED],
          [[make()], [REDACTED]],
          [
            { status: 1, output: [null, make(), { deep: make() }] },
            { status: 1, output: [null, REDACTED, { deep: REDACTED }] },
          ],
          [
            { big: 1n, stdout: make() },
            { big: '[BigInt 1]', stdout: REDACTED },
          ],
        ]
        for (const [result, stored] of results) {
          for (const saving of [manager, sized]) {
            const path = await saving.saveContext('bash', wrong({ input: make(), all: result }), result)
            const context = await saving.loadContext(path)
            assert.deepEqual([context.result, context.args], [stored, { input: REDACTED, all: stored }])
          }
          const offloaded = await manager.offload('bash', { result }, result, { threshold: 1 })
          assert.deepEqual((await manager.loadContext(offloaded.filepath ?? '')).result, stored)
          await history.append({ toolName: 'bash', params: result, result, more: result })
          const [entry] = await history.read(1)
          assert.deepEqual([entry?.params, entry?.result, entry?.['more']], [stored, stored, stored])
          recorder.onToolStart({ traceId: 't', spanId: 's' }, 'bash', wrong({ input: result }))
          recorder.onToolEnd({ traceId: 't', spanId: 's' }, 'bash', {
            success: false,
            error: result,
            stdout: result,
          } as unknown as ToolResponse)
          await recorder.flush()
          assert.deepEqual(redactValue(result).value, stored)
        }
        await manager.saveContext('bash', wrong(make()), 1, null, null, {
          error: wrong(make()),
          message: wrong(make()),
        })
        assertNoToken(directory)
      }))
  }

  test('of a command is stored as the redacted text', () =>
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir })
      const path = await manager.saveContext('bash', { command: 'env' }, { status: 0, stdout: printed() })
      assert.deepEqual((await manager.loadContext(path)).result, { status: 0, stdout: REDACTED })
      assertNoToken(contextDir)
    }))

  test('is the text of a conversation', () =>
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir })
      const result = Buffer.from('plain "text"\n')
      const offloaded = await manager.offload('bash', {}, result)
      assert.deepEqual([offloaded.text, offloaded.sizeBytes, offloaded.isOffloaded], ['plain "text"\n', 13, false])
      assert.equal(offloaded.result, result, 'what was given is given back')
      const long = await manager.offload('bash', {}, Buffer.from('line\n'.repeat(5000)))
      assert.equal(long.isOffloaded, true)
      assert.match(long.text, /25000 bytes in 5000 lines of text/)
    }))

  test('is shown by its length in the summary of a step', () => {
    const bytes = Buffer.from(TEXT)
    assert.equal(
      summariseStep({ happened: 'h', outputs: { bytes, again: { bytes: JSON.parse(JSON.stringify(bytes)) } } }),
      `h\n\nOutputs:\n- bytes: "[${bytes.length} bytes]"\n- again: {"bytes":"[${bytes.length} bytes]"}`,
    )
  })

  test('is the text of an error', () =>
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir })
      const path = await manager.saveContext('bash', {}, 1, null, null, { error: wrong(Buffer.from('exit 1')) })
      assert.equal((await manager.loadContext(path)).error, 'exit 1')
    }))

  test('that is no text keeps the form that JSON gives it', () => {
    class Hash extends Uint8Array {
      toJSON(): string {
        return 'a hash'
      }
    }
    const values: [string, unknown][] = [
      ['invalid UTF-8', BINARY],
      ['invalid UTF-8 in a Uint8Array', new Uint8Array(BINARY)],
      ['invalid UTF-8, serialised', JSON.parse(JSON.stringify(BINARY))],
      ['nothing', Buffer.alloc(0)],
      ['nothing in a Uint8Array', new Uint8Array()],
      ['control characters alone', new Uint8Array([0, 1, 2])],
      ['a class with its own form', new Hash(Buffer.from('text'))],
      ['another type', new Int8Array(Buffer.from('text'))],
      ['members of its own', Object.assign(new Uint8Array(BINARY), { more: 1 })],
      ['no bytes', { type: 'Buffer', data: [1, 256, -1] }],
      ['more members', { type: 'Buffer', data: [97], offset: 0 }],
      ['no array', { type: 'Buffer', data: 'text' }],
      ['numbered keys', { 0: 'a', 1: 'b' }],
    ]
    for (const [name, value] of values) {
      assert.equal(stringify(value), JSON.stringify(value), name)
      assert.equal(stringify([{ value }]), JSON.stringify([{ value }]), name)
    }
    const cyclic = Object.assign(new Uint8Array([0xff]), { self: {} })
    cyclic.self = cyclic
    assert.equal(stringify(cyclic), '{"0":255,"self":"[Circular]"}')
  })

  test('keeps what UTF-8 has: a byte order mark, characters of any length', () => {
    const text = '\ufeffä字😀\0'
    assert.equal(stringify(Buffer.from(text)), JSON.stringify(text))
  })

  test('that cannot be read is no text', () => {
    const detached = new Uint8Array(Buffer.from(TEXT))
    structuredClone(detached.buffer, { transfer: [detached.buffer] })
    assert.equal(stringify([detached]), '[{}]')
    const throwing = Object.defineProperty(new Uint8Array([97]), 'toJSON', {
      get() {
        throw new Error('no form')
      },
    })
    assert.equal(stringify([throwing]), '["[Throws: no form]"]')
  })

  test('over the bound of a result is refused', () =>
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir, retention: { maxResultBytes: 1000 } })
      for (const byte of [97, 0xff]) {
        await assert.rejects(manager.saveContext('bash', {}, Buffer.alloc(1001, byte)), {
          code: 'ERR_CONTEXT_TOO_LARGE',
        })
      }
      await manager.saveContext('bash', {}, Buffer.alloc(900, 97))
      await manager.clear()
    }))
})
