/** `history list`: the latest entries, oldest first. */

import { EXIT, type Invocation } from '../command-types.ts'
import { entryColumns } from '../entries.ts'
import { timeOf } from '../outputs.ts'
import { openHistory, placeText } from '../places.ts'

const DEFAULT_LIMIT = 20
/** "all": as many as a filter takes. */
const ALL = Number.MAX_SAFE_INTEGER

export async function run(invocation: Invocation): Promise<0 | 1> {
  const { options, output, signal } = invocation
  const history = await openHistory(invocation)
  const limit = Math.min(options.limit ?? DEFAULT_LIMIT, ALL)
  const isOfSession = options.session !== undefined
  const found = await history.search({
    toolName: options.tool,
    success: options.failed === true ? false : undefined,
    since: timeOf(options.since),
    until: timeOf(options.until),
    text: options.text,
    ranked: options.ranked,
    limit: isOfSession ? ALL : limit,
    signal,
  })
  const items = isOfSession ? found.filter(({ sessionId }) => sessionId === options.session).slice(-limit) : found
  const isSearch = (['session', 'tool', 'since', 'until', 'failed', 'text'] as const).some(
    (name) => options[name] !== undefined,
  )
  await output.list({
    items,
    columns: entryColumns(output),
    empty: isSearch ? 'Nothing found.' : `The history ${placeText(history.path, invocation)} is empty.`,
  })
  return items.length === 0 && isSearch ? EXIT.nothing : EXIT.done
}
