/// <reference lib="esnext.disposable" />

import type { RedactionOptions } from './redaction.d.ts'
import type { OffloadPolicy } from './retrieval.d.ts'

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
  /** The file system lacks what the call needs, such as locks, or the memory does: a workspace, a branch that can be read. */
  | 'ERR_CONTEXT_UNSUPPORTED'
  /** It could not be told what is secret in a value, and so it was not written. */
  | 'ERR_CONTEXT_REDACTION'
  /** The directory belongs to another user, who can read and replace what is stored there. See `allowShared`. */
  | 'ERR_CONTEXT_UNSAFE_DIRECTORY'
  /** This package failed by an error of its own. Please report it. */
  | 'ERR_CONTEXT_INTERNAL'

/** What this package throws and rejects with. */
export interface ContextError extends Error {
  /** Stable, for programs. */
  code: ContextErrorCode
  /** The file system's error, or what an injected file system threw. */
  cause?: unknown
}

/**
 * A file system that takes the place of the local disk: an in-memory map in tests, a sandbox, a
 * remote store. Methods may be synchronous or asynchronous and are looked up on the object at every
 * call. There are no locks and no fsync here: what survives a crash is up to the implementation.
 */
export interface IFileSystem {
  /** The file's text. Rejects when it cannot be read, best with `code: 'ENOENT'` when it is missing. */
  readFile(path: string): Promise<string>
  writeFile(path: string, content: string): Promise<void>
  exists(path: string): Promise<boolean>
  /** Creates the directory and its parents. */
  mkdir(path: string): Promise<void>
  chmod(path: string, mode: number): Promise<void>
  /** Expands `~` and makes the path absolute. Called once, by the constructor. */
  resolvePath(path: string): string
  joinPath(...segments: string[]): string
  getHomeDir(): string
  getCwd(): string
  dirname(filePath: string): string
  unlink(path: string): Promise<void>
  /** File names only. */
  readdir(path: string): Promise<string[]>
  /** With it, readers see a new file whole or not at all. */
  rename?(oldPath: string, newPath: string): Promise<void>
  /** Adds text at a file's end, creating the file. With it, appending costs no reading and rewriting. */
  appendFile?(path: string, content: string): Promise<void>
}

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
  /** Size of the stored JSON in bytes. */
  sizeBytes: number
  /** Whether the tool succeeded, where that was told. */
  success?: boolean
  /** `args` is cut: the stored context has it whole. */
  argsTruncated?: boolean
  /** The result's own `sourceUrls`, so that an answer can cite without loading. */
  sourceUrls?: string[]
  /** The handle of an output that `offload` stored. Known to the manager that stored it alone: files do not hold it. */
  handle?: string
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
  /** The tool's output, as `JSON.parse(JSON.stringify(output))` gives it. */
  result: T
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
   * A result whose JSON is longer than this many bytes is refused with `ERR_CONTEXT_TOO_LARGE`.
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
   * Bytes of small outputs kept in memory; the oldest leave first.
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
   * The session. Managers that share an id are one session: clearing one clears all. The id shows
   * in file names when you give it.
   * @default a fresh id
   */
  sessionId?: string | null | undefined
  /** Overrides the threshold for one output; `sizeBytes` is the size of the result's JSON. */
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
  /** Replaces the description of an output. */
  describe?: ((toolName: string, args: Record<string, unknown>) => string) | null | undefined
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

/** Options of calls that may take long. */
export interface CancellationOptions {
  /** Rejects the call with the signal's reason and stops the work. */
  signal?: AbortSignal | null | undefined
}

/** Options of `new ContextHistory()`. `undefined` and `null` mean the default. */
export interface ContextHistoryOptions {
  /**
   * The file, created on demand with its directory for the owner alone. Relative paths count from the working directory
   * at the time of construction; `~` is expanded. Any number of histories and processes may share it.
   * @default '.wink/context.jsonl'
   */
  path?: string | null | undefined
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
   * What an acknowledged entry survives: `'process'` the end of the process however it comes, `'full'` the loss of power
   * as well.
   * @default 'process'
   */
  durability?: 'process' | 'full' | null | undefined
  /**
   * How long to wait for the file's lock while other processes hold it, in ms. Then calls reject with
   * `ERR_CONTEXT_LOCK_TIMEOUT`.
   * @default 10000
   */
  lockTimeout?: number | null | undefined
  /**
   * Vouches that the locks of the file system exclude every process that can reach the history, on other hosts and mounts
   * as well. Without it, `compact` is refused with `ERR_CONTEXT_UNSUPPORTED`
   * on FUSE, 9p, SMB and unknown file systems. See docs/durability.md.
   * @default false
   */
  trustLocks?: boolean | null | undefined
  /**
   * Uses a directory that belongs to another user, who can read and replace what is stored there. Without it such a
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
   * What is taken out of every line before it is written. `false`: nothing is.
   * @default the built-in rules, and the values of environment variables whose names look secret
   */
  redaction?: false | RedactionOptions | null | undefined
  /** Told what happens, for logs. What it throws is swallowed. */
  onDebug?: ((msg: string, data?: unknown) => void) | null | undefined
}

/** An entry of a history: a tool call, a decision or a summary. */
export interface ContextEntry {
  /** Unique; of a line without one, derived from the line's content. */
  id: string
  toolName: string
  /** What the tool was called with. */
  params: unknown
  /** What the tool gave back. */
  result: unknown
  success: boolean
  /** What happened, in a sentence. */
  summary: string | null
  /** ISO 8601; `null` only where a line of another program has none. */
  timestamp: string | null
  /** What else the line says. */
  [key: string]: unknown
}

/** What `append` takes. `undefined` and `null` mean absent. An entry that was read can be appended again. */
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
   * ISO 8601 (UTC where it names no zone), a date, or ms since 1970, in the years 0 to 9999.
   * @default now
   */
  timestamp?: Date | string | number | null | undefined
  /** @default a fresh UUID */
  id?: string | null | undefined
  /** The line's spelling of `toolName`, which would be there twice. */
  tool_name?: never
  /** Anything else is kept beside the rest. */
  [key: string]: unknown
}

/** Options of `read`. */
export interface ReadOptions extends CancellationOptions {
  /**
   * Entries before the one with which they take so many bytes of JSON are left out.
   * @default no bound
   */
  maxBytes?: number | null | undefined
}

/** Which entries `search` finds: those that meet every condition given. */
export interface HistoryFilter extends CancellationOptions {
  /** The tool, or one of several. */
  toolName?: string | readonly string[] | null | undefined
  success?: boolean | null | undefined
  /** At this time or later: ISO 8601 (UTC where it names no zone), a date, or ms since 1970. */
  since?: Date | string | number | null | undefined
  /** At this time or before. */
  until?: Date | string | number | null | undefined
  /**
   * Appears in the tool's name, the parameters, the result or the summary, in upper or lower case. With `ranked`, a question
   * that entries have to share a word with.
   */
  text?: string | null | undefined
  /**
   * Ranks by how well an entry answers `text`, which is needed then: best first, equally good ones the most recent first.
   * The 10 000 most recent entries that meet the other conditions are ranked (fewer when they have more than 64 MiB of
   * text), by their tool's name, summary, the first 8 KiB of their parameters' text and 32 KiB of their result's.
   * @default false
   */
  ranked?: boolean | null | undefined
  /**
   * At most this many, the most recent ones; with `ranked`, the best ones.
   * @default 50
   */
  limit?: number | null | undefined
}

/** What `compact` keeps: entries that meet every bound given. At least one is needed. */
export interface CompactPolicy extends CancellationOptions {
  /** The most recent so many. */
  keepLast?: number | null | undefined
  /**
   * Those not older than this: a number with `ms`, `s`, `m`, `h`, `d` or `w`. Entries without a time that can be read have
   * no age, and stay.
   */
  maxAge?: string | null | undefined
  /** The most recent ones whose lines take no more than so many bytes. */
  maxBytes?: number | null | undefined
  /**
   * Sums up the entries that go. What it gives becomes one entry, `summary`, at the file's head. May be asked again when
   * another process changed the file meanwhile. Nothing is locked while it works.
   */
  summarise?: ((entries: ContextEntry[]) => string | Promise<string>) | null | undefined
  /**
   * How long `summarise` may take, in ms; `Infinity` means no bound. Then nothing is removed, as when it fails.
   * @default 10000
   */
  summariseTimeout?: number | null | undefined
}

/** What `compact` did. */
export interface CompactReport {
  /** Entries that stayed. */
  keptEntries: number
  /** Entries that went. */
  droppedEntries: number
  /** Lines without an entry that went with them. */
  droppedBadLines: number
  /** Size of the file before, in bytes. */
  bytesBefore: number
  /** Size of the file after, in bytes. */
  bytesAfter: number
  /** The entry that sums up those that went. */
  summaryEntry: ContextEntry | null
}

/** What `verify` found. */
export interface VerifyReport {
  /** Whole entries. */
  entries: number
  /** Size of the file, in bytes. */
  bytes: number
  /** Lines that are no entries, a torn last line included. `read` and `search` skip them. */
  badLines: number
  /** The first 100 of them. */
  problems: {
    /** Number of the line, from 1. */
    line: number
    /** Where it begins, in bytes. */
    offset: number
    reason: string
  }[]
  /** The last line is not whole: its writer was interrupted, or is writing. `badLines` counts it as well. */
  hasTornTail: boolean
  /**
   * The index beside the file, which only makes searching faster. `valid`: it is right as far as it goes. `stale`: it describes
   * a file that is no longer there, or was written with another `maxEntryBytes` or by another version. `damaged`: part of it is
   * not what was written. The next search of a file of 256 KiB or more makes what is missing, stale or found damaged again.
   */
  index: 'missing' | 'valid' | 'stale' | 'damaged'
}

/** What a tool gives back to the agent: a value, or, when the call failed, a message that tells the model what to do. */
export type ToolResult<Value = unknown> =
  | { success: true; value: Value; message: string }
  | { success: false; value: null; message: string }

/** A tool that an agent can offer to its model. */
export interface ToolDefinition<Params = unknown, Value = unknown> {
  readonly name: string
  readonly description: string
  /** A JSON Schema of the parameters. */
  readonly parameters: Readonly<Record<string, unknown>>
  readonly examples: readonly {
    readonly description: string
    readonly input: Params
    readonly output: Value
  }[]
  /** Never rejects: a failure is a result whose message tells what to do. */
  execute(params?: Params | null): Promise<ToolResult<Value>>
}
