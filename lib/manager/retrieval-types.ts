/** Public types of selecting, searching, slicing and offloading stored outputs. */

import type { CancellationOptions, TaskId, Time } from '../arguments/types.ts'
import type { ContextPointer, SelectablePointer, SessionScope } from './types.ts'

/** Which contexts come into question: those that meet every condition given. An empty array is met by none. */
export interface ContextFilter {
  /** Saved with this `queryId`, or one of several. */
  queryId?: string | readonly string[] | null | undefined
  /** Saved with this `taskId`, or one of several. */
  taskId?: TaskId | readonly TaskId[] | null | undefined
  /** Made by this tool, or one of several. */
  toolName?: string | readonly string[] | null | undefined
  /** Saved with this `callId`, or one of several. */
  callId?: string | readonly string[] | null | undefined
  /** At this time or later. */
  since?: Time | null | undefined
  /** At this time or before. */
  until?: Time | null | undefined
}

/** Options of `selectContexts`. `undefined` and `null` mean the default. */
export interface SelectOptions extends ContextFilter, CancellationOptions {
  /**
   * `'own'`: what this manager has pointers of. `'all'`: every context file of the directory. An array: those of the sessions with
   * these ids. Beyond `'own'`, not together with `pointers` or `embed`.
   * @default 'own'
   */
  sessions?: SessionScope | null | undefined
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
   * Choose what does not match as well, the latest first, with `score` 0: after what matches, and in a store of some dozens of
   * outputs some of the latest before weak matches. A store that fits into the budgets is chosen whole. `minScore` above 0
   * leaves them out. With `true` a `selector` is offered them as well, and where nothing matches the latest are first.
   * @default true with `maxBytes` or `maxTokens`, false without
   */
  fill?: boolean | null | undefined
  /**
   * How much the latest outputs are preferred: the share of the best score that the latest output gets on top, from 0 to 1.
   * Among few outputs it counts more: twice among ninety, six times among ten.
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
   * Say of each pointer which terms of which field counted, and which part of the score came from where.
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
  /** With `explain`: where the score comes from. All are 0 where nothing matches. */
  scoreParts?: ScoreParts
}

/** The parts of a score: their sum is the score, which is cut at 1. */
export interface ScoreParts {
  /** The words of the query. */
  text: number
  /** Nearness by `embed`. */
  embedding: number
  /** What was saved just before and just after. */
  neighbours: number
  /** What the outputs of the same query (else task) match together. */
  group: number
  /** How late it was saved. */
  recency: number
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
   * `'own'`: what this manager has pointers of. `'all'`: every context in the directory. An array: those of the sessions with
   * these ids.
   * @default 'own'
   */
  sessions?: SessionScope | null | undefined
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
  /**
   * Say of each hit which terms counted, and in which fields they stand.
   * @default false
   */
  explain?: boolean | null | undefined
}

/** A stored output that a search found. */
export interface SearchHit<Task extends TaskId = number> extends ContextPointer<Task> {
  /** How good it is, from 0 to 1; 1 for all when the query has filters and exclusions only. */
  score: number
  /**
   * Present where only words that are similar to those of the query were found: of words that occur nowhere, those that one or two
   * letters tell apart, that hold them, or that have most groups of three letters in common. Such hits come after all others.
   */
  matchedBy?: 'fuzzy'
  /**
   * The places that show best what was searched for, best first. Empty when only the name or the description matches, and
   * when the query has filters and exclusions only.
   */
  snippets: SearchSnippet[]
  /**
   * With `explain`: what counted, most first. The score is made of these terms alone; one `matchedBy` similar words is worth half, and
   * no more than the worst of the other hits. Empty when the query has nothing but stop words, filters and exclusions.
   */
  explain?: MatchedTerm[]
}

/** A piece of a stored output around a match. */
export interface SearchSnippet {
  /** Where it was found; `'outcome'` is the error and the message of the call. */
  field: 'arguments' | 'result' | 'outcome'
  /** The text as it stands there: of a result that is no string, and of arguments, JSON. */
  text: string
  /** Matches within `text`: start and end, in UTF-16 units as JavaScript counts. */
  matches: [start: number, end: number][]
  /** In a result, and in an outcome without a result: the line of the first match, from 1, as `readContext` counts. */
  line?: number
  /** Likewise: where the snippet begins, in bytes of its text, as `readContext` counts. */
  byteOffset?: number
}

/**
 * What to read of a stored result. The text that is sliced is the result itself when it is a string (half of a surrogate
 * pair, which UTF-8 has no bytes for, as U+FFFD), and otherwise its JSON exactly as it is stored. Where the result is `null` and the
 * call has an error or a message, the text is those, each on lines of its own. With `jsonPath`, the other
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
   * A JSON path (RFC 9535) into the result, also on through a string that holds the JSON of an object or an array. Where it finds one value, that is the text: a string itself, anything else as
   * its JSON. Where it finds several, the text is their JSON, a line for each. Where it finds none, the text is empty.
   */
  jsonPath?: string | null | undefined
  /**
   * No more bytes of text are given at once, at least 4.
   * @default 32768
   */
  maxBytes?: number | null | undefined
  /**
   * Contexts of other sessions are not found. `'own'`: this session's.
   * @default 'all'
   */
  sessions?: SessionScope | null | undefined
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
  /** Whether the tool succeeded, where that is known. */
  success?: boolean
  /** Why it failed, up to 512 bytes. */
  error?: string
  /** What the tool said about the call, up to 512 bytes. */
  message?: string
  /** The exit code of the tool's process. */
  exitCode?: number
  /**
   * The part. Of `grep`: as ripgrep writes it, `12:match` and `13-context`, `--` between groups; of a long line a piece
   * around the match, with `…` where it is cut.
   */
  text: string
  /** `text` is the base64 of bytes; `bytes` and `totalBytes` count those. */
  encoding?: 'base64'
  /** The media type of those bytes. */
  mediaType?: string
  /** Size of the whole text that was sliced, in bytes. */
  totalBytes: number
  /** Lines of the whole text. An end of line at its end begins no other. Of bytes, 0. */
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

/** Options of `grepContexts`. `undefined` and `null` mean the default. */
export interface GrepContextsOptions extends CancellationOptions {
  /** Search these contexts, in this order: paths or handles. Not beside `filter`. */
  paths?: readonly string[] | null | undefined
  /**
   * Search this manager's contexts that meet this, the latest first.
   * @default all contexts of the manager
   */
  filter?: ContextFilter | null | undefined
  /**
   * Lines shown before each match.
   * @default 0
   */
  before?: number | null | undefined
  /**
   * Lines shown after each match.
   * @default 0
   */
  after?: number | null | undefined
  /**
   * Ignore upper and lower case. A `RegExp` has its flag `i` for that.
   * @default false
   */
  ignoreCase?: boolean | null | undefined
  /**
   * At most this many matching lines in all.
   * @default 100
   */
  limit?: number | null | undefined
  /**
   * Text of at most so many bytes in all.
   * @default 262144
   */
  maxBytes?: number | null | undefined
}

/** What `grepContexts` found. */
export interface GrepContextsResult {
  /** The contexts with matching lines, in the order in which they were searched. */
  found: GrepContextsHit[]
  /** How many contexts were searched, the last one perhaps in part. */
  searched: number
  /** How many contexts could not be read: they are gone, or hold no record. */
  skipped: number
  /** Every matching line was found: no bound was reached. */
  isComplete: boolean
}

/** The matching lines of one context. */
export interface GrepContextsHit {
  /** The context's path, as given or as its pointer has it. */
  filepath: string
  lines: GrepLine[]
}

/** A line that matches, whole. */
export interface GrepLine {
  /** From 1, as `readContext` counts. */
  line: number
  /** Where the line begins in the whole text, in bytes. */
  byteOffset: number
  /** The line without its end. */
  text: string
  /** The lines before it. */
  before: string[]
  /** The lines after it. */
  after: string[]
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
