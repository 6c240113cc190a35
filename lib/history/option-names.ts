/** The names of all options of this folder's classes, by which `known-options.ts` recognises unknown options. */

import { CANCELLATION, knownOptions } from '../arguments/known-options.ts'
import { EMBEDDING } from '../embedding/option-names.ts'
import type {
  AppendOptions,
  CompactPolicy,
  ContextHistoryOptions,
  HistoryFilter,
  ReadOptions,
  TailOptions,
} from './types.ts'

export const historyOptions = knownOptions<ContextHistoryOptions>('ContextHistoryOptions', {
  path: true,
  storage: true,
  blobs: true,
  fileSystem: true,
  fileSystemTimeout: true,
  closeTimeout: true,
  durability: true,
  trustLocks: true,
  allowShared: true,
  lockTimeout: true,
  maxEntryBytes: true,
  maxBytes: true,
  maxEntries: true,
  redaction: true,
  onDebug: true,
})

export const appendOptions = knownOptions<AppendOptions>('AppendOptions', {
  ifLast: true,
})

export const readOptions = knownOptions<ReadOptions>('ReadOptions', {
  ...CANCELLATION,
  maxBytes: true,
})

export const tailOptions = knownOptions<TailOptions>('TailOptions', {
  ...CANCELLATION,
  last: true,
  after: true,
})

export const historyFilter = knownOptions<HistoryFilter>('HistoryFilter', {
  ...CANCELLATION,
  ...EMBEDDING,
  toolName: true,
  success: true,
  since: true,
  until: true,
  text: true,
  ranked: true,
  limit: true,
})

export const compactPolicy = knownOptions<CompactPolicy>('CompactPolicy', {
  ...CANCELLATION,
  keepLast: true,
  maxAge: true,
  maxBytes: true,
  summarise: true,
  summariseTimeout: true,
})
