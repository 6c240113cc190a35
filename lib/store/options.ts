/** Checks the options of a context store and adds the defaults. */

import type { NativeStoreOptions } from '#addon'
import {
  checkDurability,
  checkFunction,
  checkPath,
  checkTrust,
  checkWhole,
  count,
  optional,
} from '../arguments/checks.ts'
import { checkFileSystemTimeout } from '../arguments/timeouts.ts'
import { checkFileSystem, describeFileSystem } from '../native/file-system.ts'
import type { Redacting } from '../redaction/redaction.ts'
import type { Storage } from '../storage/storage.ts'
import { checkDirectoryName, storeDirectory, storeSession } from './location.ts'
import type { ContextStoreOptions } from './types.ts'

const DEFAULT_LOCK_TIMEOUT = 10_000
const DEFAULT_MAXIMUM_ENTRY_BYTES = 16 * 1024 * 1024

/** The options of the native store, except its id, which `registerHooks` assigns. */
export type CheckedStoreOptions = Omit<NativeStoreOptions, 'id'>

/** Checks the options, except those of redaction. `prefix` is the beginning of the paths of the store's files. */
export function checkStoreOptions(
  options: ContextStoreOptions,
  redaction: Redacting | undefined,
  storage?: Storage,
): { checked: CheckedStoreOptions; prefix: string } {
  const fileSystem = optional(options.fileSystem, 'fileSystem', checkFileSystem)
  const timeout = checkFileSystemTimeout(options.fileSystemTimeout)
  const agent = checkDirectoryName(options.agent, 'agent', redaction)
  const path = optional(options.path, 'path', checkPath)
  const { directory, prefix } = storeDirectory(options.config, path, fileSystem, storage)
  optional(options.onDebug, 'onDebug', checkFunction)
  const checked = {
    path: directory,
    agent,
    ...storeSession(options.sessionId, redaction),
    isDurable: (optional(options.durability, 'durability', checkDurability) ?? 'full') === 'full',
    lockTimeout: optional(options.lockTimeout, 'lockTimeout', checkWhole) ?? DEFAULT_LOCK_TIMEOUT,
    maxEntryBytes: count(options.maxEntryBytes, 'maxEntryBytes', DEFAULT_MAXIMUM_ENTRY_BYTES),
    ...checkTrust(options),
    ...(fileSystem === undefined ? {} : { fileSystem: describeFileSystem(fileSystem, prefix, timeout) }),
    hasDebug: typeof options.onDebug === 'function',
  }
  return { checked, prefix }
}
