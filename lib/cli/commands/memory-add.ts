/** `memory add`: a convention, a decision or a note. */

import { EXIT, type Invocation } from '../command-types.ts'
import { CliError } from '../failures.ts'
import { readContent } from '../input.ts'
import { OPTIONS, type OptionName } from '../options.ts'
import { openMemory } from '../places.ts'

const OWN_OPTIONS: Readonly<Record<string, readonly OptionName[]>> = {
  convention: ['title', 'tag'],
  decision: ['rationale', 'path'],
  note: ['source'],
}

export async function run(invocation: Invocation): Promise<undefined> {
  const { options, output } = invocation
  const kind = invocation.argument('kind')
  refuseOthers(invocation, kind)
  const memory = await openMemory(invocation)
  const content = await readContent(invocation)
  const record = await (kind === 'convention'
    ? memory.upsertConvention({ id: options.id, title: options.title, content, tags: options.tag })
    : kind === 'decision'
      ? memory.upsertDecision({
          id: options.id,
          summary: content,
          rationale: options.rationale,
          impactedPaths: options.path,
        })
      : memory.upsertNote({ id: options.id, content, source: options.source }))
  await output.document({ kind, ...record }, () => output.line(record.id))
}

/** An option of another kind of record would be dropped silently. */
function refuseOthers({ options }: Invocation, kind: string): void {
  for (const [other, names] of Object.entries(OWN_OPTIONS)) {
    const stray = other === kind ? undefined : names.find((name) => options[name] !== undefined)
    if (stray !== undefined) {
      throw new CliError(`${OPTIONS[stray].flags} is of a ${other}, not of a ${kind}`, EXIT.usage)
    }
  }
  if (kind === 'convention' && options.title === undefined && options.id === undefined) {
    throw new CliError('a convention needs --title LINE', EXIT.usage)
  }
}
