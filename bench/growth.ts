/** Growth: what one more save costs, and what a pointer weighs, when there are many. */

import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import process from 'node:process'
import type { Growth } from './growth-process.ts'
import { firstLine } from './peer-packages.ts'
import { figure, type Report } from './report.ts'
import type { Workspace } from './workspace.ts'

const COUNTS = [1000, 10_000, 100_000, 1_000_000]
const QUICK_COUNTS = [1000, 20_000]

/** In a process of its own: nothing else moves its memory. */
export function benchGrowth(report: Report, workspace: Workspace, isQuick: boolean): void {
  report.heading('Growth')
  const steps: Growth[] = []
  for (const count of isQuick ? QUICK_COUNTS : COUNTS) {
    const step = measureGrowth(workspace, count)
    if (typeof step === 'string') {
      report.lines([`${count} pointers: skipped: ${step}`])
    } else {
      steps.push(step)
    }
  }
  for (const step of steps) {
    report.measure({ section: 'growth', case: String(step.pointers), contender: 'agent-context', values: { ...step } })
  }
  report.table({
    title: "64 saves in flight, persist: 'large', memory alone; bytes per pointer",
    columns: [
      'pointers',
      'sessions',
      'save wall µs',
      'main µs',
      'all threads µs',
      'RSS',
      'of it record',
      'of it JS heap',
    ],
    rows: steps.map((step) => [
      step.pointers.toLocaleString('en'),
      String(step.sessions),
      figure(step.wall),
      figure(step.cpu),
      figure(step.allThreads),
      figure(step.rss),
      figure(step.record),
      figure(step.heap),
    ]),
  })
}

/** The figures, or why there are none. */
function measureGrowth(workspace: Workspace, count: number): Growth | string {
  const script = join(import.meta.dirname, 'growth-process.ts')
  const parameters = ['--expose-gc', '--import', 'tsx', script, workspace.fresh(), String(count)]
  const child = spawnSync(process.execPath, parameters, { encoding: 'utf8' })
  if (child.status === 0) {
    return JSON.parse(child.stdout) as Growth
  }
  return firstLine(child.stderr?.trim() || child.error || 'the process failed')
}
