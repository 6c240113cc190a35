/** Renders the beginning of a value's JSON, for people and models. */

import { serialisedBytes } from '../native/binary.ts'
import { readMember } from '../native/stringify.ts'

/** Containers nested deeper than this become `"[Too deep]"`. */
const MAXIMUM_DEPTH = 100

/**
 * Returns the beginning of a value's JSON: at least `enough` characters, or all of it. Reads little more of the value than it
 * returns. Binary data and values that JSON cannot represent are shown as marker strings.
 */
export function preview(value: unknown, enough: number): string {
  const writer = new Writer(enough)
  writer.write(value)
  return writer.text
}

class Writer {
  text = ''
  readonly #enough: number
  /** The containers on the way from the root, to recognise cycles. */
  readonly #ancestors: object[] = []

  constructor(enough: number) {
    this.#enough = enough
  }

  get #room(): number {
    return Math.max(this.#enough - this.text.length, 0)
  }

  write(value: unknown): void {
    const shown = asJson(value)
    switch (typeof shown) {
      case 'string':
        this.text += JSON.stringify(shown.slice(0, this.#room).toWellFormed())
        break
      case 'number':
        this.text += Number.isFinite(shown) ? String(shown) : 'null'
        break
      case 'boolean':
        this.text += String(shown)
        break
      case 'bigint':
        this.text += `"[BigInt ${shown}]"`
        break
      case 'object':
        this.#writeContainer(shown)
        break
      default:
        this.text += 'null'
    }
  }

  #writeContainer(container: object | null): void {
    if (container === null) {
      this.text += 'null'
    } else if (this.#ancestors.includes(container)) {
      this.text += '"[Circular]"'
    } else if (this.#ancestors.length >= MAXIMUM_DEPTH) {
      this.text += '"[Too deep]"'
    } else {
      this.#ancestors.push(container)
      if (Array.isArray(container)) {
        this.#writeItems(container)
      } else {
        this.#writeMembers(container, keysOf(container))
      }
      this.#ancestors.pop()
    }
  }

  #writeItems(items: readonly unknown[]): void {
    this.text += '['
    for (let index = 0; index < items.length && this.#room > 0; index++) {
      this.text += index > 0 ? ',' : ''
      this.write(readMember(items, String(index)))
    }
    this.text += ']'
  }

  #writeMembers(holder: object, keys: readonly string[]): void {
    let separator = ''
    this.text += '{'
    for (const key of keys) {
      if (this.#room === 0) {
        break
      }
      const member = readMember(holder, key)
      if (member !== undefined && typeof member !== 'function' && typeof member !== 'symbol') {
        this.text += `${separator}${JSON.stringify(key.slice(0, this.#room))}:`
        separator = ','
        this.write(member)
      }
    }
    this.text += '}'
  }
}

/** Converts an object as `JSON.stringify` does, except binary data, which would become one number per byte. */
function asJson(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) {
    return value
  }
  try {
    if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) {
      return `[${value.byteLength} bytes]`
    }
    const { toJSON } = value as { toJSON?: unknown }
    const shown: unknown = typeof toJSON === 'function' ? Reflect.apply(toJSON, value, ['']) : value
    const bytes = typeof shown === 'object' && shown !== null ? serialisedBytes(shown) : undefined
    return bytes === undefined ? shown : `[${bytes.byteLength} bytes]`
  } catch {
    return '[Unreadable]'
  }
}

function keysOf(holder: object): readonly string[] {
  try {
    return Object.keys(holder)
  } catch {
    return []
  }
}
