/** `memory list`: conventions, decisions and notes. */

import type { RecordKind } from '../../index.ts'
import type { Invocation } from '../command-types.ts'
import type { Column } from '../output/table.ts'
import { openMemory } from '../places.ts'

interface Row {
  readonly kind: RecordKind
  readonly id: string
  readonly [name: string]: unknown
}

const COLUMNS: readonly Column<Row>[] = [
  { title: 'KIND', cell: ({ kind }) => kind },
  { title: 'ID', cell: ({ id }) => id, style: (text, _, style) => style.dim(text) },
  { title: 'TEXT', cell: textOf, isFlexible: true },
]

export async function run(invocation: Invocation): Promise<undefined> {
  const memory = await openMemory(invocation)
  const { conventions, decisions, notes } = await memory.getRepoMemory()
  const rows = (kind: RecordKind, records: readonly { id: string }[]): Row[] =>
    records.map((record) => ({ kind, ...record }))
  await invocation.output.list({
    items: [...rows('convention', conventions), ...rows('decision', decisions), ...rows('note', notes)],
    columns: COLUMNS,
    beside: { repoHash: memory.repoHash },
    empty: 'Nothing is known about this repository yet. Add a note: agent-context memory add note',
  })
}

function textOf(row: Row): string {
  const { title, content, summary } = row as { title?: string; content?: string; summary?: string }
  return title === undefined ? (summary ?? content ?? '') : `${title}: ${content}`
}
