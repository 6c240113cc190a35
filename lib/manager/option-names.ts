/** The names of all options of this folder's classes, by which `known-options.ts` recognises unknown options. */

import { CANCELLATION, knownOptions, type Names } from '../arguments/known-options.ts'
import { EMBEDDING } from '../embedding/option-names.ts'
import type { OffloadAllOptions, OffloadOptions, OffloadPolicy, OffloadValueOptions } from './offload-types.ts'
import type {
  ContextFilter,
  GrepContextsOptions,
  GrepOptions,
  LatestOptions,
  SearchOptions,
  SelectOptions,
  SliceOptions,
  SliceRange,
} from './retrieval-types.ts'
import type {
  ContextFiles,
  ContextManagerOptions,
  FindOptions,
  ForgetFilter,
  ForgetOptions,
  ImportRecordOptions,
  RecordStreamOptions,
  RetentionOptions,
  SweepOptions,
} from './types.ts'

const CONTEXT_FILTER: Names<ContextFilter> = {
  queryId: true,
  taskId: true,
  toolName: true,
  callId: true,
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
  resume: true,
  shouldPersist: true,
  retention: true,
  durability: true,
  trustLocks: true,
  allowShared: true,
  fileSystem: true,
  storage: true,
  blobs: true,
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
  keepPaused: true,
  maxPausedBytes: true,
  maxLiveBytes: true,
  maxLiveFiles: true,
  maxResultBytes: true,
})

export const offloadPolicy = knownOptions<OffloadPolicy>('OffloadPolicy', {
  threshold: true,
  maxTokens: true,
  toolThresholds: true,
  exemptTools: true,
  turnBudget: true,
  turnTokens: true,
  previewBytes: true,
  previewTokens: true,
  countTokens: true,
  prefix: true,
  redactPlaceholders: true,
})

const OFFLOAD_OPTIONS: Names<OffloadOptions> = {
  ...CANCELLATION,
  taskId: true,
  queryId: true,
  threshold: true,
  maxTokens: true,
  kind: true,
  callId: true,
  ifAbsent: true,
  outcome: true,
  mediaType: true,
  prefix: true,
}

export const offloadOptions = knownOptions<OffloadOptions>('OffloadOptions', OFFLOAD_OPTIONS)

export const offloadValueOptions = knownOptions<OffloadValueOptions>('OffloadValueOptions', {
  ...OFFLOAD_OPTIONS,
  blocks: true,
})

export const offloadAllOptions = knownOptions<OffloadAllOptions>('OffloadAllOptions', {
  contextTokens: true,
  startAt: true,
  window: true,
})

export const recordStreamOptions = knownOptions<RecordStreamOptions>('RecordStreamOptions', {
  taskId: true,
  queryId: true,
  success: true,
  error: true,
  message: true,
  durationMs: true,
  exitCode: true,
  callId: true,
  spanId: true,
  startedAt: true,
  mediaType: true,
  ifAbsent: true,
})

export const contextFiles = knownOptions<ContextFiles>('ContextFiles', {
  filename: true,
  record: true,
  bytes: true,
})

export const importRecordOptions = knownOptions<ImportRecordOptions>('ImportRecordOptions', {
  ...CANCELLATION,
  dryRun: true,
})

export const latestOptions = knownOptions<LatestOptions>('LatestOptions', {
  toolName: true,
  before: true,
  limit: true,
})

export const selectOptions = knownOptions<SelectOptions>('SelectOptions', {
  ...CONTEXT_FILTER,
  ...EMBEDDING,
  ...CANCELLATION,
  sessions: true,
  limit: true,
  pointers: true,
  minScore: true,
  maxBytes: true,
  maxTokens: true,
  countTokens: true,
  recencyWeight: true,
  neighbours: true,
  fill: true,
  selector: true,
  selectorTimeout: true,
  explain: true,
})

export const searchOptions = knownOptions<SearchOptions>('SearchOptions', {
  ...CONTEXT_FILTER,
  ...EMBEDDING,
  ...CANCELLATION,
  sessions: true,
  limit: true,
  snippets: true,
  snippetLength: true,
  explain: true,
})

export const sliceOptions = knownOptions<SliceOptions>('SliceOptions', {
  ...CANCELLATION,
  lines: true,
  bytes: true,
  grep: true,
  jsonPath: true,
  maxBytes: true,
  sessions: true,
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

export const sweepOptions = knownOptions<SweepOptions>('SweepOptions', {
  ...CANCELLATION,
  dryRun: true,
})

export const forgetFilter = knownOptions<ForgetFilter>('ForgetFilter', {
  toolName: true,
  before: true,
  after: true,
  queryId: true,
  taskId: true,
  callId: true,
  sessionId: true,
})

export const forgetOptions = knownOptions<ForgetOptions>('ForgetOptions', {
  dryRun: true,
})

export const findOptions = knownOptions<FindOptions>('FindOptions', {
  ...CANCELLATION,
  maxAge: true,
  sessions: true,
})
export const grepContextsOptions = knownOptions<GrepContextsOptions>('GrepContextsOptions', {
  ...CANCELLATION,
  paths: true,
  filter: true,
  before: true,
  after: true,
  ignoreCase: true,
  limit: true,
  maxBytes: true,
})

export const contextFilter = knownOptions<ContextFilter>('ContextFilter', CONTEXT_FILTER)
