/** Full-text search over tool outputs, each as its own documentation shows it. */

import { ContextManager } from '../dist/index.js'
import type { Peers } from './peer-packages.ts'
import { anyWord } from './retrieval-systems.ts'
import { OURS } from './save-contenders.ts'
import type { Output } from './search-outputs.ts'

/** The ten best: numbers of outputs. */
export type Search = (query: string) => PromiseLike<readonly number[]> | readonly number[]

/** An index in the making, and in use. */
export interface SearchIndex {
  /** Takes outputs whose numbers follow those before. */
  add(outputs: readonly Output[]): PromiseLike<unknown> | undefined
  /** Ways to search, by name; made once all outputs are there. */
  searches(): Readonly<Record<string, Search>>
  /** Bytes of outputs that are kept beside the index, where that is known. */
  keptBytes?(): number
  close(): PromiseLike<unknown> | undefined
}

export interface SearchContender {
  readonly name: string
  open(directory: string): SearchIndex
}

export const SELECT = `${OURS}: selectContexts`
export const FLEXSEARCH = 'FlexSearch'
export const FTS5 = 'SQLite FTS5'
export const MINISEARCH = 'MiniSearch'
export const ORAMA = 'Orama'
const LIMIT = 10
const nothing = (): undefined => undefined

/**
 * The outputs are kept in memory: files are the subject of other sections. The index has no bound, as those of the peers:
 * with one, the oldest results would not be searched at all, and that would look fast.
 */
const ours: SearchContender = {
  name: OURS,
  open: (contextDir) => {
    const unbounded = { memoryBudget: Number.MAX_SAFE_INTEGER, indexBudget: Number.MAX_SAFE_INTEGER }
    const manager = new ContextManager({ contextDir, persist: 'large', ...unbounded })
    const numbers = new Map<string, number>()
    return {
      add: async (outputs) => {
        const saves = outputs.map(({ toolName, args, result }) => manager.saveContext(toolName, args, result))
        for (const path of await Promise.all(saves)) {
          numbers.set(path, numbers.size)
        }
      },
      searches: () => {
        const pointers = manager.getAllPointers()
        const numberOf = (path: string): number => numbers.get(path) ?? -1
        return {
          [SELECT]: async (query) => {
            const chosen = await manager.selectContexts(query, { limit: LIMIT })
            return chosen.map(({ filepath }) => numberOf(filepath))
          },
          [`${OURS}: selectRelevantContexts`]: (query) =>
            manager.selectRelevantContexts(query, pointers).slice(0, LIMIT).map(numberOf),
        }
      },
      keptBytes: () => manager.stats().memoryBytes,
      close: () => manager.clear(),
    }
  },
}

/** A peer's documents. */
interface Numbered {
  readonly id: string
  readonly toolName: string
  readonly args: string
  readonly result: string
}

/** Peers get outputs one by one in order, and number them. */
class Numbering {
  #next = 0

  documents(outputs: readonly Output[]): Numbered[] {
    return outputs.map(({ toolName, args, result }) => {
      return { id: String(this.#next++), toolName, args: Object.values(args).join(' '), result }
    })
  }
}

/** Those of the peers that are installed. */
export function searchContenders(peers: Peers): SearchContender[] {
  return [ours, ...miniSearch(peers), ...orama(peers), ...flexSearch(peers), ...fts5(peers)]
}

function miniSearch(peers: Peers): SearchContender[] {
  const MiniSearch = peers.get('minisearch')?.default
  if (MiniSearch === undefined) {
    return []
  }
  const open = (): SearchIndex => {
    const index = new MiniSearch<Numbered>({ fields: ['toolName', 'args', 'result'] })
    const numbering = new Numbering()
    const search: Search = (query) =>
      index
        .search(query)
        .slice(0, LIMIT)
        .map(({ id }) => Number(id))
    return {
      add: (outputs) => {
        index.addAll(numbering.documents(outputs))
        return undefined
      },
      searches: () => ({ [MINISEARCH]: search }),
      close: nothing,
    }
  }
  return [{ name: MINISEARCH, open }]
}

function orama(peers: Peers): SearchContender[] {
  const library = peers.get('@orama/orama')
  if (library === undefined) {
    return []
  }
  const open = (): SearchIndex => {
    const index = library.create({ schema: { toolName: 'string', args: 'string', result: 'string' } })
    const numbering = new Numbering()
    const search: Search = async (term) => {
      const { hits } = await library.search(index, { term, limit: LIMIT })
      return hits.map(({ id }) => Number(id))
    }
    return {
      add: async (outputs) => {
        await library.insertMultiple(index, numbering.documents(outputs))
      },
      searches: () => ({ [ORAMA]: search }),
      close: nothing,
    }
  }
  return [{ name: ORAMA, open }]
}

/** `suggest`: results need not have every word, as with the others. */
function flexSearch(peers: Peers): SearchContender[] {
  const Index = peers.get('flexsearch')?.Index
  if (Index === undefined) {
    return []
  }
  const open = (): SearchIndex => {
    const index = new Index()
    const numbering = new Numbering()
    const search: Search = (query) => index.search(query, { limit: LIMIT, suggest: true }) as number[]
    return {
      add: (outputs) => {
        for (const { id, toolName, args, result } of numbering.documents(outputs)) {
          index.add(Number(id), `${toolName} ${args} ${result}`)
        }
        return undefined
      },
      searches: () => ({ [FLEXSEARCH]: search }),
      close: nothing,
    }
  }
  return [{ name: FLEXSEARCH, open }]
}

function fts5(peers: Peers): SearchContender[] {
  const Database = peers.get('better-sqlite3')?.default
  if (Database === undefined) {
    return []
  }
  const open = (): SearchIndex => {
    const database = new Database(':memory:')
    database.exec("CREATE VIRTUAL TABLE outputs USING fts5(toolName, args, result, tokenize = 'porter unicode61')")
    const insert = database.prepare('INSERT INTO outputs (rowid, toolName, args, result) VALUES (?, ?, ?, ?)')
    const select = database.prepare('SELECT rowid FROM outputs WHERE outputs MATCH ? ORDER BY rank LIMIT ?')
    const numbering = new Numbering()
    const search: Search = (query) =>
      (select.all(anyWord(query), LIMIT) as { rowid: number }[]).map(({ rowid }) => rowid)
    return {
      add: (outputs) => {
        database.exec('BEGIN')
        for (const { id, toolName, args, result } of numbering.documents(outputs)) {
          insert.run(Number(id), toolName, args, result)
        }
        database.exec('COMMIT')
        return undefined
      },
      searches: () => ({ [FTS5]: search }),
      close: () => {
        database.close()
        return undefined
      },
    }
  }
  return [{ name: FTS5, open }]
}
