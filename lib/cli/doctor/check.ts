/** One check of `doctor`. */

import { failureOf } from '../failures.ts'

export interface Check {
  readonly name: string
  readonly status: 'ok' | 'warning' | 'error'
  readonly message: string
  /** What to do; present unless the status is `ok`. */
  readonly remedy?: string
}

const REMEDIES: Readonly<Record<string, string>> = {
  EACCES:
    'make it writable for this user (chmod u+rwx), or choose another place with the option or variable of the same name',
  EPERM:
    'make it writable for this user (chmod u+rwx), or choose another place with the option or variable of the same name',
  EROFS: 'the file system is mounted read-only: choose another place',
  ENOSPC: 'the disk is full: free some space, or run agent-context disk to see what takes it',
  EDQUOT: 'the quota of this user is used up: free some space',
  ENOTDIR: 'a file is where a directory has to be: move it, or choose another place',
  EEXIST: 'a file is where a directory has to be: move it, or choose another place',
  ENOLCK: 'the file system has no locks: choose a local disk',
  ERR_CONTEXT_UNSUPPORTED: 'the file system has no locks that bind every process: choose a local disk',
  ERR_CONTEXT_LOCK_TIMEOUT: 'another process holds the lock: look for a stopped process',
  ERR_CONTEXT_UNSAFE_DIRECTORY: 'it belongs to another user: run as its owner, or choose another place',
  ERR_CONTEXT_CORRUPT:
    'the file is damaged, or a newer version of agent-context wrote it: update agent-context, or restore the file',
  ERR_CONTEXT_STORAGE: 'see whether the server runs and can be reached from here, and what its log says',
  ERR_CONTEXT_TIMEOUT: 'see whether the server runs and can be reached from here, and what its log says',
  ERR_CONTEXT_ACCESS:
    'check user, password and rights: set AGENT_CONTEXT_STORAGE to a URL with the password, or PGPASSWORD; docs/guides/fleet.md has the rights of the role',
  ERR_CONTEXT_INVALID_ARGUMENT: 'correct the option, the variable or the settings file that the message names',
  ERR_CONTEXT_OUTSIDE_DIRECTORY: 'a symbolic link is in the way: name the directory that it leads to',
}

/** Makes a failed check with its remedy, by the code of the cause, then by the code of the error. */
export function failed(name: string, error: unknown): Check {
  const { message, code } = failureOf(error)
  return { name, status: 'error', message, remedy: remedyFor(error) ?? REMEDIES[code] ?? 'see the message' }
}

function remedyFor(error: unknown): string | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const { code } = cause as NodeJS.ErrnoException
    const remedy = code === undefined || code === 'ERR_CONTEXT_IO' ? undefined : REMEDIES[code]
    if (remedy !== undefined) {
      return remedy
    }
  }
  return undefined
}
