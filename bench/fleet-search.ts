/**
 * Whether a search of a state store in PostgreSQL, which the full-text index narrows to candidates, finds what a search of all items
 * finds: `npm run bench:fleet-search -- FOLDER [--queries 300]`, a folder of labelled sets. Each set is loaded into a store in a
 * database and into one in a file, which ranks all items; then all sets into one store. Less than 95 % of the recall fails.
 */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { parseArgs } from 'node:util'
import { hasPostgres, startPostgres } from '../__test__/support/postgres.ts'
import { type JsonValue, StateStore } from '../dist/index.js'
import { loadLine } from './machine.ts'
import { mean, score } from './retrieval-scores.ts'
import { findSets, type JudgedQuery, type LabelledSet, type Row, readSet } from './retrieval-sets.ts'

const LIMIT = 10
const BATCH = 200
const LEAST_RATIO = 0.95

const { values, positionals } = parseArgs({
  options: { queries: { type: 'string', default: '300' } },
  allowPositionals: true,
})
const [folder] = positionals
if (folder === undefined) {
  throw new Error('give a folder of labelled sets')
}
const mostQueries = Number(values.queries)

interface Figures {
  readonly name: string
  readonly items: number
  readonly queries: number
  readonly recallOfAll: number
  readonly recall: number
  /** Share of the best ten of all items that the narrowed search returns. */
  readonly overlap: number
  readonly statements: number
  readonly kilobytes: number
  readonly milliseconds: number
}

/** What is searched for: the columns of a row without its identity. */
function columnsOf(row: Row): JsonValue {
  const { id: _id, group: _group, seq: _seq, ...columns } = row
  return columns as unknown as JsonValue
}

const rowsOf = (set: LabelledSet): Row[] => set.groups.flatMap((group) => group.rows)

/** At most `mostQueries`, spread over the set. */
function queriesOf(set: LabelledSet): JudgedQuery[] {
  const queries = set.groups.flatMap((group) => group.queries)
  const step = Math.max(1, queries.length / mostQueries)
  return Array.from({ length: Math.min(queries.length, mostQueries) }, (_, index) => {
    return queries[Math.floor(index * step)] as JudgedQuery
  })
}

async function load(store: StateStore, set: LabelledSet): Promise<void> {
  const rows = rowsOf(set)
  for (let start = 0; start < rows.length; start += BATCH) {
    const puts = rows.slice(start, start + BATCH).map((row) => {
      return { type: 'put', namespace: ['documents'], key: keyOf(set, row.id), value: columnsOf(row) } as const
    })
    await store.batch(puts)
  }
}

const keyOf = (set: LabelledSet, id: string): string => `${set.name}/${id}`

async function found(store: StateStore, query: string): Promise<string[]> {
  return (await store.search([], query, { limit: LIMIT })).map((item) => item.key)
}

/** Runs the queries of a set on both stores. */
async function compare(set: LabelledSet, shared: StateStore, local: StateStore, items: number): Promise<Figures> {
  const queries = queriesOf(set)
  const recalls: number[] = []
  const recallsOfAll: number[] = []
  const overlaps: number[] = []
  let milliseconds = 0
  const before = (await shared.stats()).storage
  for (const query of queries) {
    const started = performance.now()
    const narrowed = await found(shared, query.query)
    milliseconds += performance.now() - started
    const all = await found(local, query.query)
    const grades = new Map([...query.grades].map(([id, grade]) => [keyOf(set, id), grade]))
    const recall = (keys: string[]): number | undefined => score(keys, { grades }, set.leastGrade).recall10
    const [one, other] = [recall(narrowed), recall(all)]
    if (one !== undefined && other !== undefined) {
      recalls.push(one)
      recallsOfAll.push(other)
    }
    if (all.length > 0) {
      overlaps.push(all.filter((key) => narrowed.includes(key)).length / all.length)
    }
  }
  const after = (await shared.stats()).storage
  const perQuery = (key: 'requests' | 'bytesReceived'): number =>
    ((after?.[key] ?? 0) - (before?.[key] ?? 0)) / queries.length
  return {
    name: set.name,
    items,
    queries: queries.length,
    recallOfAll: mean(recallsOfAll),
    recall: mean(recalls),
    overlap: mean(overlaps),
    statements: perQuery('requests'),
    kilobytes: perQuery('bytesReceived') / 1000,
    milliseconds: milliseconds / queries.length,
  }
}

function print(figures: readonly Figures[]): void {
  console.log(
    'set            items  queries  recall@10: all  narrowed   ratio  overlap  statements  KB received       ms',
  )
  for (const one of [...figures, meanOf(figures)]) {
    const cells = [
      one.name.padEnd(13),
      String(one.items).padStart(6),
      String(one.queries).padStart(8),
      one.recallOfAll.toFixed(4).padStart(15),
      one.recall.toFixed(4).padStart(9),
      (one.recall / one.recallOfAll).toFixed(4).padStart(7),
      one.overlap.toFixed(4).padStart(8),
      one.statements.toFixed(1).padStart(11),
      one.kilobytes.toFixed(1).padStart(12),
      one.milliseconds.toFixed(1).padStart(8),
    ]
    console.log(cells.join(' '))
  }
}

function meanOf(figures: readonly Figures[]): Figures {
  const of = (key: Exclude<keyof Figures, 'name'>): number => mean(figures.map((one) => one[key]))
  return {
    name: 'mean',
    items: Math.round(of('items')),
    queries: Math.round(of('queries')),
    recallOfAll: of('recallOfAll'),
    recall: of('recall'),
    overlap: of('overlap'),
    statements: of('statements'),
    kilobytes: of('kilobytes'),
    milliseconds: of('milliseconds'),
  }
}

/** Loads sets into one store of each kind and compares the searches. */
async function measure(sets: readonly LabelledSet[], path: string, url: string): Promise<Figures[]> {
  const shared = new StateStore({ storage: url, path })
  const local = new StateStore({ path: join(directory, `${path}.db`) })
  for (const set of sets) {
    await load(shared, set)
    await load(local, set)
  }
  const items = sets.reduce((sum, set) => sum + rowsOf(set).length, 0)
  const started = performance.now()
  await found(shared, 'the first search adds the terms')
  console.log(`${path}: the first search took ${((performance.now() - started) / 1000).toFixed(1)} s`)
  // A process of its own: it has read nothing yet.
  const fresh = new StateStore({ storage: { url, timeout: 29_000 }, path })
  const figures: Figures[] = []
  for (const set of sets) {
    figures.push(await compare(set, fresh, local, items))
  }
  await Promise.all([shared, local, fresh].map((store) => store.close()))
  return figures
}

const directory = mkdtempSync(join(tmpdir(), 'agent-context-fleet-search-'))
if (hasPostgres()) {
  const server = await startPostgres({ fsync: true })
  try {
    console.log(loadLine())
    const sets = findSets(folder).map(readSet)
    const each: Figures[] = []
    for (const set of sets) {
      each.push(...(await measure([set], set.name, server.url)))
    }
    console.log('\nEach set in a store of its own')
    print(each)
    const together = await measure(sets, 'all', server.url)
    console.log('\nAll sets in one store')
    print(together)
    const ratios = [each, together].map(meanOf).map(({ recall, recallOfAll }) => recall / recallOfAll)
    if (Math.min(...ratios) < LEAST_RATIO) {
      console.error(`less than ${LEAST_RATIO * 100} % of the recall of a search of all items`)
      process.exitCode = 1
    }
  } finally {
    server.remove()
    rmSync(directory, { recursive: true, force: true })
  }
}
