/**
 * Checks the lines of standard input before the SDK reads them. The SDK silently drops invalid messages; here they are answered
 * with JSON-RPC errors, so that no client waits for an answer.
 */

import { Transform, type TransformCallback } from 'node:stream'
import { parseJSONRPCMessage } from '@modelcontextprotocol/server'

/** Bytes of a message; the SDK closes the connection after a larger one. */
const LONGEST = 4 * 1024 * 1024
const LINE_FEED = 0x0a

const PARSE_ERROR = -32700
const INVALID_REQUEST = -32600

export class MessageLines extends Transform {
  readonly #answer: (line: string) => void
  #parts: Buffer[] = []
  #length = 0

  /** @param answer writes a line to the client */
  constructor(answer: (line: string) => void) {
    super()
    this.#answer = answer
  }

  override _transform(chunk: Buffer, _: BufferEncoding, done: TransformCallback): void {
    let from = 0
    for (let end = chunk.indexOf(LINE_FEED); end >= 0; end = chunk.indexOf(LINE_FEED, from)) {
      this.#add(chunk.subarray(from, end))
      this.#finishLine()
      from = end + 1
    }
    this.#add(chunk.subarray(from))
    done()
  }

  #add(part: Buffer): void {
    this.#length += part.length
    if (this.#length > LONGEST) {
      this.#parts = []
    } else if (part.length > 0) {
      this.#parts.push(part)
    }
  }

  #finishLine(): void {
    const line = Buffer.concat(this.#parts)
    const isTooLong = this.#length > LONGEST
    this.#parts = []
    this.#length = 0
    if (isTooLong) {
      this.#refuse(INVALID_REQUEST, `a message has at most ${LONGEST} bytes`)
    } else if (this.#isMessage(line.toString('utf8').trim())) {
      this.push(line)
      this.push('\n')
    }
  }

  #isMessage(text: string): boolean {
    if (text === '') {
      return false
    }
    let value: unknown
    try {
      value = JSON.parse(text)
    } catch {
      this.#refuse(PARSE_ERROR, 'this line is no JSON')
      return false
    }
    try {
      parseJSONRPCMessage(value)
      return true
    } catch {
      this.#refuse(
        INVALID_REQUEST,
        'this is no message of JSON-RPC 2.0: one request, notification or response a line',
        value,
      )
      return false
    }
  }

  #refuse(code: number, message: string, value?: unknown): void {
    const { id } = (value ?? {}) as { id?: unknown }
    const known = typeof id === 'string' || (typeof id === 'number' && Number.isSafeInteger(id)) ? id : null
    this.#answer(JSON.stringify({ jsonrpc: '2.0', id: known, error: { code, message } }))
  }
}
