/** `help`: on a command, or the manual page. */

import { EXIT, type Invocation } from '../command-types.ts'
import { CliError } from '../failures.ts'
import { manualPage } from '../manual-page.ts'
import { buildProgram } from '../program.ts'

export async function run(invocation: Invocation): Promise<undefined> {
  const { options, output } = invocation
  const words = invocation.argumentList('command')
  if (options.man === true) {
    await output.write(manualPage())
    return
  }
  let command = buildProgram('', async () => undefined)
  for (const word of words) {
    const next = command.commands.find((candidate) => candidate.name() === word)
    if (next === undefined) {
      throw new CliError(
        `there is no command '${words.join(' ')}'; run 'agent-context --help' for the list`,
        EXIT.usage,
      )
    }
    command = next
  }
  await output.write(command.helpInformation())
}
