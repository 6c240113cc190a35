/** Checks the options of a state store and adds the defaults. */

import type { NativeStateOptions } from '#addon'
import {
  checkDurability,
  checkFunction,
  checkPath,
  checkTrust,
  checkWhole,
  count,
  optional,
} from '../arguments/checks.ts'
import { contextError, invalidArgument } from '../arguments/errors.ts'
import { resolveFile } from '../native/file-system.ts'
import { checkStorage, namespaceOf, refuseWithStorage, type Storage } from '../storage/storage.ts'
import { memberPath } from './filter.ts'
import type { StateStoreOptions } from './types.ts'

export const DEFAULT_STATE_PATH = '~/.agent/state.db'
const DEFAULT_LOCK_TIMEOUT = 10_000
const DEFAULT_MAXIMUM_CHANGES = 100_000
const DEFAULT_MAXIMUM_VALUE_BYTES = 64 * 1024 * 1024
/** The largest value that SQLite and a JavaScript string can hold, in bytes. */
const MAXIMUM_VALUE_BYTES = 0x1fffffe8

/** The options of the native store, except its id and its namespace, and its database. */
export type CheckedStateOptions = Omit<NativeStateOptions, 'id' | 'root'> & { readonly storage: Storage | undefined }

/** Checks the options, except those of redaction and the namespace. */
export function checkStateOptions(options: StateStoreOptions): CheckedStateOptions {
  const path = optional(options.path, 'path', checkPath) ?? DEFAULT_STATE_PATH
  optional(options.onDebug, 'onDebug', checkFunction)
  const storage = checkStorage(options)
  if (storage !== undefined) {
    refuseWithStorage({ ...options }, ['durability', 'lockTimeout', 'trustLocks', 'allowShared'])
  }
  const maxChanges = count(options.maxChanges, 'maxChanges', DEFAULT_MAXIMUM_CHANGES)
  return {
    storage,
    path: storage === undefined ? wellFormed(resolveFile(path, 'path', undefined, 0).path) : namespaceOf(path, 'path'),
    isDurable: optional(options.durability, 'durability', checkDurability) === 'full',
    lockTimeout: optional(options.lockTimeout, 'lockTimeout', checkWhole) ?? DEFAULT_LOCK_TIMEOUT,
    maxValueBytes: Math.min(
      count(options.maxValueBytes, 'maxValueBytes', DEFAULT_MAXIMUM_VALUE_BYTES),
      MAXIMUM_VALUE_BYTES,
    ),
    maxChanges: Math.min(maxChanges, Number.MAX_SAFE_INTEGER),
    indexes: checkIndexes(options.indexes),
    ...checkTrust(options),
    hasDebug: typeof options.onDebug === 'function',
  }
}

function checkIndexes(indexes: readonly string[] | null | undefined): string[][] {
  const given = indexes ?? []
  if (!Array.isArray(given)) {
    throw invalidArgument('indexes', 'an array of paths', given)
  }
  return Array.from(given as readonly string[], (path, index) => {
    if (typeof path !== 'string' || !path.startsWith('$.')) {
      throw invalidArgument(`indexes[${index}]`, "a path such as '$.type'", path)
    }
    return [...memberPath(path, `indexes[${index}]`)]
  })
}

function wellFormed(path: string): string {
  if (!path.isWellFormed()) {
    throw contextError('ERR_CONTEXT_INVALID_ARGUMENT', 'path must have no lone surrogates')
  }
  return path
}
