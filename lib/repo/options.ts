/** Which repository a memory is about, and the options that it is opened with. */

import { isAbsolute, join, sep } from 'node:path'
import process from 'node:process'
import type { NativeRepoMemoryOptions } from '#addon'
import { checkDurability, checkFunction, checkPath, checkTrust, checkWhole, optional } from '../arguments/checks.ts'
import { asContextError, contextError, invalidArgument } from '../arguments/errors.ts'
import { resolveDirectory } from '../native/file-system.ts'
import type { BranchScope, RepoMemoryLocation, RepoMemoryOptions } from './types.ts'

export const DEFAULT_REPO_MEMORY_ROOT = '~/.codex-toolloop'
const DEFAULT_LOCK_TIMEOUT = 10_000
const DEFAULT_MAXIMUM_SUMMARIES = 100
const DEFAULT_MAXIMUM_SUMMARY_BYTES = 1024 * 1024
const REPOSITORIES = 'repos'
const REPO_HASH = /^[0-9a-f]{64}$/

/** A repository by a folder in it, or by its hash. */
export type CheckedLocation = { readonly workspace: string } | { readonly repoHash: string }

/** What the native memory is told, without what only this side or the identity knows. */
export type CheckedRepoOptions = Omit<NativeRepoMemoryOptions, 'id' | 'repoHash' | 'identity'>

/** What of the options says where a memory is, and how it is changed. */
export type CheckedStorage = Omit<CheckedRepoOptions, 'hasDebug'>

/** Reads what was passed to a call; whatever stops that has a code. */
export function reading<T>(call: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw asContextError(error, call, 'record')
  }
}

/** Checks the options, those of redaction aside. */
export function checkRepoOptions(options: RepoMemoryOptions): CheckedRepoOptions {
  optional(options.onDebug, 'onDebug', checkFunction)
  return { ...checkStorage(options), hasDebug: typeof options.onDebug === 'function' }
}

/** Checks where a memory is, and how it is changed. */
export function checkStorage(options: Omit<RepoMemoryOptions, 'onDebug'>): CheckedStorage {
  const root = optional(options.root, 'root', checkPath) ?? DEFAULT_REPO_MEMORY_ROOT
  return {
    root: resolveDirectory(root, 'root', undefined).directory,
    isDurable: (optional(options.durability, 'durability', checkDurability) ?? 'full') === 'full',
    lockTimeout: optional(options.lockTimeout, 'lockTimeout', checkWhole) ?? DEFAULT_LOCK_TIMEOUT,
    maxSummaries: checkBound(options.maxSummaries ?? DEFAULT_MAXIMUM_SUMMARIES, 'maxSummaries'),
    maxSummaryBytes: checkBound(options.maxSummaryBytes ?? DEFAULT_MAXIMUM_SUMMARY_BYTES, 'maxSummaryBytes'),
    ...checkTrust(options),
  }
}

/** Checks which repository is meant: by one of the two. */
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

/** A folder, absolute. What `..` means in it is left to the file system, which knows the links. */
export function checkWorkspace(value: string, name: string): string {
  const path = checkPath(value, name)
  if (!path.isWellFormed()) {
    // Replacing halves of characters might make it another's.
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

/** The directory of a repository's memory. */
export function repoDirectory(root: string, repoHash: string): string {
  return join(root, REPOSITORIES, repoHash)
}

function checkBound(value: number, name: string): number {
  if (value !== Number.POSITIVE_INFINITY && !(Number.isSafeInteger(value) && value >= 1)) {
    throw invalidArgument(name, 'a whole number from 1 up, or Infinity', value)
  }
  // JSON has no infinity.
  return Math.min(value, Number.MAX_SAFE_INTEGER)
}
