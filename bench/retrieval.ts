/** `npm run bench:retrieval`: how well this package ranks, beside its peers, on labelled sets. See `--help`. */

import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import process from 'node:process'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import type { Embed } from '../dist/index.js'
import { runCommand } from './command.ts'
import { Peers } from './peer-packages.ts'
import { Report } from './report.ts'
import { agentContext } from './retrieval-agent-context.ts'
import { BUDGETS, type Evidence, evidence, meanEvidence, tokensOf } from './retrieval-evidence.ts'
import { confidence, mean, meanScores, pairedDifference, type Scores, score } from './retrieval-scores.ts'
import { findSets, type LabelledSet, readSet } from './retrieval-sets.ts'
import { keywordOverlap, latest, peerSystems, type RetrievalSystem } from './retrieval-systems.ts'
import { OURS } from './save-contenders.ts'

const USAGE = `npm run bench:retrieval -- FOLDER [options]
  FOLDER           holds sets (folders with corpus.jsonl, queries.jsonl, qrels.tsv and meta.json), or is one
  --set LIST       some of the sets
  --without-peers  this package and the specification's keyword overlap alone
  --embed MODULE   with vectors: the module's default export takes texts and returns (a promise of) a vector for each,
                   as the option \`embed\` of selectContexts does; see docs/benchmarks.md
  --json FILE      the figures
  --scores FILE    nDCG@10 of this package for each query
  --baseline FILE  the file that --scores wrote with another version or model: differences are paired by query`

/** This package without vectors, beside which it is measured with them. */
const LEXICAL = `${OURS} without vectors`
const BASELINE = 'baseline'

/** nDCG@10 of each query: by set, then by system. */
type SetScores = Map<string, Map<string, number[]>>

async function main(parameters: string[]): Promise<void> {
  const { values, positionals } = parseArgs({
    args: parameters,
    allowPositionals: true,
    options: {
      set: { type: 'string' },
      'without-peers': { type: 'boolean', default: false },
      embed: { type: 'string' },
      json: { type: 'string' },
      scores: { type: 'string' },
      baseline: { type: 'string' },
    },
  })
  const [folder] = positionals
  if (folder === undefined || positionals.length > 1) {
    throw new Error(`which folder?\n${USAGE}`)
  }
  const sets = chooseSets(locate(folder), values.set?.split(','))
  const directory = mkdtempSync(join(tmpdir(), 'agent-context-retrieval-'))
  process.once('exit', () => rmSync(directory, { recursive: true, force: true }))
  process.once('SIGINT', () => process.exit(130))
  const baseline = values.baseline === undefined ? undefined : readScores(locate(values.baseline))
  const embed = await loadEmbed(values.embed)
  const lexical = { ...agentContext(join(directory, 'lexical')), name: LEXICAL }
  const systems = [agentContext(directory, embed), ...(embed === undefined ? [] : [lexical]), keywordOverlap, latest]
  const report = new Report()
  report.heading('Retrieval')
  report.lines([`${OURS}: a manager for each group, persist: 'large', so that nothing is written`])
  if (!values['without-peers']) {
    const peers = await Peers.load(['minisearch', 'better-sqlite3'])
    systems.push(...peerSystems(peers))
    report.lines([
      ...[...peers.versions].map(([name, version]) => `${name} ${version}`),
      ...[...peers.skipped].map(([name, reason]) => `skipped: ${name}: ${reason}`),
    ])
  }
  const scores: SetScores = new Map()
  for (const set of sets) {
    await benchSet(report, readSet(set), systems, scores)
  }
  tellEvidence(report, systems)
  const means = tellMeans(report, systems)
  tellDifferences(report, scores, baseline)
  if (values.scores !== undefined) {
    writeScores(values.scores, scores)
  }
  if (values.json !== undefined) {
    writeFileSync(values.json, `${JSON.stringify(report.measurements, null, 2)}\n`)
  }
  process.stdout.write(`\nmean nDCG@10 of ${OURS}: ${means.get(OURS)?.toFixed(4)}\n`)
}

async function loadEmbed(module: string | undefined): Promise<Embed | undefined> {
  if (module === undefined) {
    return undefined
  }
  const { default: embed } = (await import(pathToFileURL(locate(module)).href)) as { default?: unknown }
  if (typeof embed !== 'function') {
    throw new Error(`${module} has no function as its default export`)
  }
  return embed as Embed
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

function chooseSets(folder: string, names: readonly string[] | undefined): string[] {
  const found = findSets(folder)
  const wanted = names?.map((name) => join(folder, name)) ?? found
  const unknown = wanted.filter((set) => !found.includes(set))
  if (unknown.length > 0 || wanted.length === 0) {
    throw new Error(`no labelled set in ${(unknown.length > 0 ? unknown : [folder]).join(', ')}`)
  }
  return wanted
}

async function benchSet(
  report: Report,
  set: LabelledSet,
  systems: readonly RetrievalSystem[],
  all: SetScores,
): Promise<void> {
  const rows: string[][] = []
  const ofSystems = new Map<string, number[]>()
  all.set(set.name, ofSystems)
  for (const system of systems) {
    const { scores, shares } = await scoreSystem(system, set)
    const means = meanScores(scores)
    const held = Object.fromEntries(meanEvidence(shares).map((share, index) => [evidenceKey(index), share]))
    const ndcg10 = scores.map(({ ndcg10 }) => ndcg10)
    ofSystems.set(system.name, ndcg10)
    const [low, high] = confidence(ndcg10)
    report.measure({
      section: 'retrieval',
      case: set.name,
      contender: system.name,
      values: { ...means, low, high, ...held },
    })
    rows.push([
      system.name,
      share(means.ndcg10),
      `${share(low)}–${share(high)}`,
      share(means.recall5),
      share(means.recall10),
      share(means.reciprocalRank),
      share(means.coverage3),
    ])
  }
  const queries = set.groups.reduce((sum, group) => sum + group.queries.length, 0)
  const stored = set.groups.reduce((sum, group) => sum + group.rows.length, 0)
  report.table({
    title: `${set.name}: ${queries} queries, ${stored} outputs, ${set.groups.length} groups`,
    columns: ['', 'nDCG@10', '95 %', 'recall@5', 'recall@10', 'MRR', 'Cov@3'],
    rows,
  })
}

async function scoreSystem(
  system: RetrievalSystem,
  { groups, leastGrade }: LabelledSet,
): Promise<{ scores: Scores[]; shares: Evidence[] }> {
  const scores: Scores[] = []
  const shares: Evidence[] = []
  for (const { rows, queries } of groups) {
    const seqOf = new Map(rows.map(({ id, seq }) => [id, seq]))
    const tokens = new Map(rows.map((row) => [row.id, tokensOf(row)]))
    const ranker = await system.open(rows)
    for (const { query, beforeSeq, ...judged } of queries) {
      const ranked = await ranker.rank(beforeSeq === undefined ? { query } : { query, beforeSeq })
      const isThere = (id: string): boolean => (seqOf.get(id) ?? Number.POSITIVE_INFINITY) < (beforeSeq ?? Infinity)
      const there = [...new Set(ranked)].filter(isThere)
      scores.push(score(there, judged, leastGrade))
      shares.push(evidence(there, tokens, judged, leastGrade))
    }
    await ranker.close()
  }
  return { scores, shares }
}

function evidenceKey(index: number): string {
  return `evidence${BUDGETS[index]}`
}

/** The share of the evidence that a prompt of so many tokens holds: a table for each budget. */
function tellEvidence(report: Report, systems: readonly RetrievalSystem[]): void {
  const sets = [...new Set(report.measurements.map((one) => one.case))]
  for (const [index, budget] of BUDGETS.entries()) {
    const of = (set: string, system: string): number =>
      report.find('retrieval', set, system)?.[evidenceKey(index)] ?? Number.NaN
    report.table({
      title: `Evidence within ${budget} tokens`,
      columns: ['', ...systems.map(({ name }) => name)],
      rows: [
        ...sets.map((set) => [set, ...systems.map(({ name }) => share(of(set, name)))]),
        ['mean', ...systems.map(({ name }) => share(mean(sets.map((set) => of(set, name)))))],
      ],
    })
  }
}

/** nDCG@10 of every system on every set, and its means over the sets. */
function tellMeans(report: Report, systems: readonly RetrievalSystem[]): Map<string, number> {
  const sets = [...new Set(report.measurements.map((one) => one.case))]
  const of = (set: string, system: string): number => report.find('retrieval', set, system)?.['ndcg10'] ?? Number.NaN
  const means = new Map(systems.map(({ name }) => [name, mean(sets.map((set) => of(set, name)))]))
  report.table({
    title: 'nDCG@10',
    columns: ['', ...systems.map(({ name }) => name)],
    rows: [
      ...sets.map((set) => [set, ...systems.map(({ name }) => share(of(set, name)))]),
      ['mean', ...[...means.values()].map((value) => value.toFixed(4))],
    ],
  })
  return means
}

/** nDCG@10 of this package minus that of the others, by query, with 95 % intervals. */
function tellDifferences(report: Report, scores: SetScores, baseline: ReadonlyMap<string, number[]> | undefined): void {
  const sets = [...scores]
  const others = [...(sets[0]?.[1].keys() ?? [])].filter((name) => name !== OURS)
  const columns = others.map((name) => (set: string) => scores.get(set)?.get(name))
  if (baseline !== undefined) {
    others.unshift(BASELINE)
    columns.unshift((set) => baseline.get(set))
  }
  const difference = (of: (set: string) => readonly number[] | undefined, names: readonly string[]): string => {
    const paired = names.map((set) => [scores.get(set)?.get(OURS) ?? [], of(set)] as const)
    const known = paired.filter((pair): pair is [number[], number[]] => pair[1] !== undefined)
    if (known.length < paired.length) {
      return '–'
    }
    const { mean, low, high } = pairedDifference(
      known.map(([ours]) => ours),
      known.map(([, theirs]) => theirs),
    )
    return `${signed(mean)} (${signed(low)} to ${signed(high)})`
  }
  const names = sets.map(([name]) => name)
  report.table({
    title: `nDCG@10 of ${OURS} minus that of others on the same queries, with 95 % intervals`,
    columns: ['', ...others],
    rows: [
      ...names.map((name) => [name, ...columns.map((of) => difference(of, [name]))]),
      ['mean', ...columns.map((of) => difference(of, names))],
    ],
  })
}

function signed(value: number): string {
  return `${value < 0 ? '−' : '+'}${Math.abs(value).toFixed(3)}`
}

function writeScores(file: string, scores: SetScores): void {
  const ours = [...scores].map(([set, ofSystems]) => [set, ofSystems.get(OURS)])
  writeFileSync(file, `${JSON.stringify(Object.fromEntries(ours))}\n`)
}

function readScores(file: string): Map<string, number[]> {
  return new Map(Object.entries(JSON.parse(readFileSync(file, 'utf8')) as Record<string, number[]>))
}

function share(value: number): string {
  return Number.isNaN(value) ? '–' : value.toFixed(3)
}

await runCommand('bench:retrieval', USAGE, main)
