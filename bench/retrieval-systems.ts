/** What ranks the rows of a group: the peers of this package, each as its own documentation shows it. */

import { overlapping } from './keyword-overlap.ts'
import type { Peers } from './peer-packages.ts'
import { isToolCall, isTurn, type Question, type Row } from './retrieval-sets.ts'

/** An index of one group. */
export interface Ranker {
  /** Ids of rows, best first. Rows that are not there yet may be among them. */
  rank(question: Question): PromiseLike<readonly string[]> | readonly string[]
  close(): PromiseLike<unknown> | undefined
}

export interface RetrievalSystem {
  readonly name: string
  /** `rows` are in the order of saving. */
  open(rows: readonly Row[]): Promise<Ranker>
}

const nothing = (): undefined => undefined

/** A row as peers index it. */
interface Indexed {
  readonly id: string
  readonly description: string
  readonly text: string
}

/** The text of a row, as peers index it. */
export function indexed(row: Row): Indexed {
  const { id } = row
  if (isToolCall(row)) {
    const { result } = row
    const text = typeof result === 'string' ? result : JSON.stringify(result ?? '')
    return { id, description: row.toolDescription, text }
  }
  if (isTurn(row)) {
    return { id, description: `${row.speaker} ${row.timestamp}`, text: `${row.text} ${row.caption ?? ''}` }
  }
  return { id, description: row.title ?? '', text: row.text }
}

/**
 * The specification's sketch looks at descriptions; rows without one are judged by their text. What does not match is not
 * in the ranking, as with the peers.
 */
export const keywordOverlap: RetrievalSystem = {
  name: 'keyword overlap (specification)',
  open: async (rows) => {
    const pointers = rows.map((row) => ({ filepath: row.id, toolDescription: described(row) }))
    return { rank: ({ query }) => overlapping(query, pointers), close: nothing }
  },
}

function described(row: Row): string {
  if (isToolCall(row)) {
    return row.toolDescription
  }
  return `${isTurn(row) ? row.speaker : (row.title ?? '')} ${row.text}`
}

/** The latest rows, whatever the query: what a conversation that is cut off at its start keeps. */
export const latest: RetrievalSystem = {
  name: 'last N',
  open: async (rows) => {
    const ids = rows.map(({ id }) => id).reverse()
    return { rank: () => ids, close: nothing }
  },
}

/** Those of the peers that are installed. */
export function peerSystems(peers: Peers): RetrievalSystem[] {
  return [...miniSearch(peers), ...fts5(peers)]
}

function miniSearch(peers: Peers): RetrievalSystem[] {
  const MiniSearch = peers.get('minisearch')?.default
  if (MiniSearch === undefined) {
    return []
  }
  const open = async (rows: readonly Row[]): Promise<Ranker> => {
    const index = new MiniSearch<Indexed>({ fields: ['description', 'text'] })
    index.addAll(rows.map(indexed))
    return { rank: ({ query }) => index.search(query).map(({ id }) => id), close: nothing }
  }
  return [{ name: 'MiniSearch', open }]
}

function fts5(peers: Peers): RetrievalSystem[] {
  const Database = peers.get('better-sqlite3')?.default
  if (Database === undefined) {
    return []
  }
  const open = async (rows: readonly Row[]): Promise<Ranker> => {
    const database = new Database(':memory:')
    database.exec(
      "CREATE VIRTUAL TABLE rows USING fts5(id UNINDEXED, description, text, tokenize = 'porter unicode61')",
    )
    const insert = database.prepare('INSERT INTO rows VALUES (?, ?, ?)')
    for (const { id, description, text } of rows.map(indexed)) {
      insert.run(id, description, text)
    }
    const select = database.prepare('SELECT id FROM rows WHERE rows MATCH ? ORDER BY bm25(rows)')
    return {
      rank: ({ query }) => {
        const expression = anyWord(query)
        return expression === '' ? [] : (select.all(expression) as { id: string }[]).map(({ id }) => id)
      },
      close: () => {
        database.close()
        return undefined
      },
    }
  }
  return [{ name: 'SQLite FTS5 (porter)', open }]
}

/** The words of a query as an expression of FTS5: any of them. */
export function anyWord(query: string): string {
  return (query.match(/[\p{L}\p{N}]+/gu) ?? []).map((word) => `"${word}"`).join(' OR ')
}
