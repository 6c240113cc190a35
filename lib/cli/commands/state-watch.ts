/** `state watch`: changes as they happen. */

import type { StateChange } from '../../index.ts'
import type { Invocation } from '../command-types.ts'
import { safeJson, visibleLine } from '../output/visible-text.ts'
import { openState } from '../places.ts'
import { namespaceOf, namespaceText } from '../state-items.ts'

export async function run(invocation: Invocation): Promise<undefined> {
  const { options, output, signal } = invocation
  const prefix = namespaceOf(invocation.optionalArgument('namespace'))
  const store = await openState(invocation)
  // Changes from here on are printed.
  const since = options.cursor ?? (await store.stats({ signal })).cursor
  let left = options.limit ?? Number.POSITIVE_INFINITY
  for await (const change of store.watch(prefix, { since, signal })) {
    await output.line(output.mode === 'text' ? textOf(change) : safeJson(change))
    await output.flush()
    left -= 1
    if (left <= 0) {
      break
    }
  }
  await store.close()
}

function textOf({ type, namespace, key, revision }: StateChange): string {
  return [type, namespaceText(namespace), key, revision].map(visibleLine).join('\t')
}
