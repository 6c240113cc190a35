/** A stream that the native side keeps in files while it comes. */

import { Buffer } from 'node:buffer'
import type { NativeStream } from '#addon'
import { type Hooks, operate } from '../native/border.ts'
import { stringify } from '../native/stringify.ts'
import { TakenBytes } from '../native/taken-bytes.ts'
import { wholeCharacters } from './collected-chunks.ts'

/** What waits to cross, at least, and what crosses at once, at most: UTF-16 units, or bytes. Longer strings are freed late by V8. */
const BATCH = 64 * 1024
const MOST = 120 * 1024
const NO_BYTES: readonly Uint8Array[] = []

/** Opens a stream of which at most `maxBytes` of JSON are kept. */
export type OpenStream = (maxBytes: number) => SpooledStream

/** Chunks are added one after the other: the caller waits for each. */
export class SpooledStream {
  readonly native: NativeStream
  readonly #hooks: Hooks
  readonly #maxBytes: number
  /** Text that waits to cross. */
  #text = ''
  /** The JSON of values that wait to cross; `undefined`: all is text or bytes. */
  #values: string[] | undefined
  #waiting = 0
  /** Of all that came, as far as it is known here. */
  #bytes = 0
  /** Not all was kept. */
  isCut = false

  constructor(native: NativeStream, hooks: Hooks, maxBytes: number) {
    this.native = native
    this.#hooks = hooks
    this.#maxBytes = maxBytes
  }

  /** Bytes of what came: of text and bytes, or of the JSON of values. */
  get bytes(): number {
    return this.#bytes
  }

  /** Adds a chunk: a text, bytes, or any value. */
  add(chunk: unknown): Promise<void> | undefined {
    if (this.isCut) {
      return undefined
    }
    if (this.#values !== undefined || !(typeof chunk === 'string' || ArrayBuffer.isView(chunk))) {
      return this.#addValue(chunk)
    }
    if (typeof chunk === 'string') {
      this.#text += chunk
      return this.#text.length < BATCH ? undefined : this.#crossText(false)
    }
    return this.#addBytes(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength))
  }

  /** Adds what still waits. */
  async finish(): Promise<void> {
    await this.#crossText(true)
    await this.#crossValues()
  }

  /** Forgets what came. */
  discard(): void {
    this.isCut = true
    this.#text = ''
    this.#values = undefined
    this.native.discard()
  }

  /** Hands the text over; its last half of a character only when it `isWhole`. */
  async #crossText(isWhole: boolean): Promise<void> {
    let text = this.#text
    this.#text = ''
    while (text !== '' && !this.isCut) {
      const end = wholeCharacters(text, MOST)
      if (end === 0 && !isWhole) {
        this.#text = text
        return
      }
      const piece = end === 0 ? text : text.slice(0, end)
      text = text.slice(piece.length)
      this.#bytes += Buffer.byteLength(piece)
      await this.#write((operation) => this.native.writeText(operation, piece))
    }
  }

  async #addBytes(bytes: Buffer): Promise<void> {
    await this.#crossText(true)
    for (let from = 0; from < bytes.length && !this.isCut; from += MOST) {
      const piece = bytes.subarray(from, from + MOST)
      this.#bytes += piece.length
      await this.#write((operation) => this.native.writeBytes(operation, piece))
    }
  }

  /** The first that is neither text nor bytes makes all of them values. */
  #addValue(value: unknown): Promise<void> | undefined {
    const taken = new TakenBytes()
    const json = stringify([value], taken).slice(1, -1)
    const bytes = Buffer.byteLength(json) + 1 + taken.size
    if (this.#bytes + bytes > this.#maxBytes) {
      return this.#end()
    }
    this.#bytes += bytes
    if (this.#values === undefined || taken.parts.length > 0) {
      return this.#addFirst(json, taken)
    }
    this.#values.push(json)
    this.#waiting += json.length + 1
    return this.#waiting < BATCH ? undefined : this.#crossValues()
  }

  /** Hands over what waits: there is no room for more. */
  async #end(): Promise<void> {
    await this.finish()
    this.isCut = true
  }

  async #addFirst(json: string, taken: TakenBytes): Promise<void> {
    await this.#crossText(true)
    await this.#crossValues()
    this.#values ??= []
    const { marker, mediaTypes, parts } = taken
    const said = parts.length === 0 ? undefined : JSON.stringify({ marker, mediaTypes })
    await this.#write((operation) => this.native.writeElements(operation, `[${json}]`, said, parts))
  }

  async #crossValues(): Promise<void> {
    if (this.#values === undefined || this.#values.length === 0) {
      return
    }
    const array = `[${this.#values.join(',')}]`
    this.#values = []
    this.#waiting = 0
    await this.#write((operation) => this.native.writeElements(operation, array, undefined, NO_BYTES))
  }

  async #write(start: (operation: number) => void): Promise<void> {
    const answer = await operate(this.#hooks, start, (text) => text)
    if (answer === 'full') {
      this.isCut = true
    }
  }
}
