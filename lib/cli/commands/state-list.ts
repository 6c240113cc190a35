/** `state list`: items by namespace and key, page by page. */

import type { StateItem } from '../../index.ts'
import type { Invocation } from '../command-types.ts'
import type { Column } from '../output/table.ts'
import { formatTime } from '../output/units.ts'
import { openState, placeText } from '../places.ts'
import { itemsBelow, jsonItem, namespaceOf, namespaceText } from '../state-items.ts'

const DEFAULT_LIMIT = 100
const SHOWN_OF_VALUE = 200

export async function run(invocation: Invocation): Promise<undefined> {
  const { options, output } = invocation
  const store = await openState(invocation)
  const items = itemsBelow(store, namespaceOf(invocation.optionalArgument('namespace')), {
    keyPrefix: options.keyPrefix,
    limit: options.limit ?? DEFAULT_LIMIT,
    signal: invocation.signal,
  })
  const empty = `No such items in ${placeText(store.path, invocation)}.`
  if (output.mode !== 'text') {
    await output.list({ items: asJson(items), columns: [], empty })
    return
  }
  const columns: readonly Column<StateItem>[] = [
    {
      title: 'NAMESPACE',
      cell: ({ namespace }) => namespaceText(namespace),
      style: (text, _, style) => style.cyan(text),
    },
    { title: 'KEY', cell: ({ key }) => key },
    { title: 'UPDATED', cell: ({ updatedAt }) => formatTime(updatedAt, output.isTerminal) },
    { title: 'VALUE', cell: shortValue, isFlexible: true },
  ]
  await output.list({ items, columns, empty })
}

async function* asJson(items: AsyncIterable<StateItem>): AsyncGenerator<object> {
  for await (const item of items) {
    yield jsonItem(item)
  }
}

function shortValue({ value }: StateItem): string {
  return value instanceof Uint8Array ? `(${value.length} bytes)` : JSON.stringify(value).slice(0, SHOWN_OF_VALUE)
}
