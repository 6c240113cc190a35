/** What commands on the store share: conditions, listings, an entry as text. */

import type { StoreEntry, StoreEntrySummary, StoreFilter } from '../index.ts'
import type { Invocation } from './command-types.ts'
import type { Output } from './output/output.ts'
import type { Column } from './output/table.ts'
import { formatTime } from './output/units.ts'
import { visible, visibleLine } from './output/visible-text.ts'
import { timeOf } from './outputs.ts'

/** `agent` of the settings says who writes; only the option is a condition. */
export function storeFilter({ options, signal }: Invocation): StoreFilter {
  return {
    agent: options.agent,
    sessionId: options.session,
    type: options.type,
    tags: options.tag,
    since: timeOf(options.since),
    until: timeOf(options.until),
    limit: options.limit === undefined ? undefined : Math.min(options.limit, Number.MAX_SAFE_INTEGER),
    signal,
  }
}

export function storeColumns(output: Output): readonly Column<StoreEntrySummary>[] {
  return [
    { title: 'TIME', cell: ({ timestamp }) => formatTime(timestamp, output.isTerminal) },
    { title: 'TYPE', cell: ({ type }) => type },
    { title: 'PATH', cell: ({ path }) => path, isFlexible: true, style: (text, _, style) => style.cyan(text) },
    { title: 'TAGS', cell: ({ tags }) => tags.join(', ') },
  ]
}

/** After a change: the path, for the next command, and what else a program wants to know. */
export function printChanged({ output }: Invocation, entry: StoreEntry): Promise<void> {
  return output.document(entry, () => output.line(visibleLine(entry.path)))
}

export async function printEntry(output: Output, entry: StoreEntry): Promise<void> {
  const { bold, dim } = output.style
  await output.line(bold(visibleLine(entry.path)))
  const rows: readonly (readonly [string, string | undefined])[] = [
    ['type', entry.type],
    ['agent', entry.agent],
    ['session', entry.sessionId],
    ['time', formatTime(entry.timestamp, output.isTerminal)],
    ['tags', entry.tags.join(', ') || undefined],
    ['links', entry.links.join(', ') || undefined],
    ['superseded', entry.supersededBy],
    ['revision', entry.revision],
  ]
  for (const [name, value] of rows) {
    if (value !== undefined) {
      await output.line(`${dim(name.padEnd(12))}${visibleLine(value)}`)
    }
  }
  await output.line()
  await output.line(visible(entry.content))
  for (const { timestamp, agent, description } of entry.changelog) {
    await output.line(dim(visibleLine(`${formatTime(timestamp, output.isTerminal)} [${agent}] ${description}`)))
  }
}
