/** `list`: stored outputs, newest first. */

import type { Invocation } from '../command-types.ts'
import { counted } from '../output/units.ts'
import { pointerColumns, selectPointers } from '../outputs.ts'
import { openManager, placeText } from '../places.ts'

const DEFAULT_LIMIT = 50

export async function run(invocation: Invocation): Promise<undefined> {
  const { options, output } = invocation
  const manager = await openManager(invocation)
  const pointers = await selectPointers(invocation, manager)
  const items = pointers.slice(0, options.limit ?? DEFAULT_LIMIT)
  await output.list({
    items,
    columns: pointerColumns(output),
    beside: { total: pointers.length },
    empty: `No such outputs in ${placeText(manager.getContextDir(), invocation)}. Store one: echo hello | agent-context offload --tool echo`,
  })
  if (items.length < pointers.length && output.isTerminal) {
    output.note(`${counted(items.length, 'output')} of ${pointers.length}: --limit all shows the rest`)
  }
}
