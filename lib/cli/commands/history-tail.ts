/** `history tail`: the end of the history, and what comes after it. */

import type { ContextEntry } from '../../index.ts'
import { EXIT, type Invocation } from '../command-types.ts'
import { entryColumns } from '../entries.ts'
import { CliError } from '../failures.ts'
import { plainRow } from '../output/table.ts'
import { safeJson } from '../output/visible-text.ts'
import { openHistory, placeText } from '../places.ts'

const DEFAULT_LIMIT = 10

export async function run(invocation: Invocation): Promise<undefined> {
  const { options, output } = invocation
  const history = await openHistory(invocation)
  const last = Math.min(options.limit ?? DEFAULT_LIMIT, Number.MAX_SAFE_INTEGER)
  const columns = entryColumns(output)
  const after = options.afterId
  if (after !== undefined && (options.follow !== true || options.limit !== undefined)) {
    throw new CliError('--after-id goes with --follow, and without --limit', EXIT.usage)
  }
  if (options.follow !== true) {
    const items: ContextEntry[] = await history.read(last)
    await output.list({ items, columns, empty: `The history ${placeText(history.path, invocation)} is empty.` })
    return
  }
  // A document would never end.
  const format = output.mode === 'text' ? (entry: ContextEntry) => plainRow(columns, entry) : safeJson
  for await (const entry of history.tail({
    ...(after === undefined ? { last } : { after }),
    signal: invocation.signal,
  })) {
    await output.line(format(entry))
    await output.flush()
  }
}
