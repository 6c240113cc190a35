/** What commands on the state store share: namespaces as they are typed, and items as they are shown. */

import { stat } from 'node:fs/promises'
import type { StateItem, StateListOptions, StateStore } from '../index.ts'
import { EXIT, type Invocation } from './command-types.ts'
import { CliError } from './failures.ts'

/** `threads/a1`, or `["a/b"]` where a segment holds a slash. Nothing is the empty prefix. */
export function namespaceOf(text: string | undefined): string[] {
  if (text === undefined || text === '') {
    return []
  }
  if (!text.startsWith('[')) {
    return text.split('/')
  }
  try {
    const value: unknown = JSON.parse(text)
    if (Array.isArray(value) && value.every((segment) => typeof segment === 'string')) {
      return value as string[]
    }
  } catch {
    // The message below says how to write it.
  }
  throw new CliError(
    `'${text}' is no namespace: write it as threads/a1, or as a JSON array of strings such as ["a/b"]`,
    EXIT.usage,
  )
}

export const namespaceText = (namespace: readonly string[]): string =>
  namespace.some((segment) => segment.includes('/') || segment.startsWith('['))
    ? JSON.stringify(namespace)
    : namespace.join('/')

/** Opening a file makes it: what only looks asks for the file before. */
export async function isThere(
  { path }: StateStore,
  { settings: { database } }: Pick<Invocation, 'settings'>,
): Promise<boolean> {
  if (database !== undefined) {
    return true
  }
  try {
    return (await stat(path)).isFile()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
      return false
    }
    throw error
  }
}

const PAGE = 100

/** The items below a prefix, page by page; at most `options.limit` of them. */
export async function* itemsBelow(
  store: StateStore,
  prefix: readonly string[],
  { limit, ...options }: StateListOptions = {},
): AsyncGenerator<StateItem> {
  let left = limit ?? Number.POSITIVE_INFINITY
  let cursor: string | undefined
  do {
    const page = await store.list(prefix, { ...options, limit: Math.min(PAGE, left), cursor })
    yield* page.items
    left -= page.items.length
    cursor = page.cursor
  } while (cursor !== undefined && left > 0)
}

/** JSON holds no bytes: they are Base64 under another name. */
export function jsonItem({ value, ...item }: StateItem): Readonly<Record<string, unknown>> {
  return value instanceof Uint8Array ? { ...item, base64: Buffer.from(value).toString('base64') } : { ...item, value }
}
