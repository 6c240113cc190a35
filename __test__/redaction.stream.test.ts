/** `redactStream`: a stream is redacted as a whole. */

import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { describe, it } from 'node:test'
import { type RedactionOptions, redact, redactStream } from '../dist/index.js'
import { rejectsWith, throwsWith, wrong } from './support/fixtures.ts'
import { holds } from './support/processes.ts'

/** In two parts: hosting services refuse pushes that contain a complete one. */
const secret = ['gh', 'p_', 'Zx81kQpW3nVt7LsYb2MdRf9CuJ5hEoGa6iTq'].join('')
const MIB = 1024 * 1024

function* inPieces<T extends string | Uint8Array>(whole: T, length: number): Generator<T> {
  for (let from = 0; from < whole.length; from += length) {
    yield whole.slice(from, from + length) as T
  }
}

async function textOf(text: string, length: number, options?: RedactionOptions): Promise<string> {
  const stream = redactStream(inPieces(text, length), options)
  return (await all(stream)).join('')
}

async function bytesOf(bytes: Uint8Array, length: number): Promise<Buffer> {
  return Buffer.concat(await all(redactStream(inPieces(bytes, length))))
}

async function all<T>(source: AsyncIterable<T>): Promise<T[]> {
  const chunks: T[] = []
  for await (const chunk of source) {
    chunks.push(chunk)
  }
  return chunks
}

/** A log with a secret on every fiftieth line. */
function log(length: number): string {
  const lines: string[] = []
  for (let line = 0, total = 0; total < length; line++) {
    const text = line % 50 === 0 ? `token=${secret}\n` : `line ${line} of a log with nothing in it but words, é\n`
    total += text.length
    lines.push(text)
  }
  return lines.join('')
}

describe('redactStream', () => {
  const texts = [
    '',
    'nothing here',
    `token=${secret}\nAuthorization: Bearer ${secret}\n`,
    `{"password":"${secret}","a":[1.0,"${secret}"]}`,
    `\ufeffé 😀 ${secret} \u2028 end`,
  ]

  it('gives what redact gives, wherever the pieces end', async () => {
    for (const text of texts) {
      const { text: expected, findings } = redact(text)
      for (const length of [1, 7, 1000]) {
        assert.equal(await textOf(text, length), expected)
        assert.equal((await bytesOf(Buffer.from(text), length)).toString(), expected)
      }
      const stream = redactStream([text])
      assert.deepEqual(stream.findings, [])
      await all(stream)
      assert.deepEqual(stream.findings, findings)
    }
  })

  it('redacts a long text in parts, as it is redacted at once', async () => {
    const text = log(9 * MIB)
    const pieces = await all(redactStream(inPieces(text, 100_000)))
    holds(pieces.length > 2, 'the text is not given in parts')
    holds(pieces.join('') === redact(text).text, 'the parts do not add up to the whole')
  })

  it('passes nothing on where no place for a cut is found', async () => {
    const line = 'a line of words\n'
    const lines = line.repeat(320_000)
    const options = { patterns: [{ name: 'zs', pattern: 'z+' }] }
    const redacted = await textOf(`${lines}${'z'.repeat(9 * MIB)}\n${lines}`, MIB, options)
    assert.deepEqual(
      redacted.split(line).filter((part) => part !== ''),
      ['[REDACTED:unscanned]'],
    )
    holds(redacted.startsWith(line) && redacted.endsWith(line))
  })

  it('passes bytes that are no UTF-8 unchanged, and redacts beside them', async () => {
    const label = redact(`token=${secret}\n`).text
    const before = [0xff, 0xc3, 0x28, 10]
    const input = Buffer.concat([Buffer.from(before), Buffer.from(`token=${secret}\n`), Buffer.from([0xe2, 0x82])])
    for (const length of [1, 5, 1000]) {
      assert.deepEqual([...(await bytesOf(input, length))], [...before, ...Buffer.from(label), 0xe2, 0x82])
    }
  })

  it('joins surrogate pairs across pieces, and replaces halves without the other', async () => {
    assert.equal((await all(redactStream(['a\ud83d', '\ude00b']))).join(''), 'a😀b')
    assert.equal((await all(redactStream(['a\ud83d', 'b', '\ud83d']))).join(''), 'a\ufffdb\ufffd')
  })

  it('is a step of a pipeline of streams', async () => {
    const chunks: Buffer[] = []
    await pipeline(
      Readable.from([Buffer.from(`token=${secret}`)]),
      (source: AsyncIterable<Buffer>) => redactStream(source),
      async (redacted: AsyncIterable<Uint8Array>) => {
        for await (const chunk of redacted) {
          chunks.push(Buffer.from(chunk))
        }
      },
    )
    assert.equal(Buffer.concat(chunks).toString(), redact(`token=${secret}`).text)
  })

  it('gives the chunks themselves without redaction', async () => {
    const chunk = new Uint8Array([1, 2])
    assert.deepEqual(await all(redactStream([chunk], false)), [chunk])
  })

  it('closes the source when the reader stops, and passes on what it throws', async () => {
    let isClosed = false
    async function* source(): AsyncGenerator<string> {
      try {
        yield log(9 * MIB)
        yield 'more'
      } finally {
        isClosed = true
      }
    }
    for await (const _ of redactStream(source())) {
      break
    }
    holds(isClosed)
    const failing = Readable.from([Buffer.from('a')]).map(() => {
      throw new Error('no disk')
    })
    await assert.rejects(all(redactStream(failing as AsyncIterable<Buffer>)), /no disk/)
  })

  it('refuses what is no stream of texts or of bytes', async () => {
    for (const source of ['text', new Uint8Array(1), undefined, null, 1, {}]) {
      throwsWith(() => redactStream(wrong(source)), 'ERR_CONTEXT_INVALID_ARGUMENT')
    }
    for (const source of [[1], ['a', new Uint8Array(1)], [new Uint8Array(1), 'a']]) {
      for (const options of [undefined, false as const]) {
        await rejectsWith(() => all(redactStream(wrong(source), options)), 'ERR_CONTEXT_INVALID_ARGUMENT')
      }
    }
  })
})
