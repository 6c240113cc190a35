/** Collects the chunks of a stream in memory, up to a limit. */

import { Buffer } from 'node:buffer'

/** The size of the pieces in which a chunk is added, so that a part of a long chunk can be kept. In UTF-16 code units or bytes. */
const PIECE = 16_384

/** The largest size of a record's description of its binary data, in bytes. */
const REFERENCE = 512

/** Texts and bytes are stored as bytes, which take half the memory of a text. */
export class Collected {
  readonly #maxBytes: number
  /** Decodes bytes that are text; `undefined` after the first bytes that are not UTF-8. */
  #decoder: InstanceType<typeof TextDecoder> | undefined = new TextDecoder('utf-8', { ignoreBOM: true, fatal: true })
  /** The size in bytes of the JSON of the text or of the values, or of the bytes if the stream is not text. */
  #bytes = 2
  #pieces: Buffer[] = []
  #values: unknown[] | undefined
  /** A high surrogate at the end of a text, whose low surrogate begins the next text. */
  #half = ''
  /** Whether a part of the stream was dropped. */
  isCut = false

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** The size in bytes of the JSON of the collected chunks. */
  get bytes(): number {
    return this.#bytes
  }

  /** Returns the collected chunks and forgets them. */
  take(): unknown[] {
    const pieces = this.#values ?? [...this.#pieces, ...(this.#half === '' ? [] : [this.#half])]
    this.#half = ''
    this.#values = undefined
    this.#pieces = []
    return pieces
  }

  /** Adds a chunk: a text, bytes, or any value. */
  add(chunk: unknown): void {
    if (this.isCut) {
      return
    }
    if (this.#values !== undefined || !(typeof chunk === 'string' || ArrayBuffer.isView(chunk))) {
      this.#addValue(chunk)
    } else if (typeof chunk === 'string') {
      let text = this.#half + chunk
      this.#half = ''
      while (text !== '' && !this.isCut) {
        const piece = text.slice(0, wholeCharacters(text, PIECE))
        if (piece === '') {
          this.#half = text
          break
        }
        this.#addText(piece)
        text = text.slice(piece.length)
      }
    } else {
      this.#addHalf()
      const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
      for (let from = 0; from < bytes.length && !this.isCut; from += PIECE) {
        this.#addBytes(bytes.subarray(from, from + PIECE))
      }
    }
  }

  /** Adds a surrogate that no other completed. */
  #addHalf(): void {
    const half = this.#half
    this.#half = ''
    if (half !== '') {
      this.#addText(half)
    }
  }

  #addText(text: string): void {
    this.#keep(Buffer.from(text), jsonBytes(text))
  }

  #addBytes(bytes: Buffer): void {
    const text = this.#decoded(bytes)
    // A copy: the reader may use the memory of a chunk again.
    this.#keep(Buffer.from(bytes), text === undefined ? bytes.length : jsonBytes(text))
  }

  /** Decodes bytes that continue a text; `undefined` if they are not UTF-8. */
  #decoded(bytes: Buffer): string | undefined {
    try {
      return this.#decoder?.decode(bytes, { stream: true })
    } catch {
      this.#decoder = undefined
      this.#bytes = this.#pieces.reduce((total, piece) => total + piece.length, REFERENCE)
      return undefined
    }
  }

  #keep(piece: Buffer, bytes: number): void {
    if (this.#bytes + bytes > this.#maxBytes) {
      this.isCut = true
      return
    }
    this.#bytes += bytes
    this.#pieces.push(piece)
  }

  /** Adds a value. The first chunk that is neither text nor bytes makes all chunks elements of an array. */
  #addValue(value: unknown): void {
    if (this.#values === undefined) {
      this.#addHalf()
      const before = this.#joined()
      this.#values = before.length === 0 ? [] : [before]
      this.#pieces = []
    }
    const shown = ArrayBuffer.isView(value) ? Buffer.from(value.buffer, value.byteOffset, value.byteLength) : value
    const bytes = Buffer.isBuffer(shown) ? shown.length : Buffer.byteLength(JSON.stringify(shown) ?? 'null') + 1
    if (this.#bytes + bytes > this.#maxBytes) {
      this.isCut = true
      return
    }
    this.#bytes += bytes
    this.#values.push(Buffer.isBuffer(shown) ? Buffer.from(shown) : shown)
  }

  /** Returns the result: a text, bytes if they are not UTF-8, or the array of all chunks. With `isOver`, no more chunks follow. */
  result(isOver = true): string | Uint8Array | unknown[] {
    if (isOver) {
      this.#addHalf()
    }
    return this.#values ?? this.#joined()
  }

  #joined(): string | Uint8Array {
    const bytes = Buffer.concat(this.#pieces)
    if (this.#decoder === undefined) {
      return bytes
    }
    try {
      // If the stream was cut, its last character may be incomplete.
      const decoder = new TextDecoder('utf-8', { ignoreBOM: true, fatal: true })
      return decoder.decode(bytes, { stream: this.isCut })
    } catch {
      return bytes
    }
  }
}

function jsonBytes(text: string): number {
  return Buffer.byteLength(JSON.stringify(text)) - 2
}

/** The number of code units of a text, at most `most`, that does not split a surrogate pair. */
export function wholeCharacters(text: string, most: number): number {
  const end = Math.min(text.length, most)
  const last = text.charCodeAt(end - 1)
  return last >= 0xd800 && last <= 0xdbff ? end - 1 : end
}
