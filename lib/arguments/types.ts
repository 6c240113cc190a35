/** Types that all parts of the package use: identifiers, points in time, errors. */

/** The id of a task: a number or a string. */
export type TaskId = number | string

/** A value that JSON can represent. */
export type JsonValue = string | number | boolean | null | JsonValue[] | { [key: string]: JsonValue }

/** The stable `code` of every error of this package. */
export type ContextErrorCode =
  /** An argument has the wrong type or an impossible value; the message names it. */
  | 'ERR_CONTEXT_INVALID_ARGUMENT'
  /** The context, store entry or workspace does not exist, or there is no memory to migrate. */
  | 'ERR_CONTEXT_NOT_FOUND'
  /** The path leads outside the context directory or the store, or through a symbolic link. */
  | 'ERR_CONTEXT_OUTSIDE_DIRECTORY'
  /** The file exists but does not hold a complete record or entry; or the file of a memory, or git's configuration, is invalid. */
  | 'ERR_CONTEXT_CORRUPT'
  /** A file system call failed; `cause` is its error. */
  | 'ERR_CONTEXT_IO'
  /** The value is larger than `retention.maxResultBytes`, `maxEntryBytes`, a memory's texts or than a string can be. */
  | 'ERR_CONTEXT_TOO_LARGE'
  /**
   * The state is not the one that the call requires: the context belongs to another live session, the history's file was
   * replaced, the entry or item has another revision, the directory of another agent has a name that differs only in case, or
   * another convention has the title.
   */
  | 'ERR_CONTEXT_CONFLICT'
  /** Another process held the file's lock longer than `lockTimeout`. */
  | 'ERR_CONTEXT_LOCK_TIMEOUT'
  /** The changes after a watcher's cursor are no longer recorded in the state store. */
  | 'ERR_CONTEXT_CURSOR_EXPIRED'
  /** A requirement of the call is missing: file locks, a workspace, or a readable branch. */
  | 'ERR_CONTEXT_UNSUPPORTED'
  /** A value could not be redacted reliably and was therefore not written. */
  | 'ERR_CONTEXT_REDACTION'
  /** The directory belongs to another user, who can read and replace what is stored there. See `allowShared`. */
  | 'ERR_CONTEXT_UNSAFE_DIRECTORY'
  /** Thrown when the package is imported: the native addon of this platform is missing or cannot be loaded, or Node.js is too old. */
  | 'ERR_CONTEXT_ADDON'
  /** A database cannot be reached or cannot store anything now; see `mayExist`. */
  | 'ERR_CONTEXT_STORAGE'
  /** A database did not answer in time, see `mayExist`; or a recorder did not save a call, because too many wait for storage. */
  | 'ERR_CONTEXT_TIMEOUT'
  /** A database refused the user, the password or a permission. */
  | 'ERR_CONTEXT_ACCESS'
  /** An internal error of this package. Please report it. */
  | 'ERR_CONTEXT_INTERNAL'

/** The errors that this package throws and rejects with. */
export interface ContextError extends Error {
  /** The code, which does not change between versions. */
  code: ContextErrorCode
  /** The file system's or database's error, or what an injected file system threw. */
  cause?: unknown
  /** `true` if a database may have stored what the call was to store, although it failed: the answer was lost. */
  mayExist?: boolean
}

/** Options of calls that can be aborted. */
export interface CancellationOptions {
  /** Rejects the call with the signal's reason and stops the work. */
  signal?: AbortSignal | null | undefined
}

/** A point in time: a `Date`, an ISO 8601 text (UTC where it has no time zone), or ms since 1970. */
export type Time = Date | string | number
