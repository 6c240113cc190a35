/** `redact`: standard input without its secrets. */

import type { RedactionFinding, RedactionOptions } from '../../index.ts'
import { EXIT, type Invocation } from '../command-types.ts'
import { counted } from '../output/units.ts'
import { library } from '../places.ts'
import { redactStream } from '../redact-stream.ts'

export async function run(invocation: Invocation): Promise<0 | 1> {
  const { options, output, signal } = invocation
  const { redact } = await library()
  // One object: its rules are compiled once.
  const rules: RedactionOptions = options.mask === true ? { replacement: 'mask' } : {}
  const counts = new Map<string, number>()
  const redactPart = (text: string): string => {
    const { text: redacted, findings } = redact(text, rules)
    for (const { rule, count } of findings) {
      counts.set(rule, (counts.get(rule) ?? 0) + count)
    }
    return redacted
  }
  const probe = (text: string): string => redact(text, rules).text
  for await (const bytes of redactStream(process.stdin as AsyncIterable<Uint8Array>, redactPart, probe)) {
    signal.throwIfAborted()
    if (options.check !== true) {
      await output.bytes(bytes)
    }
  }
  const findings: RedactionFinding[] = [...counts].map(([rule, count]) => ({ rule, count }))
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
