/** `stats`: how many outputs there are, and how many bytes. */

import type { ContextEntry, RedactionFinding } from '../../index.ts'
import type { Invocation } from '../command-types.ts'
import type { Output } from '../output/output.ts'
import type { Column } from '../output/table.ts'
import { formatBytes } from '../output/units.ts'
import { visibleLine } from '../output/visible-text.ts'
import { findingsText, type Pointer, selectPointers, timeOf } from '../outputs.ts'
import { openHistory, openManager, placeText } from '../places.ts'

/** What a model's tokeniser makes of usual text: an estimate, and said to be one. */
const BYTES_PER_TOKEN = 4

interface Row {
  readonly group: string
  readonly outputs: number
  readonly failed: number
  readonly bytes: number
  /** `bytes` ÷ 4. */
  readonly estimatedTokens: number
}

interface OutputsRow extends Row {
  /** The secrets that were replaced when the outputs were stored, by rule. */
  readonly redactions: readonly RedactionFinding[]
}

const GROUPS: Readonly<Record<'tool' | 'session' | 'day', (pointer: Pointer) => string>> = {
  tool: ({ toolName }) => toolName,
  session: ({ sessionId }) => sessionId ?? '',
  day: ({ timestamp }) => new Date(timestamp).toISOString().slice(0, 10),
}

export async function run(invocation: Invocation): Promise<undefined> {
  const { options, output } = invocation
  if (options.savings === true) {
    return savings(invocation)
  }
  const manager = await openManager(invocation)
  const pointers = await selectPointers(invocation, manager)
  const by = options.by ?? 'tool'
  const rows = rowsOf(pointers, GROUPS[by])
  const order =
    by === 'day' ? compareGroups : (one: Row, other: Row) => other.bytes - one.bytes || compareGroups(one, other)
  const total = rowsOf(pointers, () => 'total')[0] ?? { ...row('total'), redactions: [] }
  await output.list({
    items: rows.sort(order),
    columns: columns(output, by),
    beside: { by, total },
    empty: `No such outputs in ${placeText(manager.getContextDir(), invocation)}.`,
  })
  if (rows.length > 0) {
    if (total.redactions.length > 0) {
      output.note(`Replaced when they were stored: ${visibleLine(findingsText(total.redactions))}`)
    }
    output.note(
      `${total.outputs} outputs, ${formatBytes(total.bytes)}, about ${total.estimatedTokens.toLocaleString('en-US')} tokens (estimated: bytes ÷ ${BYTES_PER_TOKEN})`,
    )
  }
}

const row = (group: string): Row => ({ group, outputs: 0, failed: 0, bytes: 0, estimatedTokens: 0 })

function rowsOf(pointers: readonly Pointer[], groupOf: (pointer: Pointer) => string): OutputsRow[] {
  const rows = new Map<string, OutputsRow>()
  for (const pointer of pointers) {
    const group = groupOf(pointer)
    const before = rows.get(group) ?? { ...row(group), redactions: [] }
    const bytes = before.bytes + pointer.sizeBytes
    rows.set(group, {
      group,
      outputs: before.outputs + 1,
      failed: before.failed + (pointer.success === false ? 1 : 0),
      bytes,
      estimatedTokens: Math.round(bytes / BYTES_PER_TOKEN),
      redactions: withFindings(before.redactions, pointer.redactions ?? []),
    })
  }
  return [...rows.values()]
}

function withFindings(some: readonly RedactionFinding[], others: readonly RedactionFinding[]): RedactionFinding[] {
  const counts = new Map(some.map(({ rule, count }) => [rule, count]))
  for (const { rule, count } of others) {
    counts.set(rule, (counts.get(rule) ?? 0) + count)
  }
  return Array.from(counts, ([rule, count]) => ({ rule, count }))
}

const compareGroups = (one: Row, other: Row): number => (one.group < other.group ? -1 : 1)

function columns(output: Output, by: string): readonly Column<OutputsRow>[] {
  const number = (value: number): string => (output.isTerminal ? value.toLocaleString('en-US') : String(value))
  return [
    { title: by.toUpperCase(), cell: ({ group }) => group, isFlexible: true },
    { title: 'OUTPUTS', cell: ({ outputs }) => number(outputs), align: 'right' },
    { title: 'FAILED', cell: ({ failed }) => number(failed), align: 'right' },
    { title: 'BYTES', cell: ({ bytes }) => (output.isTerminal ? formatBytes(bytes) : String(bytes)), align: 'right' },
    { title: '~TOKENS', cell: ({ estimatedTokens }) => number(estimatedTokens), align: 'right' },
    {
      title: 'REDACTED',
      cell: ({ redactions }) => number(redactions.reduce((sum, { count }) => sum + count, 0)),
      align: 'right',
    },
  ]
}

interface SavingsRow extends Row {
  /** The size in the conversation: of placeholders, and of outputs that were not replaced. */
  readonly shownBytes: number
  readonly savedBytes: number
  /** `savedBytes` ÷ 4. */
  readonly estimatedSavedTokens: number
}

/**
 * Sums up the sizes of outputs and of their texts in the conversation. Hooks record both sizes in the history for each call; records of
 * other outputs contain the size of the placeholder.
 */
async function savings(invocation: Invocation): Promise<undefined> {
  const { options, output, signal } = invocation
  const history = await openHistory(invocation)
  const entries = await history.search({
    toolName: options.tool,
    since: timeOf(options.since),
    until: timeOf(options.until),
    limit: Number.MAX_SAFE_INTEGER,
    signal,
  })
  const by = options.by ?? 'tool'
  const groups: Readonly<Record<typeof by, (entry: ContextEntry) => string>> = {
    tool: ({ toolName }) => toolName,
    session: ({ sessionId }) => sessionId ?? '',
    day: ({ timestamp }) => timestamp?.slice(0, 10) ?? '',
  }
  const rows = new Map<string, SavingsRow>()
  let total = savingsRow('total')
  const add = (group: string, call: Call): void => {
    rows.set(group, withCall(rows.get(group) ?? savingsRow(group), call))
    total = withCall(total, call)
  }
  /** The outputs that are counted already, by session and handle. */
  const counted = new Set<string>()
  for (const entry of entries) {
    const { sizeBytes, shownBytes, handle } = (entry.result ?? {}) as Record<string, unknown>
    const isOfSession = options.session === undefined || entry.sessionId === options.session
    if (isOfSession && typeof sizeBytes === 'number' && typeof shownBytes === 'number') {
      add(groups[by](entry), { failed: entry.success === false ? 1 : 0, sizeBytes, shownBytes })
      counted.add(`${entry.sessionId ?? ''} ${String(handle)}`)
    }
  }
  for (const pointer of await selectPointers(invocation, await openManager(invocation))) {
    const { outputBytes, shownBytes, sessionId = '', handle } = pointer
    if (outputBytes !== undefined && shownBytes !== undefined && !counted.has(`${sessionId} ${handle}`)) {
      add(GROUPS[by](pointer), { failed: pointer.success === false ? 1 : 0, sizeBytes: outputBytes, shownBytes })
    }
  }
  const items = [...rows.values()].sort((one, other) =>
    by === 'day' ? compareGroups(one, other) : other.savedBytes - one.savedBytes || compareGroups(one, other),
  )
  const bytes = (value: number): string => (output.isTerminal ? formatBytes(value) : String(value))
  const savingsColumns: readonly Column<SavingsRow>[] = [
    { title: by.toUpperCase(), cell: ({ group }) => group, isFlexible: true },
    { title: 'OUTPUTS', cell: ({ outputs }) => String(outputs), align: 'right' },
    { title: 'BYTES', cell: (row) => bytes(row.bytes), align: 'right' },
    { title: 'SHOWN', cell: ({ shownBytes }) => bytes(shownBytes), align: 'right' },
    { title: 'SAVED', cell: ({ savedBytes }) => bytes(savedBytes), align: 'right' },
  ]
  await output.list({
    items,
    columns: savingsColumns,
    beside: { by, total },
    empty: `No outputs were replaced by placeholders, and none that hooks stored are in ${placeText(history.path, invocation)}.`,
  })
  if (items.length > 0) {
    output.note(
      `${formatBytes(total.savedBytes)} of ${formatBytes(total.bytes)} were kept out of conversations, about ${total.estimatedSavedTokens.toLocaleString('en-US')} tokens (estimated: bytes ÷ ${BYTES_PER_TOKEN})`,
    )
  }
}

const savingsRow = (group: string): SavingsRow => ({
  ...row(group),
  shownBytes: 0,
  savedBytes: 0,
  estimatedSavedTokens: 0,
})

interface Call {
  readonly failed: number
  readonly sizeBytes: number
  readonly shownBytes: number
}

function withCall(before: SavingsRow, { failed, sizeBytes, shownBytes }: Call): SavingsRow {
  const bytes = before.bytes + sizeBytes
  const shown = before.shownBytes + shownBytes
  return {
    group: before.group,
    outputs: before.outputs + 1,
    failed: before.failed + failed,
    bytes,
    estimatedTokens: Math.round(bytes / BYTES_PER_TOKEN),
    shownBytes: shown,
    savedBytes: bytes - shown,
    estimatedSavedTokens: Math.round((bytes - shown) / BYTES_PER_TOKEN),
  }
}
