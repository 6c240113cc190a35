/** `store list`: the entries of the store, latest first. */

import type { Invocation } from '../command-types.ts'
import { openStore, placeText } from '../places.ts'
import { storeColumns, storeFilter } from '../store-entries.ts'

const DEFAULT_LIMIT = 50

export async function run(invocation: Invocation): Promise<undefined> {
  const { output } = invocation
  const store = await openStore(invocation)
  const filter = storeFilter(invocation)
  await output.list({
    items: await store.list({ ...filter, limit: filter.limit ?? DEFAULT_LIMIT }),
    columns: storeColumns(output),
    empty: `No such entries in ${placeText(store.path, invocation)}. Write one: agent-context store write finding NAME --agent ME`,
  })
}
