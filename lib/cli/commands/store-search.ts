/** `store search`: entries that contain words. */

import { EXIT, type Invocation } from '../command-types.ts'
import { openStore } from '../places.ts'
import { storeColumns, storeFilter } from '../store-entries.ts'

export async function run(invocation: Invocation): Promise<0 | 1> {
  const { options, output } = invocation
  const store = await openStore(invocation)
  const items = await store.search({
    ...storeFilter(invocation),
    query: invocation.argumentList('words').join(' '),
    ranked: options.ranked,
  })
  await output.list({ items, columns: storeColumns(output), empty: 'Nothing found.' })
  return items.length === 0 ? EXIT.nothing : EXIT.done
}
