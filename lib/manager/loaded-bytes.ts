/** Puts the binary data of a loaded context into its result. */

import { Buffer } from 'node:buffer'
import type { NativeManager } from '#addon'
import { type Hooks, operate } from '../native/border.ts'

/** A record's description of a part of binary data, see `Part` in `crates/core/src/context/bytes/part.rs`. */
interface Part {
  readonly path: readonly (string | number)[]
  readonly form: 'bytes' | 'base64'
  readonly sha256: string
  /** The beginning of a data URL. */
  readonly prefix?: string
}

/** The descriptions of a record's binary data; `undefined` if it has none. */
export function partsOf(record: object): readonly Part[] | undefined {
  const { bytes } = record as { bytes?: readonly Part[] }
  const isOurs =
    Array.isArray(bytes) && bytes.every((part) => Array.isArray(part?.path) && typeof part.sha256 === 'string')
  return isOurs && bytes.length > 0 ? bytes : undefined
}

/** Returns the record with its binary data: a `Uint8Array` where one was saved, base64 where base64 was saved. */
export async function withBytes<Context extends { result: unknown }>(
  hooks: Hooks,
  native: NativeManager,
  filepath: string,
  record: Context,
): Promise<Context> {
  const parts = partsOf(record) ?? []
  const contents = await operate(
    hooks,
    (operation) => native.bytes(operation, filepath),
    (_, texts) => texts as unknown as readonly Uint8Array[],
  )
  const { bytes: _, ...rest } = record as Context & { bytes?: unknown }
  const loaded = rest as unknown as Context
  for (const [index, part] of parts.entries()) {
    const value = contentOf(part, contents[index] ?? new Uint8Array())
    const last = part.path.at(-1)
    if (last === undefined) {
      loaded.result = value
      continue
    }
    let holder = loaded.result as Record<string | number, unknown> | undefined
    for (const step of part.path.slice(0, -1)) {
      holder = holder?.[step] as typeof holder
    }
    if (typeof holder === 'object' && holder !== null && Object.hasOwn(holder, last)) {
      Object.defineProperty(holder, last, { value, configurable: true, enumerable: true, writable: true })
    }
  }
  return loaded
}

function contentOf({ form, prefix = '' }: Part, bytes: Uint8Array): string | Uint8Array {
  if (form === 'bytes') {
    return bytes
  }
  const { buffer, byteOffset, byteLength } = bytes
  return prefix + Buffer.from(buffer, byteOffset, byteLength).toString('base64')
}
