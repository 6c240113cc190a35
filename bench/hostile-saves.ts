/** Large texts that are slow to redact: what saving some at once costs the other calls of the process. */

import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import process from 'node:process'
import type { HostileRun, Target } from './hostile-saves-process.ts'
import { loadLine } from './machine.ts'
import { errorLine, firstLine } from './peer-packages.ts'
import { figure, type Report } from './report.ts'
import { median } from './statistics.ts'
import type { Workspace } from './workspace.ts'

interface Case {
  readonly target: Target
  readonly text: string
  readonly megabytes: number
  /** Saves started without waiting for each other. */
  readonly saves: number
}

const CASES: readonly Case[] = [
  ...[1, 2, 4].flatMap((saves) =>
    ['ampersands', 'signatures', 'commands', 'prose'].map(
      (text): Case => ({ target: 'manager', text, megabytes: 16, saves }),
    ),
  ),
  { target: 'manager', text: 'ampersands', megabytes: 63, saves: 1 },
  { target: 'manager', text: 'prose', megabytes: 60, saves: 2 },
  { target: 'history', text: 'signatures', megabytes: 16, saves: 2 },
  { target: 'store', text: 'signatures', megabytes: 15, saves: 2 },
]
const QUICK_CASES: readonly Case[] = [
  { target: 'manager', text: 'ampersands', megabytes: 16, saves: 2 },
  { target: 'history', text: 'signatures', megabytes: 16, saves: 1 },
]
const ROUNDS = 3
const QUICK_ROUNDS = 1

/** Each run in a process of its own. */
export function benchHostileSaves(report: Report, workspace: Workspace, isQuick: boolean): void {
  report.heading('Large saves beside small calls')
  report.lines([
    'The longest small call of each kind in ms, one at a time of each: median / maximum of the rounds.',
    'start: JavaScript time of the call that begins a large save. delay: the longest event-loop delay. RSS in MB.',
    'same: the object that the large texts are saved with.',
  ])
  for (const one of isQuick ? QUICK_CASES : CASES) {
    const runs: HostileRun[] = []
    for (let round = 0; round < (isQuick ? QUICK_ROUNDS : ROUNDS); round++) {
      const run = measure(workspace, one)
      if (typeof run === 'string') {
        report.lines([`${nameOf(one)}: skipped: ${run}`])
      } else {
        runs.push(run)
      }
    }
    if (runs.length > 0) {
      tell(report, nameOf(one), runs)
    }
  }
}

function nameOf({ target, text, megabytes, saves }: Case): string {
  return `${saves} × ${megabytes} MB of ${text} into one ${target}`
}

function tell(report: Report, name: string, runs: readonly HostileRun[]): void {
  const of = (key: (run: HostileRun) => number): string => {
    const values = runs.map(key)
    return `${figure(median(values))} / ${figure(Math.max(...values))}`
  }
  const longest = (run: HostileRun): number => Math.max(...Object.values(run.beside))
  report.measure({
    section: 'hostile-saves',
    case: name,
    contender: 'agent-context',
    values: {
      longest: Math.max(...runs.map(longest)),
      start: Math.max(...runs.map((run) => run.start)),
      delay: Math.max(...runs.map((run) => run.delay)),
      saved: median(runs.map((run) => run.saved)),
    },
  })
  const rows = Object.keys(runs[0]?.beside ?? {}).map((probe) => [
    probe,
    of((run) => run.idle[probe] ?? Number.NaN),
    of((run) => run.beside[probe] ?? Number.NaN),
    of((run) => run.calls[probe] ?? 0),
  ])
  const rest = [
    `start ${of((run) => run.start)}`,
    `delay ${of((run) => run.delay)}`,
    `all saved after ${of((run) => run.saved)}`,
    `peak RSS ${of((run) => run.rss)}`,
  ]
  report.table({
    title: `${name}: ${rest.join('; ')}; ${loadLine()}`,
    columns: ['', 'idle', 'beside', 'calls'],
    rows,
  })
}

/** The figures, or why there are none. */
function measure(workspace: Workspace, { target, text, megabytes, saves }: Case): HostileRun | string {
  const script = join(import.meta.dirname, 'hostile-saves-process.ts')
  const directory = workspace.fresh()
  const parameters = [
    '--expose-gc',
    '--import',
    'tsx',
    script,
    directory,
    target,
    text,
    String(megabytes),
    String(saves),
  ]
  const child = spawnSync(process.execPath, parameters, { encoding: 'utf8' })
  workspace.empty(directory)
  if (child.status === 0) {
    return JSON.parse(child.stdout) as HostileRun
  }
  return child.error === undefined ? errorLine(child.stderr.trim()) : firstLine(child.error)
}
