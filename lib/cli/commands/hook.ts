/** `hook`: answers an event of a coding agent, for command lines with options that `hook-process` does not read. */

import type { ClientName } from '../../hooks/hook-event.ts'
import type { Invocation } from '../command-types.ts'

export async function run(invocation: Invocation): Promise<undefined> {
  const { options, settings } = invocation
  const { answerEvent } = await import('../hook-process.ts')
  await answerEvent(invocation.argument('client') as ClientName, invocation.argument('event'), {
    dir: settings.dir,
    history: settings.history,
    memory: settings.memory,
    threshold: options.threshold,
  })
}
