/** The repo map: what a tree of sources defines, beside what a user would run to know it. */

import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import process from 'node:process'
import { firstLine } from './peer-packages.ts'
import type { RepoMapRun } from './repo-map-process.ts'
import { LANGUAGES, LARGEST, makeSourceTree, type SourceTree } from './repo-map-tree.ts'
import { figure, type Report, ratio } from './report.ts'
import { median, rotated } from './statistics.ts'
import type { Workspace } from './workspace.ts'

const OURS = 'agent-context'
const CTAGS = 'ctags -R'
const PLAIN_READ = 'reading all files'
const MOST_FILES = 20_000
const QUICK_MOST_FILES = 1000
const ROUNDS = 5
const QUICK_ROUNDS = 1
/** Times of each kind in one of our processes. */
const REPEATED = 5
const TOO_LONG = 600_000 // ms
const MEGABYTE = 2 ** 20

/** Times in ms. A contender without a cache takes the same time in all cases. */
interface Times {
  /** Nothing is known yet. */
  readonly cold: number
  /** Nothing changed, in a process that knows nothing but what was kept. */
  readonly fresh: number
  /** Nothing changed, in the same process. */
  readonly again: number
  /** One file changed, in the same process. */
  readonly changed: number
}

const COLUMNS: readonly (readonly [keyof Times, string])[] = [
  ['cold', 'nothing kept'],
  ['fresh', 'fresh process'],
  ['again', 'same process'],
  ['changed', 'one file changed'],
]

/** Throws with the reason where it cannot be measured. */
type Contender = (tree: SourceTree, kept: string) => Times

export function benchRepoMap(report: Report, workspace: Workspace, isQuick: boolean): void {
  report.heading('Repo map')
  const directory = workspace.fresh()
  const tree = makeSourceTree(join(directory, 'tree'), isQuick ? QUICK_MOST_FILES : MOST_FILES)
  const size = `${tree.files.length.toLocaleString('en')} files, ${figure(tree.bytes / MEGABYTE)} MB`
  report.lines([
    `${size}: the sources in ${LANGUAGES} of the crates and packages this project is built with, without files over ${LARGEST / 1024} KiB. They are in the page cache.`,
    `Every contender in processes of its own, in turn. ${OURS}: a map of 8 000 characters of the files that matter most; nothing kept from before, then in a fresh process with what was kept, then again in that process, then after each change of one file.`,
    `${CTAGS}: a file of tags for everything. ${PLAIN_READ}: \`rg --files\`, then each; what anyone must do who keeps nothing.`,
    'ms, medians; ×: peer ÷ ours.',
  ])
  tell(report, size, runRounds(report, tree, join(directory, 'kept'), isQuick ? QUICK_ROUNDS : ROUNDS))
  workspace.empty(directory)
}

function runRounds(report: Report, tree: SourceTree, kept: string, rounds: number): Map<string, Times> {
  const contenders = new Map<string, Contender>([
    [OURS, ours],
    [CTAGS, ctags],
    [PLAIN_READ, plainRead],
  ])
  const times = new Map<string, Times[]>([...contenders.keys()].map((name) => [name, []]))
  for (let round = 0; round < rounds; round++) {
    for (const [name, contender] of rotated([...contenders], round)) {
      try {
        times.get(name)?.push(contender(tree, kept))
      } catch (error) {
        report.lines([`${name}: skipped: ${firstLine(error)}`])
        contenders.delete(name)
        times.delete(name)
      }
    }
  }
  const medianOf = (all: readonly Times[]): Times => {
    const of = (key: keyof Times): number => median(all.map((one) => one[key]))
    return { cold: of('cold'), fresh: of('fresh'), again: of('again'), changed: of('changed') }
  }
  return new Map([...times].map(([name, all]) => [name, medianOf(all)]))
}

function ours(tree: SourceTree, kept: string): Times {
  rmSync(kept, { recursive: true, force: true })
  const { first: cold } = runProcess(tree, kept, 0)
  const { first: fresh, again, changed } = runProcess(tree, kept, REPEATED)
  return { cold, fresh, again, changed }
}

function runProcess({ root, files }: SourceTree, kept: string, repeated: number): RepoMapRun {
  const script = join(import.meta.dirname, 'repo-map-process.ts')
  const changed = join(root, files[Math.floor(files.length / 2)] ?? '')
  const parameters = ['--import', 'tsx', script, root, kept, String(repeated), changed]
  return JSON.parse(run(process.execPath, parameters)) as RepoMapRun
}

function ctags({ root }: SourceTree, kept: string): Times {
  // Other programs of this name do not know most of the languages.
  if (!run('ctags', ['--version']).includes('Universal Ctags')) {
    throw new Error('the ctags on the PATH is not universal-ctags')
  }
  return keepingNothing(() => run('ctags', ['-R', '-f', `${kept}.tags`, root]))
}

function plainRead({ root, files }: SourceTree): Times {
  return keepingNothing(() => {
    const paths = execFileSync('rg', ['--files', root], { encoding: 'utf8', maxBuffer: 2 ** 28 })
      .trimEnd()
      .split('\n')
    if (paths.length !== files.length) {
      throw new Error(`rg --files found ${paths.length} of ${files.length} files`)
    }
    for (const path of paths) {
      readFileSync(path)
    }
  })
}

function keepingNothing(work: () => void): Times {
  const start = performance.now()
  work()
  const time = performance.now() - start
  return { cold: time, fresh: time, again: time, changed: time }
}

/** What it prints. */
function run(program: string, parameters: readonly string[]): string {
  const child = spawnSync(program, parameters, { encoding: 'utf8', timeout: TOO_LONG })
  if (child.status !== 0) {
    throw child.error ?? new Error(child.stderr.trim() || `${program} ended with ${child.status ?? child.signal}`)
  }
  return child.stdout
}

function tell(report: Report, size: string, results: ReadonlyMap<string, Times>): void {
  const own = results.get(OURS)
  const rows = [...results].map(([name, times]) => [
    name,
    ...COLUMNS.flatMap(([key]) => [figure(times[key]), ratio(times[key], own?.[key] ?? Number.NaN)]),
  ])
  report.table({ title: size, columns: ['', ...COLUMNS.flatMap(([, title]) => [title, '×'])], rows })
  for (const [contender, times] of results) {
    report.measure({ section: 'repo-map', case: size, contender, values: { ...times } })
  }
}
