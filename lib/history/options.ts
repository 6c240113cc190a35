/** Checks the options of a history and adds the defaults. */

import type { NativeHistoryOptions } from '#addon'
import {
  checkDurability,
  checkFunction,
  checkPath,
  checkTrust,
  checkWhole,
  count,
  optional,
} from '../arguments/checks.ts'
import { invalidArgument } from '../arguments/errors.ts'
import { checkFileSystemTimeout } from '../arguments/timeouts.ts'
import { checkFileSystem, resolveFile } from '../native/file-system.ts'
import { namespaceOf, refuseWithStorage } from '../storage/storage.ts'
import type { ContextHistoryOptions } from './types.ts'

export const DEFAULT_HISTORY_PATH = '.wink/context.jsonl'
const DEFAULT_LOCK_TIMEOUT = 10_000
const DEFAULT_MAXIMUM_ENTRY_BYTES = 64 * 1024 * 1024

/** The options of the native history, except its id, which `registerHooks` assigns. */
export type CheckedHistoryOptions = Omit<NativeHistoryOptions, 'id'>

/** Options of files, which a history in a database does not have. */
const FILE_OPTIONS = ['fileSystem', 'fileSystemTimeout', 'durability', 'trustLocks', 'allowShared', 'lockTimeout']

/** Checks the options of a history. `checkRedaction` checks those of redaction. */
export function checkHistoryOptions(options: ContextHistoryOptions): CheckedHistoryOptions {
  const fileSystem = optional(options.fileSystem, 'fileSystem', checkFileSystem)
  const path = optional(options.path, 'path', checkPath) ?? DEFAULT_HISTORY_PATH
  optional(options.onDebug, 'onDebug', checkFunction)
  const maxBytes = optional(options.maxBytes, 'maxBytes', checkBound)
  const maxEntries = optional(options.maxEntries, 'maxEntries', checkBound)
  const hasStorage = (options.storage ?? undefined) !== undefined
  if (hasStorage) {
    refuseWithStorage({ ...options }, FILE_OPTIONS)
  }
  return {
    ...(hasStorage
      ? { path: namespaceOf(path, 'path') }
      : resolveFile(path, 'path', fileSystem, checkFileSystemTimeout(options.fileSystemTimeout))),
    isDurable: optional(options.durability, 'durability', checkDurability) === 'full',
    lockTimeout: optional(options.lockTimeout, 'lockTimeout', checkWhole) ?? DEFAULT_LOCK_TIMEOUT,
    maxEntryBytes: count(options.maxEntryBytes, 'maxEntryBytes', DEFAULT_MAXIMUM_ENTRY_BYTES),
    ...(maxBytes === undefined ? {} : { maxBytes }),
    ...(maxEntries === undefined ? {} : { maxEntries }),
    ...checkTrust(options),
    hasDebug: typeof options.onDebug === 'function',
  }
}

/** Checks a size limit of a history; `Infinity` means no limit. */
function checkBound(value: number, name: string): number | undefined {
  if (value === Number.POSITIVE_INFINITY) {
    return undefined
  }
  if (!(Number.isSafeInteger(value) && value >= 1)) {
    throw invalidArgument(name, 'a whole number from 1 up, or Infinity', value)
  }
  return value
}
