/** The names of all options of this folder's classes, by which `known-options.ts` recognises unknown options. */

import { CANCELLATION, knownOptions, type Names } from '../arguments/known-options.ts'
import { EMBEDDING } from '../embedding/option-names.ts'
import type {
  AppendSummaryOptions,
  ContextPackOptions,
  RepoHashOptions,
  RepoMapFocus,
  RepoMapOptions,
  RepoMemoryLocation,
  RepoMemoryMigration,
  RepoMemoryOptions,
  WorkflowStepOptions,
} from './types.ts'

const REPO_HASH: Names<RepoHashOptions> = {
  branchScope: true,
}

const REPO_STORAGE: Names<
  Omit<RepoMemoryOptions, 'onDebug' | 'storage' | 'blobs' | 'fileSystem' | 'fileSystemTimeout' | 'closeTimeout'>
> = {
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

export const repoMemoryOptions = knownOptions<RepoMemoryLocation & RepoMemoryOptions>('RepoMemoryOptions', {
  ...REPO_STORAGE,
  workspace: true,
  repoHash: true,
  fileSystem: true,
  storage: true,
  blobs: true,
  fileSystemTimeout: true,
  closeTimeout: true,
  onDebug: true,
})

export const repoHashOptions = knownOptions<RepoHashOptions>('RepoHashOptions', REPO_HASH)

export const repoMigration = knownOptions<RepoMemoryMigration>('RepoMemoryMigration', {
  ...REPO_STORAGE,
  fromWorkspace: true,
  fromRepoHash: true,
  workspace: true,
})

export const appendSummaryOptions = knownOptions<AppendSummaryOptions>('AppendSummaryOptions', {
  operationId: true,
})

export const packOptions = knownOptions<ContextPackOptions>('ContextPackOptions', {
  ...CANCELLATION,
  ...EMBEDDING,
  query: true,
  latestSummaries: true,
  repoMap: true,
  maxTokens: true,
  countTokens: true,
})

export const repoMapFocus = knownOptions<RepoMapFocus>('RepoMapFocus', REPO_MAP_FOCUS)

export const repoMapOptions = knownOptions<RepoMapOptions>('RepoMapOptions', {
  ...REPO_MAP_FOCUS,
  ...CANCELLATION,
  maxChars: true,
  onProgress: true,
})

export const workflowStepOptions = knownOptions<WorkflowStepOptions<never>>('WorkflowStepOptions', {
  summarise: true,
  summariseTimeout: true,
  tags: true,
})
