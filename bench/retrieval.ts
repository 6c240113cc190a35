/** `npm run bench:retrieval`: how well this package ranks, beside its peers, on labelled sets. See `--help`. */

import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import process from 'node:process'
import { parseArgs } from 'node:util'
import { runCommand } from './command.ts'
import { Peers } from './peer-packages.ts'
import { Report } from './report.ts'
import { agentContext } from './retrieval-agent-context.ts'
import { confidence, mean, meanScores, type Scores, score } from './retrieval-scores.ts'
import { findSets, type LabelledSet, readSet } from './retrieval-sets.ts'
import { keywordOverlap, peerSystems, type RetrievalSystem } from './retrieval-systems.ts'
import { OURS } from './save-contenders.ts'

const USAGE = `npm run bench:retrieval -- FOLDER [options]
  FOLDER           holds sets (folders with corpus.jsonl, queries.jsonl, qrels.tsv and meta.json), or is one
  --set LIST       some of the sets
  --without-peers  this package and the specification's keyword overlap alone
  --json FILE      the figures`

async function main(parameters: string[]): Promise<void> {
  const { values, positionals } = parseArgs({
    args: parameters,
    allowPositionals: true,
    options: {
      set: { type: 'string' },
      'without-peers': { type: 'boolean', default: false },
      json: { type: 'string' },
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
  const systems = [agentContext(directory), keywordOverlap]
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
  for (const set of sets) {
    await benchSet(report, readSet(set), systems)
  }
  const means = tellMeans(report, systems)
  if (values.json !== undefined) {
    writeFileSync(values.json, `${JSON.stringify(report.measurements, null, 2)}\n`)
  }
  process.stdout.write(`\nmean nDCG@10 of ${OURS}: ${means.get(OURS)?.toFixed(4)}\n`)
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

async function benchSet(report: Report, set: LabelledSet, systems: readonly RetrievalSystem[]): Promise<void> {
  const rows: string[][] = []
  for (const system of systems) {
    const scores = await scoreSystem(system, set)
    const means = meanScores(scores)
    const [low, high] = confidence(scores.map(({ ndcg10 }) => ndcg10))
    report.measure({ section: 'retrieval', case: set.name, contender: system.name, values: { ...means, low, high } })
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

async function scoreSystem(system: RetrievalSystem, { groups, leastGrade }: LabelledSet): Promise<Scores[]> {
  const scores: Scores[] = []
  for (const { rows, queries } of groups) {
    const seqOf = new Map(rows.map(({ id, seq }) => [id, seq]))
    const ranker = await system.open(rows)
    for (const { query, beforeSeq, ...judged } of queries) {
      const ranked = await ranker.rank(beforeSeq === undefined ? { query } : { query, beforeSeq })
      const isThere = (id: string): boolean => (seqOf.get(id) ?? Number.POSITIVE_INFINITY) < (beforeSeq ?? Infinity)
      scores.push(score([...new Set(ranked)].filter(isThere), judged, leastGrade))
    }
    await ranker.close()
  }
  return scores
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

function share(value: number): string {
  return Number.isNaN(value) ? '–' : value.toFixed(3)
}

await runCommand('bench:retrieval', USAGE, main)
