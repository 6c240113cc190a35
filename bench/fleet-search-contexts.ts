/**
 * Searches of all sessions on PostgreSQL, whose index narrows them, beside searches of a directory on disk with the same contexts: how many of
 * the first ten hits are the same, how many relevant contexts both find, and what a search costs. The parameter is a folder of labelled sets.
 */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { hasPostgres, startPostgres } from '../__test__/support/postgres.ts'
import { ContextManager, type ContextManagerOptions } from '../dist/index.js'
import { callOf } from './retrieval-agent-context.ts'
import { findSets, type JudgedQuery, type LabelledSet, readSet } from './retrieval-sets.ts'

/** The queries of each set that are asked. */
const QUERIES = 50
const DEPTH = 10
/** The saves that are under way at once. */
const AT_ONCE = 64
const ALL = 'all sets'

interface Asked {
  readonly query: string
  /** The rows that count as relevant. */
  readonly relevant: ReadonlySet<string>
}

interface Figures {
  readonly contexts: number
  readonly queries: number
  /** The share of the first hits on disk that are among those on the database. */
  overlap: number
  /** The share of relevant rows among the first hits. */
  onDisk: number
  inDatabase: number
  statements: number
  bytes: number
  milliseconds: number
}

const [folder] = process.argv.slice(2)
if (folder === undefined || !hasPostgres()) {
  process.stderr.write('usage: npm run bench:fleet-search-contexts -- FOLDER\n')
  process.exit(1)
}
const sets = findSets(folder).map(readSet)
const directory = mkdtempSync(join(tmpdir(), 'agent-context-fleet-search-'))
const server = await startPostgres()

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

async function save(options: ContextManagerOptions, chosen: readonly LabelledSet[]): Promise<number> {
  const rows = chosen.flatMap((set) => set.groups.flatMap((group) => group.rows.map((row) => ({ set: set.name, row }))))
  const manager = new ContextManager({ ...options, sessionId: 'saved', persist: 'all' })
  let next = 0
  const work = async (): Promise<void> => {
    for (let at = next++; at < rows.length; at = next++) {
      const found = rows[at]
      if (found !== undefined) {
        const { toolName, args, result, queryId } = callOf(found.row)
        await manager.saveContext(toolName, args, result, null, queryId, { callId: `${found.set} ${found.row.id}` })
      }
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  await manager.close()
  return rows.length
}

async function compare(name: string, chosen: readonly LabelledSet[]): Promise<Figures> {
  const onDisk = { contextDir: join(directory, name) }
  const inDatabase = { storage: server.url, contextDir: name }
  const contexts = await save(onDisk, chosen)
  await save(inDatabase, chosen)
  const first = new ContextManager({ ...inDatabase, sessionId: 'first' })
  const started = Date.now()
  await first.search('anything', { sessions: 'all', limit: DEPTH })
  process.stderr.write(`${name}: the first search took ${Date.now() - started} ms\n`)
  await first.close()
  const local = new ContextManager({ ...onDisk, sessionId: 'searches' })
  // A schema of its own has statistics of its own: another timeout means another database to the process.
  const storage = { url: server.url, timeout: 31_000 + contexts }
  const remote = new ContextManager({ ...inDatabase, storage, sessionId: 'searches' })
  const queries = chosen.flatMap(asked)
  const figures: Figures = {
    contexts,
    queries: queries.length,
    overlap: 0,
    onDisk: 0,
    inDatabase: 0,
    statements: 0,
    bytes: 0,
    milliseconds: 0,
  }
  const find = async (manager: ContextManager, query: string): Promise<string[]> => {
    const hits = await manager.search(query, { sessions: 'all', limit: DEPTH, snippets: 1 })
    return hits.map(({ callId }) => callId ?? '')
  }
  await find(local, 'anything')
  let judged = 0
  for (const { query, relevant } of queries) {
    const expected = await find(local, query)
    const before = remote.stats().storage
    const start = performance.now()
    const found = await find(remote, query)
    figures.milliseconds += performance.now() - start
    const after = remote.stats().storage
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

try {
  const rows: string[] = []
  const means: number[] = []
  for (const [name, chosen] of [...sets.map((set) => [set.name, [set]] as const), [ALL, sets] as const]) {
    const found = await compare(name, chosen)
    means.push(found.overlap)
    const cells = [
      found.contexts,
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
    `| set | contexts | queries | recall@10 of the search on disk | relevant, on disk | relevant, in the database | statements | KB received | ms |
|---|--:|--:|--:|--:|--:|--:|--:|--:|
${rows.join('\n')}
mean recall@10 of the search on disk: ${mean.toFixed(3)}
`,
  )
} finally {
  server.remove()
  rmSync(directory, { recursive: true, force: true })
}
