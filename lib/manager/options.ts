/** Checks the options of a manager and adds the defaults. */

import { type NativeOptions, newUuid } from '#addon'
import {
  checkBoolean,
  checkDurability,
  checkFunction,
  checkPath,
  checkTrust,
  count,
  duration,
  optional,
} from '../arguments/checks.ts'
import { invalidArgument } from '../arguments/errors.ts'
import { checkFileSystemTimeout } from '../arguments/timeouts.ts'
import { checkFileSystem, describeFileSystem, resolveDirectory } from '../native/file-system.ts'
import { type Redacting, refuseSecret } from '../redaction/redaction.ts'
import { namespaceDirectory, type Storage } from '../storage/storage.ts'
import { retentionOptions } from './option-names.ts'
import type { ContextManagerOptions } from './types.ts'

export const DEFAULT_CONTEXT_DIRECTORY = '~/.agent/context'
export const DEFAULT_PERSIST_THRESHOLD = 32_768
const DEFAULT_MEMORY_BUDGET = 64 * 1024 * 1024
const DEFAULT_INDEX_BUDGET = 128 * 1024 * 1024
const DEFAULT_MAXIMUM_AGE = '7d'
const DEFAULT_KEEP_PAUSED = '7d'
const DEFAULT_MAXIMUM_FILES = 10_000
const DEFAULT_MAXIMUM_BYTES = 1024 * 1024 * 1024
const DEFAULT_MAXIMUM_RESULT_BYTES = 64 * 1024 * 1024
const MAXIMUM_SESSION_ID_LENGTH = 200

/** The options of the native manager, except its id, which `registerHooks` assigns. */
export type CheckedOptions = Omit<NativeOptions, 'id'>

/** Checks the options of a manager, except those of redaction. */
export function checkOptions(
  options: ContextManagerOptions,
  redaction: Redacting | undefined,
  storage: Storage | undefined,
): CheckedOptions {
  const fileSystem = optional(options.fileSystem, 'fileSystem', checkFileSystem)
  const timeout = checkFileSystemTimeout(options.fileSystemTimeout)
  const path = optional(options.contextDir, 'contextDir', checkPath) ?? DEFAULT_CONTEXT_DIRECTORY
  const directory =
    storage === undefined ? resolveDirectory(path, 'contextDir', fileSystem) : namespaceDirectory(path, 'contextDir')
  for (const name of ['shouldPersist', 'describe', 'onDebug'] as const) {
    optional(options[name], name, checkFunction)
  }
  const retention = optional(options.retention, 'retention', retentionOptions) ?? {}
  const session = optional(options.sessionId, 'sessionId', checkSession)
  if (session !== undefined) {
    refuseSecret(redaction, session, 'sessionId')
  }
  const resumes = optional(options.resume, 'resume', checkBoolean) ?? false
  if (resumes && session === undefined) {
    throw invalidArgument('sessionId', 'the id of the session to resume', options.sessionId)
  }
  const persist = options.persist ?? 'all'
  if (persist !== 'all' && persist !== 'large') {
    throw invalidArgument('persist', "'all' or 'large'", persist)
  }
  return {
    ...directory,
    session: session ?? newUuid(),
    sessionIsNamed: session !== undefined,
    resumes,
    persistThreshold: count(options.persistThreshold, 'persistThreshold', DEFAULT_PERSIST_THRESHOLD),
    persistAll: persist === 'all',
    memoryBudget: count(options.memoryBudget, 'memoryBudget', DEFAULT_MEMORY_BUDGET),
    indexBudget: count(options.indexBudget, 'indexBudget', DEFAULT_INDEX_BUDGET),
    maxAge: duration(retention.maxAge ?? DEFAULT_MAXIMUM_AGE, 'retention.maxAge'),
    maxFiles: count(retention.maxFiles, 'retention.maxFiles', DEFAULT_MAXIMUM_FILES),
    maxBytes: count(retention.maxBytes, 'retention.maxBytes', DEFAULT_MAXIMUM_BYTES),
    keepPaused: duration(retention.keepPaused ?? DEFAULT_KEEP_PAUSED, 'retention.keepPaused'),
    maxPausedBytes: count(retention.maxPausedBytes, 'retention.maxPausedBytes', DEFAULT_MAXIMUM_BYTES),
    maxLiveBytes: count(retention.maxLiveBytes, 'retention.maxLiveBytes', Number.POSITIVE_INFINITY),
    maxLiveFiles: count(retention.maxLiveFiles, 'retention.maxLiveFiles', Number.POSITIVE_INFINITY),
    maxResultBytes: count(retention.maxResultBytes, 'retention.maxResultBytes', DEFAULT_MAXIMUM_RESULT_BYTES),
    isDurable: optional(options.durability, 'durability', checkDurability) === 'full',
    ...checkTrust(options),
    ...(fileSystem === undefined ? {} : { fileSystem: describeFileSystem(fileSystem, directory.prefix, timeout) }),
    hasDebug: typeof options.onDebug === 'function',
    reportsRedaction: redaction?.onRedaction !== undefined,
  }
}

export function checkSession(value: string, name: string): string {
  // Lease files list one session id per line.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are refused here
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
