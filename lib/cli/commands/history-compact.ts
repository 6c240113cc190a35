/** `history compact`: removes old entries. */

import type { CompactPolicy } from '../../index.ts'
import { EXIT, type Invocation } from '../command-types.ts'
import { CliError } from '../failures.ts'
import { confirm } from '../output/confirm.ts'
import { counted, formatBytes, parseTime } from '../output/units.ts'
import { openHistory, placeText } from '../places.ts'

export async function run(invocation: Invocation): Promise<undefined> {
  const { options, output, signal } = invocation
  const { keepLast, maxAge, maxBytes } = options
  if (keepLast === undefined && maxAge === undefined && maxBytes === undefined) {
    throw new CliError('say what stays: --keep-last, --max-age or --max-bytes', EXIT.usage)
  }
  const policy: CompactPolicy = { keepLast, maxAge, maxBytes, signal }
  const history = await openHistory(invocation)
  if (options.dryRun === true) {
    const { entries, bytes } = await history.verify({ signal })
    const kept = await keptEntries(invocation, history)
    const report = { keptEntries: kept, droppedEntries: entries - kept, bytesBefore: bytes, dryRun: true }
    await output.document(report, () =>
      output.line(`Would remove ${counted(report.droppedEntries, 'entry', 'entries')}, keep ${kept}`),
    )
    return
  }
  await confirm(invocation, `Compact ${placeText(history.path, invocation)}? Old entries are removed for good.`)
  const report = { ...(await history.compact(policy)), dryRun: false }
  await output.document(report, () =>
    output.line(
      `Removed ${counted(report.droppedEntries, 'entry', 'entries')}, kept ${report.keptEntries}: ${formatBytes(report.bytesBefore)} → ${formatBytes(report.bytesAfter)}`,
    ),
  )
}

/** What would stay, by the rules of `compact`. */
async function keptEntries(
  { options, signal }: Invocation,
  history: Awaited<ReturnType<typeof openHistory>>,
): Promise<number> {
  const { keepLast = Number.MAX_SAFE_INTEGER, maxAge, maxBytes } = options
  if (keepLast === 0) {
    return 0
  }
  const latest = await history.read(keepLast, { maxBytes, signal })
  const oldest = maxAge === undefined ? undefined : parseTime(maxAge, Date.now())
  if (oldest !== undefined && Number.isNaN(oldest)) {
    throw new CliError(`'${maxAge}' is no duration: write it as 12h or 30d`, EXIT.usage)
  }
  return oldest === undefined
    ? latest.length
    : latest.filter(({ timestamp }) => timestamp === null || Date.parse(timestamp) >= oldest).length
}
