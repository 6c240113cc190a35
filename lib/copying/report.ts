/** Counts what is copied. */

import type { CopyReport } from './types.ts'

const MAX_CONFLICTS = 100

export const emptyReport = (): CopyReport => ({
  copied: 0,
  bytes: 0,
  replaced: 0,
  alreadyThere: 0,
  skipped: 0,
  conflicts: 0,
  conflicting: [],
})

export function noteConflict(report: CopyReport, name: string): void {
  report.conflicts += 1
  if (report.conflicting.length < MAX_CONFLICTS) {
    report.conflicting.push(name)
  }
}
