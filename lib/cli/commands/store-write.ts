/** `store write`: a new entry. */

import type { ContextType } from '../../index.ts'
import type { Invocation } from '../command-types.ts'
import { readContent } from '../input.ts'
import { openStoreForWriting } from '../places.ts'
import { printChanged } from '../store-entries.ts'

export async function run(invocation: Invocation): Promise<undefined> {
  const { options } = invocation
  const store = await openStoreForWriting(invocation)
  const entry = await store.write({
    type: invocation.argument('type') as ContextType,
    slug: invocation.argument('slug'),
    content: await readContent(invocation),
    tags: options.tag,
    links: options.link,
  })
  await printChanged(invocation, entry)
}
