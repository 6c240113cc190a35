/** `hook`: answers an event of a coding agent. Whatever happens, the agent goes on: the exit code is 0. */

import type { ClientName } from '../../hooks/hook-event.ts'
import { runHook } from '../../hooks/run-hook.ts'
import type { Invocation } from '../command-types.ts'
import { readInput } from '../input.ts'

export async function run(invocation: Invocation): Promise<undefined> {
  const { options, settings, output } = invocation
  const client = invocation.argument('client') as ClientName
  const input = new TextDecoder('utf-8').decode(await readInput())
  const answer = await runHook(client, invocation.argument('event'), input, {
    dir: settings.dir,
    history: settings.history,
    memory: settings.memory,
    threshold: options.threshold,
  })
  await output.line(JSON.stringify(answer))
}
