/** The names of all options of this folder's classes, by which `known-options.ts` recognises unknown options. */

import { CANCELLATION, knownOptions, type Names } from '../arguments/known-options.ts'
import { EMBEDDING } from '../embedding/option-names.ts'
import type {
  StateComparison,
  StateDeleteOptions,
  StateListOptions,
  StateNamespacesOptions,
  StateOperation,
  StatePutOptions,
  StateSearchOptions,
  StateStoreOptions,
  StateTransactionOptions,
  StateValueOptions,
  StateWatchOptions,
} from './types.ts'

export const stateStoreOptions = knownOptions<StateStoreOptions>('StateStoreOptions', {
  path: true,
  storage: true,
  blobs: true,
  namespace: true,
  durability: true,
  redaction: true,
  maxValueBytes: true,
  lockTimeout: true,
  indexes: true,
  maxChanges: true,
  trustLocks: true,
  allowShared: true,
  onDebug: true,
})

const VALUE: Names<StateValueOptions> = { ttl: true, expiresAt: true, mediaType: true }

export const stateValueOptions = knownOptions<StateValueOptions>('StateValueOptions', VALUE)

export const statePutOptions = knownOptions<StatePutOptions>('StatePutOptions', {
  ...VALUE,
  ifRevision: true,
})

export const stateDeleteOptions = knownOptions<StateDeleteOptions>('StateDeleteOptions', {
  ifRevision: true,
})

export const stateOperation = knownOptions<StateOperation>('StateOperation', {
  type: true,
  namespace: true,
  key: true,
  value: true,
  ifRevision: true,
  ttl: true,
  expiresAt: true,
  mediaType: true,
})

export const stateListOptions = knownOptions<StateListOptions>('StateListOptions', {
  ...CANCELLATION,
  keyPrefix: true,
  filter: true,
  order: true,
  limit: true,
  cursor: true,
})

export const stateSearchOptions = knownOptions<StateSearchOptions>('StateSearchOptions', {
  ...CANCELLATION,
  ...EMBEDDING,
  filter: true,
  limit: true,
})

export const stateNamespacesOptions = knownOptions<StateNamespacesOptions>('StateNamespacesOptions', {
  ...CANCELLATION,
  prefix: true,
  suffix: true,
  maxDepth: true,
  limit: true,
  cursor: true,
})

export const stateTransactionOptions = knownOptions<StateTransactionOptions>('StateTransactionOptions', {
  ...CANCELLATION,
  attempts: true,
})

export const stateWatchOptions = knownOptions<StateWatchOptions>('StateWatchOptions', {
  ...CANCELLATION,
  since: true,
})

export const stateComparison = knownOptions<StateComparison>('StateComparison', {
  $eq: true,
  $ne: true,
  $gt: true,
  $gte: true,
  $lt: true,
  $lte: true,
  $in: true,
  $exists: true,
})
