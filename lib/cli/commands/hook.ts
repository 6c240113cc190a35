/** `hook`: answers an event of a coding agent, for command lines with options that `hook-process` does not read. */

import type { ClientName } from '../../hooks/hook-event.ts'
import type { Invocation } from '../command-types.ts'

export async function run(invocation: Invocation): Promise<undefined> {
  const { options, settings } = invocation
  const { answerEvent, hookOptions } = await import('../hook-process.ts')
  const [client, event] = [invocation.argument('client') as ClientName, invocation.argument('event')]
  await answerEvent(client, event, hookOptions(settings, options))
}
