/** `store related`: the entries that are linked with one. */

import type { Invocation } from '../command-types.ts'
import { openStore } from '../places.ts'
import { storeColumns } from '../store-entries.ts'

export async function run(invocation: Invocation): Promise<undefined> {
  const { options, output, signal } = invocation
  const store = await openStore(invocation)
  await output.list({
    items: await store.related(invocation.argument('entry'), {
      depth: options.depth,
      direction: options.direction,
      limit: options.limit === undefined ? undefined : Math.min(options.limit, Number.MAX_SAFE_INTEGER),
      signal,
    }),
    columns: storeColumns(output),
    empty: 'No entry is linked with it.',
  })
}
