/** Public types of the context manager: its options, pointers and stored contexts. */

import type { TaskId } from '../arguments/types.ts'
import type { IFileSystem } from '../native/types.ts'
import type { RedactionOptions } from '../redaction/types.ts'
import type { OffloadPolicy } from './retrieval-types.ts'

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

/** How a tool call ended, stored beside its result. */
export interface ToolOutcome {
  /** Whether the tool succeeded. */
  success?: boolean | null | undefined
  /** Why it failed. */
  error?: string | null | undefined
  /** What the tool said about the call. */
  message?: string | null | undefined
}
