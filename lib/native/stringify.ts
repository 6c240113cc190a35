/**
 * `stringify`: the JSON text of any value, as `JSON.stringify` gives it. Where that throws, the value is walked again
 * without recursion and every part JSON cannot hold is replaced by a marker string, so that a record is never lost. It is
 * walked as well where it may hold binary data, because binary data that is text is written as text.
 */

import { jsonOfBinary, mayHoldBinary, textOfBinary } from './binary.ts'
import { conversionOf, holdsObjectOfClass, mayHoldConverted } from './conversions.ts'
import { bytesOf, type TakenBytes } from './taken-bytes.ts'

/** Containers nested deeper than this become `"[Too deep]"` (in the walk only: `JSON.stringify` may go deeper). */
const MAXIMUM_DEPTH = 10_000
/** The longest string V8 can hold; the walk gives up there as `JSON.stringify` does. */
const MAXIMUM_LENGTH = 0x1fffffe8
/** Finished pieces are joined now and then: millions of short strings take far more memory than their text. */
const PIECES_PER_BLOCK = 8192

const objectToString = Object.prototype.toString

/** `JSON.isRawJSON` is not there on Node 20. */
type RawJson = { isRawJSON?: (value: unknown) => boolean }

/**
 * The JSON text of `value`: that of `JSON.stringify`, and `"null"` for `undefined`, functions and symbols. A `Buffer` or
 * `Uint8Array` that is UTF-8 text becomes that text. A BigInt, a cycle, a getter or `toJSON` that throws and values that are
 * nested too deeply become marker strings; `conversionOf` converts errors, maps and the like.
 *
 * @param taken collects the bytes; without it, they are written as `JSON.stringify` does, as numbers
 * @throws RangeError when the text is longer than a string can be.
 */
export function stringify(value: unknown, taken?: TakenBytes): string {
  try {
    const binary = jsonOfBytes(value, taken, true)
    if (binary !== undefined) {
      return binary
    }
    if (!mayHoldConverted(value)) {
      const json = JSON.stringify(value) ?? 'null'
      if (!mayHoldBinary(json) && !(json.includes('{}') && holdsObjectOfClass(value, json.length))) {
        return json
      }
    }
  } catch (error) {
    // Bytes are a tenth of their JSON.
    if (taken === undefined && isTooLong(error)) {
      throw error
    }
  }
  taken?.reset()
  return new TolerantWalk(taken).run(value)
}

/** The JSON of binary data, or of the marker that replaces collected bytes. */
function jsonOfBytes(value: unknown, taken: TakenBytes | undefined, isWhole = false): string | undefined {
  if (taken === undefined || typeof value !== 'object' || value === null) {
    return jsonOfBinary(value)
  }
  const text = textOfBinary(value)
  const bytes = text === undefined ? bytesOf(value) : undefined
  const marker = bytes === undefined ? undefined : isWhole ? taken.takeWhole(bytes) : taken.take(bytes)
  const shown = text ?? marker
  return shown === undefined ? undefined : JSON.stringify(shown)
}

/** A property of an object, or the marker string that `stringify` puts in its place when its getter throws. */
export function readMember(holder: object, key: string): unknown {
  try {
    return Reflect.get(holder, key)
  } catch (error) {
    return markerOf(error)
  }
}

/** Whether a text outgrew the longest string; a stack overflow is a RangeError too. */
function isTooLong(error: unknown): boolean {
  try {
    // "Invalid string length" in V8, "Out of memory" in JavaScriptCore.
    return error instanceof RangeError && /^(?:Invalid string length|Out of memory)/.test(error.message)
  } catch {
    return false // a thrown Proxy, or an error whose `message` throws
  }
}

/** An array or object being written. */
interface Frame {
  readonly holder: object
  /** The object that `holder` is the conversion of, or `holder` itself. */
  readonly origin: object
  /** The keys of an object; `undefined` for an array. */
  readonly keys: readonly string[] | undefined
  readonly length: number
  next: number
  isEmpty: boolean
}

/** What a property value turned out to be: finished text, a container to open, or nothing JSON can show. */
type Prepared = { text: string } | { container: object; origin: object } | undefined

class TolerantWalk {
  readonly #frames: Frame[] = []
  /** The containers on the way from the root, to recognise cycles. */
  readonly #ancestors = new Set<object>()
  readonly #blocks: string[] = []
  #pieces: string[] = []
  #length = 0
  readonly #taken: TakenBytes | undefined

  constructor(taken: TakenBytes | undefined) {
    this.#taken = taken
  }

  run(value: unknown): string {
    const root = { '': value }
    this.#writeValue(prepare(root, '', this.#taken))
    for (let frame = this.#frames.at(-1); frame !== undefined; frame = this.#frames.at(-1)) {
      if (frame.next < frame.length) {
        this.#writeNext(frame)
      } else {
        this.#close(frame)
      }
    }
    return this.#blocks.join('') + this.#pieces.join('')
  }

  #writeNext(frame: Frame): void {
    const index = frame.next++
    if (frame.keys === undefined) {
      if (index > 0) {
        this.#write(',')
      }
      this.#writeValue(prepare(frame.holder, String(index), this.#taken))
      return
    }
    const key = frame.keys[index] as string
    const prepared = prepare(frame.holder, key, this.#taken)
    if (prepared !== undefined) {
      this.#write(`${frame.isEmpty ? '' : ','}${JSON.stringify(key)}:`)
      frame.isEmpty = false
      this.#writeValue(prepared)
    }
  }

  #writeValue(prepared: Prepared): void {
    if (prepared === undefined) {
      this.#write('null')
    } else if ('text' in prepared) {
      this.#write(prepared.text)
    } else {
      this.#open(prepared.container, prepared.origin)
    }
  }

  #open(container: object, origin: object): void {
    if (this.#ancestors.has(origin)) {
      this.#write('"[Circular]"')
      return
    }
    if (this.#frames.length >= MAXIMUM_DEPTH) {
      this.#write('"[Too deep]"')
      return
    }
    let frame: Frame
    try {
      const isArray = Array.isArray(container)
      const keys = isArray ? undefined : Object.keys(container)
      const length = isArray ? toLength(container.length) : (keys as string[]).length
      frame = { holder: container, origin, keys, length, next: 0, isEmpty: true }
    } catch (error) {
      this.#write(markerText(error)) // a Proxy trap
      return
    }
    this.#write(frame.keys === undefined ? '[' : '{')
    this.#ancestors.add(origin)
    this.#frames.push(frame)
  }

  #close(frame: Frame): void {
    this.#write(frame.keys === undefined ? ']' : '}')
    this.#ancestors.delete(frame.origin)
    this.#frames.pop()
  }

  #write(text: string): void {
    this.#length += text.length
    if (this.#length > MAXIMUM_LENGTH) {
      throw new RangeError('Invalid string length')
    }
    if (this.#pieces.push(text) >= PIECES_PER_BLOCK) {
      this.#blocks.push(this.#pieces.join(''))
      this.#pieces = []
    }
  }
}

/** Reads one property and does to it what `JSON.stringify` does before it writes: `toJSON`, unboxing, primitives. */
function prepare(holder: object, key: string, taken: TakenBytes | undefined): Prepared {
  let value: unknown
  try {
    value = Reflect.get(holder, key)
    // Before `toJSON`, which makes numbers of it.
    const binary = jsonOfBytes(value, taken)
    if (binary !== undefined) {
      return { text: binary }
    }
    if (value !== null && (typeof value === 'object' || typeof value === 'function' || typeof value === 'bigint')) {
      // Read once, as a getter may answer differently the second time.
      const toJSON: unknown = (value as { toJSON?: unknown }).toJSON
      if (typeof toJSON === 'function') {
        value = Reflect.apply(toJSON, value, [key])
      }
    }
    if (typeof value === 'object' && value !== null) {
      if ((JSON as RawJson).isRawJSON?.(value)) {
        return { text: (value as { rawJSON: string }).rawJSON }
      }
      value = unbox(value)
    }
    const serialised = jsonOfBytes(value, taken)
    if (serialised !== undefined) {
      return { text: serialised }
    }
    const conversion = isPlainObject(value) ? undefined : conversionOf(value as object)
    if (conversion !== undefined) {
      const prepared = prepareUnboxed(conversion.value)
      return prepared !== undefined && 'container' in prepared ? { ...prepared, origin: value as object } : prepared
    }
  } catch (error) {
    return { text: markerText(error) }
  }
  return prepareUnboxed(value)
}

function prepareUnboxed(value: unknown): Prepared {
  switch (typeof value) {
    case 'string':
      return { text: JSON.stringify(value) }
    case 'number':
      return { text: Number.isFinite(value) ? String(value) : 'null' }
    case 'boolean':
      return { text: String(value) }
    case 'bigint':
      return { text: `"[BigInt ${value}]"` }
    case 'object':
      return value === null ? { text: 'null' } : { container: value, origin: value }
    default:
      return undefined
  }
}

/** A primitive, an array, or an object that has no class. */
function isPlainObject(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return true
  }
  try {
    const prototype: unknown = Object.getPrototypeOf(value)
    return prototype === Object.prototype || prototype === null
  } catch {
    return true // a Proxy trap that JSON.stringify would not have called
  }
}

/** `new Number(1)` → `1` and so on, recognised by what they are, not by their prototype, which can be changed. */
function unbox(value: object): unknown {
  if (isSurelyNotBoxed(value)) {
    return value
  }
  if (hasBrand(Number.prototype.valueOf, value)) {
    return Number(value)
  }
  if (hasBrand(String.prototype.valueOf, value)) {
    return String(value)
  }
  if (hasBrand(Boolean.prototype.valueOf, value)) {
    return Boolean.prototype.valueOf.call(value)
  }
  return hasBrand(BigInt.prototype.valueOf, value) ? BigInt.prototype.valueOf.call(value) : value
}

/** The cheap answer for nearly all objects: without a `toStringTag`, `toString` cannot be deceived. */
function isSurelyNotBoxed(value: object): boolean {
  try {
    const description = objectToString.call(value)
    const isCommon = description === '[object Object]' || description === '[object Array]'
    return isCommon && (value as { [Symbol.toStringTag]?: unknown })[Symbol.toStringTag] === undefined
  } catch {
    return false // a Proxy trap that JSON.stringify would not have called
  }
}

function hasBrand(brandedMethod: () => unknown, value: object): boolean {
  try {
    brandedMethod.call(value)
    return true
  } catch {
    return false
  }
}

/** ECMAScript's ToLength: the `length` of a Proxy around an array can be anything. */
function toLength(length: unknown): number {
  const integer = Math.trunc(Number(length))
  return integer > 0 ? Math.min(integer, Number.MAX_SAFE_INTEGER) : 0
}

function markerText(error: unknown): string {
  return JSON.stringify(markerOf(error))
}

function markerOf(error: unknown): string {
  return `[Throws: ${thrownMessage(error)}]`
}

/** The message of a thrown value. Reading the value may throw again. */
function thrownMessage(error: unknown): string {
  try {
    if (typeof error === 'object' && error !== null && 'message' in error) {
      return String(error.message)
    }
    return String(error)
  } catch {
    return 'unknown error'
  }
}
