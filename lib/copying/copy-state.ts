/** Copies the items of a state store to another, the earliest written first, so that `'updated'` keeps its order. */

import { Buffer } from 'node:buffer'
import { contextError } from '../arguments/errors.ts'
import type { StateStore } from '../state/state-store.ts'
import type { StateItem, StateOperation, StateValue } from '../state/types.ts'
import { emptyReport, noteConflict } from './report.ts'
import type { CopyReport } from './types.ts'

/** The number of items that are copied at once. */
const BATCH = 32
/** The number of items in a page of a listing. */
const PAGE = 100

type Place = Pick<StateOperation, 'namespace' | 'key'>

export interface StateCopy {
  readonly from: StateStore
  readonly to: StateStore
  readonly overwrite: boolean
  readonly dryRun: boolean
  /** The destination does not exist, and is not created by a dry run. */
  readonly isNew: boolean
  readonly signal: AbortSignal | undefined
}

export async function copyState(copy: StateCopy): Promise<CopyReport> {
  const report = emptyReport()
  const places = await placesOf(copy)
  for (let end = places.length; end > 0; end -= BATCH) {
    copy.signal?.throwIfAborted()
    await copyItems(copy, places.slice(Math.max(0, end - BATCH), end).reverse(), report)
  }
  return report
}

/** The places of all items, the latest written first. */
async function placesOf({ from, signal }: StateCopy): Promise<Place[]> {
  const places: Place[] = []
  let cursor: string | undefined
  do {
    const page = await from.list([], { order: 'updated', limit: PAGE, cursor, signal })
    places.push(...page.items.map(({ namespace, key }) => ({ namespace, key })))
    cursor = page.cursor
  } while (cursor !== undefined)
  return places
}

async function copyItems(copy: StateCopy, places: readonly Place[], report: CopyReport): Promise<void> {
  const { from, to, overwrite, dryRun, isNew } = copy
  const items = await itemsAt(from, places)
  const there = isNew && dryRun ? [] : await itemsAt(to, places)
  const puts: (StateOperation & { type: 'put' })[] = []
  items.forEach((item, index) => {
    const other = there[index]
    if (item === undefined) {
      report.skipped += 1
    } else if (other !== undefined && isEqual(item, other)) {
      report.alreadyThere += 1
    } else if (other !== undefined && !overwrite) {
      noteConflict(report, JSON.stringify([...item.namespace, item.key]))
    } else {
      report.copied += 1
      report.bytes += sizeOf(item.value)
      report.replaced += other === undefined ? 0 : 1
      const { namespace, key, value, mediaType, expiresAt } = item
      // What another process writes meanwhile is not replaced.
      puts.push({ type: 'put', namespace, key, value, mediaType, expiresAt, ifRevision: other?.revision ?? null })
    }
  })
  if (dryRun || puts.length === 0) {
    return
  }
  await to.batch(puts)
  const written = await itemsAt(to, puts)
  puts.forEach((put, index) => {
    const item = written[index]
    const isOver = put.expiresAt !== undefined && Date.parse(String(put.expiresAt)) <= Date.now()
    if (!isOver && (item === undefined || !isEqual(put, item))) {
      throw contextError(
        'ERR_CONTEXT_CORRUPT',
        `the item ${JSON.stringify([...put.namespace, put.key])} of ${to.path} is not what was written; see whether another program changes it, and copy again`,
      )
    }
  })
}

async function itemsAt(store: StateStore, places: readonly Place[]): Promise<(StateItem | undefined)[]> {
  const gets = places.map(({ namespace, key }): StateOperation => ({ type: 'get', namespace, key }))
  return (await store.batch(gets)) as (StateItem | undefined)[]
}

interface Content {
  readonly value: StateValue
  readonly mediaType?: string | null | undefined
  readonly expiresAt?: unknown
}

/** JSON values are compared by their text, in which the order of members counts. */
function isEqual(one: Content, other: Content): boolean {
  return (
    (one.mediaType ?? undefined) === (other.mediaType ?? undefined) &&
    one.expiresAt === other.expiresAt &&
    (one.value instanceof Uint8Array || other.value instanceof Uint8Array
      ? one.value instanceof Uint8Array &&
        other.value instanceof Uint8Array &&
        Buffer.compare(one.value, other.value) === 0
      : JSON.stringify(one.value) === JSON.stringify(other.value))
  )
}

const sizeOf = (value: StateValue): number =>
  value instanceof Uint8Array ? value.length : Buffer.byteLength(JSON.stringify(value))
