/** Public types of the repository memory. */

import type { CancellationOptions } from '../arguments/types.ts'
import type { EmbedOptions } from '../embedding/types.ts'
import type { IFileSystem } from '../native/types.ts'
import type { RedactionOptions } from '../redaction/types.ts'
import type { BlobsOptions, StorageOptions } from '../storage/types.ts'

/**
 * Whether each branch has its own memory (`'perBranch'`), or all branches and work trees of a repository share one
 * (`'sharedRepo'`).
 */
export type BranchScope = 'perBranch' | 'sharedRepo'

/**
 * Identifies a repository by a folder in it, or by the hash that `repoHash` returns. A relative folder is resolved against the
 * working directory at the time of the call; a folder inside a git work tree means that work tree.
 */
export type RepoMemoryLocation =
  | { workspace: string; repoHash?: null | undefined }
  | {
      /** The hash of the repository: 64 lower-case hexadecimal digits. An unknown hash opens an empty memory. */
      repoHash: string
      workspace?: null | undefined
    }

/** Options of `RepoMemory.repoHash()`. An option that is `undefined` or `null` has its default. */
export interface RepoHashOptions {
  /** @default 'perBranch' */
  branchScope?: BranchScope | null | undefined
}

/** Options of `RepoMemory.open()`. An option that is `undefined` or `null` has its default. */
export interface RepoMemoryOptions extends RepoHashOptions {
  /**
   * The directory of all memories, each in `repos/<repoHash>/` below it. It is created when needed, with access for the owner
   * only. A relative path is resolved against the working directory at the time of the call; `~` is expanded. With a
   * `fileSystem`, its `resolvePath` resolves the path.
   * @default '~/.codex-toolloop'
   */
  root?: string | null | undefined
  /**
   * What a change survives after its promise has resolved: with `'process'`, the end or crash of the process; with `'full'`, also
   * a power failure.
   * @default 'full'
   */
  durability?: 'full' | 'process' | null | undefined
  /**
   * A file system for the records and summaries, instead of the local disk. Only one process may write them then. The workspace
   * (git's files and the source files of the map) is always read from the local disk. The cache of the map is in memory then,
   * because `fileSystem` stores only texts.
   */
  fileSystem?: IFileSystem | null | undefined
  /**
   * A PostgreSQL database instead of the local disk, which many machines share: its URL, or options. `root` is then a namespace in
   * the database, with `/` between its parts, and is not resolved against the home or the working directory. Excludes `fileSystem`.
   * See docs/guides/fleet.md.
   */
  storage?: string | StorageOptions | null | undefined
  /**
   * A bucket of S3, Google Cloud Storage or Azure, by its URL (`'s3://bucket/prefix'`) or with options: memories and caches of symbols of
   * more than 256 KiB are objects in it, in place of rows of the database. Needs `storage`. Give every process that uses the namespace the
   * same bucket.
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
   * How long to wait for the memory's lock while other processes hold it, in ms. After that, calls reject with
   * `ERR_CONTEXT_LOCK_TIMEOUT`.
   * @default 10000
   */
  lockTimeout?: number | null | undefined
  /**
   * Asserts that file locks exclude every process that can access the memory, including processes on other hosts and mounts.
   * Without this option, summaries beyond the limits are not removed, and `migrate` refuses to move summaries, on FUSE, 9p, SMB
   * and unknown file systems. See docs/durability.md.
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
   * The number of summaries that are kept, from 1; `Infinity` means no limit. Beyond it, the oldest are removed.
   *
   * The limit belongs to this object, not to the stored memory: every `appendSummary` removes summaries beyond the limits of the
   * object on which it is called. An object with the default therefore removes summaries that another object, opened with
   * `Infinity`, would keep. Open the same memory with the same limits everywhere.
   * @default 100
   */
  maxSummaries?: number | null | undefined
  /**
   * The total size of the summaries that are kept, in bytes; `Infinity` means no limit. Beyond it, the oldest are removed; the
   * latest one is always kept. The limit belongs to this object, as `maxSummaries` does.
   * @default 1048576 (1 MiB)
   */
  maxSummaryBytes?: number | null | undefined
  /**
   * The rules by which secrets are removed from everything before it is written. `false` disables redaction.
   * @default the built-in rules, and the values of environment variables whose names look secret
   */
  redaction?: false | RedactionOptions | null | undefined
  /** Called with a message, and sometimes data, about what the object does; meant for logs. Errors that it throws are ignored. */
  onDebug?: ((msg: string, data?: unknown) => void) | null | undefined
}

/** A convention: how things are done in a repository. */
export interface Convention {
  id: string
  /** The title, one line. No two conventions have the same title. */
  title: string
  content: string
  tags: string[]
  /** When it was added, ISO 8601 in UTC, like all times here. */
  createdAt: string
  updatedAt: string
}

/** A decision about a repository, with its reasons. */
export interface Decision {
  id: string
  summary: string
  /** The reasons; empty if none were given. */
  rationale: string
  /** The paths that the decision affects. */
  impactedPaths: string[]
  createdAt: string
  updatedAt: string
}

/** The author of a note: a person (`'manual'`), a model (`'agent'`), or a program (`'tool'`). */
export type NoteSource = 'manual' | 'agent' | 'tool'

/** A note: any other knowledge about a repository. */
export interface Note {
  id: string
  content: string
  source: NoteSource
  createdAt: string
  updatedAt: string
}

/** The summary of one step of a run. */
export interface Summary {
  runId: string
  stepId: string
  /** When it was appended, ISO 8601 in UTC. */
  timestamp: string
  summary: string
  /** The tags; absent if none were given. */
  tags?: string[]
  /** The id of the operation that appended it; absent if none was given. */
  operationId?: string
}

/** Options of `appendSummary`. */
export interface AppendSummaryOptions {
  /**
   * Makes a repeated call idempotent: if a stored summary has this id, nothing is added and that summary is returned, whichever
   * process appended it. One line of at most 300 bytes. The id is forgotten when its summary is removed because of `maxSummaries`
   * or `maxSummaryBytes`.
   */
  operationId?: string | null | undefined
}

/** The kinds of records in a memory. */
export type RecordKind = 'convention' | 'decision' | 'note'

/** The complete contents of a repository memory. */
export interface RepoMemoryContents {
  /** The conventions, in the order in which they were added; decisions and notes likewise. */
  conventions: Convention[]
  decisions: Decision[]
  notes: Note[]
  /** The summaries, oldest first. */
  summaries: Summary[]
}

/**
 * A new convention, or a change of the convention with this `id` or, without an `id`, with this `title`. Absent members are not
 * changed. A new convention requires `title` and `content`.
 */
export interface ConventionInput {
  /** The id, a UUID. If no convention has it, a new convention with this id is added. */
  id?: string | null | undefined
  /** One line of at most 300 bytes. Surrounding white space is removed. */
  title?: string | null | undefined
  /** A text of at most 64 KiB. */
  content?: string | null | undefined
  /** At most 200 non-empty single lines, which replace all existing tags. Surrounding white space and duplicates are removed. */
  tags?: readonly string[] | null | undefined
}

/** A new decision, or a change of the one with this `id`. Absent members are not changed. A new decision requires `summary`. */
export interface DecisionInput {
  /** The id, a UUID. If no decision has it, a new decision with this id is added. */
  id?: string | null | undefined
  /** A text of at most 64 KiB. */
  summary?: string | null | undefined
  /** A text of at most 64 KiB. */
  rationale?: string | null | undefined
  /** At most 200 non-empty single lines, which replace all existing paths. Duplicates are removed. */
  impactedPaths?: readonly string[] | null | undefined
}

/** A new note, or a change of the one with this `id`. Absent members are not changed. A new note requires `content`. */
export interface NoteInput {
  /** The id, a UUID. If no note has it, a new note with this id is added. */
  id?: string | null | undefined
  /** A text of at most 64 KiB. */
  content?: string | null | undefined
  /** @default 'manual' */
  source?: NoteSource | null | undefined
}

/** Options of `buildContextFromMemory` and `contextPack`. An option that is `undefined` or `null` has its default. */
export interface ContextPackOptions extends EmbedOptions, CancellationOptions {
  /** The task of the model: records that share a word with it come first, and with `embed` those that mean the same. */
  query?: string | null | undefined
  /**
   * The number of the latest summaries that are considered.
   * @default 10
   */
  latestSummaries?: number | null | undefined
  /**
   * Whether a map of the repository fills the remaining budget, and what it focuses on in addition to the words of `query`. A
   * memory that was opened by its hash has no map.
   * @default true
   */
  repoMap?: boolean | RepoMapFocus | null | undefined
  /** The largest number of tokens, as `countTokens` counts them; `Infinity` means no limit. */
  maxTokens?: number | null | undefined
  /** Returns the number of tokens of a text, by your model's tokeniser. Required with `maxTokens`; called up to eight times. */
  countTokens?: ((text: string) => number) | null | undefined
}

/** A context pack: its text, and the included and omitted records. */
export interface ContextPack {
  /** The text as Markdown, equal to the result of `buildContextFromMemory`. */
  text: string
  /** The records in the text, most useful first. */
  included: PackedRecord[]
  /** The records in `included` that are cut to their beginning, because they are larger than the complete budget. */
  cut: PackedRecord[]
  /** The considered records that are not in the text, most useful first. */
  leftOut: PackedRecord[]
  /** Whether the text contains a map of the repository. */
  hasRepoMap: boolean
  /** Whether there is a map that does not fit into the budget. */
  lacksRepoMap: boolean
}

/** Identifies a record that a pack includes or omits. */
export type PackedRecord =
  | { kind: RecordKind; id: string }
  | { kind: 'summary'; runId: string; stepId: string; timestamp: string }

/** The focus of a map. */
export interface RepoMapFocus {
  /** What the map focuses on: paths of files and folders below the workspace, names of symbols, and words. */
  focus?: readonly string[] | null | undefined
}

/** Options of `repoMap`. An option that is `undefined` or `null` has its default. */
export interface RepoMapOptions extends RepoMapFocus, CancellationOptions {
  /**
   * The largest length of the text, in UTF-16 code units (JavaScript's `length`); `Infinity` means no limit.
   * @default 8000
   */
  maxChars?: number | null | undefined
  /** Called with the progress while files are read. Errors that it throws are ignored. */
  onProgress?: ((progress: RepoMapProgress) => void) | null | undefined
}

/** The progress of building a repository map. */
export interface RepoMapProgress {
  /** Number of files that were checked. */
  done: number
  total: number
  /** Number of files that were parsed because they were new or had changed. */
  parsed: number
}

/** A map of a repository: its most important files, and the symbols that they define. */
export interface RepoMap {
  /** The map as text for a model. */
  text: string
  /** The files that `text` shows, in its order: the most important first. */
  files: {
    /** The path relative to the workspace, with `/` between its parts. */
    path: string
    symbols: SymbolSummary[]
  }[]
  /** Number of source files in the workspace that were considered. */
  totalFiles: number
  /** Whether the workspace has more source files than are considered (50 000). */
  isTruncated: boolean
}

/** The kind of a symbol. */
export type SymbolKind =
  | 'class'
  | 'interface'
  | 'type'
  | 'enum'
  | 'function'
  | 'method'
  | 'constant'
  | 'module'
  | 'macro'

/** A symbol that a file defines. */
export interface SymbolSummary {
  name: string
  kind: SymbolKind
  /** The line on which the definition begins, from 1. */
  line: number
  /** The declaration on one line, without its body. */
  signature: string
  /** The type or module that contains it, in the same file. */
  container?: string
}

/** The argument of `summariseStep`: what happened in a step of a run, its outputs, and what remains to be done. */
export interface StepSummary {
  /** What happened, in a few sentences. */
  happened: string
  /** The outputs: a list of texts, or values by name. Values that are not strings are shown as JSON, cut after 2000 characters. */
  outputs?: readonly string[] | Readonly<Record<string, unknown>> | null | undefined
  followUps?: readonly string[] | null | undefined
}

/** The argument of a step's function. */
export interface WorkflowStep {
  readonly runId: string
  readonly stepId: string
  /** The same as `RepoMemory.buildContextFromMemory`; its text includes the summaries of earlier steps. */
  context(maxChars: number, options?: ContextPackOptions): Promise<string>
}

/** Options of `Workflow.step`. An option that is `undefined` or `null` has its default. */
export interface WorkflowStepOptions<T> {
  /** Returns a summary of the step's return value. @default the return value if it is a text or a `StepSummary`; otherwise the first 2000 characters of its JSON
   */
  summarise?: ((result: T) => string | StepSummary | Promise<string | StepSummary>) | null | undefined
  /**
   * Timeout of `summarise`, in ms; `Infinity` disables it. When it expires, as when `summarise` fails, the default summary is
   * used.
   * @default 10000
   */
  summariseTimeout?: number | null | undefined
  /** Tags of the summary: at most 50 non-empty single lines. */
  tags?: readonly string[] | null | undefined
}

/** A run of several steps, each of which appends a summary to the memory. */
export interface Workflow {
  readonly runId: string
  /**
   * Runs a step, appends a summary of its return value to the memory, and returns that value. Steps may run concurrently. The
   * summary of a step that fails says so and has the tag `failed`; the error is rethrown unchanged. An error while making or
   * storing a summary is reported to `onDebug` and does not fail the step. A summary of more than 64 KiB is cut.
   *
   * @throws (rejects) the error that `run` throws; `ERR_CONTEXT_INVALID_ARGUMENT`, before `run` is called
   */
  step<T>(
    stepId: string,
    run: (step: WorkflowStep) => T | Promise<T>,
    options?: WorkflowStepOptions<T> | null,
  ): Promise<T>
}

/** Options of `RepoMemory.migrate()`. An option that is `undefined` or `null` has its default. */
export type RepoMemoryMigration = (
  | {
      /** The folder in which the repository was. It need not exist any more. */
      fromWorkspace: string
      fromRepoHash?: null | undefined
    }
  | {
      /** The hash under which the repository's memory was stored. */
      fromRepoHash: string
      fromWorkspace?: null | undefined
    }
) &
  Omit<RepoMemoryOptions, 'onDebug' | 'storage' | 'blobs' | 'fileSystem' | 'fileSystemTimeout' | 'closeTimeout'> & {
    /** The folder in which the repository is now. */
    workspace: string
  }

/** The result of `RepoMemory.migrate()`. */
export interface MigrateReport {
  /** The memories that were moved; empty if there was nothing to move. */
  moved: {
    /** The hash under which the memory was stored before. */
    from: string
    /** The hash under which the memory is stored now. */
    to: string
    /** The number of its records and summaries. */
    conventions: number
    decisions: number
    notes: number
    summaries: number
  }[]
}
