/** `npm run bench:redaction`: how well and how fast this package finds secrets, beside its peers. See `--help`. */

import { spawnSync } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import process from 'node:process'
import { parseArgs } from 'node:util'
import { runCommand } from './command.ts'
import { describeMachine, loadLine } from './machine.ts'
import { firstLine, Peers } from './peer-packages.ts'
import { BASELINE, baselineContenders } from './redaction-baseline.ts'
import { byRule, type Case, KEPT, readCases, type Score, scoreCases, share } from './redaction-cases.ts'
import { type RedactionContender, redactionContenders } from './redaction-contenders.ts'
import type { LoadTimes, PeakMemory } from './redaction-process.ts'
import { benchRedactedSaves, benchSpeed, DENSE, ORDINARY } from './redaction-speed.ts'
import { figure, Report } from './report.ts'
import { OURS } from './save-contenders.ts'
import { median } from './statistics.ts'
import { Workspace } from './workspace.ts'

const SECTIONS = ['quality', 'speed', 'load', 'saves', 'memory']
const USAGE = `npm run bench:redaction -- [FOLDER] [options]
  FOLDER           holds labelled cases (.jsonl, .jsonl.gz); without it quality is not measured
  --quick          a smoke run
  --only LIST      some of ${SECTIONS.join(',')}
  --without-peers  this package and a plain list of expressions alone
  --baseline FILE  another build of the addon beside them (.node); rules that it finds more of or less are listed
  --failed         which cases are not as they should be
  --json FILE      the figures`
const QUALITY = 'redaction quality'
const LOADS = 9
const MEMORY_SIZES = [1, 8, 64]
const MEGABYTE = 2 ** 20

interface Options {
  readonly isQuick: boolean
  readonly tellsFailed: boolean
  readonly only: ReadonlySet<string>
}

async function main(parameters: string[]): Promise<void> {
  const { values, positionals } = parseArgs({
    args: parameters,
    allowPositionals: true,
    options: {
      quick: { type: 'boolean', default: false },
      only: { type: 'string', default: SECTIONS.join(',') },
      'without-peers': { type: 'boolean', default: false },
      failed: { type: 'boolean', default: false },
      baseline: { type: 'string' },
      json: { type: 'string' },
    },
  })
  const only = new Set(values.only.split(','))
  const unknown = [...only].filter((name) => !SECTIONS.includes(name))
  if (positionals.length > 1 || unknown.length > 0) {
    throw new Error(unknown.length > 0 ? `--only knows ${SECTIONS.join(', ')}, not ${unknown}` : `one folder\n${USAGE}`)
  }
  const folder = positionals[0] === undefined ? undefined : locate(positionals[0])
  const cases = folder === undefined ? [] : readCases(folder)
  if (folder !== undefined && cases.length === 0) {
    throw new Error(`no labelled cases in ${folder}`)
  }
  const report = new Report()
  const peers = values['without-peers']
    ? undefined
    : await Peers.load(['@secretlint/core', '@secretlint/secretlint-rule-preset-recommend'])
  const contenders = [...redactionContenders(peers), ...baselineContenders(values.baseline)]
  await measure(report, peers, contenders, cases, { isQuick: values.quick, tellsFailed: values.failed, only })
  tellTargets(report)
  if (values.json !== undefined) {
    writeFileSync(values.json, `${JSON.stringify(report.measurements, null, 2)}\n`)
  }
}

async function measure(
  report: Report,
  peers: Peers | undefined,
  contenders: readonly RedactionContender[],
  cases: readonly Case[],
  { isQuick, tellsFailed, only }: Options,
): Promise<void> {
  if (only.has('quality') && cases.length > 0) {
    await benchQuality(report, contenders, cases, tellsFailed)
  }
  if (SECTIONS.slice(1).some((section) => only.has(section))) {
    report.heading('Machine')
    report.lines(peers === undefined ? [loadLine()] : describeMachine(peers))
  }
  if (only.has('speed')) {
    await benchSpeed(report, contenders, isQuick)
  }
  if (only.has('load')) {
    benchLoad(report, isQuick)
  }
  if (only.has('saves')) {
    const workspace = new Workspace(tmpdir())
    process.once('exit', () => workspace.remove())
    process.once('SIGINT', () => process.exit(130))
    await benchRedactedSaves(report, workspace, isQuick)
  }
  if (only.has('memory')) {
    benchMemory(report, isQuick)
  }
}

/** npm runs scripts in the package's folder, wherever it was called: paths count from either. */
function locate(folder: string): string {
  const candidates = [resolve(folder), resolve(process.env['INIT_CWD'] ?? '.', folder)]
  const found = candidates.find((path) => existsSync(path))
  if (found === undefined) {
    throw new Error(`there is no folder ${folder}`)
  }
  return found
}

async function benchQuality(
  report: Report,
  contenders: readonly RedactionContender[],
  cases: readonly Case[],
  tellsFailed: boolean,
): Promise<void> {
  const scores = new Map<string, Map<string, Score>>()
  for (const { name, redact } of contenders) {
    const ofContender = await scoreCases(cases, redact)
    scores.set(name, ofContender)
    for (const [group, score] of ofContender) {
      if (group.includes(byRule(''))) {
        continue
      }
      report.measure({ section: QUALITY, case: group, contender: name, values: { percent: share(score) } })
    }
  }
  const ours = scores.get(OURS) ?? new Map<string, Score>()
  const groups = [...ours].filter(([group]) => !group.includes(byRule('')))
  report.heading('Quality')
  report.table({
    title: '% of the cases',
    columns: ['', 'cases', ...contenders.map(({ name }) => name)],
    rows: groups.map(([group, { cases }]) => [
      group,
      String(cases),
      ...[...scores.values()].map((ofContender) => percent(ofContender.get(group))),
    ]),
  })
  const baseline = scores.get(BASELINE)
  if (baseline !== undefined) {
    const changed = [...ours].filter(([group, score]) => percent(score) !== percent(baseline.get(group)))
    report.table({
      title: '% of the cases in each group that is not as in the baseline',
      columns: ['', 'cases', BASELINE, OURS],
      rows: changed.map(([group, score]) => [group, String(score.cases), percent(baseline.get(group)), percent(score)]),
    })
  }
  if (tellsFailed) {
    const tiers = groups.filter(([group, { failed }]) => failed.length > 0 && !group.includes(':'))
    report.lines(tiers.map(([group, { failed }]) => `${group}: ${failed.join(' ')}`))
  }
}

function percent(score: Score | undefined): string {
  return score === undefined ? '–' : share(score).toFixed(1)
}

/** In a process of its own, which has done nothing before: the figures, or why there are none. */
function runProcess<Figures>(...parameters: (string | number)[]): Figures | string {
  const script = join(import.meta.dirname, 'redaction-process.ts')
  const words = ['--expose-gc', '--import', 'tsx', script, ...parameters.map(String)]
  const child = spawnSync(process.execPath, words, { encoding: 'utf8' })
  if (child.status === 0) {
    return JSON.parse(child.stdout) as Figures
  }
  return firstLine(child.stderr?.trim() || child.error || 'the process failed')
}

function benchLoad(report: Report, isQuick: boolean): void {
  const runs = Array.from({ length: isQuick ? 3 : LOADS }, () => runProcess<LoadTimes>('load'))
  const times = runs.filter((run) => typeof run !== 'string')
  report.heading('Load')
  if (times.length === 0) {
    report.lines(runs.map((reason) => `skipped: ${reason}`))
    return
  }
  const of = (key: keyof LoadTimes): number => median(times.map((run) => run[key]))
  const values = { automaton: of('automaton'), firstSecret: of('firstSecret'), again: of('again') }
  report.measure({ section: 'redaction', case: 'load', contender: OURS, values })
  report.table({
    title: `ms in a fresh process, median of ${times.length}`,
    columns: ['', 'ms'],
    rows: [
      ['first text (the automaton is made)', figure(values.automaton)],
      ['first secret (its expression is compiled)', figure(values.firstSecret)],
      ['the same rule again', figure(values.again)],
    ],
  })
}

function benchMemory(report: Report, isQuick: boolean): void {
  report.heading('Memory')
  const rows: string[][] = []
  for (const kind of ['ordinary', 'dense']) {
    for (const megabytes of isQuick ? MEMORY_SIZES.slice(0, 2) : MEMORY_SIZES) {
      const name = `${kind}, ${megabytes} MB`
      const peak = runProcess<PeakMemory>('memory', kind, megabytes)
      if (typeof peak === 'string') {
        rows.push([name, `skipped: ${peak}`, ''])
        continue
      }
      report.measure({ section: 'redaction', case: `memory, ${name}`, contender: OURS, values: { ...peak } })
      rows.push([name, figure(peak.growth / MEGABYTE), figure(peak.growth / peak.text)])
    }
  }
  report.table({
    title: 'growth of the most memory in use while one text is redacted',
    columns: ['', 'MB', 'growth ÷ text'],
    rows,
  })
}

/** The targets of the design (`notes/redaction.md`), and how far this run is from them. */
function tellTargets(report: Report): void {
  const quality = (group: string): number | undefined => report.find(QUALITY, group, OURS)?.['percent']
  const speed = (load: string): number | undefined => report.find('redaction', load, OURS)?.['megabytesPerSecond']
  const targets: readonly (readonly [what: string, sign: '≥' | '≤', bound: number, measured: number | undefined])[] = [
    ['recall on core cases, %', '≥', 95, quality('recall, core')],
    ['recall on realistic tool outputs, %', '≥', 97, quality('recall, core: composed')],
    ['recall on long-tail cases, %', '≥', 70, quality('recall, extended')],
    ['clean texts altered, %', '≤', 1, quality('altered, clean')],
    ['near misses altered, %', '≤', 10, quality('altered, nearmiss')],
    ['fragments kept, %', '≥', 99, quality(KEPT)],
    [`${ORDINARY}, MB/s`, '≥', 100, speed(ORDINARY)],
    [`${DENSE}, MB/s`, '≥', 30, speed(DENSE)],
    ['loading of the rules, ms', '≤', 20, report.find('redaction', 'load', OURS)?.['automaton']],
  ]
  const rows = targets.flatMap(([what, sign, bound, measured]) => {
    if (measured === undefined) {
      return []
    }
    const isReached = sign === '≥' ? measured >= bound : measured <= bound
    return [[what, `${sign} ${bound}`, figure(measured), isReached ? 'reached' : 'MISSED']]
  })
  if (rows.length > 0) {
    report.heading('Targets')
    report.table({ title: OURS, columns: ['', 'target', 'measured', ''], rows })
  }
}

await runCommand('bench:redaction', USAGE, main)
