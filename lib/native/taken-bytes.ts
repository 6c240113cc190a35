/** Binary data that is taken out of a value before it is sent to the native side, and is sent next to its text. */

import { Buffer } from 'node:buffer'
import { isAnyArrayBuffer, isDataView, isUint8Array } from 'node:util/types'

/** The length of a group of hexadecimal digits, short enough not to be taken for a secret by redaction. */
const GROUP = 4
const MARKER_BYTES = 16
const UNKNOWN_TYPE = 'application/octet-stream'

/** The bytes of one value. A marker with a random part, which no other value contains, replaces each of them. */
export class TakenBytes {
  /** The beginning of the markers; a space and the number of the part follow. Empty until the first part is taken. */
  marker = ''
  readonly parts: Uint8Array[] = []
  /** The media type of a value that consists only of bytes, if it is known. */
  readonly #mediaType: string | undefined
  #isWhole = false

  constructor(mediaType?: string | undefined) {
    this.#mediaType = mediaType
  }

  /** Takes the bytes of a value that consists only of bytes; returns the marker that replaces it. */
  takeWhole(bytes: Uint8Array): string {
    this.#isWhole = true
    return this.take(bytes)
  }

  /** Takes the bytes of a part; returns the marker that replaces it. */
  take(bytes: Uint8Array): string {
    if (this.marker === '') {
      const digits = Buffer.from(crypto.getRandomValues(new Uint8Array(MARKER_BYTES))).toString('hex')
      const groups = Array.from({ length: digits.length / GROUP }, (_, at) =>
        digits.slice(at * GROUP, (at + 1) * GROUP),
      )
      this.marker = `stored bytes ${groups.join(' ')}`
    }
    return `${this.marker} ${this.parts.push(bytes) - 1}`
  }

  /** Discards all parts, because the value is read again. */
  reset(): void {
    this.parts.length = 0
    this.#isWhole = false
  }

  /** The number of bytes of all parts. */
  get size(): number {
    return this.parts.reduce((total, part) => total + part.byteLength, 0)
  }

  /** The media types of the parts. */
  get mediaTypes(): (string | null)[] {
    return this.parts.map(() => this.#type ?? null)
  }

  get #type(): string | undefined {
    return this.#isWhole ? this.#mediaType : undefined
  }

  /** The text of the value for a conversation, with size and media type in place of the bytes. */
  shown(text: string): string {
    if (this.parts.length === 0) {
      return text
    }
    const marks = new RegExp(`${this.marker} (\\d+)`, 'g')
    return text.replace(marks, (mark, number: string) => {
      const part = this.parts[Number(number)]
      return part === undefined ? mark : `[${part.byteLength} bytes of ${this.#type ?? UNKNOWN_TYPE}]`
    })
  }
}

/** The bytes of a binary value; `undefined` for any other value, and for one whose class has a `toJSON` of its own. */
export function bytesOf(value: object): Uint8Array | undefined {
  try {
    if (isUint8Array(value)) {
      const { toJSON } = value as { toJSON?: unknown }
      return toJSON === undefined || toJSON === Buffer.prototype.toJSON ? value : undefined
    }
    if (isAnyArrayBuffer(value)) {
      return new Uint8Array(value)
    }
    return isDataView(value) ? new Uint8Array(value.buffer, value.byteOffset, value.byteLength) : undefined
  } catch {
    return undefined // a getter, or a buffer that was transferred
  }
}
