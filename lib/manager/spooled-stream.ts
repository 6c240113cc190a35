/** A stream that the native side writes to temporary files while it is read. */

import { Buffer } from 'node:buffer'
import type { NativeStream } from '#addon'
import { type Hooks, operate } from '../native/border.ts'
import { stringify } from '../native/stringify.ts'
import { TakenBytes } from '../native/taken-bytes.ts'
import { wholeCharacters } from './collected-chunks.ts'

/** The size of the batches in which chunks are passed to the native side, in UTF-16 code units or bytes. V8 frees longer strings late. */
const BATCH = 64 * 1024
const MOST = 120 * 1024
const NO_BYTES: readonly Uint8Array[] = []

/** Opens a stream of which at most `maxBytes` of JSON are stored. */
export type OpenStream = (maxBytes: number) => SpooledStream

/** Adds the chunks of one stream. The caller waits for each `add` before the next. */
export class SpooledStream {
  readonly native: NativeStream
  readonly #hooks: Hooks
  readonly #maxBytes: number
  /** Text that is not yet passed to the native side. */
  #text = ''
  /** The JSON of values that are not yet passed on; `undefined` while all chunks are text or bytes. */
  #values: string[] | undefined
  #waiting = 0
  /** The size of all chunks, as far as known here. */
  #bytes = 0
  /** Whether a part of the stream was dropped. */
  isCut = false

  constructor(native: NativeStream, hooks: Hooks, maxBytes: number) {
    this.native = native
    this.#hooks = hooks
    this.#maxBytes = maxBytes
  }

  /** The size of the stream in bytes: of its text and bytes, or of the JSON of its values. */
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

  /** Passes on the rest. */
  async finish(): Promise<void> {
    await this.#crossText(true)
    await this.#crossValues()
  }

  /** Deletes the temporary files. */
  discard(): void {
    this.isCut = true
    this.#text = ''
    this.#values = undefined
    this.native.discard()
  }

  /** Passes on the text; a high surrogate at its end only if `isWhole`. */
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

  /** Adds a value. The first chunk that is neither text nor bytes makes all chunks elements of an array. */
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

  /** Passes on the rest, because the limit is reached. */
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
