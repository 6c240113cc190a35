/** Shared code of the adapters that store data in a `StateStore`. */

import { invalidArgument } from '../arguments/errors.ts'
import type { StateItem, StateListOptions, StateStore } from '../index.ts'

/** The number of items that one request lists or deletes. */
const PAGE = 1000

/** The items below a prefix, page by page. */
export async function* allItems(
  state: StateStore,
  prefix: readonly string[],
  options?: StateListOptions,
): AsyncGenerator<StateItem> {
  for (let cursor: string | undefined | null = null; cursor !== undefined; ) {
    const page = await state.list(prefix, { ...options, cursor })
    yield* page.items
    cursor = page.cursor
  }
}

export function checkState(state: StateStore): StateStore {
  if (typeof state?.list !== 'function' || typeof state.batch !== 'function') {
    throw invalidArgument('state', 'a StateStore', state)
  }
  return state
}

/** Deletes all items below a prefix. */
export async function deleteAll(state: StateStore, prefix: readonly string[]): Promise<void> {
  for (let isMore = true; isMore; ) {
    const { items } = await state.list(prefix, { limit: PAGE })
    await state.batch(items.map(({ namespace, key }) => ({ type: 'delete', namespace, key }) as const))
    isMore = items.length > 0
  }
}
