/** `memory remove`: removes a record. */

import type { RecordKind } from '../../index.ts'
import { EXIT, type Invocation } from '../command-types.ts'
import { CliError } from '../failures.ts'
import { confirm } from '../output/confirm.ts'
import { openMemory } from '../places.ts'

const LISTS = { convention: 'conventions', decision: 'decisions', note: 'notes' } as const

export async function run(invocation: Invocation): Promise<undefined> {
  const { options, output } = invocation
  const kind = invocation.argument('kind') as RecordKind
  const id = invocation.argument('id')
  const memory = await openMemory(invocation)
  const missing = new CliError(`there is no ${kind} ${id}; 'agent-context memory' lists what there is`, EXIT.notFound)
  const records: readonly { id: string }[] = (await memory.getRepoMemory())[LISTS[kind]]
  if (!records.some((record) => record.id === id)) {
    throw missing
  }
  const isDryRun = options.dryRun === true
  if (!isDryRun) {
    await confirm(invocation, `Remove the ${kind} ${id}?`)
    if (!(await memory.remove(kind, id))) {
      throw missing
    }
  }
  await output.document({ removed: [{ kind, id }], dryRun: isDryRun }, () =>
    output.line(`${isDryRun ? 'Would remove' : 'Removed'} the ${kind} ${id}`),
  )
}
