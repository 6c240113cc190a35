/** `store supersede`: an entry that takes the place of another. */

import type { ContextType } from '../../index.ts'
import { EXIT, type Invocation } from '../command-types.ts'
import { CliError } from '../failures.ts'
import { readContent } from '../input.ts'
import { openStoreForWriting } from '../places.ts'
import { printChanged } from '../store-entries.ts'

export async function run(invocation: Invocation): Promise<undefined> {
  const { options } = invocation
  if (options.reason === undefined) {
    throw new CliError('say why, for the changelog: --reason TEXT', EXIT.usage)
  }
  const store = await openStoreForWriting(invocation)
  const { replacement } = await store.supersede(
    invocation.argument('entry'),
    {
      type: invocation.argument('type') as ContextType,
      slug: invocation.argument('slug'),
      content: await readContent(invocation),
      tags: options.tag,
      links: options.link,
    },
    options.reason,
  )
  await printChanged(invocation, replacement)
}
