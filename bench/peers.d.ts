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
  }
  export default class Database {
    constructor(path: string)
    pragma(source: string): unknown
    exec(source: string): this
    prepare(source: string): Statement
    close(): this
  }
}

declare module 'lmdb' {
  export interface RootDatabase {
    put(key: string, value: string): Promise<boolean>
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
