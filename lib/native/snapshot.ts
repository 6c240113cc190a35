/**
 * `encode`: converts a value to a form that another thread turns into JSON. Building JSON text is the most expensive part of a
 * save, so the JavaScript thread only takes a snapshot, and a worker thread in Rust (`crates/json-text/src/snapshot.rs`) makes
 * the text, byte for byte that of
 * `JSON.stringify`.
 *
 * ## The three kinds
 *
 * - `TEXT`: `text` is finished JSON, for everything unusual (`stringify` decides).
 * - `STRING`: `text` is the value itself, a string of any content, lone surrogates included, or binary data that is text.
 *   Rust quotes and escapes it.
 * - `FLAT`: `operations[0 .. length]` describe the value; its strings lie back to back, without separators, in
 *   `chunks[0] … chunks[n - 1]` and then `text`.
 *
 * ## Operations
 *
 * 32-bit integers in the byte order of the machine. All lengths count UTF-16 code units.
 *
 * ```text
 * operations[0]      T: where the key lists begin and the value ends
 * operations[1]      U: how many units of the strings come before the key texts
 * operations[2 .. T] the value, depth first
 * operations[T ..]   the key lists, in the order of their numbers; each is a count n and n lengths. Their texts follow
 *                    each other from unit U on, every key in its final JSON form: "name":
 * ```
 *
 * Each operation of a value is `payload << 4 | code`:
 *
 * | code | name | payload | what follows |
 * |---|---|---|---|
 * | 0 | CONSTANT | 0 null, 1 true, 2 false, 3 absent | – |
 * | 1 | INTEGER | the number, 28 bits signed | – |
 * | 2 | DOUBLE | – | a padding integer if the next index is odd, then a finite double in two integers |
 * | 3 | STRING | its length | – (the next units of the strings) |
 * | 4 | ARRAY | number of elements | the elements |
 * | 5 | RECORD | number of its key list | one value per key |
 * | 6 | DICTIONARY | number of entries | per entry the length of the raw key, and the value |
 *
 * An absent value (`undefined`, a symbol) leaves its key out in objects and reads `null` elsewhere.
 *
 * ## Receiving it
 *
 * The native function takes `(kind, text, operations, length, chunks)` and copies everything before it returns, because
 * the next `encode` reuses `operations`. It reads `operations` and `chunks` for `FLAT` only. Strings are read with
 * `napi_get_value_string_utf16`, one behind the other into one buffer: that is a plain copy on every engine, while
 * UTF-8 costs this thread ten to fifty times as much as soon as the text is not ASCII, and loses lone surrogates.
 */

import { textOfBinary } from './binary.ts'
import { conversionOf } from './conversions.ts'
import { boundKeyLists, completeKeyList, findKeyList, hasKeys, type KeyNode, recentList } from './key-lists.ts'
import { stringify } from './stringify.ts'
import { bytesOf, type TakenBytes } from './taken-bytes.ts'

/** `text` is JSON text. */
export const TEXT = 0
/** `text` is the value. */
export const STRING = 1
/** `operations`, `chunks` and `text` describe the value. */
export const FLAT = 2

/** An encoded value. Pass it to the native side immediately: the next `encode` reuses `operations`. */
export interface Encoded {
  readonly kind: typeof TEXT | typeof STRING | typeof FLAT
  readonly text: string
  readonly operations: Int32Array
  /** How many of `operations` are used. */
  readonly length: number
  readonly chunks: readonly string[]
  /** The bytes of the value, where it has any. */
  readonly taken: TakenBytes | undefined
}

const CONSTANT_NULL = 0 << 4
const CONSTANT_TRUE = 1 << 4
const CONSTANT_FALSE = 2 << 4
const CONSTANT_ABSENT = 3 << 4
const CODE_INTEGER = 1
const CODE_DOUBLE = 2
const CODE_STRING = 3
const CODE_ARRAY = 4
const CODE_RECORD = 5
const CODE_DICTIONARY = 6
const HEADER_LENGTH = 2

/** Also what ends a cycle. */
const MAXIMUM_DEPTH = 100
/** From 128 KB, a concatenated string is a large object for V8, which is several times as expensive. */
const CHUNK_UNITS = 32_768
/** Beyond these the value is left to `JSON.stringify`, which knows when a text becomes too long. */
const MAXIMUM_UNITS = 1 << 26
const MAXIMUM_OPERATIONS = 1 << 24
const INITIAL_OPERATIONS = 1 << 12
/** A buffer that grew beyond this is not kept for the next value. */
const KEPT_OPERATIONS = 1 << 18

const NO_OPERATIONS = new Int32Array(0)
const NO_CHUNKS: readonly string[] = []
const UNUSUAL = Symbol('a value that is left to JSON.stringify')

const objectToString = Object.prototype.toString

let operations = new Int32Array(INITIAL_OPERATIONS)
let doubles = new Float64Array(operations.buffer)
let position = 0
/** The chunk that is being filled, and the units before it. */
let open = ''
let closed: string[] = []
let units = 0
const usedLists: KeyNode[] = []
let serial = 0
let isBusy = false
/** Collects the bytes of the current value. */
let taking: TakenBytes | undefined

/**
 * Takes a snapshot of `value`, from which Rust builds the JSON text that `stringify(value)` returns. Throws where `stringify`
 * throws.
 *
 * @param taken collects the bytes; without it, they are written as `JSON.stringify` does, as numbers
 */
export function encode(value: unknown, taken?: TakenBytes): Encoded {
  const text = typeof value === 'object' && value !== null && !isArray(value) ? textOfWhole(value, taken) : value
  if (typeof text === 'string' && text.length <= MAXIMUM_UNITS) {
    return { kind: STRING, text, operations: NO_OPERATIONS, length: 0, chunks: NO_CHUNKS, taken: filled(taken) }
  }
  // A getter of the value being walked may get here again.
  if (typeof value === 'object' && value !== null && !isBusy) {
    const encoded = encodeFlat(value, taken)
    if (encoded !== undefined) {
      return encoded
    }
    taken?.reset()
  }
  return encodeText(value, taken)
}

/** As `encode`, for the arguments of a call, as `argumentsText` writes them: a plain object has the kind `FLAT`, others `TEXT`. */
export function encodeArguments(value: object): Encoded {
  const encoded = !isBusy && isPlain(value) ? encodeFlat(value, undefined) : undefined
  if (encoded !== undefined) {
    return encoded
  }
  const text = argumentsText(value)
  return { kind: TEXT, text, operations: NO_OPERATIONS, length: 0, chunks: NO_CHUNKS, taken: undefined }
}

/** The arguments of a call as JSON, always an object. */
export function argumentsText(value: object): string {
  const text = stringify(value)
  return text.startsWith('{') ? text : `{"value":${text}}`
}

/** Whether an object is written as an object, and not as a conversion of it. */
function isPlain(value: object): boolean {
  try {
    return (
      Object.getPrototypeOf(value) === Object.prototype &&
      objectToString.call(value) === '[object Object]' &&
      (value as { type?: unknown }).type !== 'Buffer'
    )
  } catch {
    return false // a getter or Proxy trap that throws: `stringify` deals with it
  }
}

function isArray(value: object): boolean {
  try {
    return Array.isArray(value)
  } catch {
    return false // a Proxy that was revoked
  }
}

/** As `textOfBytes`, for a value that consists only of bytes. */
function textOfWhole(value: object, taken: TakenBytes | undefined): string | undefined {
  const text = textOfBinary(value)
  const bytes = text === undefined && taken !== undefined ? bytesOf(value) : undefined
  return bytes === undefined ? text : taken?.takeWhole(bytes)
}

/** The text of binary data that is UTF-8, or the marker that replaces other bytes. */
function textOfBytes(value: object, taken: TakenBytes | undefined): string | undefined {
  const text = textOfBinary(value)
  if (text !== undefined || taken === undefined) {
    return text
  }
  const bytes = bytesOf(value)
  return bytes === undefined ? undefined : taken.take(bytes)
}

function filled(taken: TakenBytes | undefined): TakenBytes | undefined {
  return taken === undefined || taken.parts.length === 0 ? undefined : taken
}

/** As `encode`, but always with the kind `TEXT`, so that the size is known. */
export function encodeText(value: unknown, taken?: TakenBytes): Encoded {
  const text = stringify(value, taken)
  return { kind: TEXT, text, operations: NO_OPERATIONS, length: 0, chunks: NO_CHUNKS, taken: filled(taken) }
}

function encodeFlat(value: object, taken: TakenBytes | undefined): Encoded | undefined {
  isBusy = true
  taking = taken
  serial++
  position = HEADER_LENGTH
  try {
    writeObject(value, 0)
    const valueEnd = position
    const valueUnits = units
    writeKeyLists()
    operations[0] = valueEnd
    operations[1] = valueUnits
    const chunks = closed.length === 0 ? NO_CHUNKS : closed
    return { kind: FLAT, text: open, operations, length: position, chunks, taken: filled(taken) }
  } catch {
    return undefined // unusual, or a getter or Proxy trap that throws: `stringify` deals with it
  } finally {
    reset()
  }
}

/** Releases all references to the value. */
function reset(): void {
  open = ''
  if (closed.length > 0) {
    closed = []
  }
  units = 0
  usedLists.length = 0
  boundKeyLists()
  if (operations.length > KEPT_OPERATIONS) {
    allocate(INITIAL_OPERATIONS)
  }
  taking = undefined
  isBusy = false
}

function writeValue(value: unknown, depth: number): void {
  // Room for the widest operation: a double with its padding.
  if (position + 4 > operations.length) {
    grow()
  }
  // Comparisons, because V8 calls a function for the type that a `switch` looks at.
  if (typeof value === 'string') {
    writeString(value)
  } else if (typeof value === 'number') {
    writeNumber(value)
  } else if (value === null) {
    operations[position++] = CONSTANT_NULL
  } else if (typeof value === 'object') {
    writeObject(value, depth)
  } else if (typeof value === 'boolean') {
    operations[position++] = value ? CONSTANT_TRUE : CONSTANT_FALSE
  } else if (value === undefined || typeof value === 'symbol') {
    operations[position++] = CONSTANT_ABSENT
  } else {
    throw UNUSUAL // a BigInt, or a function, which may have a toJSON
  }
}

function writeString(value: string): void {
  const length = value.length
  writeText(value, length)
  operations[position++] = (length << 4) | CODE_STRING
}

function writeText(text: string, length: number): void {
  units += length
  if (units > MAXIMUM_UNITS) {
    throw UNUSUAL
  }
  if (open.length + length > CHUNK_UNITS) {
    if (open.length > 0) {
      closed.push(open)
    }
    open = text
  } else {
    open += text
  }
}

function writeNumber(value: number): void {
  const small = (value << 4) >> 4
  if (small === value) {
    operations[position++] = (small << 4) | CODE_INTEGER
  } else if (Number.isFinite(value)) {
    operations[position++] = CODE_DOUBLE
    position += position & 1
    doubles[position >> 1] = value
    position += 2
  } else {
    operations[position++] = CONSTANT_NULL
  }
}

function writeObject(value: object, depth: number): void {
  if (depth >= MAXIMUM_DEPTH || (value as { toJSON?: unknown }).toJSON !== undefined) {
    writeBytes(value)
    return
  }
  if (Array.isArray(value)) {
    writeArray(value, depth)
    return
  }
  const prototype: unknown = Object.getPrototypeOf(value)
  const isPlain = prototype === Object.prototype || (prototype === null && !isRawJson(value))
  // A boxed primitive stays one when its prototype is changed.
  if (!isPlain || objectToString.call(value) !== '[object Object]') {
    writeUnusual(value, depth)
    return
  }
  const recent = recentList(depth)
  if (recent?.keys !== undefined && !isSerialisedBuffer(value, recent.keys) && hasKeys(value, recent.keys)) {
    writeKnownRecord(value as Record<string, unknown>, recent, recent.keys.length, depth)
    return
  }
  // As JSON.stringify does it: all keys first, then the values. So it is harmless if getters or Proxy traps run.
  const keys = Object.keys(value)
  if (isSerialisedBuffer(value, keys)) {
    writeBytes(value)
    return
  }
  const list = findKeyList(keys, depth)
  if (list === undefined) {
    writeDictionary(value as Record<string, unknown>, keys, depth)
  } else {
    writeRecord(value as Record<string, unknown>, keys, list, depth)
  }
}

/** Whether an object with these keys may be the JSON form of a `Buffer`. */
function isSerialisedBuffer(value: object, keys: readonly string[]): boolean {
  return keys.length === 2 && (value as { type?: unknown }).type === 'Buffer'
}

/** Writes binary data. Anything else is unusual. */
function writeBytes(value: object): void {
  const text = textOfBytes(value, taking)
  if (text === undefined) {
    throw UNUSUAL
  }
  writeString(text)
}

/** Writes a value that is not plain data: binary data, or a value that is converted. */
function writeUnusual(value: object, depth: number): void {
  const text = textOfBytes(value, taking)
  if (text !== undefined) {
    writeString(text)
    return
  }
  const conversion = conversionOf(value)
  if (conversion === undefined) {
    throw UNUSUAL
  }
  writeValue(conversion.value, depth + 1)
}

/** `JSON.isRawJSON` is not there on Node 20. */
function isRawJson(value: object): boolean {
  return (JSON as { isRawJSON?: (value: unknown) => boolean }).isRawJSON?.(value) === true
}

function writeArray(value: readonly unknown[], depth: number): void {
  const length = value.length
  // Not only for long arrays: a Proxy can give anything as its length.
  if (!(length >= 0 && length < MAXIMUM_OPERATIONS && Number.isInteger(length))) {
    throw UNUSUAL
  }
  operations[position++] = (length << 4) | CODE_ARRAY
  for (let index = 0; index < length; index++) {
    writeValue(value[index], depth + 1)
  }
}

/** As `writeRecord`, for an object with the keys of a list. */
function writeKnownRecord(value: Record<string, unknown>, list: KeyNode, length: number, depth: number): void {
  writeListNumber(list)
  let count = 0
  for (const key in value) {
    writeValue(value[key], depth + 1)
    count++
  }
  if (count !== length) {
    throw UNUSUAL // a getter or Proxy trap that changed the object
  }
}

function writeListNumber(list: KeyNode): void {
  if (list.serial !== serial) {
    list.serial = serial
    list.index = usedLists.length
    usedLists.push(list)
  }
  operations[position++] = (list.index << 4) | CODE_RECORD
}

function writeRecord(value: Record<string, unknown>, keys: readonly string[], list: KeyNode, depth: number): void {
  writeListNumber(list)
  for (let index = 0; index < keys.length; index++) {
    writeValue(value[keys[index] as string], depth + 1)
  }
}

function writeDictionary(value: Record<string, unknown>, keys: readonly string[], depth: number): void {
  operations[position++] = (keys.length << 4) | CODE_DICTIONARY
  for (let index = 0; index < keys.length; index++) {
    const key = keys[index] as string
    if (position + 1 > operations.length) {
      grow()
    }
    writeText(key, key.length)
    operations[position++] = key.length
    writeValue(value[key], depth + 1)
  }
}

function writeKeyLists(): void {
  for (const list of usedLists) {
    const text = list.text ?? completeKeyList(list)
    while (position + list.lengths.length + 1 > operations.length) {
      grow()
    }
    writeText(text, text.length)
    operations[position++] = list.lengths.length
    for (let index = 0; index < list.lengths.length; index++) {
      operations[position++] = list.lengths[index] as number
    }
  }
}

function grow(): void {
  if (operations.length >= MAXIMUM_OPERATIONS) {
    throw UNUSUAL
  }
  const previous = operations
  allocate(previous.length * 2)
  operations.set(previous)
}

function allocate(length: number): void {
  operations = new Int32Array(length)
  doubles = new Float64Array(operations.buffer)
}
