/** `sessions end`: lets a session go that will not be resumed. */

import { EXIT, type Invocation } from '../command-types.ts'
import { CliError } from '../failures.ts'
import { visibleLine } from '../output/visible-text.ts'
import { openManager } from '../places.ts'

export async function run(invocation: Invocation): Promise<undefined> {
  const { output, signal } = invocation
  const id = invocation.argument('id')
  const manager = await openManager(invocation)
  const known = (await manager.sessions({ signal })).find((session) => session.id === id)
  if (known === undefined) {
    throw new CliError(
      `there is no session '${visibleLine(id)}': 'agent-context sessions' lists those that there are`,
      EXIT.notFound,
    )
  }
  const ended = await manager.endSession(id)
  await output.document({ id, ended, before: known.state }, () =>
    output.line(ended ? `Ended ${visibleLine(id)}, which was ${known.state}` : `${visibleLine(id)} had ended before`),
  )
}
