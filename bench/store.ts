/** The context store: getting entries back, beside what an agent would do without it. */

import { spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { firstLine } from './peer-packages.ts'
import { figure, type Report, ratio } from './report.ts'
import { median, rotated } from './statistics.ts'
import { makeStore, QUESTIONS, WANTED } from './store-entries.ts'
import type { StoreRun } from './store-process.ts'
import type { Workspace } from './workspace.ts'

export const OURS = 'agent-context'
export const PLAIN_SCAN = 'reading all files'
export const RIPGREP = 'ripgrep'
/** What is known of the entries, kept on disk between processes. */
const CACHE = '.context-store.index'
const COUNTS = [10_000, 100_000]
const QUICK_COUNTS = [2000]
const ROUNDS = 3
const QUICK_ROUNDS = 1
/** Times each question is asked in a process. */
const REPEATED: Readonly<Record<string, number>> = { [OURS]: 30, [PLAIN_SCAN]: 3, [RIPGREP]: 5 }
const TOO_LONG = 600_000 // ms
const MEGABYTE = 2 ** 20

export const storeCase = (count: number, what: string): string => `${count} entries, ${what}`

export function benchStore(report: Report, workspace: Workspace, isQuick: boolean): void {
  report.heading('Context store')
  report.lines([
    `Entries of about 1.5 KB of 20 agents; the texts of the newest ${WANTED} that have what is asked for. Every contender in processes of its own, in turn; files are in the page cache.`,
    `Cold: the first question of a fresh process; ${OURS} without anything kept from before, and with it. Warm: the median of the following.`,
    'ms; ×: peer ÷ ours.',
  ])
  for (const count of isQuick ? QUICK_COUNTS : COUNTS) {
    const directory = workspace.fresh()
    makeStore(directory, count)
    const runs = runRounds(report, directory, isQuick ? QUICK_ROUNDS : ROUNDS)
    tell(report, count, runs)
    workspace.empty(directory)
  }
}

interface Runs {
  readonly byContender: ReadonlyMap<string, readonly StoreRun[]>
  /** ms of ours without what is kept. */
  readonly uncached: readonly number[]
}

function runRounds(report: Report, directory: string, rounds: number): Runs {
  const contenders = [OURS, PLAIN_SCAN, RIPGREP]
  const byContender = new Map<string, StoreRun[]>(contenders.map((name) => [name, []]))
  const uncached: number[] = []
  for (let round = 0; round < rounds; round++) {
    for (const name of rotated(contenders, round)) {
      if (name === OURS) {
        rmSync(join(directory, CACHE), { force: true })
        const first = runProcess(directory, name)
        if (typeof first !== 'string') {
          uncached.push(first.cold)
        }
      }
      const run = runProcess(directory, name)
      if (typeof run === 'string') {
        report.lines([`${name}: skipped: ${run}`])
      } else {
        byContender.get(name)?.push(run)
      }
    }
  }
  return { byContender, uncached }
}

/** The figures, or why there are none. */
function runProcess(directory: string, name: string): StoreRun | string {
  const script = join(import.meta.dirname, 'store-process.ts')
  const parameters = ['--expose-gc', '--import', 'tsx', script, directory, name, String(REPEATED[name] ?? 1)]
  const child = spawnSync(process.execPath, parameters, { encoding: 'utf8', timeout: TOO_LONG })
  if (child.status !== 0) {
    return firstLine(child.error ?? child.stderr.trim())
  }
  return JSON.parse(child.stdout) as StoreRun
}

function tell(report: Report, count: number, { byContender, uncached }: Runs): void {
  const of = (name: string, pick: (run: StoreRun) => number): number => median((byContender.get(name) ?? []).map(pick))
  const questions = QUESTIONS.map(({ name }) => name)
  const warm = (name: string, question: string): number => of(name, (run) => run.warm[question] ?? Number.NaN)
  const rows = [...byContender.keys()].map((name) => [
    name,
    figure(of(name, ({ cold }) => cold)),
    ...questions.flatMap((question) => [
      figure(warm(name, question)),
      ratio(warm(name, question), warm(OURS, question)),
    ]),
    figure(of(name, ({ memory }) => memory) / MEGABYTE),
  ])
  const empty = questions.flatMap(() => ['', ''])
  rows.splice(1, 0, [`${OURS}, nothing kept`, figure(median(uncached)), ...empty, ''])
  const columns = ['', 'cold', ...questions.flatMap((question) => [question, '×']), 'MB']
  report.table({ title: `${count.toLocaleString('en')} entries`, columns, rows })
  for (const name of byContender.keys()) {
    const values = Object.fromEntries(questions.map((question) => [question, warm(name, question)]))
    report.measure({
      section: 'store',
      case: storeCase(count, 'search'),
      contender: name,
      values: { cold: of(name, ({ cold }) => cold), ...values },
    })
  }
}
