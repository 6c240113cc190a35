/** Checks the location and the options with which a repository memory is opened. */

import { isAbsolute, sep } from 'node:path'
import type { NativeRepoMemoryOptions } from '#addon'
import { checkDurability, checkFunction, checkPath, checkTrust, checkWhole, optional } from '../arguments/checks.ts'
import { asContextError, contextError, invalidArgument } from '../arguments/errors.ts'
import { checkCloseTimeout, checkFileSystemTimeout } from '../arguments/timeouts.ts'
import { checkFileSystem, directoryBelow, resolveDirectory } from '../native/file-system.ts'
import type { IFileSystem } from '../native/types.ts'
import { namespaceDirectory, namespaceOf, type Storage, storageOf } from '../storage/storage.ts'
import type { BranchScope, RepoMemoryLocation, RepoMemoryOptions } from './types.ts'

export const DEFAULT_REPO_MEMORY_ROOT = '~/.codex-toolloop'
const DEFAULT_LOCK_TIMEOUT = 10_000
const DEFAULT_MAXIMUM_SUMMARIES = 100
const DEFAULT_MAXIMUM_SUMMARY_BYTES = 1024 * 1024
const REPOSITORIES = 'repos'
const REPO_HASH = /^[0-9a-f]{64}$/

/** A repository, identified by a folder in it or by its hash. */
export type CheckedLocation = { readonly workspace: string } | { readonly repoHash: string }

/** The options of the native memory, except its id, its directory and its identity. */
export type CheckedRepoOptions = Omit<NativeRepoMemoryOptions, 'id' | 'directory' | 'identity' | 'fileSystem'> & {
  readonly root: string
}

/** Where memories are, and how they are changed. */
export type CheckedChanges = Omit<CheckedRepoOptions, 'hasDebug'>

/** The injected file system or the database of a memory, with its timeouts. */
export interface CheckedFileSystem {
  readonly fileSystem: IFileSystem | undefined
  readonly fileSystemTimeout: number
  readonly closeTimeout: number
  readonly storage: Storage | undefined
}

/** Reads the arguments of a call. An error in it is converted to one with a code. */
export function reading<T>(call: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw asContextError(error, call, 'record')
  }
}

/** Checks the options, except those of redaction and of the file system. */
export function checkRepoOptions(options: RepoMemoryOptions, place?: CheckedFileSystem): CheckedRepoOptions {
  optional(options.onDebug, 'onDebug', checkFunction)
  return { ...checkChanges(options, place), hasDebug: typeof options.onDebug === 'function' }
}

/** Checks the injected file system and its timeouts. */
export function checkRepoFileSystem(options: RepoMemoryOptions): CheckedFileSystem {
  return {
    fileSystem: optional(options.fileSystem, 'fileSystem', checkFileSystem),
    fileSystemTimeout: checkFileSystemTimeout(options.fileSystemTimeout),
    closeTimeout: checkCloseTimeout(options.closeTimeout),
    storage: storageOf(options),
  }
}

/** Checks where memories are, and the options of changes. */
export function checkChanges(
  options: Omit<
    RepoMemoryOptions,
    'onDebug' | 'storage' | 'blobs' | 'fileSystem' | 'fileSystemTimeout' | 'closeTimeout'
  >,
  place?: CheckedFileSystem,
): CheckedChanges {
  const root = optional(options.root, 'root', checkPath) ?? DEFAULT_REPO_MEMORY_ROOT
  return {
    root:
      place?.storage === undefined
        ? resolveDirectory(root, 'root', place?.fileSystem).directory
        : namespaceOf(root, 'root'),
    isDurable: (optional(options.durability, 'durability', checkDurability) ?? 'full') === 'full',
    lockTimeout: optional(options.lockTimeout, 'lockTimeout', checkWhole) ?? DEFAULT_LOCK_TIMEOUT,
    maxSummaries: checkBound(options.maxSummaries ?? DEFAULT_MAXIMUM_SUMMARIES, 'maxSummaries'),
    maxSummaryBytes: checkBound(options.maxSummaryBytes ?? DEFAULT_MAXIMUM_SUMMARY_BYTES, 'maxSummaryBytes'),
    ...checkTrust(options),
  }
}

/** Checks that exactly one of `workspace` and `repoHash` identifies the repository. */
export function checkLocation({ workspace, repoHash }: RepoMemoryLocation): CheckedLocation {
  const hash = optional(repoHash, 'repoHash', checkRepoHash)
  const folder = optional(workspace, 'workspace', checkWorkspace)
  if (folder !== undefined && hash === undefined) {
    return { workspace: folder }
  }
  if (hash !== undefined && folder === undefined) {
    return { repoHash: hash }
  }
  throw contextError('ERR_CONTEXT_INVALID_ARGUMENT', 'either workspace or repoHash is needed, and not both')
}

export function checkBranchScope(given: BranchScope | null | undefined): BranchScope {
  const scope = given ?? 'perBranch'
  if (scope !== 'perBranch' && scope !== 'sharedRepo') {
    throw invalidArgument('branchScope', "'perBranch' or 'sharedRepo'", scope)
  }
  return scope
}

/** Makes the path of a folder absolute. `..` is not resolved here, because its meaning depends on symbolic links. */
export function checkWorkspace(value: string, name: string): string {
  const path = checkPath(value, name)
  if (!path.isWellFormed()) {
    // Replacing lone surrogates might give the path of another folder.
    throw invalidArgument(name, 'a path without halves of characters', value)
  }
  return isAbsolute(path) ? path : `${process.cwd()}${sep}${path}`
}

export function checkRepoHash(value: string, name: string): string {
  if (typeof value !== 'string' || !REPO_HASH.test(value)) {
    throw invalidArgument(name, '64 lower-case hexadecimal digits', value)
  }
  return value
}

/** The directory of a repository's memory, and the same path with a separator at its end. */
export function repoDirectory(
  root: string,
  repoHash: string,
  { fileSystem, storage }: CheckedFileSystem,
): { directory: string; prefix: string } {
  if (storage !== undefined) {
    return namespaceDirectory(`${root}/${REPOSITORIES}/${repoHash}`, 'root')
  }
  return directoryBelow(root, [REPOSITORIES, repoHash], fileSystem)
}

function checkBound(value: number, name: string): number {
  if (value !== Number.POSITIVE_INFINITY && !(Number.isSafeInteger(value) && value >= 1)) {
    throw invalidArgument(name, 'a whole number from 1 up, or Infinity', value)
  }
  // JSON cannot represent `Infinity`.
  return Math.min(value, Number.MAX_SAFE_INTEGER)
}
