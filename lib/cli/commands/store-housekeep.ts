/** `store housekeep`: removes old entries. */

import type { Invocation } from '../command-types.ts'
import { confirm } from '../output/confirm.ts'
import { startProgress } from '../output/progress.ts'
import { counted, formatBytes } from '../output/units.ts'
import { visibleLine } from '../output/visible-text.ts'
import { openStore } from '../places.ts'

export async function run(invocation: Invocation): Promise<undefined> {
  const { options, output, signal } = invocation
  const store = await openStore(invocation)
  const policy = {
    olderThan: options.olderThan,
    agents: options.agent === undefined ? undefined : [options.agent],
    includeLinked: options.includeLinked,
    signal,
  }
  const preview = await store.housekeep({ ...policy, dryRun: true })
  const what = `${counted(preview.removed.length, 'entry', 'entries')} (${formatBytes(preview.removedBytes)})`
  const isDryRun = options.dryRun === true || preview.removed.length === 0
  if (!isDryRun) {
    await confirm(invocation, `Remove ${what} from the store?`)
  }
  const progress = startProgress(output.mode === 'text')
  const report = isDryRun
    ? { ...preview, dryRun: options.dryRun === true }
    : await store.housekeep({
        ...policy,
        onProgress: ({ done, total }) => progress.update(`${done} of ${counted(total, 'old entry', 'old entries')}`),
      })
  progress.done()
  await output.document(report, async () => {
    for (const { path } of report.removed) {
      await output.line(visibleLine(path))
    }
    const done = report.dryRun ? 'Would remove' : 'Removed'
    output.note(
      `${done} ${counted(report.removed.length, 'entry', 'entries')} (${formatBytes(report.removedBytes)}); ${report.keptLinked.length} stay because others link to them`,
    )
    for (const { path, reason } of report.problems) {
      output.note(visibleLine(`${path}: ${reason}`))
    }
  })
}
