/** Public types of the context history. */

import type { CancellationOptions } from '../arguments/types.ts'
import type { IFileSystem } from '../native/types.ts'
import type { RedactionOptions } from '../redaction/types.ts'

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
   * The history compacts itself in the background when an append finds the file larger than so many bytes: the oldest entries go
   * until the rest has 80 % of it; the latest one stays. No append waits for it, one process does it at a time, and `onDebug`
   * is told. Until it is done the file is larger. Not where `compact` is refused, see `trustLocks`.
   * @default Infinity
   */
  maxBytes?: number | null | undefined
  /**
   * As `maxBytes`, for a number of entries. They are counted after every sixteenth part of it that this history has appended.
   * @default Infinity
   */
  maxEntries?: number | null | undefined
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
  /** Why the call failed. */
  error?: string
  /** The session that made the call. */
  sessionId?: string
  /** The query that the call belongs to. */
  queryId?: string
  /** The span of the trace. */
  spanId?: string
  /** The call's id, as the model or the framework gave it. */
  callId?: string
  /** How long the call took, in ms. */
  durationMs?: number
  /** The operation that appended the entry, see `ContextEntryInput`. */
  operationId?: string
  /**
   * `true` where `append` returns the first entry of an operation and a compaction has removed that entry: `params`, `result`
   * and `summary` are `null`.
   */
  compacted?: boolean
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
  /** Why the call failed. */
  error?: string | null | undefined
  /** The session that made the call. */
  sessionId?: string | null | undefined
  /** The query that the call belongs to. */
  queryId?: string | null | undefined
  /** The span of the trace. */
  spanId?: string | null | undefined
  /** The call's id, as the model or the framework gave it. */
  callId?: string | null | undefined
  /** How long the call took, in ms. */
  durationMs?: number | null | undefined
  /**
   * Makes a repeated append harmless: where the file has an entry with this id, `append` writes nothing and returns that entry,
   * whichever process wrote it. At most 256 characters. Of a file's latest 262 144 ids, each is known for as long as
   * its entry is there. A compaction keeps the ids of the entries that it removes: the latest 10 000 of them, of 2 MiB together,
   * and no more than an eighth of its `maxBytes`.
   */
  operationId?: string | null | undefined
  /** The line's spelling of `toolName`, which would be there twice. */
  tool_name?: never
  /** Anything else is kept beside the rest. */
  [key: string]: unknown
}

/** Options of `append`. */
export interface AppendOptions {
  /**
   * The `id` of the entry that has to be the file's last one, `null` where there has to be none; `undefined` means no condition.
   * When another entry is the last one, nothing is written and `append` rejects with `ERR_CONTEXT_CONFLICT`.
   */
  ifLast?: string | null | undefined
}

/** Options of `read`. */
export interface ReadOptions extends CancellationOptions {
  /**
   * Entries before the one with which they take so many bytes of JSON are left out.
   * @default no bound
   */
  maxBytes?: number | null | undefined
}

/** Options of `tail`. `undefined` and `null` mean the default. */
export interface TailOptions extends CancellationOptions {
  /**
   * Begins with the last so many entries that are there already.
   * @default 0
   */
  last?: number | null | undefined
  /** Begins behind the entry with this id, so that following goes on where it ended before. Not with `last`. */
  after?: string | null | undefined
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
