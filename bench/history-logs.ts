/** The same entries in a history, in SQLite and in LMDB, and the ways to get some of them back. */

import { closeSync, openSync, promises, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { type ContextEntry, ContextHistory } from '../dist/index.js'
import { lineOf } from './history-entries.ts'
import type { Peers } from './peer-packages.ts'
import { OURS } from './save-contenders.ts'

type Database = InstanceType<typeof import('better-sqlite3').default>
type RootDatabase = import('lmdb').RootDatabase

/** One way to ask. */
export interface ReadContender {
  readonly name: string
  /** How often at most it is asked in one sample: some are slow. */
  readonly most: number
  /** Makes the next asking cold; its time does not count. */
  prepare?(): void
  read(): PromiseLike<readonly unknown[]> | readonly unknown[]
}

export const READ_ALL = 'fs.promises.readFile, every line parsed'
const READ_LAST = 'fs.promises.readFile, last lines parsed'
const INDEX_SUFFIX = '.index'
const LINES_AT_ONCE = 1000
/** Lines that a reader of whole files gets through in one sample. */
const LINES_PER_SAMPLE = 200_000
const QUICK_READS = 200

/** A number of entries, kept in every way. */
export class Logs {
  readonly #size: number
  readonly #path: string
  readonly #history: ContextHistory
  readonly #sqlitePath: string
  readonly #peers: Peers
  readonly #sqlite: Database | undefined
  readonly #lmdb: RootDatabase | undefined

  private constructor(peers: Peers, directory: string, size: number) {
    this.#peers = peers
    this.#size = size
    this.#path = join(directory, 'log.jsonl')
    this.#history = new ContextHistory({ path: this.#path })
    this.#sqlitePath = join(directory, 'log.sqlite')
    this.#sqlite = this.#openSqlite()
    this.#lmdb = peers.get('lmdb')?.open({ path: join(directory, 'log.lmdb'), encoding: 'string' })
  }

  /** Writes the entries 0 to `size`. SQLite gets an index on the tool's name. */
  static async build(
    peers: Peers,
    directory: string,
    size: number,
    entryOf: (number: number) => ContextEntry,
  ): Promise<Logs> {
    const logs = new Logs(peers, directory, size)
    logs.#sqlite?.pragma('journal_mode = WAL')
    logs.#sqlite?.exec('CREATE TABLE entries (id INTEGER PRIMARY KEY, tool TEXT NOT NULL, entry TEXT NOT NULL)')
    logs.#sqlite?.exec('CREATE INDEX tools ON entries (tool); BEGIN')
    const insert = logs.#sqlite?.prepare('INSERT INTO entries (tool, entry) VALUES (?, ?)')
    const file = openSync(logs.#path, 'wx', 0o600)
    for (let first = 0; first < size; first += LINES_AT_ONCE) {
      const count = Math.min(LINES_AT_ONCE, size - first)
      const entries = Array.from({ length: count }, (_, offset) => entryOf(first + offset))
      writeSync(file, entries.map(lineOf).join(''))
      const puts = entries.map((entry, offset) => {
        const text = JSON.stringify(entry)
        insert?.run(entry.toolName, text)
        return logs.#lmdb?.put(first + offset, text)
      })
      await Promise.all(puts)
    }
    closeSync(file)
    logs.#sqlite?.exec('COMMIT')
    return logs
  }

  #openSqlite(): Database | undefined {
    const Database = this.#peers.get('better-sqlite3')?.default
    return Database && new Database(this.#sqlitePath)
  }

  /** How often a reader of the whole file is asked. */
  get #mostScans(): number {
    return Math.max(1, Math.min(QUICK_READS, Math.floor(LINES_PER_SAMPLE / this.#size)))
  }

  /** Ways to get the last `limit` entries, oldest first. */
  tailReaders(limit: number): ReadContender[] {
    const [path, sqlite, lmdb] = [this.#path, this.#sqlite, this.#lmdb]
    const contenders: ReadContender[] = [
      { name: OURS, most: QUICK_READS, read: () => this.#history.read(limit) },
      { name: READ_ALL, most: this.#mostScans, read: async () => (await readLines(path)).map(parse).slice(-limit) },
      { name: READ_LAST, most: this.#mostScans, read: async () => (await readLines(path)).slice(-limit).map(parse) },
    ]
    if (sqlite !== undefined) {
      const select = sqlite.prepare('SELECT entry FROM entries ORDER BY id DESC LIMIT ?')
      const read = (): unknown[] => select.all(limit).map(parseRow).reverse()
      contenders.push({ name: 'better-sqlite3, ORDER BY id DESC', most: QUICK_READS, read })
    }
    if (lmdb !== undefined) {
      const read = (): unknown[] => {
        const entries: unknown[] = []
        for (const { value } of lmdb.getRange({ reverse: true, limit })) {
          entries.push(parse(value))
        }
        return entries.reverse()
      }
      contenders.push({ name: 'lmdb, getRange in reverse', most: QUICK_READS, read })
    }
    return contenders
  }

  /** Ways to find a tool's last `limit` entries again. */
  warmSearchers(toolName: string, limit: number): ReadContender[] {
    const contenders: ReadContender[] = [
      { name: OURS, most: QUICK_READS, read: () => this.#history.search({ toolName, limit }) },
      this.#scanner(toolName, limit),
    ]
    const sqlite = this.#sqlite
    if (sqlite !== undefined) {
      const read = finderIn(sqlite, toolName, limit)
      contenders.push({ name: 'better-sqlite3, an index on the tool', most: QUICK_READS, read })
    }
    return contenders
  }

  /** Ways to find them in a log that was just opened. */
  coldSearchers(toolName: string, limit: number): ReadContender[] {
    const search = (): Promise<ContextEntry[]> => new ContextHistory({ path: this.#path }).search({ toolName, limit })
    const contenders: ReadContender[] = [
      { name: OURS, most: this.#mostScans, read: search },
      this.#withoutIndex(search),
      this.#scanner(toolName, limit),
    ]
    if (this.#sqlite !== undefined) {
      const read = (): unknown[] => {
        const database = this.#openSqlite()
        const found = database === undefined ? [] : finderIn(database, toolName, limit)()
        database?.close()
        return found
      }
      contenders.push({ name: 'better-sqlite3, opened anew', most: QUICK_READS, read })
    }
    return contenders
  }

  /** The first search of all, which has to make the index. */
  #withoutIndex(read: ReadContender['read']): ReadContender {
    const prepare = (): void => rmSync(this.#path + INDEX_SUFFIX)
    return { name: `${OURS}, no index yet`, most: 1, prepare, read }
  }

  #scanner(toolName: string, limit: number): ReadContender {
    const read = async (): Promise<unknown[]> => {
      const entries = (await readLines(this.#path)).map(parse) as { tool_name: string }[]
      return entries.filter((entry) => entry.tool_name === toolName).slice(-limit)
    }
    return { name: READ_ALL, most: this.#mostScans, read }
  }

  async close(): Promise<void> {
    await this.#history.close()
    this.#sqlite?.close()
    await this.#lmdb?.close()
  }
}

function finderIn(database: Database, toolName: string, limit: number): () => unknown[] {
  const select = database.prepare('SELECT entry FROM entries WHERE tool = ? ORDER BY id DESC LIMIT ?')
  return () => select.all(toolName, limit).map(parseRow).reverse()
}

async function readLines(path: string): Promise<string[]> {
  const text = await promises.readFile(path, 'utf8')
  return text.trim().split('\n')
}

const parse = (text: string): unknown => JSON.parse(text)
const parseRow = (row: unknown): unknown => JSON.parse((row as { entry: string }).entry)
