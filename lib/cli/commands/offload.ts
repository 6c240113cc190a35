/** `offload`: stores standard input, and prints the text for the conversation. */

import { EXIT, type Invocation } from '../command-types.ts'
import { CliError } from '../failures.ts'
import { readInput } from '../input.ts'
import { visible } from '../output/visible-text.ts'
import { openManager } from '../places.ts'

export async function run(invocation: Invocation): Promise<undefined> {
  const { options, output } = invocation
  const [tool, other] = options.tool ?? []
  if (tool === undefined || other !== undefined) {
    throw new CliError('say which tool made the output: --tool NAME, once', EXIT.usage)
  }
  const input = await readInput()
  const manager = await openManager(invocation, { sessionId: options.session })
  const offloaded = await manager.offload(tool, { ...options.args }, input, { threshold: options.threshold })
  await manager.close()
  if (offloaded.error !== undefined) {
    throw offloaded.error
  }
  const { text, isOffloaded, filepath, handle, sizeBytes } = offloaded
  await output.document({ text, isOffloaded, filepath, handle, sizeBytes }, () =>
    // What is not replaced goes through unchanged, for the next program of the pipe.
    output.isTerminal ? output.line(visible(text)) : isOffloaded ? output.line(text) : output.bytes(input),
  )
}
