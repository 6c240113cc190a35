/** Public types of selecting, searching, slicing and offloading stored outputs. */

import type { CancellationOptions, TaskId, Time } from '../arguments/types.ts'
import type { EmbedOptions } from '../embedding/types.ts'
import type { ContextPointer, SelectablePointer, SessionScope } from './types.ts'

/** Conditions for contexts. A context must meet all that are given. An empty array matches no context. */
export interface ContextFilter {
  /** The context has this `queryId`, or one of these. */
  queryId?: string | readonly string[] | null | undefined
  /** The context has this `taskId`, or one of these. */
  taskId?: TaskId | readonly TaskId[] | null | undefined
  /** The output of this tool, or of one of these. */
  toolName?: string | readonly string[] | null | undefined
  /** The context has this `callId`, or one of these. */
  callId?: string | readonly string[] | null | undefined
  /** The context's time is not before this one. */
  since?: Time | null | undefined
  /** The context's time is not after this one. */
  until?: Time | null | undefined
}

/** Options of `selectContexts`. An option that is `undefined` or `null` has its default. */
export interface SelectOptions extends ContextFilter, EmbedOptions, CancellationOptions {
  /**
   * Which contexts are considered. `'own'`: those that this manager has pointers of. `'all'`: every context file of the
   * directory. An array: those of the sessions with these ids. Only `'own'` can be combined with `pointers` or `embed`.
   * @default 'own'
   */
  sessions?: SessionScope | null | undefined
  /**
   * The largest number of contexts that are selected.
   * @default no limit
   */
  limit?: number | null | undefined
  /** Selects only among these contexts, identified by `filepath`. Contexts that the manager has no pointer of are ignored. */
  pointers?: readonly SelectablePointer[] | null | undefined
  /**
   * The smallest score of a selected context, from 0 to 1. With a value above 0, nothing is selected when nothing matches.
   * @default 0
   */
  minScore?: number | null | undefined
  /**
   * The largest sum of `sizeBytes` of the selected contexts. Contexts are taken best first; one that does not fit is skipped.
   * @default no limit
   */
  maxBytes?: number | null | undefined
  /**
   * The largest number of tokens of the selected contexts together, as `countTokens` counts them.
   * @default no limit
   */
  maxTokens?: number | null | undefined
  /**
   * Returns the tokens that a context takes in the prompt: a finite number, 0 or greater. Called only with `maxTokens`, best
   * contexts first, until the budget is used up. An error that it throws rejects the call.
   * @default a third of `sizeBytes`,
   * rounded up, which is more than ordinary text takes
   */
  countTokens?: ((pointer: ContextPointer<TaskId>) => number) | null | undefined
  /**
   * Fills the remaining budget with contexts that do not match, the latest first, with `score` 0. They follow the matches; among
   * a few dozen outputs, some of the latest precede weak matches. If all contexts fit into the budgets, all are selected. A
   * `minScore` above 0 excludes them. With `true`, a `selector` is offered these contexts too, and when nothing matches, the
   * latest come first.
   * @default true with `maxBytes` or `maxTokens`, false without
   */
  fill?: boolean | null | undefined
  /**
   * How much recent outputs are preferred: the latest output gets this share of the best score in addition, from 0 to 1. Among
   * few outputs the weight is increased: doubled among 90 outputs, six times among 10.
   * @default 0.15
   */
  recencyWeight?: number | null | undefined
  /**
   * For each strong match (at least half the best score), also selects this many outputs saved immediately before and after it
   * with the same query id (or, without one, task id); 100 at most. They follow the match, need no score of their own, and count
   * towards the limit and the budgets.
   * @default 0
   */
  neighbours?: number | null | undefined
  /**
   * A function that asks a model to choose among the candidates of the ranker: at most the 50 best, or, when nothing matches, the
   * latest 50 that meet the filter. The limit and the budgets apply to the model's choice, in its order; an empty choice is
   * valid. If the function fails or its answer is invalid, the ranker's choice is used and `onDebug` reports it.
   */
  selector?: ContextSelector | null | undefined
  /**
   * Timeout of `selector`, in ms; `Infinity` disables it. When it expires, the ranker's choice is used.
   * @default 60000
   */
  selectorTimeout?: number | null | undefined
  /**
   * Adds to each selected context the matched terms with their fields, and the parts of its score.
   * @default false
   */
  explain?: boolean | null | undefined
}

/** A pointer that `selectContexts` selected. */
export interface SelectedContext<Task extends TaskId = number> extends ContextPointer<Task> {
  /** The score, from 0 (no word of the query matches) to 1 (all words match, often). */
  score: number
  /** `true` where it was selected as the neighbour of a strong match, see `neighbours`. */
  isNeighbour?: boolean
  /** With `explain`: the matched terms, the largest share of the score first. */
  explain?: MatchedTerm[]
  /** With `explain`: the parts of the score. All are 0 where nothing matches. */
  scoreParts?: ScoreParts
}

/** The parts of a score. The score is their sum, at most 1. */
export interface ScoreParts {
  /** Matches of the query's words. */
  text: number
  /** Similarity of the vectors from `embed`. */
  embedding: number
  /** Matches of the outputs that were saved immediately before and after. */
  neighbours: number
  /** Matches of the outputs with the same query id (or, without one, task id), taken together. */
  group: number
  /** How recently it was saved. */
  recency: number
}

/** The contribution of one term of the query to a score. */
export interface MatchedTerm {
  /** The term in the form of the index: lower case, stemmed. */
  term: string
  /** Every field that contains the term. */
  fields: ('name' | 'description' | 'arguments' | 'result')[]
  /** The term's share of `ScoreParts.text`, from 0 to 1. */
  share: number
}

/**
 * Asks a model which contexts a query needs. It returns `{ context_ids: number[] }`, best first: as an object, as JSON text, or
 * as JSON text in a Markdown code fence.
 */
export type ContextSelector = (request: SelectorRequest) => unknown | Promise<unknown>

/** The argument of a selector. */
export interface SelectorRequest {
  /** The complete prompt: the query, and every candidate with its id. Equal queries and candidates give equal prompts. */
  prompt: string
  /** A JSON Schema of the answer: `{ context_ids: number[] }`. */
  schema: Readonly<Record<string, unknown>>
  query: string
  /** The candidates in the order of their ids, from 1 up. */
  candidates: readonly ContextPointer<TaskId>[]
  signal?: AbortSignal
}

/** Options of `search`. An option that is `undefined` or `null` has its default. */
export interface SearchOptions extends ContextFilter, EmbedOptions, CancellationOptions {
  /**
   * Which contexts are searched. `'own'`: those that this manager has pointers of. `'all'`: every context in the directory. An
   * array: those of the sessions with these ids. Only `'own'` can be combined with `embed`.
   * @default 'own'
   */
  sessions?: SessionScope | null | undefined
  /**
   * The largest number of hits.
   * @default 20
   */
  limit?: number | null | undefined
  /**
   * The largest number of snippets per hit, up to 100.
   * @default 3
   */
  snippets?: number | null | undefined
  /**
   * The approximate length of a snippet in characters, from 20 to 10 000.
   * @default 200
   */
  snippetLength?: number | null | undefined
  /**
   * Whether each hit lists the terms that contributed to its score, and the fields that contain them.
   * @default false
   */
  explain?: boolean | null | undefined
}

/** A stored output that a search found. */
export interface SearchHit<Task extends TaskId = number> extends ContextPointer<Task> {
  /** The score, from 0 to 1; 1 for every hit of a query that has only filters and exclusions. */
  score: number
  /**
   * Present where the hit matches only words that are similar to a word of the query that occurs nowhere: words at an edit
   * distance of one or two letters, words that contain it, or words that share most of its three-letter sequences. Such hits
   * follow all others.
   */
  matchedBy?: 'fuzzy'
  /**
   * The passages that match best, best first. Empty when only the tool's name, the description or the vector matches, and when the
   * query has only filters and exclusions.
   */
  snippets: SearchSnippet[]
  /**
   * Present with `explain`: the terms that make up the score, largest contribution first. A hit that is `matchedBy` similar words has
   * half its score, and at most that of the lowest other hit. Empty if the query has only stop words, filters and exclusions.
   */
  explain?: MatchedTerm[]
}

/** A piece of a stored output around a match. */
export interface SearchSnippet {
  /** The field that contains the snippet; `'outcome'` is the error and the message of the call. */
  field: 'arguments' | 'result' | 'outcome'
  /** The text of the passage, unchanged. Arguments, and results that are not strings, are shown as JSON. */
  text: string
  /** The positions of the matches in `text`: start and end (exclusive), in UTF-16 code units. */
  matches: [start: number, end: number][]
  /** The line of the first match, counted from 1 as `readContext` does. Present for a result, and for an outcome without a result. */
  line?: number
  /** The offset of the snippet in bytes, counted as `readContext` does. Present in the same cases as `line`. */
  byteOffset?: number
}

/**
 * Which part of a stored result to read. The text that is read is the result itself if it is a string (with U+FFFD in place of a
 * lone surrogate), otherwise its JSON exactly as stored. Where the result is `null` and the call has an error or a message, the
 * text consists of these, each on separate lines. With `jsonPath`, the other options apply to the selected values. Give at most
 * one of `lines`, `bytes` and `grep`; without them, reading starts at the beginning, and `next` continues by bytes, or by lines
 * where `jsonPath` selects several values.
 */
export interface SliceOptions extends CancellationOptions {
  /**
   * The lines from `from` to `to`, both included, counted from 1. A line that does not fit into `maxBytes` is cut, and `next`
   * continues by bytes.
   */
  lines?: SliceRange | null | undefined
  /**
   * Bytes (UTF-8) from `from` up to, not including, `to`, counted from 0. Characters are returned whole: an offset inside a
   * character is moved to the character's start, so that adjacent ranges return each character exactly once.
   */
  bytes?: SliceRange | null | undefined
  /** The lines that match a regular expression, given as a pattern, a `RegExp`, or an object with options. */
  grep?: string | RegExp | GrepOptions | null | undefined
  /**
   * A JSONPath expression (RFC 9535) on the result. It also continues into a string that holds the JSON of an object or an array.
   * If it selects one value, the text is that value: a string itself, any other value as JSON. If it selects several, the text is
   * the JSON of each on a line of its own. If it selects none, the text is empty.
   */
  jsonPath?: string | null | undefined
  /**
   * The largest number of bytes of text that one call returns, at least 4.
   * @default 32768
   */
  maxBytes?: number | null | undefined
  /**
   * Which sessions' contexts can be read; for others, the call rejects with `ERR_CONTEXT_NOT_FOUND`. `'own'`: those of this
   * session.
   * @default 'all'
   */
  sessions?: SessionScope | null | undefined
}

/** A range of lines or bytes. A bound that is `undefined` or `null` is the beginning or the end of the text. */
export interface SliceRange {
  from?: number | null | undefined
  to?: number | null | undefined
}

/**
 * Options of `grep`. The expression is matched in linear time, so look-around and back references are not supported. It is
 * matched against each line without its line end. A string has the syntax of ripgrep and Rust's `regex`; a `RegExp` has the
 * meaning it has in JavaScript with the flag `u`; its flags `d`, `g` and `m` have no effect.
 */
export interface GrepOptions {
  pattern: string | RegExp
  /** Ignores case. */
  ignoreCase?: boolean | null | undefined
  /** Number of lines to show before each match. */
  before?: number | null | undefined
  /** Number of lines to show after each match. */
  after?: number | null | undefined
  /** The line to start at, counted from 1; taken from `next` of the previous slice. */
  from?: number | null | undefined
  /** The byte offset in the text to start at within a long line; taken from `next` of the previous slice. */
  fromByte?: number | null | undefined
}

/** A part of a stored result. */
export interface ContextSlice {
  /** The context's path, as given. */
  filepath: string
  /** Whether the call succeeded; absent if the caller did not say. */
  success?: boolean
  /** Why the call failed, cut at 512 bytes. */
  error?: string
  /** The message of the tool about the call, cut at 512 bytes. */
  message?: string
  /** The exit code of the tool's process. */
  exitCode?: number
  /**
   * The text of the part. With `grep`, in the form of ripgrep: `12:match` and `13-context`, with `--` between groups; of a long
   * line, an excerpt around the match with `…` where it is cut.
   */
  text: string
  /** Present where the result is binary: `text` is base64, and `bytes` and `totalBytes` count the decoded bytes. */
  encoding?: 'base64'
  /** The media type of a binary result. */
  mediaType?: string
  /** Size of the whole text that was sliced, in bytes. */
  totalBytes: number
  /** Number of lines of the whole text. A line end at its very end does not start another line. 0 for a binary result. */
  totalLines: number
  /** The position of `text` in the whole text: start and end (exclusive) in bytes. Absent with `grep`. */
  bytes?: { from: number; to: number }
  /** The first and the last line in `text`, also where only a part of the line is in it. With `grep`: the first and the last matching line. */
  lines?: { from: number; to: number }
  /** The matches of `grep`: one for each matching line in `text`, or for each excerpt of a long line. */
  matches?: GrepMatch[]
  /** The normalised paths of the values that `jsonPath` selected and that are in `text`; with `grep`, of those that match. */
  paths?: string[]
  /**
   * The options for `readContext` to read the following part; absent at the end. All members are plain data, except a `pattern`
   * that is a `RegExp`.
   */
  next?: SliceOptions
}

/** Options of `grepContexts`. An option that is `undefined` or `null` has its default. */
export interface GrepContextsOptions extends CancellationOptions {
  /** The contexts to search, in this order, as paths or handles. Cannot be combined with `filter`. */
  paths?: readonly string[] | null | undefined
  /**
   * Searches this manager's contexts that meet these conditions, the latest first.
   * @default all contexts of the manager
   */
  filter?: ContextFilter | null | undefined
  /**
   * Number of lines to return before each match.
   * @default 0
   */
  before?: number | null | undefined
  /**
   * Number of lines to return after each match.
   * @default 0
   */
  after?: number | null | undefined
  /**
   * Ignores case. For a `RegExp`, use its flag `i`.
   * @default false
   */
  ignoreCase?: boolean | null | undefined
  /**
   * The largest number of matching lines in all contexts together.
   * @default 100
   */
  limit?: number | null | undefined
  /**
   * The largest size of the returned lines together, in bytes.
   * @default 262144
   */
  maxBytes?: number | null | undefined
}

/** The result of `grepContexts`. */
export interface GrepContextsResult {
  /** The contexts with matching lines, in the order in which they were searched. */
  found: GrepContextsHit[]
  /** Number of contexts that were searched; the last one possibly only in part. */
  searched: number
  /** Number of contexts that could not be read because the file was removed or does not hold a valid record. */
  skipped: number
  /** Whether all matching lines were returned: neither `limit` nor `maxBytes` was reached. */
  isComplete: boolean
}

/** The matching lines of one context. */
export interface GrepContextsHit {
  /** The context's path or handle as given in `paths`, otherwise the pointer's path. */
  filepath: string
  lines: GrepLine[]
}

/** A matching line. */
export interface GrepLine {
  /** The line number, counted from 1 as `readContext` does. */
  line: number
  /** The offset of the line in the whole text, in bytes. */
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
  /** The line number, from 1. */
  line: number
  /** The offset of the match in the whole text, in bytes. */
  byteOffset: number
  /** The matched text, cut at 256 bytes. */
  text: string
}

/** Options of `getLatestPointers`. An option that is `undefined` or `null` has its default. */
export interface LatestOptions {
  /** Only outputs of this tool. */
  toolName?: string | null | undefined
  /** Only outputs that were saved before this context, given by its path, file name or handle. */
  before?: string | null | undefined
  /**
   * The largest number of pointers.
   * @default 20
   */
  limit?: number | null | undefined
}
