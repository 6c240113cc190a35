/** Finds the texts and bytes in a value, and replaces them. */

import { isAnyArrayBuffer } from 'node:util/types'
import { bytesOf } from '../native/taken-bytes.ts'

/** A step into a value. */
export type Step = string | number

/** A place within a value. */
export interface Place {
  readonly steps: readonly Step[]
  /** The steps as a JSON path, which models pass to `read_context_slice`. */
  readonly path: string
  /** The objects and arrays on the path, outermost first. */
  readonly around: readonly object[]
}

/** A text within a value. */
export interface Leaf extends Place {
  readonly text: string
}

/** Bytes within a value. */
export interface BytesLeaf extends Place {
  readonly bytes: Uint8Array
}

/** The longest path that `read_context_slice` accepts, in UTF-16 code units. */
const MAXIMUM_PATH = 500
const MAXIMUM_DEPTH = 100
const IDENTIFIER = /^[A-Za-z_][A-Za-z0-9_]*$/
/** The keys that a path may contain. Paths are outside the tags of a placeholder, so that a key must not contain instructions for the model. */
const KEY = /^[\p{L}\p{N}_ .$@/:+-]{1,100}$/u

/** Returns the texts and bytes in plain objects and arrays that a valid path leads to, in their order. Instances of classes are skipped. */
export function leavesOf(root: unknown): { texts: Leaf[]; bytes: BytesLeaf[] } {
  const texts: Leaf[] = []
  const binary: BytesLeaf[] = []
  const around: object[] = []
  function visit(value: unknown, steps: readonly Step[], path: string): void {
    if (typeof value === 'string') {
      texts.push({ steps, path, text: value, around: [...around] })
    } else if (ArrayBuffer.isView(value) || isAnyArrayBuffer(value)) {
      const bytes = bytesOf(value)
      if (bytes !== undefined) {
        binary.push({ steps, path, bytes, around: [...around] })
      }
    } else if (isPlain(value) && around.length < MAXIMUM_DEPTH && !around.includes(value)) {
      around.push(value)
      for (const [key, member] of membersOf(value)) {
        const below = pathBelow(path, key)
        if (below !== undefined && below.length <= MAXIMUM_PATH) {
          visit(member, [...steps, key], below)
        }
      }
      around.pop()
    }
  }
  visit(root, [], '$')
  return { texts, bytes: binary }
}

/** Returns a copy of a value with other members at the given paths. Parts outside these paths are shared with the original. */
export function replaceAt(root: unknown, replacements: readonly { steps: readonly Step[]; value: unknown }[]): unknown {
  const copies = new Set<object>()
  function copyOf(value: unknown): unknown {
    if (!isPlain(value) || copies.has(value)) {
      return value
    }
    const copy = Array.isArray(value) ? [...(value as unknown[])] : { ...value }
    copies.add(copy)
    return copy
  }
  let result = root
  for (const { steps, value } of replacements) {
    const last = steps.at(-1)
    if (last === undefined) {
      return value
    }
    result = copyOf(result)
    let holder = result as Record<Step, unknown>
    for (const step of steps.slice(0, -1)) {
      holder[step] = copyOf(holder[step])
      holder = holder[step] as Record<Step, unknown>
    }
    holder[last] = value
  }
  return result
}

function isPlain(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) {
    return false
  }
  try {
    const prototype: unknown = Object.getPrototypeOf(value)
    const isOwn = Array.isArray(value) || prototype === Object.prototype || prototype === null
    // An object with `toJSON` is skipped, because its JSON differs from its members.
    return isOwn && !('toJSON' in value)
  } catch {
    return false // a Proxy trap
  }
}

function membersOf(value: object): [Step, unknown][] {
  try {
    return Array.isArray(value) ? [...(value as unknown[]).entries()] : Object.entries(value)
  } catch {
    return [] // a getter
  }
}

function pathBelow(path: string, key: Step): string | undefined {
  if (typeof key === 'number') {
    return `${path}[${key}]`
  }
  if (key === '__proto__' || !KEY.test(key)) {
    return undefined
  }
  return IDENTIFIER.test(key) ? `${path}.${key}` : `${path}['${key}']`
}
