/** What came of a stream, as far as it is kept. */

import { Buffer } from 'node:buffer'

/** Chunks are counted in pieces, so that one long chunk is not all or nothing. In UTF-16 units, or bytes. */
const PIECE = 16_384

/** What the record of bytes says of them takes no more, in bytes. */
const REFERENCE = 512

/** Texts and bytes are kept as bytes, half of what a text takes. */
export class Collected {
  readonly #maxBytes: number
  /** Of bytes that are text; `undefined` once some are not. */
  #decoder: InstanceType<typeof TextDecoder> | undefined = new TextDecoder('utf-8', { ignoreBOM: true, fatal: true })
  /** Of the JSON of the text, or of the values; once it is no text, of the bytes. */
  #bytes = 2
  #pieces: Buffer[] = []
  #values: unknown[] | undefined
  /** The first half of a character whose second is in the next text. */
  #half = ''
  /** Not all was kept. */
  isCut = false

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** Bytes of the JSON of what was kept. */
  get bytes(): number {
    return this.#bytes
  }

  /** Gives up what was kept, in pieces. */
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

  /** A half character that nothing completed. */
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

  /** The text of bytes that go on a text. */
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

  /** The first that is neither text nor bytes makes all of them values. */
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

  /** The text; bytes where they are no UTF-8; all chunks where one was neither. More may come unless it `isOver`. */
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
      // Within a text that was cut, the last character may be cut as well.
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

/** How many of the first `most` units of a text are whole characters. */
export function wholeCharacters(text: string, most: number): number {
  const end = Math.min(text.length, most)
  const last = text.charCodeAt(end - 1)
  return last >= 0xd800 && last <= 0xdbff ? end - 1 : end
}
