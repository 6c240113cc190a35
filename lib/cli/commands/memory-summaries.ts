/** `memory summaries`: lists the summaries of workflow steps. */

import type { Summary } from '../../index.ts'
import type { Invocation } from '../command-types.ts'
import type { Output } from '../output/output.ts'
import type { Column } from '../output/table.ts'
import { formatTime } from '../output/units.ts'
import { openMemory } from '../places.ts'

export async function run(invocation: Invocation): Promise<undefined> {
  const { options, output } = invocation
  const { summaries } = await (await openMemory(invocation)).getRepoMemory()
  await output.list({
    items: options.limit === undefined ? summaries : summaries.slice(-options.limit),
    columns: columns(output),
    empty: 'No step of a run has left a summary yet.',
  })
}

function columns(output: Output): readonly Column<Summary>[] {
  return [
    { title: 'TIME', cell: ({ timestamp }) => formatTime(timestamp, output.isTerminal) },
    { title: 'RUN', cell: ({ runId }) => runId },
    { title: 'STEP', cell: ({ stepId }) => stepId },
    { title: 'SUMMARY', cell: ({ summary }) => summary, isFlexible: true },
  ]
}
