/** `store show`: an entry whole. */

import type { Invocation } from '../command-types.ts'
import { openStore } from '../places.ts'
import { printEntry } from '../store-entries.ts'

export async function run(invocation: Invocation): Promise<undefined> {
  const entry = await (await openStore(invocation)).read(invocation.argument('entry'))
  await invocation.output.document(entry, () => printEntry(invocation.output, entry))
}
