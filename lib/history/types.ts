/** Public types of the context history. */

import type { CancellationOptions } from '../arguments/types.ts'
import type { EmbedOptions } from '../embedding/types.ts'
import type { IFileSystem } from '../native/types.ts'
import type { RedactionOptions } from '../redaction/types.ts'
import type { BlobsOptions, StorageOptions } from '../storage/types.ts'

/** Options of `new ContextHistory()`. An option that is `undefined` or `null` has its default. */
export interface ContextHistoryOptions {
  /**
   * The file. It is created when needed, together with its directory, with access for the owner only. A relative path is resolved
   * against the working directory at construction; `~` is expanded. Any number of histories and processes may share it.
   * @default '.wink/context.jsonl'
   */
  path?: string | null | undefined
  /**
   * The URL of a PostgreSQL database, or its options: the history is kept there in place of a file, and every machine that uses the
   * database sees it. `path` then names the history; options of files are refused.
   */
  storage?: string | StorageOptions | null | undefined
  /**
   * The bucket of the other classes. Accepted so that all classes can be given the same options; it has no effect, since the lines of a
   * history are in the database. Needs `storage`.
   */
  blobs?: string | BlobsOptions | null | undefined
  /** A file system that is used instead of the local disk. */
  fileSystem?: IFileSystem | null | undefined
  /**
   * Timeout of each call of `fileSystem`, in ms; `Infinity` disables it. An operation whose call exceeds it rejects with
   * `ERR_CONTEXT_IO`. Until a timed-out write, rename or removal settles, other changes of the same file are refused, because the
   * call may still take effect.
   * @default 10000
   */
  fileSystemTimeout?: number | null | undefined
  /**
   * How long `close()` waits for pending calls of `fileSystem`, in ms; `Infinity` means no limit. After that, `close()` reports
   * it to `onDebug` and resolves. `close()` always waits for operations on the local disk.
   * @default 30000
   */
  closeTimeout?: number | null | undefined
  /**
   * What an entry survives after its `append` has resolved: with `'process'`, the end or crash of the process; with `'full'`,
   * also a power failure.
   * @default 'process'
   */
  durability?: 'process' | 'full' | null | undefined
  /**
   * How long to wait for the file's lock while other processes hold it, in ms. After that, calls reject with
   * `ERR_CONTEXT_LOCK_TIMEOUT`.
   * @default 10000
   */
  lockTimeout?: number | null | undefined
  /**
   * Asserts that file locks exclude every process that can access the history, including processes on other hosts and mounts.
   * Without this option, `compact` is refused with `ERR_CONTEXT_UNSUPPORTED` on FUSE, 9p, SMB and unknown file systems. See
   * docs/durability.md.
   * @default false
   */
  trustLocks?: boolean | null | undefined
  /**
   * Allows a directory that belongs to another user, who can read and replace what is stored there. Without this option such a
   * directory is refused with `ERR_CONTEXT_UNSAFE_DIRECTORY`; a process that runs as root only reports it to `onDebug`.
   * @default false
   */
  allowShared?: boolean | null | undefined
  /**
   * An entry whose line is longer than this many bytes is refused with `ERR_CONTEXT_TOO_LARGE`.
   * @default 67108864 (64 MiB)
   */
  maxEntryBytes?: number | null | undefined
  /**
   * Size of the file, or of all lines in a database, in bytes above which an append starts a compaction in the background. The compaction removes the oldest entries
   * until the file has at most 80 % of `maxBytes`; it always keeps the latest entry. Appends do not wait for it, one process at a
   * time does it, and `onDebug` reports it. The file may exceed the limit until the compaction ends. Has no effect where
   * `compact` is refused, see `trustLocks`.
   * @default Infinity
   */
  maxBytes?: number | null | undefined
  /**
   * The same as `maxBytes`, for the number of entries. This history counts the entries of the file each time it has appended
   * `maxEntries / 16` of them.
   * @default Infinity
   */
  maxEntries?: number | null | undefined
  /**
   * The rules by which secrets are removed from every line before it is written. `false` disables redaction.
   * @default the built-in rules, and the values of environment variables whose names look secret
   */
  redaction?: false | RedactionOptions | null | undefined
  /** Called with a message, and sometimes data, about what the object does; meant for logs. Errors that it throws are ignored. */
  onDebug?: ((msg: string, data?: unknown) => void) | null | undefined
}

/** An entry of a history: a tool call, a decision or a summary. */
export interface ContextEntry {
  /** A unique id. For a line without an id, it is derived from the line's content. */
  id: string
  toolName: string
  /** The arguments of the tool call. */
  params: unknown
  /** The output of the tool. */
  result: unknown
  success: boolean
  /** One sentence about the call, or `null`. */
  summary: string | null
  /** ISO 8601; `null` only for a line that another program wrote without a timestamp. */
  timestamp: string | null
  /** Why the call failed. */
  error?: string
  /** The session that made the call. */
  sessionId?: string
  /** The query that the call belongs to. */
  queryId?: string
  /** The id of the span in a distributed trace. */
  spanId?: string
  /** The id that the model or the framework assigned to the call. */
  callId?: string
  /** How long the call took, in ms. */
  durationMs?: number
  /** The id of the operation that appended the entry, see `ContextEntryInput`. */
  operationId?: string
  /**
   * `true` where `append` finds that an operation was done before and a compaction has removed its entry. `params`, `result` and
   * `summary` are `null` then.
   */
  compacted?: boolean
  /** Other members of the line. */
  [key: string]: unknown
}

/** The entry that `append` takes. A member that is `undefined` or `null` counts as absent. An entry that was read can be appended again. */
export interface ContextEntryInput {
  toolName: string
  /** @default null */
  params?: unknown
  /** @default null */
  result?: unknown
  /** @default true */
  success?: boolean | null | undefined
  /** @default null */
  summary?: string | null | undefined
  /**
   * An ISO 8601 text (UTC where it has no time zone), a `Date`, or ms since 1970, in the years 0 to 9999.
   * @default now
   */
  timestamp?: Date | string | number | null | undefined
  /** @default a new UUID */
  id?: string | null | undefined
  /** Why the call failed. */
  error?: string | null | undefined
  /** The session that made the call. */
  sessionId?: string | null | undefined
  /** The query that the call belongs to. */
  queryId?: string | null | undefined
  /** The id of the span in a distributed trace. */
  spanId?: string | null | undefined
  /** The id that the model or the framework assigned to the call. */
  callId?: string | null | undefined
  /** How long the call took, in ms. */
  durationMs?: number | null | undefined
  /**
   * Makes a repeated append idempotent: where the file has an entry with this id, `append` writes nothing and returns that entry,
   * whichever process wrote it. At most 256 characters. The latest 262 144 ids of a file are recognised, each while its entry is
   * in the file. A compaction keeps the ids of the entries that it removes: the latest 10 000, up to 2 MiB together and up to an
   * eighth of its `maxBytes`.
   */
  operationId?: string | null | undefined
  /** Not allowed: lines have `toolName` under this key. */
  tool_name?: never
  /** Other members are stored unchanged. */
  [key: string]: unknown
}

/** Options of `append`. */
export interface AppendOptions {
  /**
   * Appends only when the last entry of the file has this `id`; with `null`, only when the file has no entry; `undefined` means
   * no condition. Otherwise nothing is written and `append` rejects with `ERR_CONTEXT_CONFLICT`.
   */
  ifLast?: string | null | undefined
}

/** Options of `read`. */
export interface ReadOptions extends CancellationOptions {
  /**
   * Stops reading further back once the returned entries take this many bytes of JSON. The entry that exceeds the limit is still
   * returned.
   * @default no limit
   */
  maxBytes?: number | null | undefined
}

/** Options of `tail`. An option that is `undefined` or `null` has its default. */
export interface TailOptions extends CancellationOptions {
  /**
   * How many of the existing entries, counted from the end of the file, are yielded first.
   * @default 0
   */
  last?: number | null | undefined
  /** Starts after the entry with this id, to continue an earlier `tail`. Cannot be combined with `last`. */
  after?: string | null | undefined
}
/** The conditions of `search`. An entry must meet all that are given. */
export interface HistoryFilter extends EmbedOptions, CancellationOptions {
  /** The entry's tool is this one, or one of these. */
  toolName?: string | readonly string[] | null | undefined
  success?: boolean | null | undefined
  /** The entry's time is not before this one: an ISO 8601 text (UTC where it has no time zone), a `Date`, or ms since 1970. */
  since?: Date | string | number | null | undefined
  /** The entry's time is not after this one. */
  until?: Date | string | number | null | undefined
  /**
   * A text that occurs in the tool's name, the parameters, the result or the summary, ignoring case. With `ranked`, a query of
   * which an entry must contain at least one word.
   */
  text?: string | null | undefined
  /**
   * Ranks entries by how well they match `text`, which is required then: best first; entries with equal scores, the most recent
   * first. Ranks the 10 000 most recent entries that meet the other conditions (fewer when they have more than 64 MiB of text),
   * by the tool's name, the summary, the first 8 KiB of the parameters' text and the first 32 KiB of the result's text. Required with
   * `embed`.
   * @default false
   */
  ranked?: boolean | null | undefined
  /**
   * The largest number of entries: the most recent ones, or with `ranked` the best ones.
   * @default 50
   */
  limit?: number | null | undefined
}

/** The entries that `compact` keeps: those that meet every limit given. At least one limit is required. */
export interface CompactPolicy extends CancellationOptions {
  /** Keeps this many of the most recent entries. */
  keepLast?: number | null | undefined
  /**
   * Keeps entries that are not older than this duration: a number with `ms`, `s`, `m`, `h`, `d` or `w`. Entries without a valid
   * timestamp are kept.
   */
  maxAge?: string | null | undefined
  /** Keeps the most recent entries whose lines take at most this many bytes together. */
  maxBytes?: number | null | undefined
  /**
   * Called with the entries to be removed. The text that it returns becomes one entry with the tool name `summary` at the
   * beginning of the file. It is called again when another process compacted the file in the meantime. No lock is held while it
   * runs.
   */
  summarise?: ((entries: ContextEntry[]) => string | Promise<string>) | null | undefined
  /**
   * Timeout of `summarise`, in ms; `Infinity` disables it. When it expires, as when `summarise` fails, nothing is removed and
   * `compact` rejects.
   * @default 10000
   */
  summariseTimeout?: number | null | undefined
}

/** The result of `compact`. */
export interface CompactReport {
  /** Number of entries that were kept. */
  keptEntries: number
  /** Number of entries that were removed. */
  droppedEntries: number
  /** Number of lines without an entry that were removed with them. */
  droppedBadLines: number
  /** Size of the file before, in bytes. */
  bytesBefore: number
  /** Size of the file after, in bytes. */
  bytesAfter: number
  /** The entry that `summarise` made; `null` without `summarise`, or where nothing was removed. */
  summaryEntry: ContextEntry | null
}

/** The result of `verify`. */
export interface VerifyReport {
  /** Number of valid entries. */
  entries: number
  /** Size of the file, in bytes. */
  bytes: number
  /** Number of lines that do not hold an entry, including an incomplete last line. `read` and `search` skip them. */
  badLines: number
  /** The first 100 of these lines. */
  problems: {
    /** The line number, from 1. */
    line: number
    /** The offset of the line's first byte in the file. */
    offset: number
    reason: string
  }[]
  /** Whether the last line is incomplete: its writer was interrupted, or is still writing. `badLines` counts this line too. */
  hasTornTail: boolean
  /**
   * The state of the index file, a cache that makes searching faster. `valid`: it agrees with the part of the history that it
   * covers. `stale`: it describes a replaced file, or was written with another `maxEntryBytes` or by another version. `damaged`:
   * its checksums do not match. The next search of a file of 256 KiB or more rebuilds an index that is missing, stale or found
   * damaged.
   */
  index: 'missing' | 'valid' | 'stale' | 'damaged'
}
