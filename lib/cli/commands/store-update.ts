/** `store update`: changes an entry. */

import { EXIT, type Invocation } from '../command-types.ts'
import { CliError } from '../failures.ts'
import { readContent } from '../input.ts'
import { openStoreForWriting } from '../places.ts'
import { printChanged } from '../store-entries.ts'

export async function run(invocation: Invocation): Promise<undefined> {
  const { options } = invocation
  if (options.reason === undefined) {
    throw new CliError('say what changed and why, for the changelog: --reason TEXT', EXIT.usage)
  }
  const store = await openStoreForWriting(invocation)
  const entry = await store.update(
    invocation.argument('entry'),
    {
      content: options.content === undefined ? undefined : await readContent(invocation),
      type: options.type,
      addTags: options.tag,
      removeTags: options.removeTag,
      links: options.link,
      removeLinks: options.removeLink,
    },
    options.reason,
    { ifRevision: options.ifRevision },
  )
  await printChanged(invocation, entry)
}
