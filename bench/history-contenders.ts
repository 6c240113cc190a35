/** Ways to keep an append-only log of entries, each as its own documentation shows it. Entries are JSON text in all. */

import { promises } from 'node:fs'
import { join } from 'node:path'
import { type ContextEntry, ContextHistory } from '../dist/index.js'
import { lineOf } from './history-entries.ts'
import type { Peers } from './peer-packages.ts'
import { OURS } from './save-contenders.ts'

export type Durability = 'process' | 'full'

/** One open log. */
export interface AppendLog {
  /** `undefined` when it is done on return. */
  append(entry: ContextEntry): PromiseLike<unknown> | undefined
  close(): Promise<unknown>
}

export interface AppendContender {
  readonly name: string
  readonly isSynchronous: boolean
  /** Opens the log in `directory`, which other processes may have open too; `writer` identifies the process. */
  open(directory: string, writer: number): Promise<AppendLog>
}

/** How long a peer waits for other processes, in ms. */
export const PATIENCE = 60_000

export function appendContenders(peers: Peers, durability: Durability): AppendContender[] {
  const files = durability === 'full' ? appendAndSync : appendFile
  return [ours(durability), files, ...sqlite(peers, durability), ...lmdb(peers, durability)]
}

function ours(durability: Durability): AppendContender {
  return {
    name: OURS,
    isSynchronous: false,
    open: async (directory) => {
      const history = new ContextHistory({ path: join(directory, 'log.jsonl'), durability, lockTimeout: PATIENCE })
      return { append: (entry) => history.append(entry), close: () => history.close() }
    },
  }
}

const appendFile: AppendContender = {
  name: 'fs.promises.appendFile',
  isSynchronous: false,
  open: async (directory) => {
    const path = join(directory, 'log.jsonl')
    return { append: (entry) => promises.appendFile(path, lineOf(entry)), close: async () => {} }
  },
}

const appendAndSync: AppendContender = {
  name: 'FileHandle.appendFile + datasync',
  isSynchronous: false,
  open: async (directory) => {
    const file = await promises.open(join(directory, 'log.jsonl'), 'a')
    return {
      append: async (entry) => {
        await file.appendFile(lineOf(entry))
        await file.datasync()
      },
      close: () => file.close(),
    }
  },
}

function sqlite(peers: Peers, durability: Durability): AppendContender[] {
  const Database = peers.get('better-sqlite3')?.default
  if (Database === undefined) {
    return []
  }
  const synchronous = durability === 'full' ? 'FULL' : 'NORMAL'
  const open = async (directory: string): Promise<AppendLog> => {
    const database = new Database(join(directory, 'log.sqlite'), { timeout: PATIENCE })
    database.pragma('journal_mode = WAL')
    database.pragma(`synchronous = ${synchronous}`)
    database.exec('CREATE TABLE IF NOT EXISTS entries (id INTEGER PRIMARY KEY, entry TEXT NOT NULL)')
    const insert = database.prepare('INSERT INTO entries (entry) VALUES (?)')
    return {
      append: (entry) => {
        insert.run(JSON.stringify(entry))
        return undefined
      },
      close: async () => database.close(),
    }
  }
  return [{ name: `better-sqlite3 (WAL, synchronous=${synchronous})`, isSynchronous: true, open }]
}

function lmdb(peers: Peers, durability: Durability): AppendContender[] {
  const library = peers.get('lmdb')
  if (library === undefined) {
    return []
  }
  const open = async (directory: string, writer: number): Promise<AppendLog> => {
    const database = library.open({ path: join(directory, 'log.lmdb'), encoding: 'string' })
    let number = 0
    return {
      append: (entry) => {
        // The keys sort by time, whichever process writes.
        const committed = database.put([Date.now(), writer, number++], JSON.stringify(entry))
        return durability === 'full' ? committed.then(() => database.flushed) : committed
      },
      close: () => database.close(),
    }
  }
  return [{ name: durability === 'full' ? 'lmdb, flushed' : 'lmdb', isSynchronous: false, open }]
}
