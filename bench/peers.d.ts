// What the benchmarks use of their peers. The peers are installed by the first run, after the type check.

declare module 'write-file-atomic' {
  export default function writeFileAtomic(path: string, data: string, options?: { fsync?: boolean }): Promise<void>
}

declare module 'cacache' {
  export function put(cache: string, key: string, data: string): Promise<unknown>
}

declare module 'better-sqlite3' {
  interface Statement {
    run(...parameters: unknown[]): unknown
    all(...parameters: unknown[]): unknown[]
  }
  export default class Database {
    constructor(path: string, options?: { timeout?: number })
    pragma(source: string): unknown
    exec(source: string): this
    prepare(source: string): Statement
    close(): this
  }
}

declare module 'lmdb' {
  type Key = string | number | (string | number)[]
  export interface RootDatabase {
    put(key: Key, value: string): Promise<boolean>
    get(key: Key): string | undefined
    getRange(options: {
      start?: Key
      end?: Key
      reverse?: boolean
      limit?: number
    }): Iterable<{ key: Key; value: string }>
    readonly flushed: Promise<boolean>
    close(): Promise<void>
  }
  export function open(options: { path: string; encoding: 'string' }): RootDatabase
}

declare module 'minisearch' {
  export default class MiniSearch<T> {
    constructor(options: { fields: string[]; idField?: string })
    addAll(documents: readonly T[]): void
    search(query: string): { id: string; score: number }[]
  }
}

declare module '@orama/orama' {
  interface Orama {
    readonly schema: Readonly<Record<string, 'string'>>
  }
  export function create(options: { schema: Record<string, 'string'> }): Orama
  export function insertMultiple(database: Orama, documents: readonly object[]): PromiseLike<string[]> | string[]
  interface Results {
    readonly hits: readonly { id: string; score: number }[]
  }
  export function search(database: Orama, options: { term: string; limit: number }): PromiseLike<Results> | Results
}

declare module 'flexsearch' {
  export class Index {
    add(id: number, text: string): this
    search(query: string, options: { limit: number; suggest: boolean }): (number | string)[]
  }
}

declare module 'keyv' {
  export class Keyv {
    constructor(options: { store: unknown })
    set(key: string, value: unknown): Promise<boolean>
    get(key: string): Promise<unknown>
    disconnect(): Promise<void>
  }
}

declare module '@keyv/sqlite' {
  export class KeyvSqlite {
    constructor(options: { uri: string; busyTimeout?: number })
  }
}

declare module 'unstorage' {
  export interface Storage {
    setItem(key: string, value: unknown): Promise<void>
    getItem(key: string): Promise<unknown>
    getKeys(base: string): Promise<string[]>
    getItems(keys: readonly string[]): Promise<{ key: string; value: unknown }[]>
    dispose(): Promise<void>
  }
  export function createStorage(options: { driver: unknown }): Storage
}

declare module 'unstorage/drivers/fs' {
  export default function fsDriver(options: { base: string }): unknown
}

declare module '@langchain/langgraph-checkpoint-sqlite' {
  interface Config {
    configurable: { thread_id: string; checkpoint_ns?: string; checkpoint_id?: string }
  }
  export class SqliteSaver {
    static fromConnString(path: string): SqliteSaver
    put(config: Config, checkpoint: object, metadata: object): Promise<unknown>
    getTuple(config: Config): Promise<unknown>
    list(config: Config, options: { limit: number }): AsyncIterable<unknown>
  }
}

declare module '@secretlint/core' {
  interface Message {
    /** The position of the secret, in UTF-16 code units. */
    readonly range: readonly [start: number, end: number]
  }
  export function lintSource(parameters: {
    source: { content: string; filePath: string; ext: string; contentType: 'text' }
    options: { config: { rules: { id: string; rule: unknown }[] }; noPhysicFilePath?: boolean }
  }): Promise<{ messages: Message[] }>
}

declare module '@secretlint/secretlint-rule-preset-recommend' {
  export const creator: unknown
}
