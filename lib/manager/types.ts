/** Public types of the context manager: its options, pointers and stored contexts. */

import type { CancellationOptions, TaskId, Time } from '../arguments/types.ts'
import type { IFileSystem } from '../native/types.ts'
import type { RedactionFinding, RedactionOptions } from '../redaction/types.ts'
import type { OffloadPolicy } from './offload-types.ts'

/** A light handle of one stored tool output. A deep copy: changing it changes nothing inside. */
export interface ContextPointer<Task extends TaskId = number> {
  /** The context's file (or the one it will have, while only memory holds it): what the load methods take. */
  filepath: string
  /** The file's name, for display. */
  filename: string
  /** The tool that made the output. */
  toolName: string
  /** What the tool did, for people and rankers. */
  toolDescription: string
  /** The tool's arguments, up to 4 KB of JSON; see `argsTruncated`. */
  args: Record<string, unknown>
  /** The task the output belongs to. */
  taskId?: Task
  /** The query that caused the call. */
  queryId?: string
  /** The session that saved it. */
  sessionId?: string
  /** Time of the call, ms since 1970. */
  timestamp: number
  /** Size of the stored JSON in bytes, and of the bytes that are stored beside it. */
  sizeBytes: number
  /** Whether the tool succeeded, where that was told. */
  success?: boolean
  /** Why it failed, up to 512 bytes; the stored context has it whole. */
  error?: string
  /** What the tool said about the call, up to 512 bytes; the stored context has it whole. */
  message?: string
  /** `args` is cut: the stored context has it whole. */
  argsTruncated?: boolean
  /** The result's own `sourceUrls`, so that an answer can cite without loading. */
  sourceUrls?: string[]
  /**
   * A short name of the call and its output, which placeholders show: the same for the same call with the same output. What takes
   * a path takes it as well, in every process that opens the directory, for as long as the file is there; of several equal
   * outputs it means the latest. Absent only in listings of files that releases without handles wrote.
   */
  handle?: string
  /** The id that the caller gave the call. */
  callId?: string
  /** How long the call took, in ms, where that was told. */
  durationMs?: number
  /** The exit code of the program that the tool ran, where that was told. */
  exitCode?: number
  /** The media type of the result, where the caller named one. */
  mediaType?: string
  /** The result is the beginning of what the tool gave. */
  cut?: boolean
  /** How many secrets were replaced in the record when it was stored, by rule; absent where there were none, and in records of earlier releases. */
  redactions?: RedactionFinding[]
  /** With `shownBytes`: how many bytes the output would have taken in the conversation. */
  outputBytes?: number
  /**
   * How many bytes the placeholder has that `offload` gave in place of the output. Absent where the conversation got the output itself, where
   * `offloadAll` replaced the output for the sake of the others, and where `offloadValue` replaced parts of it.
   */
  shownBytes?: number
}

/** A stored tool output, whole. */
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
  /** Whether the tool succeeded, where that was told. */
  success?: boolean
  /** Why it failed. */
  error?: string
  /** What the tool said about the call. */
  message?: string
  /** See {@link ContextPointer.handle}. */
  handle?: string
  /** The id that the caller gave the call. */
  callId?: string
  /** How long the call took, in ms. */
  durationMs?: number
  /** The exit code of the program that the tool ran. */
  exitCode?: number
  /** The span of the trace in which the call was made. */
  spanId?: string
  /** The media type that the caller named. */
  mediaType?: string
  /** The result is the beginning of what the tool gave: a stream was longer than `maxResultBytes`, failed or was abandoned. */
  cut?: boolean
  /** See {@link ContextPointer.redactions}. */
  redactions?: RedactionFinding[]
  /** See {@link ContextPointer.outputBytes}. */
  outputBytes?: number
  /** See {@link ContextPointer.shownBytes}. */
  shownBytes?: number
  /** The tool's output, as `JSON.parse(JSON.stringify(output))` gives it. */
  result: T
}

/** The files of a stored output, as another directory has them. */
export interface ContextFiles {
  /** The name of the record's file. */
  filename: string
  /** The text of that file. */
  record: string
  /** What is in the file beside it that ends in `.bin`, where the output holds bytes. */
  bytes?: Uint8Array | null | undefined
}

/** Options of `importRecord`. `undefined` and `null` mean the default. */
export interface ImportRecordOptions extends CancellationOptions {
  /**
   * Say what would be stored, and store nothing.
   * @default false
   */
  dryRun?: boolean | null | undefined
}

/** What came of `importRecord`. */
export interface ImportedRecord {
  /** Where it is stored. */
  filepath: string
  /** Its handle, made of its content again. */
  handle: string
  /** It was not there before. */
  isNew: boolean
  /** What was redacted in it, by rule. */
  redactions: RedactionFinding[]
}

/** What `selectRelevantContexts` needs of a pointer. Every `ContextPointer` is one. */
export interface SelectablePointer {
  filepath: string
  toolName?: string | null | undefined
  toolDescription?: string | null | undefined
  args?: Record<string, unknown> | null | undefined
  taskId?: TaskId | null | undefined
  queryId?: string | null | undefined
  timestamp?: number | null | undefined
}

/** Bounds of what dead sessions leave in a directory, and of any single result. */
export interface RetentionOptions {
  /**
   * Contexts of dead sessions older than this go: a number with `ms`, `s`, `m`, `h`, `d` or `w`.
   * @default '7d'
   */
  maxAge?: string | null | undefined
  /**
   * Contexts of dead sessions beyond this number go, oldest first.
   * @default 10000
   */
  maxFiles?: number | null | undefined
  /**
   * Contexts of dead sessions beyond this many bytes go, oldest first.
   * @default 1073741824 (1 GiB)
   */
  maxBytes?: number | null | undefined
  /**
   * A paused session that was not used for so long is over: a number with `ms`, `s`, `m`, `h`, `d` or `w`. Noted with the session, so
   * that processes with other options keep it as long.
   * @default '7d'
   */
  keepPaused?: string | null | undefined
  /**
   * Paused sessions of the directory whose contexts take more bytes together end, least recently used first.
   * @default 1073741824 (1 GiB)
   */
  maxPausedBytes?: number | null | undefined
  /**
   * Contexts of this session that take more bytes on disk go, least recently used first; pinned ones and the latest stay.
   * @default no bound
   */
  maxLiveBytes?: number | null | undefined
  /**
   * Contexts of this session on disk beyond this number go, least recently used first; pinned ones and the latest stay.
   * @default no bound
   */
  maxLiveFiles?: number | null | undefined
  /**
   * A result whose JSON is longer than this many bytes is refused with `ERR_CONTEXT_TOO_LARGE`; of a stream its beginning is stored.
   * @default 67108864 (64 MiB)
   */
  maxResultBytes?: number | null | undefined
}

/** Options of `new ContextManager()`. `undefined` and `null` mean the default. */
export interface ContextManagerOptions {
  /**
   * The directory, created on demand for the owner alone. `~` is expanded. Several sessions,
   * managers and processes may share it.
   * @default '~/.agent/context'
   */
  contextDir?: string | null | undefined
  /**
   * Results whose JSON takes at least this many bytes are large: they are not kept in memory.
   * @default 32768
   */
  persistThreshold?: number | null | undefined
  /**
   * `'all'` also writes small outputs, so that nothing is lost with the process and other processes
   * see them. `'large'` keeps small ones in memory alone until the budget pushes them out.
   * @default 'all'
   */
  persist?: 'all' | 'large' | null | undefined
  /**
   * Bytes of small outputs kept in memory; the least recently used leave first.
   * @default 67108864 (64 MiB)
   */
  memoryBudget?: number | null | undefined
  /**
   * Memory of the index of stored outputs, in bytes. Beyond it, the oldest outputs are found by their names, descriptions
   * and arguments, no more by their results.
   * @default 134217728 (128 MiB)
   */
  indexBudget?: number | null | undefined
  /**
   * The session. Managers that share an id are one session, in any number of processes: clearing one clears all. The id shows
   * in file names when you give it, and the session is paused, not over, when its last process is gone: see `resume`.
   * @default a fresh id
   */
  sessionId?: string | null | undefined
  /**
   * Restores the pointers that earlier processes of the session left, in the order of their calls. They, and `size`, are complete
   * once `resume()` resolves; asynchronous methods wait for it. An unknown id begins a new session. Needs `sessionId`.
   * @default false
   */
  resume?: boolean | null | undefined
  /** Overrides the threshold for one output; `sizeBytes` is the size of the result's JSON. Not asked of streams that are written to files. */
  shouldPersist?: ((toolName: string, args: Record<string, unknown>, sizeBytes: number) => boolean) | null | undefined
  /** Bounds of what dead sessions leave behind, and of any single result. */
  retention?: RetentionOptions | null | undefined
  /**
   * What an acknowledged save survives: `'process'` the end of the process however it comes,
   * `'full'` the loss of power as well (file and directory are synchronised).
   * @default 'process'
   */
  durability?: 'process' | 'full' | null | undefined
  /**
   * Vouches that the locks of the file system exclude every process that can reach the directory, on other hosts and mounts
   * as well. Without it, sessions whose lease names another host or mount count as alive until `retention.maxAge`, and on
   * FUSE, 9p, SMB and unknown file systems free locks of older leases prove nothing. See docs/durability.md.
   * @default false
   */
  trustLocks?: boolean | null | undefined
  /**
   * Uses a directory that belongs to another user, who can read and replace what is stored there. Without it such a
   * directory is refused with `ERR_CONTEXT_UNSAFE_DIRECTORY`; a process that runs as root only reports it to `onDebug`.
   * @default false
   */
  allowShared?: boolean | null | undefined
  /** Takes the place of the local disk. */
  fileSystem?: IFileSystem | null | undefined
  /**
   * How long each call of `fileSystem` may take, in ms; `Infinity` means no bound. Then what needs it rejects with
   * `ERR_CONTEXT_IO`. While a write, rename or removal that took longer has not settled, other changes of its file are refused:
   * it may still come.
   * @default 10000
   */
  fileSystemTimeout?: number | null | undefined
  /**
   * How long `close()` waits for calls of `fileSystem`, in ms; `Infinity` means no bound. Then it says so through `onDebug` and
   * resolves. The local disk is always waited for.
   * @default 30000
   */
  closeTimeout?: number | null | undefined
  /**
   * Replaces the description of an output. `result` is what the tool returned, absent where that is a stream that is written to files; `outcome`
   * is how the call ended.
   */
  describe?:
    | ((toolName: string, args: Record<string, unknown>, result: unknown, outcome: ToolOutcome | undefined) => string)
    | null
    | undefined
  /** Which outputs `offload` and `offloadAll` replace in the conversation. */
  offload?: OffloadPolicy | null | undefined
  /**
   * What is taken out of everything before it is stored, in memory and on disk. `false`: nothing is.
   * @default the built-in rules, and the values of environment variables whose names look secret
   */
  redaction?: false | RedactionOptions | null | undefined
  /** Told what happens, for logs. What it throws is swallowed. */
  onDebug?: ((msg: string, data?: unknown) => void) | null | undefined
}

/** How a tool call ended, stored beside its result. */
export interface ToolOutcome {
  /** Whether the tool succeeded. */
  success?: boolean | null | undefined
  /** Why it failed. */
  error?: string | null | undefined
  /** What the tool said about the call. */
  message?: string | null | undefined
  /** How long the call took, in ms: a finite number from 0 up. */
  durationMs?: number | null | undefined
  /** The exit code of the program that the tool ran: a whole number of 32 bits. */
  exitCode?: number | null | undefined
}

/** What `saveContext` stores beside a call's output, and how. */
export interface SaveOptions extends ToolOutcome {
  /** The id of the call, as the model or the framework gave it. */
  callId?: string | null | undefined
  /** The span of the trace in which the call was made. */
  spanId?: string | null | undefined
  /**
   * When the call began, ms since 1970 or a date.
   * @default now
   */
  startedAt?: number | Date | null | undefined
  /** The media type of the result, such as `'text/csv'`. */
  mediaType?: string | null | undefined
  /**
   * Writes nothing when the session has an output with the same handle already: the same tool, arguments and result. The path of that one is
   * given then.
   * @default false
   */
  ifAbsent?: boolean | null | undefined
}

/** Options of `recordStream`. `undefined` and `null` mean the default. */
export interface RecordStreamOptions extends SaveOptions {
  taskId?: TaskId | null | undefined
  queryId?: string | null | undefined
}

/** Whether a session's contexts are kept for it. */
export type SessionState = 'live' | 'paused' | 'ended'

/** A session of a context directory. */
export interface SessionInfo {
  id: string
  /**
   * `'live'`: a process holds it, or may hold it. `'paused'`: no process does, and it stays for when it is resumed. `'ended'`: what
   * it left is kept within the bounds of `retention`.
   */
  state: SessionState
  /** When it began, ms since 1970; where that was not noted, when its first context was made. */
  createdAt: number
  /** When it was last used, ms since 1970. */
  lastUsedAt: number
  /** Its contexts on disk. */
  contexts: number
  /** Their bytes. */
  bytes: number
  /** The processes that hold it. */
  processes: number
}

/** Options of `sweep`. */
export interface SweepOptions extends CancellationOptions {
  /**
   * Removes nothing, and reports in `removals` what would be removed and why.
   * @default false
   */
  dryRun?: boolean | null | undefined
}

/** Which contexts `forget` removes: those that meet every condition given, of which one is needed. */
export interface ForgetFilter {
  /** Made by this tool, or one of several. */
  toolName?: string | readonly string[] | null | undefined
  /** Saved before this time. */
  before?: Time | null | undefined
  /** Saved after this time. */
  after?: Time | null | undefined
  /** Saved with this `queryId`, or one of several. */
  queryId?: string | readonly string[] | null | undefined
  /** Saved with this `taskId`, or one of several. */
  taskId?: TaskId | readonly TaskId[] | null | undefined
  /** Saved with this `callId`, or one of several. */
  callId?: string | readonly string[] | null | undefined
  /**
   * Of this session, which must be this one or one that is over.
   * @default this session
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

/** What `forget` removed, or would remove. */
export interface ForgetReport {
  /** How many contexts. */
  deletedFiles: number
  /** Their bytes. */
  deletedBytes: number
  /** Each of them. */
  contexts: { filepath: string; handle?: string; toolName: string; sizeBytes: number }[]
}

/** Whose contexts come into question: this manager's, those of every session of the directory, or those of the sessions with these ids. */
export type SessionScope = 'own' | 'all' | readonly string[]

/** Options of `findContext`. */
export interface FindOptions extends CancellationOptions {
  /**
   * Calls that are older are not found: ms, or a number with `ms`, `s`, `m`, `h`, `d` or `w`.
   * @default no bound
   */
  maxAge?: string | number | null | undefined
  /**
   * Whose calls count. `'own'`: this session's.
   * @default 'own'
   */
  sessions?: SessionScope | null | undefined
}
