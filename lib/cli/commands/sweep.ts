/** `sweep`: removes what ended sessions left beyond the bounds of the retention. */

import type { SweepReport } from '#addon'
import type { Invocation } from '../command-types.ts'
import { confirm } from '../output/confirm.ts'
import { counted, formatBytes } from '../output/units.ts'
import { visibleLine } from '../output/visible-text.ts'
import { openManager } from '../places.ts'

export async function run(invocation: Invocation): Promise<undefined> {
  const { options, output, signal } = invocation
  const { maxAge, maxFiles, maxBytes } = options
  const manager = await openManager(invocation, { retention: { maxAge, maxFiles, maxBytes } })
  const preview = await manager.sweep({ dryRun: true, signal })
  const isDryRun = options.dryRun === true
  const count = preview.removals?.length ?? 0
  let report: SweepReport = preview
  if (!isDryRun && count > 0) {
    await confirm(invocation, `Remove ${whatGoes(preview)}?`)
    report = await manager.sweep({ signal })
  }
  await output.document({ ...report, dryRun: isDryRun }, async () => {
    if (isDryRun) {
      for (const { filename, sizeBytes, reason } of preview.removals ?? []) {
        await output.line([filename, String(sizeBytes), reason].map(visibleLine).join('\t'))
      }
    }
    await output.line(`${isDryRun ? 'Would remove' : 'Removed'} ${whatGoes(report)}`)
    if (report.pausedSessions > 0) {
      const held = `${counted(report.pausedSessions, 'paused session')} (${formatBytes(report.pausedBytes)})`
      output.note(`Kept for ${held}: 'agent-context sessions end ID' lets one go`)
    }
  })
}

function whatGoes({ deletedFiles, deletedBytes, deletedTemporaries }: SweepReport): string {
  const unfinished = deletedTemporaries === 0 ? '' : ` and ${counted(deletedTemporaries, 'unfinished file')}`
  return `${counted(deletedFiles, 'output')} (${formatBytes(deletedBytes)})${unfinished}`
}
