/** Types that every area uses: identifiers, points in time, errors. */

/** A task's identifier. Code written for numbers and code written for strings both work. */
export type TaskId = number | string

/** A value that JSON can hold. */
export type JsonValue = string | number | boolean | null | JsonValue[] | { [key: string]: JsonValue }

/** The stable `code` of every error of this package. */
export type ContextErrorCode =
  /** An argument has the wrong type or an impossible value; the message names it. */
  | 'ERR_CONTEXT_INVALID_ARGUMENT'
  /** There is no context, or no entry of a store, behind this path; no such workspace; nothing to migrate. */
  | 'ERR_CONTEXT_NOT_FOUND'
  /** The path leads outside the context directory or the store, or through a symbolic link. */
  | 'ERR_CONTEXT_OUTSIDE_DIRECTORY'
  /** The file is there but holds no whole context record, or no entry; a memory or git's configuration is not understood. */
  | 'ERR_CONTEXT_CORRUPT'
  /** The file system refused; `cause` is its error. */
  | 'ERR_CONTEXT_IO'
  /** The value is larger than `retention.maxResultBytes`, `maxEntryBytes`, a memory's texts or than a string can be. */
  | 'ERR_CONTEXT_TOO_LARGE'
  /**
   * The context belongs to another session that is alive, the history's file was replaced meanwhile, the store's entry has
   * another revision, another agent's directory differs in case alone, or another convention has the title.
   */
  | 'ERR_CONTEXT_CONFLICT'
  /** Another process held the file's lock longer than `lockTimeout`. */
  | 'ERR_CONTEXT_LOCK_TIMEOUT'
  /** The changes after a watcher's cursor are not in the state store any more. */
  | 'ERR_CONTEXT_CURSOR_EXPIRED'
  /** The file system lacks what the call needs, such as locks, or the memory does: a workspace, a branch that can be read. */
  | 'ERR_CONTEXT_UNSUPPORTED'
  /** It could not be told what is secret in a value, and so it was not written. */
  | 'ERR_CONTEXT_REDACTION'
  /** The directory belongs to another user, who can read and replace what is stored there. See `allowShared`. */
  | 'ERR_CONTEXT_UNSAFE_DIRECTORY'
  /** Thrown by the import: the addon of this platform is missing or cannot be loaded, or Node.js is too old. */
  | 'ERR_CONTEXT_ADDON'
  /** This package failed by an error of its own. Please report it. */
  | 'ERR_CONTEXT_INTERNAL'

/** What this package throws and rejects with. */
export interface ContextError extends Error {
  /** Stable, for programs. */
  code: ContextErrorCode
  /** The file system's error, or what an injected file system threw. */
  cause?: unknown
}

/** Options of calls that may take long. */
export interface CancellationOptions {
  /** Rejects the call with the signal's reason and stops the work. */
  signal?: AbortSignal | null | undefined
}

/** A point in time: a date, ISO 8601 (UTC where it names no zone), or ms since 1970. */
export type Time = Date | string | number
