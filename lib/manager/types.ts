/** Public types of the context manager: its options, pointers and stored contexts. */

import type { CancellationOptions, TaskId, Time } from '../arguments/types.ts'
import type { IFileSystem } from '../native/types.ts'
import type { RedactionFinding, RedactionOptions } from '../redaction/types.ts'
import type { BlobsOptions, StorageOptions } from '../storage/types.ts'
import type { OffloadPolicy } from './offload-types.ts'

/** A small description of one stored tool output, with the path to load it. Pointers are deep copies: changing one does not affect the manager. */
export interface ContextPointer<Task extends TaskId = number> {
  /** The path of the context's file, which the load methods take. For an output that is only in memory, the path that its file would have. */
  filepath: string
  /** The file's name, for display. */
  filename: string
  /** The tool that made the output. */
  toolName: string
  /** A short text about the call, which is shown to people and used for ranking. */
  toolDescription: string
  /** The arguments of the call, up to 4 KB of JSON; see `argsTruncated`. */
  args: Record<string, unknown>
  /** The task the output belongs to. */
  taskId?: Task
  /** The query that caused the call. */
  queryId?: string
  /** The session that saved the output. */
  sessionId?: string
  /** Time of the call, ms since 1970. */
  timestamp: number
  /** Size in bytes of the stored JSON and of the binary data that is stored next to it. */
  sizeBytes: number
  /** Whether the call succeeded; absent if the caller did not say. */
  success?: boolean
  /** Why the call failed, cut at 512 bytes; the stored context has the full text. */
  error?: string
  /** The message of the tool about the call, cut at 512 bytes; the stored context has the full text. */
  message?: string
  /** Whether `args` is incomplete; the stored context has all arguments. */
  argsTruncated?: boolean
  /** The `sourceUrls` of the result, so that an answer can cite them without loading the context. */
  sourceUrls?: string[]
  /**
   * The handle `ctx_` and 16 hexadecimal digits, which placeholders show. It is derived from the call and its output: equal calls
   * with equal outputs have the same handle. Methods that take a path also take a handle, in every process that opens the
   * directory, while the file exists. If several outputs share a handle, it refers to the latest. Absent only for files that a
   * release without handles wrote.
   */
  handle?: string
  /** The id that the model or the framework assigned to the call. */
  callId?: string
  /** How long the call took, in ms, if the caller said it. */
  durationMs?: number
  /** The exit code of the program that the tool ran, if the caller said it. */
  exitCode?: number
  /** The media type of the result, if the caller gave one. */
  mediaType?: string
  /** `true` where the stored result is only the beginning of the tool's output. */
  cut?: boolean
  /** The number of secrets replaced when the record was stored, by rule. Absent if there were none, and in records of earlier releases. */
  redactions?: RedactionFinding[]
  /** Present with `shownBytes`: the size that the output would have in the conversation, in bytes. */
  outputBytes?: number
  /**
   * The size in bytes of the placeholder with which `offload` replaced the output. Absent if the conversation contains the output itself,
   * if `offloadAll` replaced the output because of the total size, and if `offloadValue` replaced parts of the output.
   */
  shownBytes?: number
}

/** A stored tool output, complete with its arguments and result. */
export interface StoredContext<T = unknown, Task extends TaskId = number> {
  toolName: string
  toolDescription: string
  args: Record<string, unknown>
  /** Time of the call, ISO 8601. */
  timestamp: string
  taskId?: Task
  queryId?: string
  sessionId?: string
  sourceUrls?: string[]
  /** Whether the call succeeded; absent if the caller did not say. */
  success?: boolean
  /** Why the call failed. */
  error?: string
  /** The message of the tool about the call. */
  message?: string
  /** See {@link ContextPointer.handle}. */
  handle?: string
  /** The id that the model or the framework assigned to the call. */
  callId?: string
  /** How long the call took, in ms. */
  durationMs?: number
  /** The exit code of the program that the tool ran. */
  exitCode?: number
  /** The id of the span in a distributed trace. */
  spanId?: string
  /** The media type of the result, if the caller gave one. */
  mediaType?: string
  /** `true` where the result is incomplete: a stream was longer than `maxResultBytes`, failed, or was not read to its end. */
  cut?: boolean
  /** See {@link ContextPointer.redactions}. */
  redactions?: RedactionFinding[]
  /** See {@link ContextPointer.outputBytes}. */
  outputBytes?: number
  /** See {@link ContextPointer.shownBytes}. */
  shownBytes?: number
  /** The tool's output, as `JSON.parse(JSON.stringify(output))` returns it; binary data as `Uint8Array`. */
  result: T
}

/** The files of a stored output, as they are in another directory. */
export interface ContextFiles {
  /** The name of the record's file. */
  filename: string
  /** The content of the record's file. */
  record: string
  /** The content of the accompanying file that ends in `.bin`, if the output contains binary data. */
  bytes?: Uint8Array | null | undefined
}

/** Options of `importRecord`. An option that is `undefined` or `null` has its default. */
export interface ImportRecordOptions extends CancellationOptions {
  /**
   * Whether to return the result of the import without storing anything.
   * @default false
   */
  dryRun?: boolean | null | undefined
}

/** The result of `importRecord`. */
export interface ImportedRecord {
  /** The path of the stored context. */
  filepath: string
  /** The handle, recomputed from the content. */
  handle: string
  /** Whether the output was not in the directory before. */
  isNew: boolean
  /** The secrets that the import replaced, by rule. */
  redactions: RedactionFinding[]
}

/** The members of a pointer that `selectRelevantContexts` reads. Every `ContextPointer` has them. */
export interface SelectablePointer {
  filepath: string
  toolName?: string | null | undefined
  toolDescription?: string | null | undefined
  args?: Record<string, unknown> | null | undefined
  taskId?: TaskId | null | undefined
  queryId?: string | null | undefined
  timestamp?: number | null | undefined
}

/** Limits for the contexts of ended, paused and live sessions in a directory, and for the size of one result. */
export interface RetentionOptions {
  /**
   * Contexts of ended sessions are removed when they are older than this: a number with `ms`, `s`, `m`, `h`, `d` or `w`.
   * @default '7d'
   */
  maxAge?: string | null | undefined
  /**
   * The largest number of contexts of ended sessions; beyond it, the oldest are removed first.
   * @default 10000
   */
  maxFiles?: number | null | undefined
  /**
   * The largest total size of the contexts of ended sessions, in bytes; beyond it, the oldest are removed first.
   * @default 1073741824 (1 GiB)
   */
  maxBytes?: number | null | undefined
  /**
   * A paused session that was not used for this long ends: a number with `ms`, `s`, `m`, `h`, `d` or `w`. The value is stored
   * with the session, so that processes with other options respect it.
   * @default '7d'
   */
  keepPaused?: string | null | undefined
  /**
   * The largest total size of the contexts of paused sessions, in bytes; beyond it, the least recently used sessions end first.
   * @default 1073741824 (1 GiB)
   */
  maxPausedBytes?: number | null | undefined
  /**
   * The largest total size of this session's contexts on disk, in bytes; beyond it, the least recently used are removed first.
   * Pinned contexts and the latest one are kept.
   * @default no limit
   */
  maxLiveBytes?: number | null | undefined
  /**
   * The largest number of this session's contexts on disk; beyond it, the least recently used are removed first. Pinned contexts
   * and the latest one are kept.
   * @default no limit
   */
  maxLiveFiles?: number | null | undefined
  /**
   * A result whose JSON is longer than this many bytes is rejected with `ERR_CONTEXT_TOO_LARGE`; of a longer stream, the
   * beginning is stored.
   * @default 67108864 (64 MiB)
   */
  maxResultBytes?: number | null | undefined
}

/** Options of `new ContextManager()`. An option that is `undefined` or `null` has its default. */
export interface ContextManagerOptions {
  /**
   * The context directory. It is created when needed, with access for the owner only; `~` is expanded. Several sessions, managers
   * and processes may share it.
   * @default '~/.agent/context'
   */
  contextDir?: string | null | undefined
  /**
   * Results whose JSON takes at least this many bytes are large: they are stored on disk and not cached in memory.
   * @default 32768
   */
  persistThreshold?: number | null | undefined
  /**
   * `'all'` writes every output to disk, so that outputs survive the process and other processes see them. `'large'` writes only
   * large outputs; small ones are in memory only, until `memoryBudget` forces the manager to write them to disk.
   * @default 'all'
   */
  persist?: 'all' | 'large' | null | undefined
  /**
   * Size in bytes of the memory cache for small outputs. Beyond it, the least recently used outputs are evicted first.
   * @default 67108864 (64 MiB)
   */
  memoryBudget?: number | null | undefined
  /**
   * Memory for the full-text index of stored outputs, in bytes. Beyond it, the oldest outputs are indexed by tool name,
   * description and arguments only, no longer by their results.
   * @default 134217728 (128 MiB)
   */
  indexBudget?: number | null | undefined
  /**
   * The id of the session. Managers with the same id, in any number of processes, share one session: `clear()` on one clears it
   * for all. A given id appears in file names, and the session is paused instead of ended when its last process exits: see
   * `resume`.
   * @default a new id
   */
  sessionId?: string | null | undefined
  /**
   * Restores the pointers that earlier processes of the session left, in the order of their calls. Pointers and `size` are
   * complete when `resume()` has resolved; asynchronous methods wait for it. An unknown id starts a new session. Requires
   * `sessionId`.
   * @default false
   */
  resume?: boolean | null | undefined
  /**
   * Decides whether one output counts as large, instead of `persistThreshold`; `sizeBytes` is the size of the result's JSON. Not
   * called for streams that are written to temporary files.
   */
  shouldPersist?: ((toolName: string, args: Record<string, unknown>, sizeBytes: number) => boolean) | null | undefined
  /** Limits for stored contexts and for the size of one result. */
  retention?: RetentionOptions | null | undefined
  /**
   * What an output survives after its save has resolved: with `'process'`, the end or crash of the process; with `'full'`, also a
   * power failure (file and directory are synchronised to the disk).
   * @default 'process'
   */
  durability?: 'process' | 'full' | null | undefined
  /**
   * Asserts that file locks exclude every process that can access the directory, including processes on other hosts and mounts.
   * Without this option, a session whose lease names another host or mount counts as live until `retention.maxAge`. On FUSE, 9p,
   * SMB and unknown file systems, a free lock of an older lease does not prove that its session has ended. See
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
  /** A file system that is used instead of the local disk. */
  fileSystem?: IFileSystem | null | undefined
  /**
   * A PostgreSQL database instead of the local disk, which many machines share: its URL, or options. `contextDir` is then a namespace in
   * the database, with `/` between its parts, and is not resolved against the home or the working directory. Excludes `fileSystem`.
   * See docs/guides/fleet.md.
   */
  storage?: string | StorageOptions | null | undefined
  /**
   * A bucket of S3, Google Cloud Storage or Azure, by its URL (`'s3://bucket/prefix'`) or with options: outputs of more than 256 KiB are
   * objects in it, in place of rows of the database. Needs `storage`. Give every process that uses the namespace the same bucket.
   */
  blobs?: string | BlobsOptions | null | undefined
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
   * Returns the description of an output, instead of the default one. `result` is the value that the tool returned, absent where
   * that is a stream that is written to temporary files; `outcome` says how the call ended.
   */
  describe?:
    | ((toolName: string, args: Record<string, unknown>, result: unknown, outcome: ToolOutcome | undefined) => string)
    | null
    | undefined
  /** Decides which outputs `offload`, `offloadAll` and `offloadValue` replace in the conversation. */
  offload?: OffloadPolicy | null | undefined
  /**
   * The rules by which secrets are removed from everything before it is stored, in memory and on disk. `false` disables
   * redaction.
   * @default the built-in rules, and the values of environment variables whose names look secret
   */
  redaction?: false | RedactionOptions | null | undefined
  /** Called with a message, and sometimes data, about what the object does; meant for logs. Errors that it throws are ignored. */
  onDebug?: ((msg: string, data?: unknown) => void) | null | undefined
}

/** How a tool call ended; stored with its result. */
export interface ToolOutcome {
  /** Whether the call succeeded. */
  success?: boolean | null | undefined
  /** Why the call failed. */
  error?: string | null | undefined
  /** The message of the tool about the call. */
  message?: string | null | undefined
  /** How long the call took, in ms: a finite number from 0 up. */
  durationMs?: number | null | undefined
  /** The exit code of the program that the tool ran: a 32-bit integer. */
  exitCode?: number | null | undefined
}

/** Options of `saveContext`: facts about the call that are stored with its output, and how it is stored. */
export interface SaveOptions extends ToolOutcome {
  /** The id that the model or the framework assigned to the call. */
  callId?: string | null | undefined
  /** The id of the span in a distributed trace. */
  spanId?: string | null | undefined
  /**
   * When the call began: ms since 1970 or a `Date`.
   * @default now
   */
  startedAt?: number | Date | null | undefined
  /** The media type of the result, such as `'text/csv'`. */
  mediaType?: string | null | undefined
  /**
   * Writes nothing when the session already has an output with the same handle (the same tool, arguments and result), and returns
   * the path of that output.
   * @default false
   */
  ifAbsent?: boolean | null | undefined
}

/** Options of `recordStream`. An option that is `undefined` or `null` has its default. */
export interface RecordStreamOptions extends SaveOptions {
  taskId?: TaskId | null | undefined
  queryId?: string | null | undefined
}

/** The state of a session, see `SessionInfo.state`. */
export type SessionState = 'live' | 'paused' | 'ended'

/** A session of a context directory. */
export interface SessionInfo {
  id: string
  /**
   * `'live'`: a process uses the session, or may use it. `'paused'`: no process uses it; its contexts are kept so that it can be
   * resumed. `'ended'`: its contexts are kept only within the limits of `retention`.
   */
  state: SessionState
  /** When the session began, ms since 1970; if that was not recorded, when its first context was saved. */
  createdAt: number
  /** When the session was last used, ms since 1970. */
  lastUsedAt: number
  /** Number of its contexts on disk. */
  contexts: number
  /** Size of these contexts in bytes. */
  bytes: number
  /** Number of processes that use the session. */
  processes: number
}

/** Options of `sweep`. */
export interface SweepOptions extends CancellationOptions {
  /**
   * Removes nothing, and lists in `removals` what would be removed and why.
   * @default false
   */
  dryRun?: boolean | null | undefined
}

/** The conditions of `forget`. A context is removed when it meets all that are given; at least one is required. */
export interface ForgetFilter {
  /** The output of this tool, or of one of these. */
  toolName?: string | readonly string[] | null | undefined
  /** Saved before this time. */
  before?: Time | null | undefined
  /** Saved after this time. */
  after?: Time | null | undefined
  /** The context has this `queryId`, or one of these. */
  queryId?: string | readonly string[] | null | undefined
  /** The context has this `taskId`, or one of these. */
  taskId?: TaskId | readonly TaskId[] | null | undefined
  /** The context has this `callId`, or one of these. */
  callId?: string | readonly string[] | null | undefined
  /**
   * Contexts of this session, which must be the manager's own or an ended one.
   * @default the manager's session
   */
  sessionId?: string | null | undefined
}

/** Options of `forget` with a filter. */
export interface ForgetOptions {
  /**
   * Removes nothing, and reports what would be removed.
   * @default false
   */
  dryRun?: boolean | null | undefined
}

/** The contexts that `forget` removed, or with `dryRun` would remove. */
export interface ForgetReport {
  /** Number of contexts. */
  deletedFiles: number
  /** Size of these contexts in bytes. */
  deletedBytes: number
  /** The contexts, one element for each. */
  contexts: { filepath: string; handle?: string; toolName: string; sizeBytes: number }[]
}

/**
 * Which sessions' contexts are considered: `'own'`, those of this manager's session; `'all'`, those of every session of the
 * directory; an array, those of the sessions with these ids.
 */
export type SessionScope = 'own' | 'all' | readonly string[]

/** Options of `findContext`. */
export interface FindOptions extends CancellationOptions {
  /**
   * The largest age of a call that is found: ms, or a number with `ms`, `s`, `m`, `h`, `d` or `w`.
   * @default no limit
   */
  maxAge?: string | number | null | undefined
  /**
   * Which sessions' calls are considered. `'own'`: those of this session.
   * @default 'own'
   */
  sessions?: SessionScope | null | undefined
}
