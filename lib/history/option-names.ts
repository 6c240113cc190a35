/** The names of the options of this folder; see `known-options.ts`. */

import { CANCELLATION, knownOptions } from '../arguments/known-options.ts'
import type { CompactPolicy, ContextHistoryOptions, HistoryFilter, ReadOptions } from './types.ts'

export const historyOptions = knownOptions<ContextHistoryOptions>('ContextHistoryOptions', {
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

export const readOptions = knownOptions<ReadOptions>('ReadOptions', {
  ...CANCELLATION,
  maxBytes: true,
})

export const historyFilter = knownOptions<HistoryFilter>('HistoryFilter', {
  ...CANCELLATION,
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
