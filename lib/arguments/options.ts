/** Checks the options of the classes, and completes them with the defaults. */

import type { NativeHistoryOptions, NativeOptions } from '#addon'
import type { ContextHistoryOptions } from '../history/types.ts'
import type { ContextManagerOptions } from '../manager/types.ts'
import { checkFileSystem, describeFileSystem, resolveDirectory, resolveFile } from '../native/file-system.ts'
import { type Redacting, refuseSecret } from '../redaction/redaction.ts'
import {
  checkDurability,
  checkFunction,
  checkPath,
  checkTrust,
  checkWhole,
  count,
  duration,
  optional,
} from './checks.ts'
import { invalidArgument } from './errors.ts'
import { retentionOptions } from './option-names.ts'

export const DEFAULT_CONTEXT_DIRECTORY = '~/.agent/context'
export const DEFAULT_PERSIST_THRESHOLD = 32_768
const DEFAULT_MEMORY_BUDGET = 64 * 1024 * 1024
const DEFAULT_INDEX_BUDGET = 128 * 1024 * 1024
const DEFAULT_MAXIMUM_AGE = '7d'
const DEFAULT_MAXIMUM_FILES = 10_000
const DEFAULT_MAXIMUM_BYTES = 1024 * 1024 * 1024
const DEFAULT_MAXIMUM_RESULT_BYTES = 64 * 1024 * 1024
const MAXIMUM_SESSION_ID_LENGTH = 200
const DEFAULT_FILE_SYSTEM_TIMEOUT = 10_000
const DEFAULT_CLOSE_TIMEOUT = 30_000

export const DEFAULT_HISTORY_PATH = '.wink/context.jsonl'
const DEFAULT_LOCK_TIMEOUT = 10_000
const DEFAULT_MAXIMUM_ENTRY_BYTES = 64 * 1024 * 1024

/** What the native manager is told, without what only this side knows. */
export type CheckedOptions = Omit<NativeOptions, 'id'>

/** What the native history is told, without what only this side knows. */
export type CheckedHistoryOptions = Omit<NativeHistoryOptions, 'id'>

/** How long a call of an injected file system may take, in ms. */
export function checkFileSystemTimeout(value: number | null | undefined): number {
  return count(value, 'fileSystemTimeout', DEFAULT_FILE_SYSTEM_TIMEOUT)
}

/** How long `close()` waits for callers' functions, in ms. */
export function checkCloseTimeout(value: number | null | undefined): number {
  return count(value, 'closeTimeout', DEFAULT_CLOSE_TIMEOUT)
}

/** Checks the options of a manager, those of redaction aside. */
export function checkOptions(options: ContextManagerOptions, redaction: Redacting | undefined): CheckedOptions {
  const fileSystem = optional(options.fileSystem, 'fileSystem', checkFileSystem)
  const timeout = checkFileSystemTimeout(options.fileSystemTimeout)
  const directory = resolveDirectory(
    optional(options.contextDir, 'contextDir', checkPath) ?? DEFAULT_CONTEXT_DIRECTORY,
    'contextDir',
    fileSystem,
  )
  for (const name of ['shouldPersist', 'describe', 'onDebug'] as const) {
    optional(options[name], name, checkFunction)
  }
  const retention = optional(options.retention, 'retention', retentionOptions) ?? {}
  const session = optional(options.sessionId, 'sessionId', checkSession)
  if (session !== undefined) {
    refuseSecret(redaction, session, 'sessionId')
  }
  const persist = options.persist ?? 'all'
  if (persist !== 'all' && persist !== 'large') {
    throw invalidArgument('persist', "'all' or 'large'", persist)
  }
  return {
    ...directory,
    session: session ?? globalThis.crypto.randomUUID(),
    sessionIsNamed: session !== undefined,
    persistThreshold: count(options.persistThreshold, 'persistThreshold', DEFAULT_PERSIST_THRESHOLD),
    persistAll: persist === 'all',
    memoryBudget: count(options.memoryBudget, 'memoryBudget', DEFAULT_MEMORY_BUDGET),
    indexBudget: count(options.indexBudget, 'indexBudget', DEFAULT_INDEX_BUDGET),
    maxAge: duration(retention.maxAge ?? DEFAULT_MAXIMUM_AGE, 'retention.maxAge'),
    maxFiles: count(retention.maxFiles, 'retention.maxFiles', DEFAULT_MAXIMUM_FILES),
    maxBytes: count(retention.maxBytes, 'retention.maxBytes', DEFAULT_MAXIMUM_BYTES),
    maxResultBytes: count(retention.maxResultBytes, 'retention.maxResultBytes', DEFAULT_MAXIMUM_RESULT_BYTES),
    isDurable: optional(options.durability, 'durability', checkDurability) === 'full',
    ...checkTrust(options),
    ...(fileSystem === undefined ? {} : { fileSystem: describeFileSystem(fileSystem, directory.prefix, timeout) }),
    hasDebug: typeof options.onDebug === 'function',
    reportsRedaction: redaction?.onRedaction !== undefined,
  }
}

/** Checks the options of a history, those of redaction aside. */
export function checkHistoryOptions(options: ContextHistoryOptions): CheckedHistoryOptions {
  const fileSystem = optional(options.fileSystem, 'fileSystem', checkFileSystem)
  const path = optional(options.path, 'path', checkPath) ?? DEFAULT_HISTORY_PATH
  optional(options.onDebug, 'onDebug', checkFunction)
  return {
    ...resolveFile(path, 'path', fileSystem, checkFileSystemTimeout(options.fileSystemTimeout)),
    isDurable: optional(options.durability, 'durability', checkDurability) === 'full',
    lockTimeout: optional(options.lockTimeout, 'lockTimeout', checkWhole) ?? DEFAULT_LOCK_TIMEOUT,
    maxEntryBytes: count(options.maxEntryBytes, 'maxEntryBytes', DEFAULT_MAXIMUM_ENTRY_BYTES),
    ...checkTrust(options),
    hasDebug: typeof options.onDebug === 'function',
  }
}

function checkSession(value: string, name: string): string {
  // Sessions are listed line by line in lease files.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is refused
  const isPlain = typeof value === 'string' && !/[\0-\x1f\x7f\ud800-\udfff]/u.test(value)
  if (!isPlain || value === '' || value.length > MAXIMUM_SESSION_ID_LENGTH) {
    throw invalidArgument(
      name,
      `a string of 1 to ${MAXIMUM_SESSION_ID_LENGTH} characters without control characters`,
      value,
    )
  }
  return value
}
