/** `redact`: standard input without its secrets. */

import { EXIT, type Invocation } from '../command-types.ts'
import { counted } from '../output/units.ts'
import { library } from '../places.ts'

export async function run(invocation: Invocation): Promise<0 | 1> {
  const { options, output, signal } = invocation
  const { redactStream } = await library()
  const redacted = redactStream(process.stdin as AsyncIterable<Uint8Array>, {
    replacement: options.mask === true ? 'mask' : 'label',
  })
  for await (const bytes of redacted) {
    signal.throwIfAborted()
    if (options.check !== true) {
      await output.bytes(bytes)
    }
  }
  const { findings } = redacted
  if (options.report === true) {
    for (const { rule, count } of findings) {
      process.stderr.write(`${rule}: ${count}\n`)
    }
    process.stderr.write(
      `${counted(
        findings.reduce((sum, { count }) => sum + count, 0),
        'secret',
      )}\n`,
    )
  }
  return options.check === true && findings.length > 0 ? EXIT.nothing : EXIT.done
}
