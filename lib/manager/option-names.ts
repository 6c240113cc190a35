/** The names of the options of this folder; see `known-options.ts`. */

import { CANCELLATION, knownOptions, type Names } from '../arguments/known-options.ts'
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
} from './retrieval-types.ts'
import type { ContextManagerOptions, RetentionOptions } from './types.ts'

const CONTEXT_FILTER: Names<ContextFilter> = {
  queryId: true,
  taskId: true,
  toolName: true,
  since: true,
  until: true,
}

export const managerOptions = knownOptions<ContextManagerOptions>('ContextManagerOptions', {
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

export const retentionOptions = knownOptions<RetentionOptions>('RetentionOptions', {
  maxAge: true,
  maxFiles: true,
  maxBytes: true,
  maxResultBytes: true,
})

export const offloadPolicy = knownOptions<OffloadPolicy>('OffloadPolicy', {
  threshold: true,
  toolThresholds: true,
  exemptTools: true,
  turnBudget: true,
  previewBytes: true,
})

export const offloadOptions = knownOptions<OffloadOptions>('OffloadOptions', {
  taskId: true,
  queryId: true,
  threshold: true,
})

export const latestOptions = knownOptions<LatestOptions>('LatestOptions', {
  toolName: true,
  before: true,
  limit: true,
})

export const selectOptions = knownOptions<SelectOptions>('SelectOptions', {
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

export const searchOptions = knownOptions<SearchOptions>('SearchOptions', {
  ...CONTEXT_FILTER,
  ...CANCELLATION,
  sessions: true,
  limit: true,
  snippets: true,
  snippetLength: true,
})

export const sliceOptions = knownOptions<SliceOptions>('SliceOptions', {
  ...CANCELLATION,
  lines: true,
  bytes: true,
  grep: true,
  jsonPath: true,
  maxBytes: true,
})

export const sliceRange = knownOptions<SliceRange>('SliceRange', {
  from: true,
  to: true,
})

export const grepOptions = knownOptions<GrepOptions>('GrepOptions', {
  pattern: true,
  ignoreCase: true,
  before: true,
  after: true,
  from: true,
  fromByte: true,
})
