/** The names of all options of this folder's classes, by which `known-options.ts` recognises unknown options. */

import { CANCELLATION, knownOptions, type Names } from '../arguments/known-options.ts'
import { EMBEDDING } from '../embedding/option-names.ts'
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
} from './types.ts'

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

/** All members of an entry are accepted in a change, so that an entry that was read can be passed as one. */
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

export const storeOptions = knownOptions<ContextStoreOptions>('ContextStoreOptions', {
  agent: true,
  path: true,
  sessionId: true,
  config: true,
  durability: true,
  trustLocks: true,
  allowShared: true,
  fileSystem: true,
  storage: true,
  blobs: true,
  fileSystemTimeout: true,
  closeTimeout: true,
  redaction: true,
  lockTimeout: true,
  maxEntryBytes: true,
  onDebug: true,
})

export const storeEntryChange = knownOptions<StoreEntryChange>(
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

export const updateOptions = knownOptions<UpdateOptions>('UpdateOptions', {
  ifRevision: true,
})

export const storeFilter = knownOptions<StoreFilter>('StoreFilter', STORE_FILTER)

export const storeQuery = knownOptions<StoreQuery>('StoreQuery', {
  ...STORE_FILTER,
  ...EMBEDDING,
  query: true,
  ranked: true,
})

export const storeTagFilter = knownOptions<StoreTagFilter>('StoreTagFilter', {
  all: true,
  any: true,
})

export const relatedOptions = knownOptions<RelatedOptions>('RelatedOptions', {
  ...CANCELLATION,
  depth: true,
  direction: true,
  limit: true,
})

export const housekeepingPolicy = knownOptions<HousekeepingPolicy>('HousekeepingPolicy', {
  ...CANCELLATION,
  olderThan: true,
  retention: true,
  agents: true,
  dryRun: true,
  includeLinked: true,
  onProgress: true,
})
