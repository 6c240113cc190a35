/**
 * `npm run bench -- --against PACKAGE`: this build beside another one of the package. Each round runs every piece of work on both, each in
 * a process of its own, beginning with the other build each time. A ratio is the median of those of the rounds.
 */

import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { type Cost, WORKS } from './against-process.ts'
import { Variety } from './payloads.ts'
import { figure, type Report } from './report.ts'
import { median, percentile } from './statistics.ts'
import type { Workspace } from './workspace.ts'

const ROUNDS = 30
const QUICK_ROUNDS = 5
const RESAMPLES = 2000
const HERE = fileURLToPath(new URL('..', import.meta.url))
const SCRIPT = fileURLToPath(new URL('against-process.ts', import.meta.url))
const COSTS = ['cpu', 'main', 'wall'] as const

export function benchAgainst(report: Report, workspace: Workspace, other: string, isQuick: boolean): void {
  const directory = resolve(other)
  if (!existsSync(join(directory, 'dist/index.js'))) {
    throw new Error(`--against needs the directory of a built package: there is no ${join(directory, 'dist/index.js')}`)
  }
  const rounds = isQuick ? QUICK_ROUNDS : ROUNDS
  report.heading(`Against ${directory}`)
  report.lines([
    `µs for each call, medians of ${rounds} rounds; ratios are this build ÷ the other, with their 95 % intervals.`,
    'cpu: of all threads; main: of the JavaScript thread.',
  ])
  const rows = Object.keys(WORKS).map((name) => rowOf(name, directory, workspace, rounds, report))
  const columns = ['', ...COSTS.flatMap((cost) => [`${cost}: other`, 'this', 'ratio'])]
  report.table({ title: 'this build and the other', columns, rows })
}

function rowOf(name: string, other: string, workspace: Workspace, rounds: number, report: Report): string[] {
  const [ours, theirs]: [Cost[], Cost[]] = [[], []]
  for (let round = 0; round < rounds; round++) {
    const sides = [
      { build: HERE, costs: ours },
      { build: other, costs: theirs },
    ]
    for (const { build, costs } of round % 2 === 0 ? sides : sides.reverse()) {
      costs.push(run(build, name, workspace))
    }
  }
  const cells = COSTS.flatMap((cost) => {
    const ratios = ours.map((one, round) => one[cost] / (theirs[round]?.[cost] ?? Number.NaN))
    const [low, high] = intervalOf(ratios)
    const values = { other: median(theirs.map((one) => one[cost])), ours: median(ours.map((one) => one[cost])) }
    report.measure({
      section: 'against',
      case: `${name}, ${cost}`,
      contender: 'ratio',
      values: { ...values, ratio: median(ratios), low, high },
    })
    const [ratio, from, to] = [median(ratios), low, high].map((value) => value.toFixed(2))
    return [figure(values.other), figure(values.ours), `${ratio} (${from}–${to})`]
  })
  return [name, ...cells]
}

function run(build: string, name: string, workspace: Workspace): Cost {
  const directory = workspace.fresh()
  const parameters = ['--expose-gc', '--import', 'tsx', SCRIPT, build, name, directory]
  const { status, stdout, stderr } = spawnSync(process.execPath, parameters, { cwd: HERE, encoding: 'utf8' })
  if (status !== 0) {
    throw new Error(`${name} on ${build} ended with ${status}: ${stderr}`)
  }
  workspace.empty(directory)
  return JSON.parse(stdout) as Cost
}

/** The 95 % interval of the median, by resampling. */
function intervalOf(values: readonly number[]): [number, number] {
  const variety = new Variety(1)
  const medians = Array.from({ length: RESAMPLES }, () => median(values.map(() => variety.of(values))))
  return [percentile(medians, 2.5), percentile(medians, 97.5)]
}
