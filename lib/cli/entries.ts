/** How entries of a history are listed. */

import type { ContextEntry } from '../index.ts'
import type { Output } from './output/output.ts'
import type { Column } from './output/table.ts'
import { formatTime } from './output/units.ts'

export function entryColumns(output: Output): readonly Column<ContextEntry>[] {
  return [
    { title: 'TIME', cell: ({ timestamp }) => formatTime(timestamp, output.isTerminal) },
    {
      title: 'OK',
      cell: ({ success }) => (success ? 'yes' : 'no'),
      style: (text, { success }, style) => (success ? text : style.red(text)),
    },
    { title: 'TOOL', cell: ({ toolName }) => toolName, style: (text, _, style) => style.cyan(text) },
    { title: 'SUMMARY', cell: summaryOf, isFlexible: true },
  ]
}

function summaryOf({ summary, error, params }: ContextEntry): string {
  return summary ?? error ?? (params === null ? '' : JSON.stringify(params))
}
