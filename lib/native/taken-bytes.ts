/** Bytes that are taken out of a value on its way to the native side: they cross beside its text. */

import { Buffer } from 'node:buffer'
import { isAnyArrayBuffer, isDataView, isUint8Array } from 'node:util/types'

/** A group of hex digits looks like no secret. */
const GROUP = 4
const MARKER_BYTES = 16
const UNKNOWN_TYPE = 'application/octet-stream'

/** The bytes of one value. A text that no value can hold, because part of it is random, is in the place of each. */
export class TakenBytes {
  /** What those texts begin with; a space and the number of the part follow. Empty until the first is taken. */
  marker = ''
  readonly parts: Uint8Array[] = []
  /** The type of a value that is nothing but bytes, where it is known. */
  readonly #mediaType: string | undefined
  #isWhole = false

  constructor(mediaType?: string | undefined) {
    this.#mediaType = mediaType
  }

  /** Takes the bytes that a value is; returns the text in its place. */
  takeWhole(bytes: Uint8Array): string {
    this.#isWhole = true
    return this.take(bytes)
  }

  /** Takes the bytes of a part; returns the text in its place. */
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

  /** Forgets what was taken: the value is read again. */
  reset(): void {
    this.parts.length = 0
    this.#isWhole = false
  }

  /** How many bytes. */
  get size(): number {
    return this.parts.reduce((total, part) => total + part.byteLength, 0)
  }

  /** The types of the parts. */
  get mediaTypes(): (string | null)[] {
    return this.parts.map(() => this.#type ?? null)
  }

  get #type(): string | undefined {
    return this.#isWhole ? this.#mediaType : undefined
  }

  /** The text of the value for a conversation: size and type in the place of bytes. */
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

/** The bytes that a value is; `undefined` for any other value, and for one whose class says how it is written. */
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
