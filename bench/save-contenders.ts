/** Ways to keep a tool's output, each as its own documentation shows it. */

import { Buffer } from 'node:buffer'
import { closeSync, openSync, promises, renameSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { ContextManager, type ContextManagerOptions } from '../dist/index.js'
import type { ToolRecord } from './payloads.ts'
import type { Peers } from './peer-packages.ts'

/** One open place for records. */
export interface Store {
  /** `undefined` when it is done on return. */
  save(name: string, record: ToolRecord): PromiseLike<unknown> | undefined
  close(): Promise<unknown> | undefined
}

export interface SaveContender {
  readonly name: string
  readonly isSynchronous: boolean
  /** Records whose making does not count: given once before the time. */
  prepare?(records: readonly ToolRecord[]): void
  open(directory: string): Store
}

export const OURS = 'agent-context'
export const FLOOR = 'floor: raw tmp + write + rename'
const nothing = (): undefined => undefined

/** Writes that survive the process; no contender waits for fsync. */
export function processContenders(peers: Peers): SaveContender[] {
  const contenders = [ours('process'), writeFileSyncPretty, writeFilePromise]
  const writeFileAtomic = peers.get('write-file-atomic')
  if (writeFileAtomic !== undefined) {
    contenders.push(atomic('write-file-atomic, fsync: false', writeFileAtomic.default, { fsync: false }))
  }
  const cacache = peers.get('cacache')
  if (cacache !== undefined) {
    contenders.push({
      name: 'cacache',
      isSynchronous: false,
      open: (directory) => ({
        save: (name, record) => cacache.put(directory, name, JSON.stringify(record)),
        close: nothing,
      }),
    })
  }
  return [...contenders, ...sqlite(peers, 'better-sqlite3 (WAL)', 'NORMAL'), ...lmdb(peers, 'lmdb', false), floor()]
}

/** What survives the loss of power. */
export function durableContenders(peers: Peers): SaveContender[] {
  const contenders = [ours('full')]
  const writeFileAtomic = peers.get('write-file-atomic')
  if (writeFileAtomic !== undefined) {
    contenders.push(atomic('write-file-atomic (fsync)', writeFileAtomic.default, {}))
  }
  const full = sqlite(peers, 'better-sqlite3 (WAL, synchronous=FULL)', 'FULL')
  return [...contenders, ...full, ...lmdb(peers, 'lmdb, flushed', true)]
}

function ours(durability: 'process' | 'full'): SaveContender {
  return savingWith(OURS, { durability })
}

/** This package with options. */
export function savingWith(name: string, options: ContextManagerOptions): SaveContender {
  return {
    name,
    isSynchronous: false,
    open: (directory) => {
      const manager = new ContextManager({ ...options, contextDir: directory })
      return {
        save: (_, { toolName, args, result }) => manager.saveContext(toolName, args, result),
        close: () => manager.close(),
      }
    },
  }
}

export const writeFileSyncPretty: SaveContender = {
  name: 'fs.writeFileSync(…, null, 2)',
  isSynchronous: true,
  open: (directory) => ({
    save: (name, record) => {
      writeFileSync(join(directory, `${name}.json`), JSON.stringify(record, null, 2))
      return undefined
    },
    close: nothing,
  }),
}

export const writeFilePromise: SaveContender = {
  name: 'fs.promises.writeFile',
  isSynchronous: false,
  open: (directory) => ({
    save: (name, record) => promises.writeFile(join(directory, `${name}.json`), JSON.stringify(record)),
    close: nothing,
  }),
}

type WriteFileAtomic = typeof import('write-file-atomic').default

export function atomic(name: string, writeFileAtomic: WriteFileAtomic, options: { fsync?: boolean }): SaveContender {
  return {
    name,
    isSynchronous: false,
    open: (directory) => ({
      save: (file, record) => writeFileAtomic(join(directory, `${file}.json`), JSON.stringify(record), options),
      close: nothing,
    }),
  }
}

function sqlite(peers: Peers, name: string, synchronous: 'NORMAL' | 'FULL'): SaveContender[] {
  const Database = peers.get('better-sqlite3')?.default
  if (Database === undefined) {
    return []
  }
  const open = (directory: string): Store => {
    const database = new Database(join(directory, 'contexts.sqlite'))
    database.pragma('journal_mode = WAL')
    database.pragma(`synchronous = ${synchronous}`)
    database.exec('CREATE TABLE contexts (name TEXT PRIMARY KEY, record TEXT NOT NULL) WITHOUT ROWID')
    const insert = database.prepare('INSERT INTO contexts VALUES (?, ?)')
    return {
      save: (key, record) => {
        insert.run(key, JSON.stringify(record))
        return undefined
      },
      close: () => {
        database.close()
        return undefined
      },
    }
  }
  return [{ name, isSynchronous: true, open }]
}

function lmdb(peers: Peers, name: string, waitsForMedium: boolean): SaveContender[] {
  const library = peers.get('lmdb')
  if (library === undefined) {
    return []
  }
  const open = (directory: string): Store => {
    const database = library.open({ path: join(directory, 'contexts.lmdb'), encoding: 'string' })
    return {
      save: (key, record) => {
        const committed = database.put(key, JSON.stringify(record))
        return waitsForMedium ? committed.then(() => database.flushed) : committed
      },
      close: () => database.close(),
    }
  }
  return [{ name, isSynchronous: false, open }]
}

/** Only the system calls: the bytes are made beforehand. */
function floor(): SaveContender {
  const bytesOf = new WeakMap<ToolRecord, Buffer>()
  return {
    name: FLOOR,
    isSynchronous: true,
    prepare: (records) => {
      for (const record of records) {
        bytesOf.set(record, Buffer.from(JSON.stringify(record)))
      }
    },
    open: (directory) => ({
      save: (name, record) => {
        const temporary = join(directory, `${name}.tmp`)
        const file = openSync(temporary, 'wx', 0o600)
        writeSync(file, bytesOf.get(record) as Buffer)
        closeSync(file)
        renameSync(temporary, join(directory, `${name}.json`))
        return undefined
      },
      close: nothing,
    }),
  }
}
