/** Keyed stores that `bench/state.ts` compares. Each stores JSON text that is made in the measured call and parsed by it. */

import { join } from 'node:path'
import { StateStore } from '../dist/index.js'
import type { Peers } from './peer-packages.ts'

export interface Contender {
  readonly name: string
  put(keys: readonly string[], value: object): Promise<unknown> | unknown
  get(keys: readonly string[]): Promise<unknown> | unknown
  /** `undefined`: it cannot list by prefix. */
  readonly list: ((prefix: string, limit: number) => Promise<readonly unknown[]> | readonly unknown[]) | undefined
  close(): Promise<unknown> | unknown
}

type Make = (directory: string, peers: Peers) => Contender | undefined | Promise<Contender | undefined>

/** How long a writer waits for others, in ms. */
const LOCK_TIMEOUT = 60_000

function stateStore(directory: string): Contender {
  const store = new StateStore({ path: join(directory, 'state.db'), lockTimeout: LOCK_TIMEOUT })
  return {
    name: 'StateStore',
    put: (keys, value) => Promise.all(keys.map((key) => store.put(['bench'], key, value as never))),
    get: (keys) => Promise.all(keys.map((key) => store.get(['bench'], key))),
    list: async (keyPrefix, limit) => (await store.list(['bench'], { keyPrefix, limit })).items,
    close: () => store.close(),
  }
}

/** @param isGrouped one transaction for all keys of a call, or one for each */
function betterSqlite(directory: string, peers: Peers, isGrouped: boolean): Contender | undefined {
  const Database = peers.get('better-sqlite3')?.default
  if (Database === undefined) {
    return undefined
  }
  const database = new Database(join(directory, `better-${isGrouped}.db`), { timeout: LOCK_TIMEOUT })
  database.pragma('journal_mode = WAL')
  database.pragma('synchronous = NORMAL')
  database.exec('CREATE TABLE IF NOT EXISTS item (key TEXT PRIMARY KEY, value TEXT NOT NULL, updated INTEGER NOT NULL)')
  const write = database.prepare('INSERT OR REPLACE INTO item VALUES (?, ?, ?)')
  const read = database.prepare('SELECT value FROM item WHERE key = ?')
  const range = database.prepare('SELECT key, value FROM item WHERE key >= ? AND key < ? ORDER BY key LIMIT ?')
  const [begin, commit] = [database.prepare('BEGIN IMMEDIATE'), database.prepare('COMMIT')]
  const parse = (row: unknown): unknown => JSON.parse((row as { value: string }).value)
  return {
    name: isGrouped ? 'better-sqlite3, one transaction per call' : 'better-sqlite3, one transaction per put',
    put(keys, value) {
      if (isGrouped) {
        begin.run()
      }
      for (const key of keys) {
        write.run(key, JSON.stringify(value), Date.now())
      }
      if (isGrouped) {
        commit.run()
      }
    },
    get: (keys) => keys.map((key) => read.all(key).map(parse)),
    list: (prefix, limit) => range.all(prefix, `${prefix}\uffff`, limit).map(parse),
    close: () => database.close(),
  }
}

function lmdb(directory: string, peers: Peers): Contender | undefined {
  const module = peers.get('lmdb')
  if (module === undefined) {
    return undefined
  }
  const database = module.open({ path: join(directory, 'lmdb'), encoding: 'string' })
  return {
    name: 'lmdb',
    put: (keys, value) => Promise.all(keys.map((key) => database.put(key, JSON.stringify(value)))),
    get: (keys) => keys.map((key) => JSON.parse(database.get(key) ?? 'null')),
    list: (prefix, limit) =>
      Array.from(database.getRange({ start: prefix, end: `${prefix}\uffff`, limit }), ({ value }) => JSON.parse(value)),
    close: () => database.close(),
  }
}

function keyv(directory: string, peers: Peers): Contender | undefined {
  const [module, adapter] = [peers.get('keyv'), peers.get('@keyv/sqlite')]
  if (module === undefined || adapter === undefined) {
    return undefined
  }
  const store = new adapter.KeyvSqlite({ uri: `sqlite://${join(directory, 'keyv.db')}`, busyTimeout: LOCK_TIMEOUT })
  const database = new module.Keyv({ store })
  return {
    name: 'keyv, @keyv/sqlite',
    put: (keys, value) => Promise.all(keys.map((key) => database.set(key, value))),
    get: (keys) => Promise.all(keys.map((key) => database.get(key))),
    list: undefined,
    close: () => database.disconnect(),
  }
}

async function unstorage(directory: string, peers: Peers): Promise<Contender | undefined> {
  const module = peers.get('unstorage')
  if (module === undefined) {
    return undefined
  }
  const { default: fsDriver } = await import('unstorage/drivers/fs')
  // A folder for the prefix: its driver lists all keys otherwise.
  const place = (key: string): string => key.replace('listed-', 'listed:')
  const storage = module.createStorage({ driver: fsDriver({ base: join(directory, 'unstorage') }) })
  return {
    name: 'unstorage, fs',
    put: (keys, value) => Promise.all(keys.map((key) => storage.setItem(place(key), value))),
    get: (keys) => Promise.all(keys.map((key) => storage.getItem(place(key)))),
    list: async (prefix, limit) => storage.getItems((await storage.getKeys(place(prefix))).slice(0, limit)),
    close: () => storage.dispose(),
  }
}

/** Each key is a thread with one checkpoint; those that are listed are the checkpoints of one thread. */
function sqliteSaver(directory: string, peers: Peers): Contender | undefined {
  const module = peers.get('@langchain/langgraph-checkpoint-sqlite')
  if (module === undefined) {
    return undefined
  }
  const saver = module.SqliteSaver.fromConnString(join(directory, 'saver.db'))
  const threadOf = (key: string): string => (key.startsWith('listed-') ? 'listed-' : key)
  const configurable = (key: string) => ({ thread_id: threadOf(key), checkpoint_ns: '', checkpoint_id: key })
  const checkpoint = (id: string, value: object) => ({
    v: 4,
    id,
    ts: new Date().toISOString(),
    channel_values: { value },
    channel_versions: {},
    versions_seen: {},
  })
  return {
    name: 'LangGraph SqliteSaver',
    put: (keys, value) =>
      Promise.all(
        keys.map((key) =>
          saver.put({ configurable: { thread_id: threadOf(key), checkpoint_ns: '' } }, checkpoint(key, value), {
            source: 'loop',
            step: 0,
            parents: {},
          }),
        ),
      ),
    get: (keys) => Promise.all(keys.map((key) => saver.getTuple({ configurable: configurable(key) }))),
    list: async (prefix, limit) => {
      const found = []
      for await (const tuple of saver.list({ configurable: { thread_id: prefix, checkpoint_ns: '' } }, { limit })) {
        found.push(tuple)
      }
      return found
    },
    close: () => {},
  }
}

export const CONTENDERS: readonly Make[] = [
  stateStore,
  (directory, peers) => betterSqlite(directory, peers, false),
  (directory, peers) => betterSqlite(directory, peers, true),
  lmdb,
  keyv,
  unstorage,
  sqliteSaver,
]

export const PEERS = [
  'better-sqlite3',
  'lmdb',
  'keyv',
  '@keyv/sqlite',
  'unstorage',
  '@langchain/langgraph-checkpoint-sqlite',
] as const
