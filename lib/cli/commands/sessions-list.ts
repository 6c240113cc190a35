/** `sessions list`: the sessions of the directory, the latest used first. */

import type { SessionInfo } from '../../manager/types.ts'
import type { Invocation } from '../command-types.ts'
import type { Column } from '../output/table.ts'
import { formatBytes, formatTime } from '../output/units.ts'
import { openManager, placeText } from '../places.ts'

export async function run(invocation: Invocation): Promise<undefined> {
  const { options, output, signal } = invocation
  const manager = await openManager(invocation)
  const sessions = await manager.sessions({ signal })
  const columns: readonly Column<SessionInfo>[] = [
    { title: 'SESSION', cell: ({ id }) => id, isFlexible: true, style: (text, _, style) => style.cyan(text) },
    {
      title: 'STATE',
      cell: ({ state }) => state,
      style: (text, { state }, style) => (state === 'ended' ? style.dim(text) : style.green(text)),
    },
    { title: 'LAST USED', cell: ({ lastUsedAt }) => formatTime(lastUsedAt, output.isTerminal) },
    { title: 'OUTPUTS', cell: ({ contexts }) => String(contexts), align: 'right' },
    { title: 'BYTES', cell: ({ bytes }) => (output.isTerminal ? formatBytes(bytes) : String(bytes)), align: 'right' },
  ]
  await output.list({
    items: sessions.slice(0, options.limit),
    columns,
    beside: { total: sessions.length },
    empty: `No sessions in ${placeText(manager.getContextDir(), invocation)}.`,
  })
}
