/**
 * The names of every options object. A check refuses an object that has any other: a misspelt option would have no effect
 * and give no sign of that. Each table has exactly the names of its type; the compiler refuses it otherwise.
 *
 * What is data keeps members that this package does not know, and has no table: entries, records, outputs and outcomes of
 * tools, pointers, events, `config`, file systems, and objects whose keys are names of the caller's (`toolThresholds`, the
 * `retention` of agents).
 */

import type { CompactPolicy, ContextHistoryOptions, HistoryFilter, ReadOptions } from '../history/types.ts'
import type {
  ContextFilter,
  GrepOptions,
  LatestOptions,
  OffloadOptions,
  OffloadPolicy,
  SearchOptions,
  SelectOptions,
  SliceOptions,
  SliceRange,
} from '../manager/retrieval-types.ts'
import type { ContextManagerOptions, RetentionOptions } from '../manager/types.ts'
import type { RedactionOptions, RedactionPattern } from '../redaction/types.ts'
import type {
  ContextPackOptions,
  RepoHashOptions,
  RepoMapFocus,
  RepoMapOptions,
  RepoMemoryLocation,
  RepoMemoryMigration,
  RepoMemoryOptions,
  WorkflowStepOptions,
} from '../repo/types.ts'
import type {
  ContextStoreOptions,
  HousekeepingPolicy,
  RelatedOptions,
  StoreEntry,
  StoreEntryChange,
  StoreFilter,
  StoreQuery,
  StoreTagFilter,
  UpdateOptions,
} from '../store/types.ts'
import type { AutoRecordOptions } from '../tools/auto-record.ts'
import type { ContextStoreToolsOptions } from '../tools/context-store-tools.ts'
import type { ContextToolsOptions } from '../tools/context-tools.ts'
import type { ReadContextOptions } from '../tools/read-context-tool.ts'
import type { ToolRecorderOptions } from '../tools/recorder.ts'
import { optional, readSignal } from './checks.ts'
import { contextError, inspect, invalidArgument } from './errors.ts'
import { nearestName } from './nearest-name.ts'
import type { CancellationOptions } from './types.ts'

/** Parameters of public methods: the name of an option says enough without them. */
const PARAMETERS: ReadonlySet<string> = new Set(['options', 'filter', 'query', 'policy', 'change'])

/** So many names are listed when none is near. */
const MAXIMUM_LISTED = 8

/** A check of an options object; it gives the object back. */
type OptionsCheck<Options> = <Given extends Options>(given: Given, name: string) => Given

/** The names of every member of a union. */
type NameOf<Options> = Options extends unknown ? keyof Options & string : never

type Names<Options> = { readonly [Name in NameOf<Options>]: true }

/**
 * @param type the name of the options' type
 * @param names the names of all options
 * @param ignored further names that are accepted and mean nothing
 */
function named<Options extends object>(
  type: string,
  names: Names<Options>,
  ignored: Readonly<Record<string, true>> = {},
): OptionsCheck<Options> {
  const known = Object.keys(names)
  return (given, name) => {
    if (typeof given !== 'object' || given === null || Array.isArray(given)) {
      throw invalidArgument(name, 'an object', given)
    }
    for (const key of Object.keys(given)) {
      const isKnown = Object.hasOwn(names, key) || Object.hasOwn(ignored, key)
      // An absent value has no effect under the right name, either.
      if (!isKnown && ((given as Record<string, unknown>)[key] ?? undefined) !== undefined) {
        throw unknownOption(key, name, known, type)
      }
    }
    return given
  }
}

function unknownOption(key: string, name: string, known: readonly string[], type: string): Error {
  const place = PARAMETERS.has(name) ? '' : `${name}.`
  const nearest = nearestName(key, known)
  const advice = nearest === undefined ? listOf(known, type) : `did you mean '${nearest}'?`
  return contextError(
    'ERR_CONTEXT_INVALID_ARGUMENT',
    `unknown option '${place}${inspect(key).slice(1, -1)}': ${advice}`,
  )
}

function listOf(known: readonly string[], type: string): string {
  if (known.length > MAXIMUM_LISTED) {
    return `see the type ${type} for the known ones`
  }
  return `known ${known.length === 1 ? 'is' : 'are'} ${known.map((name) => `'${name}'`).join(', ')}`
}

const CANCELLATION: Names<CancellationOptions> = { signal: true }

const CONTEXT_FILTER: Names<ContextFilter> = {
  queryId: true,
  taskId: true,
  toolName: true,
  since: true,
  until: true,
}

const STORE_FILTER: Names<StoreFilter> = {
  ...CANCELLATION,
  agent: true,
  sessionId: true,
  type: true,
  tags: true,
  since: true,
  until: true,
  superseded: true,
  limit: true,
}

const REPO_HASH: Names<RepoHashOptions> = {
  branchScope: true,
}

const REPO_STORAGE: Names<Omit<RepoMemoryOptions, 'onDebug'>> = {
  ...REPO_HASH,
  root: true,
  durability: true,
  trustLocks: true,
  allowShared: true,
  lockTimeout: true,
  maxSummaries: true,
  maxSummaryBytes: true,
  redaction: true,
}

const REPO_MAP_FOCUS: Names<RepoMapFocus> = {
  focus: true,
}

/** An entry that was read may be passed as its own change. */
const STORE_ENTRY: Names<StoreEntry> = {
  path: true,
  filePath: true,
  agent: true,
  sessionId: true,
  timestamp: true,
  type: true,
  tags: true,
  links: true,
  supersededBy: true,
  content: true,
  revision: true,
  changelog: true,
}

const cancellationOptions = named<CancellationOptions>('CancellationOptions', CANCELLATION)

/** The signal of a call that has no other option. */
export function readCancellation(options: CancellationOptions | null | undefined): AbortSignal | undefined {
  return readSignal(optional(options, 'options', cancellationOptions))
}

export const managerOptions = named<ContextManagerOptions>('ContextManagerOptions', {
  contextDir: true,
  persistThreshold: true,
  persist: true,
  memoryBudget: true,
  indexBudget: true,
  sessionId: true,
  shouldPersist: true,
  retention: true,
  durability: true,
  trustLocks: true,
  allowShared: true,
  fileSystem: true,
  fileSystemTimeout: true,
  closeTimeout: true,
  describe: true,
  offload: true,
  redaction: true,
  onDebug: true,
})

export const retentionOptions = named<RetentionOptions>('RetentionOptions', {
  maxAge: true,
  maxFiles: true,
  maxBytes: true,
  maxResultBytes: true,
})

export const offloadPolicy = named<OffloadPolicy>('OffloadPolicy', {
  threshold: true,
  toolThresholds: true,
  exemptTools: true,
  turnBudget: true,
  previewBytes: true,
})

export const offloadOptions = named<OffloadOptions>('OffloadOptions', {
  taskId: true,
  queryId: true,
  threshold: true,
})

export const latestOptions = named<LatestOptions>('LatestOptions', {
  toolName: true,
  before: true,
  limit: true,
})

export const selectOptions = named<SelectOptions>('SelectOptions', {
  ...CONTEXT_FILTER,
  ...CANCELLATION,
  limit: true,
  pointers: true,
  minScore: true,
  maxBytes: true,
  maxTokens: true,
  countTokens: true,
  recencyWeight: true,
  neighbours: true,
  selector: true,
  selectorTimeout: true,
  embed: true,
  embedTimeout: true,
  explain: true,
})

export const searchOptions = named<SearchOptions>('SearchOptions', {
  ...CONTEXT_FILTER,
  ...CANCELLATION,
  sessions: true,
  limit: true,
  snippets: true,
  snippetLength: true,
})

export const sliceOptions = named<SliceOptions>('SliceOptions', {
  ...CANCELLATION,
  lines: true,
  bytes: true,
  grep: true,
  jsonPath: true,
  maxBytes: true,
})

export const sliceRange = named<SliceRange>('SliceRange', {
  from: true,
  to: true,
})

export const grepOptions = named<GrepOptions>('GrepOptions', {
  pattern: true,
  ignoreCase: true,
  before: true,
  after: true,
  from: true,
  fromByte: true,
})

export const redactionOptions = named<RedactionOptions>('RedactionOptions', {
  patterns: true,
  allow: true,
  disable: true,
  keys: true,
  environment: true,
  replacement: true,
  onRedaction: true,
})

export const redactionPattern = named<RedactionPattern>('RedactionPattern', {
  name: true,
  pattern: true,
  flags: true,
  literals: true,
})

export const recorderOptions = named<ToolRecorderOptions>('ToolRecorderOptions', {
  history: true,
  taskId: true,
  onError: true,
})

export const autoRecordOptions = named<AutoRecordOptions>('AutoRecordOptions', {
  onError: true,
})

export const readContextOptions = named<ReadContextOptions>('ReadContextOptions', {
  maxBytes: true,
})

export const contextToolsOptions = named<ContextToolsOptions>('ContextToolsOptions', {
  maxBytes: true,
})

export const contextStoreToolsOptions = named<ContextStoreToolsOptions>('ContextStoreToolsOptions', {
  maxBytes: true,
})

export const historyOptions = named<ContextHistoryOptions>('ContextHistoryOptions', {
  path: true,
  fileSystem: true,
  fileSystemTimeout: true,
  closeTimeout: true,
  durability: true,
  trustLocks: true,
  allowShared: true,
  lockTimeout: true,
  maxEntryBytes: true,
  redaction: true,
  onDebug: true,
})

export const readOptions = named<ReadOptions>('ReadOptions', {
  ...CANCELLATION,
  maxBytes: true,
})

export const historyFilter = named<HistoryFilter>('HistoryFilter', {
  ...CANCELLATION,
  toolName: true,
  success: true,
  since: true,
  until: true,
  text: true,
  ranked: true,
  limit: true,
})

export const compactPolicy = named<CompactPolicy>('CompactPolicy', {
  ...CANCELLATION,
  keepLast: true,
  maxAge: true,
  maxBytes: true,
  summarise: true,
  summariseTimeout: true,
})

export const storeOptions = named<ContextStoreOptions>('ContextStoreOptions', {
  agent: true,
  path: true,
  sessionId: true,
  config: true,
  durability: true,
  trustLocks: true,
  allowShared: true,
  fileSystem: true,
  fileSystemTimeout: true,
  closeTimeout: true,
  redaction: true,
  lockTimeout: true,
  maxEntryBytes: true,
  onDebug: true,
})

export const storeEntryChange = named<StoreEntryChange>(
  'StoreEntryChange',
  {
    content: true,
    type: true,
    tags: true,
    addTags: true,
    removeTags: true,
    links: true,
    removeLinks: true,
  },
  STORE_ENTRY,
)

export const updateOptions = named<UpdateOptions>('UpdateOptions', {
  ifRevision: true,
})

export const storeFilter = named<StoreFilter>('StoreFilter', STORE_FILTER)

export const storeQuery = named<StoreQuery>('StoreQuery', {
  ...STORE_FILTER,
  query: true,
  ranked: true,
})

export const storeTagFilter = named<StoreTagFilter>('StoreTagFilter', {
  all: true,
  any: true,
})

export const relatedOptions = named<RelatedOptions>('RelatedOptions', {
  ...CANCELLATION,
  depth: true,
  direction: true,
  limit: true,
})

export const housekeepingPolicy = named<HousekeepingPolicy>('HousekeepingPolicy', {
  ...CANCELLATION,
  olderThan: true,
  retention: true,
  agents: true,
  dryRun: true,
  includeLinked: true,
  onProgress: true,
})

export const repoMemoryOptions = named<RepoMemoryLocation & RepoMemoryOptions>('RepoMemoryOptions', {
  ...REPO_STORAGE,
  workspace: true,
  repoHash: true,
  onDebug: true,
})

export const repoHashOptions = named<RepoHashOptions>('RepoHashOptions', REPO_HASH)

export const repoMigration = named<RepoMemoryMigration>('RepoMemoryMigration', {
  ...REPO_STORAGE,
  fromWorkspace: true,
  fromRepoHash: true,
  workspace: true,
})

export const packOptions = named<ContextPackOptions>('ContextPackOptions', {
  ...CANCELLATION,
  query: true,
  latestSummaries: true,
  repoMap: true,
  maxTokens: true,
  countTokens: true,
})

export const repoMapFocus = named<RepoMapFocus>('RepoMapFocus', REPO_MAP_FOCUS)

export const repoMapOptions = named<RepoMapOptions>('RepoMapOptions', {
  ...REPO_MAP_FOCUS,
  ...CANCELLATION,
  maxChars: true,
  onProgress: true,
})

export const workflowStepOptions = named<WorkflowStepOptions<never>>('WorkflowStepOptions', {
  summarise: true,
  summariseTimeout: true,
  tags: true,
})
