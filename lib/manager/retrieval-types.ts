/** Public types of selecting, searching, slicing and offloading stored outputs. */

import type { CancellationOptions, TaskId, Time } from '../arguments/types.ts'
import type { ContextPointer, SelectablePointer } from './types.ts'

/** Which contexts come into question: those that meet every condition given. An empty array is met by none. */
export interface ContextFilter {
  /** Saved with this `queryId`, or one of several. */
  queryId?: string | readonly string[] | null | undefined
  /** Saved with this `taskId`, or one of several. */
  taskId?: TaskId | readonly TaskId[] | null | undefined
  /** Made by this tool, or one of several. */
  toolName?: string | readonly string[] | null | undefined
  /** At this time or later. */
  since?: Time | null | undefined
  /** At this time or before. */
  until?: Time | null | undefined
}

/** Options of `selectContexts`. `undefined` and `null` mean the default. */
export interface SelectOptions extends ContextFilter, CancellationOptions {
  /**
   * At most this many pointers.
   * @default no limit
   */
  limit?: number | null | undefined
  /** Choose among these contexts only, by their `filepath`; what the manager does not know is ignored. */
  pointers?: readonly SelectablePointer[] | null | undefined
  /**
   * Leave out what scores less, from 0 to 1. With a bound above 0 nothing is chosen when nothing matches.
   * @default 0
   */
  minScore?: number | null | undefined
  /**
   * The chosen contexts take no more bytes than this (the sum of `sizeBytes`). Taken best first; one that does not fit is
   * passed over.
   * @default no bound
   */
  maxBytes?: number | null | undefined
  /**
   * The chosen contexts take no more tokens than this, by `countTokens`.
   * @default no bound
   */
  maxTokens?: number | null | undefined
  /**
   * Tokens that a context takes in the prompt: a finite number from 0 up. Asked best first, with `maxTokens` alone, until that
   * is used up. What it throws rejects the call.
   * @default a third of `sizeBytes`, rounded up: more than usual text takes
   */
  countTokens?: ((pointer: ContextPointer<TaskId>) => number) | null | undefined
  /**
   * How much the latest outputs are preferred: the share of the best score that the latest output gets on top when it
   * matches, from 0 to 1.
   * @default 0.15
   */
  recencyWeight?: number | null | undefined
  /**
   * Adds so many outputs of the same query (else task) from just before and just after each strong hit (at least half the
   * best score), after it, 100 at most. They need no score of their own, and count for the limit and the budgets.
   * @default 0
   */
  neighbours?: number | null | undefined
  /**
   * A model that chooses among the candidates which the ranker found, 50 at most (all in question when nothing matches, of
   * more than 50 the latest). Limit and budgets apply to its choice, in its order; an empty one is one. Anything it does
   * wrong falls back to the ranker and is reported to `onDebug`.
   */
  selector?: ContextSelector | null | undefined
  /**
   * How long `selector` may take, in ms; `Infinity` means no bound. Then the ranker chooses.
   * @default 60000
   */
  selectorTimeout?: number | null | undefined
  /**
   * Turns texts into vectors of one length, in their order. Their cosine similarity is fused with the ranker, so that what
   * shares no word with the query can be chosen. Called with up to 64 contexts that have no vector yet (the description
   * and the beginning of the result, 2 000 characters), latest first, as often as it takes, then with the query. Vectors
   * are kept until their contexts go, the latest 64 MiB of them: stay with one model for a manager. A failure falls back
   * to the ranker and is reported to `onDebug`. Calls at the same time share the work and do not wait for each other's
   * `embed`: one of them may embed again what another has not finished.
   */
  embed?: Embed | null | undefined
  /**
   * How long each call of `embed` may take, in ms; `Infinity` means no bound. Then the ranker chooses alone.
   * @default 10000
   */
  embedTimeout?: number | null | undefined
  /**
   * Say of each pointer which terms of which field counted.
   * @default false
   */
  explain?: boolean | null | undefined
}

/** A pointer that `selectContexts` chose. */
export interface SelectedContext<Task extends TaskId = number> extends ContextPointer<Task> {
  /** How good it is, from 0 (nothing of the query) to 1 (all of it, often). */
  score: number
  /** Chosen for standing beside a strong hit. */
  isNeighbour?: boolean
  /** With `explain`: what counted, most first. */
  explain?: MatchedTerm[]
}

/** What a term of the query contributed to a score. */
export interface MatchedTerm {
  /** The term as it is indexed: lower case, stemmed. */
  term: string
  /** Where it stands: every field that has it. */
  fields: ('name' | 'description' | 'arguments' | 'result')[]
  /** Its share of the score that the text alone gives, from 0 to 1. */
  share: number
}

/**
 * Asks a model which contexts a query needs. Answers with `{ context_ids: number[] }`, best first: the object, its JSON, or that
 * in a Markdown fence.
 */
export type ContextSelector = (request: SelectorRequest) => unknown | Promise<unknown>

/** What a selector is given. */
export interface SelectorRequest {
  /** The whole prompt: the query, and every candidate with its id. The same for the same query and candidates. */
  prompt: string
  /** A JSON Schema of the answer: `{ context_ids: number[] }`. */
  schema: Readonly<Record<string, unknown>>
  query: string
  /** The candidates in the order of their ids, from 1 up. */
  candidates: readonly ContextPointer<TaskId>[]
  signal?: AbortSignal
}

/** Turns texts into vectors of one length, in their order. */
export type Embed = (
  texts: readonly string[],
  options: { signal?: AbortSignal },
) => readonly ArrayLike<number>[] | Promise<readonly ArrayLike<number>[]>

/** Options of `search`. `undefined` and `null` mean the default. */
export interface SearchOptions extends ContextFilter, CancellationOptions {
  /**
   * `'own'`: what this manager saved. `'all'`: every context in the directory, whoever saved it.
   * @default 'own'
   */
  sessions?: 'own' | 'all' | null | undefined
  /**
   * At most this many hits.
   * @default 20
   */
  limit?: number | null | undefined
  /**
   * Snippets of each hit, at most; up to 100.
   * @default 3
   */
  snippets?: number | null | undefined
  /**
   * Length of a snippet in characters, about: from 20 to 10 000.
   * @default 200
   */
  snippetLength?: number | null | undefined
}

/** A stored output that a search found. */
export interface SearchHit<Task extends TaskId = number> extends ContextPointer<Task> {
  /** How good it is, from 0 to 1; 1 for all when the query has filters and exclusions only. */
  score: number
  /**
   * The places that show best what was searched for, best first. Empty when only the name or the description matches, and
   * when the query has filters and exclusions only.
   */
  snippets: SearchSnippet[]
}

/** A piece of a stored output around a match. */
export interface SearchSnippet {
  /** Where it was found. */
  field: 'arguments' | 'result'
  /** The text as it stands there: of a result that is no string, and of arguments, JSON. */
  text: string
  /** Matches within `text`: start and end, in UTF-16 units as JavaScript counts. */
  matches: [start: number, end: number][]
  /** In a result: the line of the first match, from 1, as `readContext` counts. */
  line?: number
  /** In a result: where the snippet begins, in bytes of its text, as `readContext` counts. */
  byteOffset?: number
}

/**
 * What to read of a stored result. The text that is sliced is the result itself when it is a string (half of a surrogate
 * pair, which UTF-8 has no bytes for, as U+FFFD), and otherwise its JSON exactly as it is stored. With `jsonPath`, the other
 * slices apply to what it finds. One of `lines`, `bytes` and `grep` at a time; none of them means from the start: by bytes, several
 * values by lines.
 */
export interface SliceOptions extends CancellationOptions {
  /**
   * Lines from `from` to `to`, both included, counted from 1. A line that does not fit into `maxBytes` is cut, and `next`
   * goes on by bytes.
   */
  lines?: SliceRange | null | undefined
  /**
   * Bytes (UTF-8) from `from` up to, not including, `to`, counted from 0. Whole characters are given: a place within a
   * character counts as the place before it, so that ranges side by side give every character once.
   */
  bytes?: SliceRange | null | undefined
  /** Lines that match a regular expression: a pattern, a `RegExp`, or with options. */
  grep?: string | RegExp | GrepOptions | null | undefined
  /**
   * A JSON path (RFC 9535) into the result. Where it finds one value, that is the text: a string itself, anything else as
   * its JSON. Where it finds several, the text is their JSON, a line for each. Where it finds none, the text is empty.
   */
  jsonPath?: string | null | undefined
  /**
   * No more bytes of text are given at once, at least 4.
   * @default 32768
   */
  maxBytes?: number | null | undefined
}

/** A range of lines or bytes. `undefined` and `null` mean its natural end. */
export interface SliceRange {
  from?: number | null | undefined
  to?: number | null | undefined
}

/**
 * Options of `grep`. The expression is of the linear-time kind (no look-around, no back references) and is matched line by
 * line, without the line's end. A string is written as for ripgrep and Rust's `regex`; a `RegExp` means what it means in
 * JavaScript, by characters as with `u`; its flags `d`, `g` and `m` change nothing.
 */
export interface GrepOptions {
  pattern: string | RegExp
  /** Upper and lower case are the same. */
  ignoreCase?: boolean | null | undefined
  /** Lines of context before each match. */
  before?: number | null | undefined
  /** Lines of context after each match. */
  after?: number | null | undefined
  /** Where to begin, as `next` of the slice before says: a line from 1. */
  from?: number | null | undefined
  /** Where to begin within that line, as `next` of the slice before says, when the line is long: in bytes of the text. */
  fromByte?: number | null | undefined
}

/** A part of a stored result. */
export interface ContextSlice {
  /** The context's path, as given. */
  filepath: string
  /**
   * The part. Of `grep`: as ripgrep writes it, `12:match` and `13-context`, `--` between groups; of a long line a piece
   * around the match, with `…` where it is cut.
   */
  text: string
  /** Size of the whole text that was sliced, in bytes. */
  totalBytes: number
  /** Lines of the whole text. An end of line at its end begins no other. */
  totalLines: number
  /** Where `text` stands in the whole, in bytes: its start and its end. Not for `grep`. */
  bytes?: { from: number; to: number }
  /** The lines that `text` holds, both included; a part of a line counts. Of `grep`: the first and the last that match. */
  lines?: { from: number; to: number }
  /** The matches of `grep`: one for each line shown, or for each piece of a long line. */
  matches?: GrepMatch[]
  /** Normalised paths of the values that `jsonPath` found and `text` holds, of `grep`: of those that match. */
  paths?: string[]
  /** Hand this to `readContext` to go on; absent when nothing is left. Nothing but `pattern` is no plain data. */
  next?: SliceOptions
}

/** A match in a line. */
export interface GrepMatch {
  /** From 1. */
  line: number
  /** Where the match begins in the whole text, in bytes. */
  byteOffset: number
  /** The matched text, cut when it is longer than 256 bytes. */
  text: string
}

/** Options of `getLatestPointers`. `undefined` and `null` mean the default. */
export interface LatestOptions {
  /** Made by this tool. */
  toolName?: string | null | undefined
  /** Saved before this context: its path, file name or handle. */
  before?: string | null | undefined
  /**
   * At most this many.
   * @default 20
   */
  limit?: number | null | undefined
}

/** Options of `offload`. `undefined` and `null` mean the default. */
export interface OffloadOptions {
  taskId?: TaskId | null | undefined
  queryId?: string | null | undefined
  /** Outputs of at least so many bytes are offloaded; takes the place of what the manager's options say. */
  threshold?: number | null | undefined
}

/** What `offload` does with which output; an option of the manager. */
export interface OffloadPolicy {
  /**
   * Outputs of at least so many bytes of text are offloaded, others stay as they are.
   * @default 8192
   */
  threshold?: number | null | undefined
  /** Thresholds of single tools, by name; `Infinity`: never because of their size. */
  toolThresholds?: Readonly<Record<string, number>> | null | undefined
  /**
   * Tools whose outputs are stored and always stay as they are. What the retrieval tools of this package give back
   * (`list_contexts`, `search_contexts`, `read_context_slice`, `read_context`) stays as well, and is not stored again.
   */
  exemptTools?: readonly string[] | null | undefined
  /**
   * All outputs of one call of `offloadAll` together take no more bytes than this in the conversation: the largest are
   * offloaded first, whatever their thresholds. More is only taken by exempt tools, by what could not be stored, and when
   * even placeholders take more.
   * @default no bound
   */
  turnBudget?: number | null | undefined
  /**
   * Length of the placeholder's preview in bytes, head and tail together.
   * @default 1024
   */
  previewBytes?: number | null | undefined
}

/** A tool output for `offloadAll`. */
export interface ToolOutput {
  toolName: string
  args: Record<string, unknown>
  result: unknown
  options?: OffloadOptions | null | undefined
}

/** What the conversation gets in place of an output. */
export interface OffloadedContext<T = unknown> {
  /** The text for the model: a placeholder, or the output itself (a string as it is, anything else as JSON). */
  text: string
  /** `text` is a placeholder. */
  isOffloaded: boolean
  /** Where the output is stored; absent when it could not be, or is not meant to be. */
  filepath?: string
  /** The handle in the placeholder: what `loadContext` and `readContext` take as well. The same for the same call. */
  handle?: string
  /** Size of the output's text in bytes. */
  sizeBytes: number
  /** The output, untouched, when it is not offloaded. */
  result?: T
  /** Why it could not be stored. */
  error?: Error
}
