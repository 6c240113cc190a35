/** Public types of the memory of repositories. */

import type { CancellationOptions } from '../arguments/types.ts'
import type { IFileSystem } from '../native/types.ts'
import type { RedactionOptions } from '../redaction/types.ts'

/**
 * Whether each branch has a memory of its own (`'perBranch'`), or all branches and work trees of a repository share one
 * (`'sharedRepo'`).
 */
export type BranchScope = 'perBranch' | 'sharedRepo'

/**
 * Which repository a memory is about: a folder in it, or its hash, as `repoHash` gives it. A relative folder counts from the
 * working directory at the time of the call; one below a git work tree means that work tree.
 */
export type RepoMemoryLocation =
  | { workspace: string; repoHash?: null | undefined }
  | {
      /** 64 lower-case hexadecimal digits. What nothing is stored about is an empty memory. */
      repoHash: string
      workspace?: null | undefined
    }

/** Options of `RepoMemory.repoHash()`. `undefined` and `null` mean the default. */
export interface RepoHashOptions {
  /** @default 'perBranch' */
  branchScope?: BranchScope | null | undefined
}

/** Options of `RepoMemory.open()`. `undefined` and `null` mean the default. */
export interface RepoMemoryOptions extends RepoHashOptions {
  /**
   * The directory that holds the memories of all repositories, each in `repos/<repoHash>/` below it, created on demand for the
   * owner alone. Relative paths count from the working directory at the time of the call; `~` is expanded. With a `fileSystem`
   * its `resolvePath` says what the path means.
   * @default '~/.codex-toolloop'
   */
  root?: string | null | undefined
  /**
   * What an acknowledged change survives: `'process'` the end of the process however it comes, `'full'` the loss of power
   * as well.
   * @default 'full'
   */
  durability?: 'full' | 'process' | null | undefined
  /**
   * Takes the place of the local disk for what is remembered: records and summaries, which one process alone may write then.
   * The workspace is read from the local disk in any case: what git says about it, and the source files of the map, which
   * lists them by a walk of its own. Of the map nothing is kept in `fileSystem`, which holds texts; it lives in memory.
   */
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
   * How long to wait for the memory's lock while other processes hold it, in ms. Then calls reject with
   * `ERR_CONTEXT_LOCK_TIMEOUT`.
   * @default 10000
   */
  lockTimeout?: number | null | undefined
  /**
   * Vouches that the locks of the file system exclude every process that can reach the memory, on other hosts and mounts
   * as well. Without it, summaries beyond the bounds are not removed and `migrate` refuses to move summaries
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
   * So many summaries are kept, the latest, from 1 up; `Infinity` means no bound.
   *
   * The bound belongs to this object, not to the memory: every `appendSummary` prunes to the bounds of the object that is
   * called. An object with the default therefore prunes summaries that another one, opened with `Infinity`, would keep. Give
   * all that open the same memory the same bounds.
   * @default 100
   */
  maxSummaries?: number | null | undefined
  /**
   * So many bytes of summaries are kept, the latest, and the last one whatever it takes; `Infinity` means no bound.
   * It belongs to this object, as `maxSummaries` does.
   * @default 1048576 (1 MiB)
   */
  maxSummaryBytes?: number | null | undefined
  /**
   * What is taken out of everything before it is written. `false`: nothing is.
   * @default the built-in rules, and the values of environment variables whose names look secret
   */
  redaction?: false | RedactionOptions | null | undefined
  /** Told what happens, for logs. What it throws is swallowed. */
  onDebug?: ((msg: string, data?: unknown) => void) | null | undefined
}

/** How things are done in a repository. */
export interface Convention {
  id: string
  /** One line; no two conventions have the same. */
  title: string
  content: string
  tags: string[]
  /** ISO 8601 in UTC, as all times here. */
  createdAt: string
  updatedAt: string
}

/** What was decided about a repository, and why. */
export interface Decision {
  id: string
  summary: string
  /** Empty where none was given. */
  rationale: string
  /** What it is about. */
  impactedPaths: string[]
  createdAt: string
  updatedAt: string
}

/** Who wrote a note: a person, a model, or a program. */
export type NoteSource = 'manual' | 'agent' | 'tool'

/** Anything else worth knowing about a repository. */
export interface Note {
  id: string
  content: string
  source: NoteSource
  createdAt: string
  updatedAt: string
}

/** What a step of a run came to. */
export interface Summary {
  runId: string
  stepId: string
  /** When it was written. */
  timestamp: string
  summary: string
  /** Absent where none were given. */
  tags?: string[]
  /** The operation that appended it; absent where none was given. */
  operationId?: string
}

/** Options of `appendSummary`. */
export interface AppendSummaryOptions {
  /**
   * Makes a repeated call harmless: where a summary with this id is kept, nothing is added and that summary is returned, whichever
   * process appended it. One line of at most 300 bytes. A summary beyond `maxSummaries` or `maxSummaryBytes` takes its id with
   * it.
   */
  operationId?: string | null | undefined
}

/** The lists of records of a memory. */
export type RecordKind = 'convention' | 'decision' | 'note'

/** Everything that is remembered about a repository. */
export interface RepoMemoryContents {
  /** In the order in which they were added, as decisions and notes. */
  conventions: Convention[]
  decisions: Decision[]
  notes: Note[]
  /** Oldest first. */
  summaries: Summary[]
}

/**
 * A new convention, or a change of one: that with this `id`, or else with this `title`. What is absent stays. A new one needs
 * `title` and `content`.
 */
export interface ConventionInput {
  /** A UUID. One that is not there yet becomes the new convention's. */
  id?: string | null | undefined
  /** One line of at most 300 bytes. White space around it goes. */
  title?: string | null | undefined
  /** At most 64 KiB. */
  content?: string | null | undefined
  /** At most 200 non-empty single lines, in place of all there were. White space around them and repetitions go. */
  tags?: readonly string[] | null | undefined
}

/** A new decision, or a change of the one with this `id`. What is absent stays. A new one needs `summary`. */
export interface DecisionInput {
  /** A UUID. One that is not there yet becomes the new decision's. */
  id?: string | null | undefined
  /** At most 64 KiB. */
  summary?: string | null | undefined
  /** At most 64 KiB. */
  rationale?: string | null | undefined
  /** At most 200 non-empty single lines, in place of all there were. Repetitions go. */
  impactedPaths?: readonly string[] | null | undefined
}

/** A new note, or a change of the one with this `id`. What is absent stays. A new one needs `content`. */
export interface NoteInput {
  /** A UUID. One that is not there yet becomes the new note's. */
  id?: string | null | undefined
  /** At most 64 KiB. */
  content?: string | null | undefined
  /** @default 'manual' */
  source?: NoteSource | null | undefined
}

/** Options of `buildContextFromMemory` and `contextPack`. `undefined` and `null` mean the default. */
export interface ContextPackOptions extends CancellationOptions {
  /** What the model is about to do: what shares a word with it comes first. */
  query?: string | null | undefined
  /**
   * So many of the latest summaries come into question.
   * @default 10
   */
  latestSummaries?: number | null | undefined
  /**
   * Whether a map of the repository takes the room that is left, and what it is drawn around beside the words of `query`.
   * There is none when the memory was opened by its hash.
   * @default true
   */
  repoMap?: boolean | RepoMapFocus | null | undefined
  /** At most so many tokens, as `countTokens` counts them; `Infinity` means no bound. */
  maxTokens?: number | null | undefined
  /** Counts the tokens of a text, with your model's tokeniser; needed with `maxTokens`, and called a few times. */
  countTokens?: ((text: string) => number) | null | undefined
}

/** A pack of what is remembered, and what it could not hold. */
export interface ContextPack {
  /** Markdown, as `buildContextFromMemory` gives it. */
  text: string
  /** The records in it, most useful first. */
  included: PackedRecord[]
  /** Those of them of which only the beginning is in it: they are larger than the whole budget. */
  cut: PackedRecord[]
  /** The records that came into question and are not in it, most useful first. */
  leftOut: PackedRecord[]
  /** A map of the repository is in it. */
  hasRepoMap: boolean
  /** There is a map, and no room for it. */
  lacksRepoMap: boolean
}

/** Which record a pack holds, or leaves out. */
export type PackedRecord =
  | { kind: RecordKind; id: string }
  | { kind: 'summary'; runId: string; stepId: string; timestamp: string }

/** What a map is drawn around. */
export interface RepoMapFocus {
  /** What it is about: paths of files and folders below the workspace, names, words. */
  focus?: readonly string[] | null | undefined
}

/** Options of `repoMap`. `undefined` and `null` mean the default. */
export interface RepoMapOptions extends RepoMapFocus, CancellationOptions {
  /**
   * The text's length, in UTF-16 code units (JavaScript's `length`); `Infinity` means no bound.
   * @default 8000
   */
  maxChars?: number | null | undefined
  /** Told how far it is, while files are looked at. What it throws is swallowed. */
  onProgress?: ((progress: RepoMapProgress) => void) | null | undefined
}

/** How far a repository map is. */
export interface RepoMapProgress {
  /** Files that were looked at. */
  done: number
  total: number
  /** Files that were new or had changed, and were parsed. */
  parsed: number
}

/** The files of a repository that matter most, and what they define. */
export interface RepoMap {
  /** For a model. */
  text: string
  /** What `text` shows, in its order: most important first. */
  files: {
    /** Relative to the workspace, `/` between its parts. */
    path: string
    symbols: SymbolSummary[]
  }[]
  /** Source files in the workspace, as far as they are looked at. */
  totalFiles: number
  /** There are more source files than are looked at (50 000). */
  isTruncated: boolean
}

/** What kind of thing a symbol stands for. */
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

/** A name that a file defines. */
export interface SymbolSummary {
  name: string
  kind: SymbolKind
  /** Where it begins, from 1. */
  line: number
  /** How it is declared, on one line, without its body. */
  signature: string
  /** The type or module that it belongs to, in the same file. */
  container?: string
}

/** What `summariseStep` takes: what happened in a step of a run, what came of it, and what is to be done next. */
export interface StepSummary {
  /** In a sentence or a few. */
  happened: string
  /** A list, or values by their names. What is no string is shown as JSON, the beginning of it. */
  outputs?: readonly string[] | Readonly<Record<string, unknown>> | null | undefined
  followUps?: readonly string[] | null | undefined
}

/** What a step's function is given. */
export interface WorkflowStep {
  readonly runId: string
  readonly stepId: string
  /** As `RepoMemory.buildContextFromMemory`: the summaries of the steps before are in it. */
  context(maxChars: number, options?: ContextPackOptions): Promise<string>
}

/** Options of `Workflow.step`. `undefined` and `null` mean the default. */
export interface WorkflowStepOptions<T> {
  /**
   * Sums up what the step returned.
   * @default what was returned, where that is a text or a `StepSummary`; otherwise its JSON, the first 2000 characters
   */
  summarise?: ((result: T) => string | StepSummary | Promise<string | StepSummary>) | null | undefined
  /**
   * How long `summarise` may take, in ms; `Infinity` means no bound. Then the default is used, as when it fails.
   * @default 10000
   */
  summariseTimeout?: number | null | undefined
  /** What to find the summary by: at most 50 non-empty single lines. */
  tags?: readonly string[] | null | undefined
}

/** A run whose steps leave summaries. */
export interface Workflow {
  readonly runId: string
  /**
   * Runs a step, appends a summary of what it returned to the memory, and gives that back. Steps may run at the same time.
   * The summary of a step that fails says so and has the tag `failed`; the error is thrown on as it is. Whatever goes wrong
   * with a summary is told to `onDebug` and never breaks a step. A summary of more than 64 KiB is cut.
   *
   * @throws (rejects) what `run` throws; `ERR_CONTEXT_INVALID_ARGUMENT`, before anything runs
   */
  step<T>(
    stepId: string,
    run: (step: WorkflowStep) => T | Promise<T>,
    options?: WorkflowStepOptions<T> | null,
  ): Promise<T>
}

/** Options of `RepoMemory.migrate()`. `undefined` and `null` mean the default. */
export type RepoMemoryMigration = (
  | {
      /** Where the repository was. The folder need not exist any more. */
      fromWorkspace: string
      fromRepoHash?: null | undefined
    }
  | {
      /** The hash under which it was remembered. */
      fromRepoHash: string
      fromWorkspace?: null | undefined
    }
) &
  Omit<RepoMemoryOptions, 'onDebug' | 'fileSystem' | 'fileSystemTimeout' | 'closeTimeout'> & {
    /** Where the repository is now. */
    workspace: string
  }

/** What `RepoMemory.migrate()` did. */
export interface MigrateReport {
  /** The memories that were taken over; none where nothing was remembered. */
  moved: {
    /** The hash it was remembered under. */
    from: string
    /** The hash it is remembered under now. */
    to: string
    /** How many records and summaries it had. */
    conventions: number
    decisions: number
    notes: number
    summaries: number
  }[]
}
