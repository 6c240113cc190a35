/** The texts and bytes within a value: where they are, and the value with others in their places. */

import { isAnyArrayBuffer } from 'node:util/types'
import { bytesOf } from '../native/taken-bytes.ts'

/** A step into a value. */
export type Step = string | number

/** A place within a value. */
export interface Place {
  readonly steps: readonly Step[]
  /** The same as a JSON path, which models pass to `read_context_slice`. */
  readonly path: string
  /** The objects and arrays that the steps lead through, outermost first. */
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

/** As long as `read_context_slice` takes them, in UTF-16 units. */
const MAXIMUM_PATH = 500
const MAXIMUM_DEPTH = 100
const IDENTIFIER = /^[A-Za-z_][A-Za-z0-9_]*$/
/** Paths stand outside the tags of a placeholder: no key says more than a name. */
const KEY = /^[\p{L}\p{N}_ .$@/:+-]{1,100}$/u

/** The texts and bytes of plain objects and arrays that a path leads to, in their order. Other objects of classes are left out. */
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

/** A copy of a value with other members at the ends of some paths. What does not lead there is shared. */
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
    // What its JSON is, it decides itself.
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
