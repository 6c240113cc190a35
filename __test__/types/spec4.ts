/**
 * Type test: specification 4 in TypeScript. Compiled by `tsc --noEmit`, never run.
 */

import {
  ContextHistory,
  ContextStore,
  type ContextStoreConfig,
  type ContextStoreOptions,
  type ContextStoreTools,
  type ContextType,
  contextStoreTools,
  DEFAULT_CONTEXT_STORE,
  type HousekeepingPolicy,
  type HousekeepingReport,
  type IFileSystem,
  type NewStoreEntry,
  type RelatedOptions,
  type StoreEntry,
  type StoreEntryChange,
  type StoreEntrySummary,
  type StoreFilter,
  type StoreQuery,
  type StoreVerifyReport,
  type ToolDefinition,
  type ToolResult,
  type UpdateOptions,
} from '../../dist/index.js'

/** The design's own types, word for word. */
type DesignedType = 'finding' | 'decision' | 'artifact' | 'reference' | 'summary'

interface DesignedEntry {
  path: string
  filePath: string
  agent: string
  sessionId?: string
  timestamp: string
  type: DesignedType
  tags: string[]
  links: string[]
  content: string
  revision: string
  changelog: { timestamp: string; agent: string; description: string }[]
}

interface DesignedStore {
  readonly agent: string
  write(entry: {
    type: DesignedType
    slug: string
    content: string
    tags?: string[]
    links?: string[]
  }): Promise<DesignedEntry>
  read(path: string): Promise<DesignedEntry>
  search(query: {
    agent?: string
    sessionId?: string
    type?: DesignedType
    tags?: string[]
    query?: string
    since?: string
    limit?: number
    ranked?: boolean
  }): Promise<DesignedEntry[]>
  update(
    path: string,
    change: { content?: string; tags?: string[]; type?: DesignedType; links?: string[] },
    description: string,
    options?: { ifRevision?: string },
  ): Promise<DesignedEntry>
  link(path: string, target: string): Promise<DesignedEntry>
  supersede(
    path: string,
    replacement: NewStoreEntry,
    reason: string,
  ): Promise<{ old: DesignedEntry; replacement: DesignedEntry }>
  related(
    path: string,
    options?: { depth?: number; direction?: 'links' | 'backlinks' | 'both' },
  ): Promise<DesignedEntry[]>
  housekeep(policy?: { olderThan?: string; agents?: string[]; dryRun?: boolean }): Promise<HousekeepingReport>
}

interface DesignedStatics {
  new (options: { agent: string; path?: string; sessionId?: string; config?: ContextStoreConfig }): DesignedStore
  resolvePath(config?: { contextStore?: { path?: string } }): string
}

/** The specification's flow: write, search, update, link, supersede, clean up. */
export async function flow(fileSystem: IFileSystem): Promise<string> {
  const config: ContextStoreConfig = { contextStore: { path: DEFAULT_CONTEXT_STORE } }
  const options: ContextStoreOptions = {
    agent: 'code-reviewer',
    path: ContextStore.resolvePath(config),
    sessionId: 'a1b2c3d4',
    config,
    durability: 'process',
    fileSystem,
    redaction: { keys: ['wombat'] },
    lockTimeout: 500,
    maxEntryBytes: 1024,
    onDebug: (message, data) => console.log(message, data),
  }
  await using store = new ContextStore(options)
  const plain = new ContextStore({ agent: 'code-fixer', redaction: false })
  const place: string = [ContextStore.resolvePath(), ContextStore.resolvePath(null), store.path, store.sessionId].join()

  const draft: NewStoreEntry = { type: 'finding', slug: 'auth', content: '# Auth', tags: ['security'], links: [] }
  const written: StoreEntry = await store.write(draft)
  const supersededBy: string | undefined = written.supersededBy
  const change: StoreEntryChange = { content: 'x', type: 'decision', tags: ['a'], addTags: ['b'], removeTags: ['c'] }
  const guard: UpdateOptions = { ifRevision: written.revision }
  const updated: StoreEntry = await store.update(written.path, change, 'why', guard)
  await store.update(written.path, { links: [written.path], removeLinks: ['a/b.md'] }, 'why', null)
  await plain.link(written.path, updated.path)
  const { old, replacement } = await store.supersede(written.path, draft, 'better')

  const { signal } = new AbortController()
  const query: StoreQuery = {
    agent: ['a', 'b'],
    sessionId: 's',
    type: ['finding', 'decision'],
    tags: { all: ['a'], any: ['b', 'c'] },
    query: 'words',
    since: new Date(),
    until: 5,
    limit: 10,
    ranked: true,
    superseded: false,
    signal,
  }
  const found: StoreEntry[] = await store.search(query)
  await store.search({})
  const filter: StoreFilter = { tags: ['a'] as const, since: '2026-01-01' }
  const listed: StoreEntrySummary[] = await store.list(filter)
  await store.list()
  const near: RelatedOptions = { depth: 2, direction: 'backlinks', limit: 5, signal }
  const related: StoreEntry[] = await store.related(old.path, near)

  const policy: HousekeepingPolicy = {
    olderThan: '30d',
    retention: { a: '7d', b: { contextRetention: '90d' }, c: {} },
    agents: ['a'],
    dryRun: true,
    includeLinked: true,
    onProgress: ({ done, total }) => console.log(done / total),
    signal,
  }
  const report: HousekeepingReport = await store.housekeep(policy)
  const bytes: number = report.removed.reduce((sum, one) => sum + one.bytes, report.removedBytes)
  const verified: StoreVerifyReport = await store.verify({ signal })
  const lines: number[] = verified.problems.map(({ line }) => line)
  const dangling: string[] = verified.danglingLinks.map(({ path, link }) => path + link)

  const tools: ContextStoreTools = contextStoreTools(store, { maxBytes: 10_000 })
  const asDefinitions: readonly { name: string; execute(params?: unknown): Promise<ToolResult<string>> }[] = tools
  const reading: ToolDefinition<{ path: string; offset?: number }, string> = tools[2]
  const result: ToolResult<string> = await reading.execute({ path: replacement.path })

  const history = new ContextHistory()
  await history.append({ toolName: 'review', meta: { contextFiles: store.contextFiles() } })
  const ofSession: string[] = plain.contextFiles('a1b2c3d4')
  await plain.close()
  return [place, supersededBy, found, listed, related, bytes, lines, dangling, result, ofSession, asDefinitions].join()
}

export const asDesigned = (store: ContextStore): DesignedStore => store
export const asDesignedClass: DesignedStatics = ContextStore
export const asDesignedEntry = (entry: StoreEntry): DesignedEntry => entry
export const asDesignedType = (type: ContextType): DesignedType => type

export function wrong(store: ContextStore): void {
  // @ts-expect-error an agent has to be named
  new ContextStore({})
  // @ts-expect-error options have to be given
  new ContextStore()
  // @ts-expect-error there is no such option
  new ContextStore({ agent: 'a', directory: '/tmp' })
  // @ts-expect-error 'full' or 'process'
  new ContextStore({ agent: 'a', durability: 'none' })
  // @ts-expect-error a path is a string
  ContextStore.resolvePath({ contextStore: { path: 5 } })
  // @ts-expect-error there is no such type
  void store.write({ type: 'note', slug: 'a', content: '' })
  // @ts-expect-error an entry has a slug
  void store.write({ type: 'finding', content: '' })
  // @ts-expect-error tags are an array
  void store.write({ type: 'finding', slug: 'a', content: '', tags: 'a' })
  // @ts-expect-error a change is described
  void store.update('a/b.md', {})
  // @ts-expect-error there is no such member
  void store.update('a/b.md', { slug: 'b' }, 'why')
  // @ts-expect-error a reason has to be given
  void store.supersede('a/b.md', { type: 'finding', slug: 'a', content: '' })
  // @ts-expect-error a query has to be given
  void store.search()
  // @ts-expect-error there is no such condition
  void store.search({ tag: 'a' })
  // @ts-expect-error list() does not look for words
  void store.list({ query: 'words' })
  // @ts-expect-error there is no such direction
  void store.related('a/b.md', { direction: 'up' })
  // @ts-expect-error a duration is a string
  void store.housekeep({ olderThan: 30 })
  // @ts-expect-error an agent's retention is a string or declared
  void store.housekeep({ retention: { a: 30 } })
  // @ts-expect-error list() gives no texts
  void store.list().then(([entry]) => entry?.content)
  // @ts-expect-error there is no method that removes a single entry
  store.remove('a/b.md')
  // @ts-expect-error read only
  store.agent = 'another'
  // @ts-expect-error read only
  store.sessionId = 'another'
  // @ts-expect-error tools need a store
  contextStoreTools({})
}

// No `any` leaks.

type IsAny<T> = 0 extends 1 & T ? true : false
type IsExactly<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
type Holds<T extends true> = T
type HasNoAny<T> = true extends { [Key in keyof T]-?: IsAny<T[Key]> }[keyof T] ? false : true
type Results = {
  [Key in keyof ContextStore]: ContextStore[Key] extends (...parameters: never) => infer R
    ? Awaited<R>
    : ContextStore[Key]
}

export type Checks = [
  Holds<HasNoAny<Results>>,
  Holds<HasNoAny<StoreEntry>>,
  Holds<HasNoAny<StoreEntrySummary>>,
  Holds<HasNoAny<NewStoreEntry>>,
  Holds<HasNoAny<StoreEntryChange>>,
  Holds<HasNoAny<StoreQuery>>,
  Holds<HasNoAny<StoreFilter>>,
  Holds<HasNoAny<RelatedOptions>>,
  Holds<HasNoAny<HousekeepingPolicy>>,
  Holds<HasNoAny<HousekeepingReport>>,
  Holds<HasNoAny<StoreVerifyReport>>,
  Holds<HasNoAny<ContextStoreOptions>>,
  Holds<HasNoAny<ContextStoreTools>>,
  Holds<IsExactly<ReturnType<ContextStore['write']>, Promise<StoreEntry>>>,
  Holds<IsExactly<ReturnType<ContextStore['search']>, Promise<StoreEntry[]>>>,
  Holds<IsExactly<ReturnType<ContextStore['list']>, Promise<StoreEntrySummary[]>>>,
  Holds<IsExactly<ReturnType<ContextStore['contextFiles']>, string[]>>,
  Holds<IsExactly<ReturnType<ContextStore['close']>, Promise<void>>>,
  Holds<IsExactly<StoreEntry['sessionId'], string | undefined>>,
  Holds<IsExactly<StoreEntry['type'], ContextType>>,
]
