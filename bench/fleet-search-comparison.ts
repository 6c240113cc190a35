/**
 * Searches on PostgreSQL, whose index narrows them, beside the same searches of a directory on disk: how many of the first ten hits are the
 * same, how many relevant rows both find, and what a search costs. The rows are those of labelled sets, in a folder.
 */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { hasPostgres, startPostgres } from '../__test__/support/postgres.ts'
import type { StorageOptions, StorageStats } from '../dist/index.js'
import { findSets, type JudgedQuery, type LabelledSet, type Row, readSet } from './retrieval-sets.ts'

/** The queries of each set that are asked. */
const QUERIES = 50
export const DEPTH = 10
/** The saves that are under way at once. */
const AT_ONCE = 64
const ALL = 'all sets'

/** Where rows are kept: a directory on disk, or a namespace of a database. */
export interface Place {
  readonly directory: string
  readonly storage?: string | StorageOptions
}

/** What keeps rows and searches them, in one place. */
export interface Searched {
  /** Stores a row under a name. */
  save(name: string, row: Row): Promise<void>
  /** The names of the first hits. */
  find(query: string): Promise<string[]>
  statistics(): StorageStats | undefined
  close(): Promise<void>
}

interface Asked {
  readonly query: string
  /** The names of the rows that count as relevant. */
  readonly relevant: ReadonlySet<string>
}

interface Figures {
  readonly rows: number
  readonly queries: number
  /** The share of the first hits on disk that are among those in the database. */
  overlap: number
  /** The share of relevant rows among the first hits. */
  onDisk: number
  inDatabase: number
  statements: number
  bytes: number
  milliseconds: number
}

/** Evenly spread queries, without the signs of the search syntax. */
function asked(set: LabelledSet): Asked[] {
  const queries = set.groups.flatMap((group) => group.queries)
  const step = Math.max(1, queries.length / QUERIES)
  const chosen = Array.from({ length: Math.min(QUERIES, queries.length) }, (_, at) => queries[Math.floor(at * step)])
  return chosen.flatMap((query) => (query === undefined ? [] : [plain(query, set)]))
}

function plain({ query, grades }: JudgedQuery, set: LabelledSet): Asked {
  const relevant = [...grades].filter(([, grade]) => grade >= set.leastGrade).map(([row]) => `${set.name} ${row}`)
  return { query: query.replaceAll(/["*:-]/g, ' ').slice(0, 4000), relevant: new Set(relevant) }
}

async function save(searched: Searched, chosen: readonly LabelledSet[]): Promise<number> {
  const rows = chosen.flatMap((set) => set.groups.flatMap((group) => group.rows.map((row) => ({ set: set.name, row }))))
  let next = 0
  const work = async (): Promise<void> => {
    for (let at = next++; at < rows.length; at = next++) {
      const found = rows[at]
      if (found !== undefined) {
        await searched.save(`${found.set} ${found.row.id}`, found.row)
      }
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  await searched.close()
  return rows.length
}

type Open = (place: Place) => Searched

async function compare(places: readonly [Place, Place], chosen: readonly LabelledSet[], open: Open): Promise<Figures> {
  const [onDisk, inDatabase] = places
  const rows = await save(open(onDisk), chosen)
  await save(open(inDatabase), chosen)
  const first = open(inDatabase)
  const started = Date.now()
  await first.find('anything')
  process.stderr.write(`${inDatabase.directory}: the first search took ${Date.now() - started} ms\n`)
  await first.close()
  const local = open(onDisk)
  const { storage } = inDatabase
  const url = typeof storage === 'string' ? storage : (storage?.url ?? '')
  // Another timeout means another database to the process, with statistics of its own.
  const remote = open({ ...inDatabase, storage: { url, timeout: 31_000 + rows } })
  const queries = chosen.flatMap(asked)
  const figures: Figures = {
    rows,
    queries: queries.length,
    overlap: 0,
    onDisk: 0,
    inDatabase: 0,
    statements: 0,
    bytes: 0,
    milliseconds: 0,
  }
  await local.find('anything')
  let judged = 0
  for (const { query, relevant } of queries) {
    const expected = await local.find(query)
    const before = remote.statistics()
    const start = performance.now()
    const found = await remote.find(query)
    figures.milliseconds += performance.now() - start
    const after = remote.statistics()
    figures.statements += (after?.requests ?? 0) - (before?.requests ?? 0)
    figures.bytes += (after?.bytesReceived ?? 0) - (before?.bytesReceived ?? 0)
    const share = (hits: readonly string[], wanted: ReadonlySet<string>): number =>
      hits.filter((hit) => wanted.has(hit)).length / Math.max(1, wanted.size)
    figures.overlap += expected.length === 0 ? 1 : share(found, new Set(expected))
    if (relevant.size > 0) {
      judged += 1
      figures.onDisk += share(expected, relevant)
      figures.inDatabase += share(found, relevant)
    }
  }
  await Promise.all([local.close(), remote.close()])
  const count = Math.max(1, queries.length)
  figures.overlap /= count
  figures.onDisk /= Math.max(1, judged)
  figures.inDatabase /= Math.max(1, judged)
  figures.statements /= count
  figures.bytes /= count
  figures.milliseconds /= count
  return figures
}

/** Compares the searches of all sets in the folder that the command line names, each by itself and all in one place, and prints a table. */
export async function compareSearches(command: string, open: Open): Promise<void> {
  const [folder] = process.argv.slice(2)
  if (folder === undefined || !hasPostgres()) {
    process.stderr.write(`usage: npm run ${command} -- FOLDER\n`)
    process.exit(1)
  }
  const sets = findSets(folder).map(readSet)
  const directory = mkdtempSync(join(tmpdir(), 'agent-context-fleet-search-'))
  const server = await startPostgres({ fsync: true })
  try {
    const rows: string[] = []
    const means: number[] = []
    for (const [name, chosen] of [...sets.map((set) => [set.name, [set]] as const), [ALL, sets] as const]) {
      const places = [{ directory: join(directory, name) }, { directory: name, storage: server.url }] as const
      const found = await compare(places, chosen, open)
      means.push(found.overlap)
      const cells = [
        found.rows,
        found.queries,
        found.overlap.toFixed(3),
        found.onDisk.toFixed(3),
        found.inDatabase.toFixed(3),
        found.statements.toFixed(1),
        (found.bytes / 1024).toFixed(0),
        found.milliseconds.toFixed(0),
      ]
      process.stderr.write(`${name}: ${cells.join(' ')}\n`)
      rows.push(`| ${name} | ${cells.join(' | ')} |`)
    }
    const mean = means.reduce((sum, one) => sum + one, 0) / means.length
    process.stdout.write(
      `| set | rows | queries | recall@10 of the search on disk | relevant, on disk | relevant, in the database | statements | KB received | ms |
|---|--:|--:|--:|--:|--:|--:|--:|--:|
${rows.join('\n')}
mean recall@10 of the search on disk: ${mean.toFixed(3)}
`,
    )
  } finally {
    server.remove()
    rmSync(directory, { recursive: true, force: true })
  }
}
