/** `ContextManager`: the public face of the native manager. */

import { type ContextStats, NativeManager, type SweepReport, sha256 } from '#addon'
import { checkText, optional } from '../arguments/checks.ts'
import { readCancellation } from '../arguments/known-options.ts'
import { checkCloseTimeout } from '../arguments/timeouts.ts'
import type { CancellationOptions, TaskId } from '../arguments/types.ts'
import { cancellable, close, debug, type Hooks, operate, outbox, registerHooks } from '../native/border.ts'
import type { IFileSystem } from '../native/types.ts'
import { checkRedaction } from '../redaction/redaction.ts'
import { AnswerMarks, registerMarks } from './answer-marks.ts'
import { grepContexts } from './grep-contexts.ts'
import { importRecord } from './import-record.ts'
import { loadContext, loadContexts } from './load-contexts.ts'
import { Offloading } from './offload.ts'
import { CheckedPolicy } from './offload-policy.ts'
import type {
  OffloadAllOptions,
  OffloadedContext,
  OffloadedValue,
  OffloadOptions,
  OffloadValueOptions,
  ToolOutput,
} from './offload-types.ts'
import { ValueOffloading } from './offload-value.ts'
import { managerOptions } from './option-names.ts'
import { type CheckedOptions, checkOptions } from './options.ts'
import { PointerQueries } from './pointer-queries.ts'
import type { RecordedStream } from './recorded-stream.ts'
import type {
  ContextSlice,
  GrepContextsOptions,
  GrepContextsResult,
  LatestOptions,
  SearchHit,
  SearchOptions,
  SelectedContext,
  SelectOptions,
  SliceOptions,
} from './retrieval-types.ts'
import { Saving } from './saving.ts'
import { search } from './search.ts'
import { Selecting } from './select-contexts.ts'
import { Sessions } from './sessions.ts'
import { checkSlice, readSlice } from './slices.ts'
import type {
  ContextFiles,
  ContextManagerOptions,
  ContextPointer,
  FindOptions,
  ForgetFilter,
  ForgetOptions,
  ForgetReport,
  ImportedRecord,
  ImportRecordOptions,
  RecordStreamOptions,
  SaveOptions,
  SelectablePointer,
  SessionInfo,
  StoredContext,
  SweepOptions,
} from './types.ts'

const QUERY_HASH_LENGTH = 16

/**
 * Keeps the tool outputs of one session: small ones at hand in memory, large ones on disk, all reachable through light
 * pointers, selected by relevance, gone at the session's end.
 *
 * One manager per agent session is usual; any number may share a directory, in any number of processes.
 *
 * @example
 * ```ts
 * const manager = new ContextManager()
 * const path = await manager.saveContext('read_file', { path: 'src/login.ts' }, source)
 * const [relevant] = manager.selectRelevantContexts('how does login work?', manager.getAllPointers())
 * const [context] = await manager.loadContexts([relevant])
 * await manager.clear()
 * ```
 */
export class ContextManager<Task extends TaskId = number> {
  readonly #native: NativeManager
  readonly #options: CheckedOptions
  readonly #closeTimeout: number
  readonly #hooks: Hooks
  readonly #saving: Saving
  readonly #offloading: Offloading
  readonly #valueOffloading: ValueOffloading
  readonly #pointers: PointerQueries<Task>
  readonly #selecting: Selecting<Task>
  readonly #sessions: Sessions

  /** Touches no file: the directory is created by the first save. Throws `ERR_CONTEXT_INVALID_ARGUMENT`. */
  constructor(options?: ContextManagerOptions | null) {
    const given = optional(options, 'options', managerOptions) ?? {}
    const redaction = checkRedaction(given.redaction, 'redaction')
    this.#options = checkOptions(given, redaction)
    this.#closeTimeout = checkCloseTimeout(given.closeTimeout)
    const fileSystem: IFileSystem | undefined = given.fileSystem ?? undefined
    this.#hooks = { fileSystem, onDebug: given.onDebug ?? undefined, redaction }
    const policy = new CheckedPolicy(given.offload)
    this.#native = new NativeManager(
      outbox,
      { ...this.#options, id: registerHooks(this.#hooks) },
      redaction?.redactor.native,
    )
    const marks = new AnswerMarks(this.#native, this.#hooks)
    registerMarks(this, marks)
    this.#saving = new Saving(this.#native, this.#hooks, this.#options, given)
    const { saveStored } = this.#saving
    this.#offloading = new Offloading(this.#hooks, policy, marks, this.#saving, this.#options.maxResultBytes)
    this.#valueOffloading = new ValueOffloading(this.#hooks, policy, marks, saveStored)
    this.#pointers = new PointerQueries(this.#native, this.#options, this)
    this.#selecting = new Selecting(this.#native, this.#hooks, this.#options)
    this.#sessions = new Sessions(this.#native, this.#hooks, this.#options)
    debug(this.#hooks, 'ContextManager initialized', {
      contextDir: this.#options.directory,
      persistThreshold: this.#options.persistThreshold,
      sessionId: this.#options.session,
    })
    this.#sessions.begin()
  }

  /**
   * Stores a tool output. The value is taken as it is now: later changes to it do not count, and it is not kept alive.
   *
   * A promise is awaited. A stream (any async iterable) is read to its end and stored up to `retention.maxResultBytes` of JSON, marked `cut`
   * where that is not all of it or it failed: texts and bytes as one text, or as bytes where they are no UTF-8; chunks of other kinds as an
   * array. One of more than 1 MiB is written to files while it comes, unless there is a `fileSystem`.
   * A `Response` becomes `{ url, status, statusText, headers, body }`, a `Blob` its bytes, with its type as `mediaType`.
   *
   * A `Buffer`, `Uint8Array`, `ArrayBuffer` or `DataView` that is UTF-8 text is stored as that text. Others, and the base64 of content blocks
   * with a media type and of data URLs, are stored as bytes in a file beside the record, wherever in the result they are; loading gives a
   * `Uint8Array`, or the base64 again. Bytes that are no text are not redacted.
   *
   * An `Error` is stored as its `name`, `message`, `cause`, `errors` and own members, without its stack; a `Map` as an object where its keys are
   * strings, else as an array of entries; a `Set` as an array; a `RegExp` and a `URL` as their text; `Headers` and the like as
   * entries. What else JSON cannot hold is stored as
   * `JSON.stringify` does it; where that throws, the rest is stored with a marker string in place of a BigInt (`[BigInt 10]`), a cycle (`[Circular]`), a throwing getter or `toJSON`
   * (`[Throws: message]`) and levels below 10 000 (`[Too deep]`). An absent result is stored as `null`, arguments that
   * JSON does not hold as an object under the key `value`.
   *
   * Secrets are taken out of all of it, see `redaction`: they are in no file, in no pointer and in nothing that is loaded.
   *
   * @param toolName the tool that made the output
   * @param args the tool's input
   * @param result the tool's output
   * @param taskId a task to find it by
   * @param queryId the query that caused the call, see {@link ContextManager.hashQuery}
   * @param options how the call ended, stored beside the result, and what is known of the call
   * @returns the context's path, once the file is there, whole, at the chosen durability (with `persist: 'large'`, once
   * a small output is in memory). Saving the same call twice keeps both outputs.
   * @throws (rejects) `ERR_CONTEXT_INVALID_ARGUMENT`, `ERR_CONTEXT_TOO_LARGE`, `ERR_CONTEXT_REDACTION`, `ERR_CONTEXT_IO`
   */
  saveContext(
    toolName: string,
    args: Record<string, unknown>,
    result: unknown,
    taskId?: TaskId | null,
    queryId?: string | null,
    options?: SaveOptions | null,
  ): Promise<string> {
    return this.#saving.saveContext(toolName, args, result, taskId, queryId, options)
  }

  /**
   * Passes a stream through and stores what was read of it, when it ends, fails or is abandoned: up to `retention.maxResultBytes` of JSON. A
   * record of less than the whole stream has `cut`; the reader gets all of it in any case, and of one that is written to files each chunk once there
   * is room for it. Texts and bytes are stored as one text, chunks of other kinds as an array.
   *
   * @param stream an async iterable: a `ReadableStream` or a stream of Node is one
   * @throws `ERR_CONTEXT_INVALID_ARGUMENT`; `stored` rejects as `saveContext` does
   * @example
   * ```ts
   * const recorded = manager.recordStream('shell', { command }, child.stdout)
   * for await (const chunk of recorded) process.stdout.write(chunk)
   * const path = await recorded.stored
   * ```
   */
  recordStream<T>(
    toolName: string,
    args: Record<string, unknown>,
    stream: AsyncIterable<T>,
    options?: RecordStreamOptions | null,
  ): RecordedStream<T> {
    return this.#saving.recordStream(toolName, args, stream, options)
  }

  /**
   * Stores a tool output, and gives the text for the conversation: a large output is replaced by a placeholder, which is
   * the same for the same call with the same output. What fails to be stored stays as it is.
   *
   * @throws (rejects) `ERR_CONTEXT_INVALID_ARGUMENT`, and the reason of a `signal` that is aborted already
   */
  async offload<T>(
    toolName: string,
    args: Record<string, unknown>,
    result: T,
    options?: OffloadOptions | null,
  ): Promise<OffloadedContext<T>> {
    return this.#offloading.offload(toolName, args, result, options)
  }

  /**
   * As {@link ContextManager.offload}, for all outputs of a turn, in their order and within `offload.turnBudget`; with
   * `contextTokens` only once the conversation takes its share of the model's window.
   */
  async offloadAll(outputs: readonly ToolOutput[], options?: OffloadAllOptions | null): Promise<OffloadedContext[]> {
    return this.#offloading.offloadAll(outputs, options)
  }

  /**
   * Stores a tool output, and gives a value of the same shape for the conversation: content blocks, `{ stdout, stderr }`, any plain objects
   * and arrays. Once the value is large, its long texts are placeholders, each with the handle and the JSON path of its
   * text; ids, types and short members stay, and so do objects of classes. A value without long texts stays unchanged, however large: see
   * `shownBytes`.
   *
   * @throws (rejects) `ERR_CONTEXT_INVALID_ARGUMENT`, and the reason of a `signal` that is aborted already
   */
  async offloadValue<T>(
    toolName: string,
    args: Record<string, unknown>,
    value: T,
    options?: OffloadValueOptions | null,
  ): Promise<OffloadedValue<T>> {
    return this.#valueOffloading.offload(toolName, args, value, options)
  }

  /**
   * Loads one context, from memory when it is at hand there.
   *
   * @param filepath a pointer's `filepath`, or a handle that `offload` gave; only files inside the context directory are read, and no symbolic links
   * followed
   * @throws (rejects) `ERR_CONTEXT_NOT_FOUND`, `ERR_CONTEXT_OUTSIDE_DIRECTORY`, `ERR_CONTEXT_CORRUPT`, `ERR_CONTEXT_IO`
   */
  async loadContext<T = unknown>(filepath: string): Promise<StoredContext<T, Task>> {
    return loadContext<T, Task>(this.#hooks, this.#native, filepath)
  }

  /**
   * Loads several contexts. The order is kept; what cannot be read is skipped and reported to `onDebug`.
   */
  async loadContexts(filepaths: readonly string[]): Promise<StoredContext<unknown, Task>[]> {
    return loadContexts<Task>(this.#hooks, this.#native, filepaths)
  }

  /**
   * Reads a part of a stored result, without loading the rest into JavaScript: lines, bytes, lines that match a regular
   * expression, what a JSON path finds. One of `lines`, `bytes` and `grep` at a time; none of them: from the start.
   * Always bounded, and `next` says how to go on.
   *
   * @throws (rejects) as `loadContext`, and `ERR_CONTEXT_INVALID_ARGUMENT` with the position for a bad expression or path
   */
  async readContext(filepath: string, slice?: SliceOptions | null): Promise<ContextSlice> {
    checkText(filepath, 'filepath')
    const checked = checkSlice(slice, this.sessionId)
    return cancellable(
      this.#hooks,
      this.#native,
      checked.signal,
      (operation) => this.#native.read(operation, filepath, checked.request),
      (_, texts) => readSlice(filepath, checked, texts),
    )
  }

  /**
   * Finds lines that match a regular expression in many contexts: of given paths, or of a filter, the latest first. Lines are
   * whole. Always bounded: `isComplete` says whether a bound was reached. What cannot be read is skipped and counted.
   *
   * @throws (rejects) `ERR_CONTEXT_INVALID_ARGUMENT`, with the position for a bad expression
   */
  async grepContexts(pattern: string | RegExp, options?: GrepContextsOptions | null): Promise<GrepContextsResult> {
    return grepContexts(this.#hooks, this.#native, pattern, options)
  }

  /** Every pointer, in the order of the calls. Deep copies. */
  getAllPointers(): ContextPointer<Task>[] {
    return this.#pointers.all()
  }

  /** The pointers of a query, in the order of the calls; `[]` for `undefined`. Deep copies. */
  getPointersForQuery(queryId: string | null | undefined): ContextPointer<Task>[] {
    return this.#pointers.ofQuery(queryId)
  }

  /** The pointers of a task, in the order of the calls; `[]` for `undefined`. Deep copies. */
  getPointersForTask(taskId: TaskId | null | undefined): ContextPointer<Task>[] {
    return this.#pointers.ofTask(taskId)
  }

  /** The latest pointers, newest first. Deep copies. */
  getLatestPointers(options?: LatestOptions | null): ContextPointer<Task>[] {
    return this.#pointers.latest(options)
  }

  /**
   * The contexts of a session, or of every session without an id: those on disk in the directory, whoever wrote them,
   * and those that only the memory of this process holds. Oldest first. Results are not read.
   */
  async listContexts(sessionId?: string | null, options?: CancellationOptions | null): Promise<ContextPointer<Task>[]> {
    optional(sessionId, 'sessionId', checkText)
    return cancellable(
      this.#hooks,
      this.#native,
      readCancellation(options),
      (operation) => this.#native.list(operation, sessionId ?? undefined),
      (_, texts) => texts.flatMap((text) => JSON.parse(text) as ContextPointer<Task>[]),
    )
  }

  /**
   * The paths of the pointers that share a word with the query, best first (BM25 over name, description, arguments
   * and, of outputs that this manager indexed, the result's text), recent ones preferred. Of this manager's pointers only `filepath` is
   * needed. Equal scores: most recent first. When nothing matches, all paths in their order. Synchronous, and never waits for a save or for a disk.
   */
  selectRelevantContexts(query: string, availablePointers: readonly SelectablePointer[]): string[] {
    return this.#pointers.relevant(query, availablePointers)
  }

  /**
   * The manager's contexts that a query needs, best first, chosen on another thread: those that share a word with it, as
   * {@link ContextManager.selectRelevantContexts} ranks them, within the filters and budgets given. When nothing matches,
   * all of them in their order; of those the most recent ones that the limit and the budgets allow.
   *
   * @throws (rejects) `ERR_CONTEXT_INVALID_ARGUMENT`, also when `countTokens` fails
   */
  async selectContexts(query: string, options?: SelectOptions | null): Promise<SelectedContext<Task>[]> {
    checkText(query, 'query')
    return this.#selecting.select(query, options)
  }

  /**
   * Searches the texts of stored outputs: names, descriptions, arguments and results. Sees every save that was
   * acknowledged before.
   *
   * @param query words, of which any may match (more and rarer ones are better); `"exact phrases"`, which must be there;
   * `prefix*`; `-excluded`; `tool:name`, `after:2026-11-01`, `before:2026-11-01T09:30`. Anything else is text.
   * @returns the hits, best first; those of a query that has filters and exclusions only, latest first
   * @throws (rejects) `ERR_CONTEXT_INVALID_ARGUMENT`, `ERR_CONTEXT_IO`
   */
  async search(query: string, options?: SearchOptions | null): Promise<SearchHit<Task>[]> {
    return search<Task>(this.#hooks, this.#native, query, options, this.sessionId)
  }

  /**
   * The latest output of an equal call: the same tool with the same arguments, whatever the order of their keys. So that a
   * caller can reuse it. `undefined` when there is none.
   *
   * @throws (rejects) `ERR_CONTEXT_INVALID_ARGUMENT`, `ERR_CONTEXT_IO`
   */
  async findContext(
    toolName: string,
    args: Record<string, unknown>,
    options?: FindOptions | null,
  ): Promise<ContextPointer<Task> | undefined> {
    return this.#sessions.findContext<Task>(toolName, args, options)
  }

  /**
   * Forgets this session's contexts that meet the filter, or those of another session that is over.
   *
   * @throws (rejects) `ERR_CONTEXT_INVALID_ARGUMENT`, also for a filter without a condition; `ERR_CONTEXT_CONFLICT` when the
   * other session is live or paused: nothing is removed then; `ERR_CONTEXT_IO`
   */
  forget(filter: ForgetFilter, options?: ForgetOptions | null): Promise<ForgetReport>
  /**
   * Forgets one context, by its path or handle: memory, index and file.
   *
   * @returns `false` when there is no such context
   * @throws (rejects) `ERR_CONTEXT_OUTSIDE_DIRECTORY`, `ERR_CONTEXT_CONFLICT` when it belongs to another session that is
   * live or paused, `ERR_CONTEXT_IO`
   */
  forget(filepath: string): Promise<boolean>
  async forget(what: string | ForgetFilter, options?: ForgetOptions | null): Promise<boolean | ForgetReport> {
    // An array is no filter: it is refused as a path.
    return typeof what === 'object' && what !== null && !Array.isArray(what)
      ? this.#sessions.forgetMatching(what, options)
      : this.#sessions.forget(what as string)
  }

  /**
   * Stores an output that another directory has, under the name of its file and with its session: redacted again, with the handle of its
   * content whatever the record says. Its session is over, so that the retention of this directory applies to it. Nothing is replaced.
   *
   * @throws (rejects) `ERR_CONTEXT_INVALID_ARGUMENT` for what is no record or no name of one; `ERR_CONTEXT_CORRUPT` when its bytes are
   * missing or not those that it says; `ERR_CONTEXT_CONFLICT` when another file has the name; `ERR_CONTEXT_REDACTION`,
   * `ERR_CONTEXT_UNSAFE_DIRECTORY`, `ERR_CONTEXT_IO`; the signal's reason. Nothing is stored then
   */
  async importRecord(files: ContextFiles, options?: ImportRecordOptions | null): Promise<ImportedRecord> {
    return importRecord(this.#hooks, this.#native, files, options)
  }

  /**
   * Keeps a context, by its path or handle, whatever `retention.maxLiveBytes` and `maxLiveFiles` say, until `unpin`. This manager
   * knows of it, other processes of the session do not.
   *
   * @returns `false` when this manager has no such context
   */
  async pin(filepath: string): Promise<boolean> {
    return this.#sessions.pin(filepath, true)
  }

  /** Takes a `pin` back. */
  async unpin(filepath: string): Promise<boolean> {
    return this.#sessions.pin(filepath, false)
  }

  /** Counts and bytes by tier. */
  stats(): ContextStats {
    return this.#native.stats()
  }

  /**
   * Removes what dead sessions left behind, within the bounds of `retention`, and what this session has beyond its own. Runs by itself in
   * the background: at the first save of a process in a directory, and then about every 10 minutes in which something is saved. Live and
   * paused sessions of others and foreign files are never touched; with an injected file system nothing is.
   */
  async sweep(options?: SweepOptions | null): Promise<SweepReport> {
    return this.#sessions.sweep(options)
  }

  /**
   * With the option `resume`: resolves once the pointers that earlier processes of the session left are there. Without it, at once.
   *
   * @throws (rejects) `ERR_CONTEXT_IO` when the directory cannot be read; the next call tries again
   */
  async resume(): Promise<void> {
    return this.#sessions.resume()
  }

  /** The sessions of the directory, the latest used first. With an injected file system all count as live. */
  async sessions(options?: CancellationOptions | null): Promise<SessionInfo[]> {
    return this.#sessions.list(options)
  }

  /**
   * Ends a session of the directory: as soon as no process holds it, what it left is kept within the bounds of `retention` alone. To
   * remove this session's contexts at once, call `clear()`.
   *
   * @returns whether it was live or paused
   */
  async endSession(sessionId: string): Promise<boolean> {
    return this.#sessions.end(sessionId)
  }

  /** Drops every pointer, and what only memory holds. Files stay. */
  clearPointers(): void {
    this.#native.clearPointers()
    debug(this.#hooks, 'Context pointers cleared')
  }

  /**
   * Removes this session's files and those of sessions that are over. Pointers stay. Files of other sessions that are live or paused and
   * files that are no contexts always stay. A directory that does not exist is no error; `onDebug` reports it.
   */
  async clearContextDir(): Promise<void> {
    return operate(
      this.#hooks,
      (operation) => this.#native.clearDirectory(operation),
      () => {},
    )
  }

  /**
   * The session's end: removes the memory and files of every save called before. Call it when the conversation will not go on; where it may, call
   * `close()`. A later save begins the session again.
   */
  async clear(): Promise<void> {
    return operate(
      this.#hooks,
      (operation) => this.#native.clear(operation),
      () => {},
    )
  }

  /** Another name of {@link ContextManager.clear}. */
  async clearContexts(): Promise<void> {
    return this.clear()
  }

  /**
   * Waits for every save called before and lets the session go. One whose `sessionId` you gave is paused: its contexts stay for
   * `retention.keepPaused`, for a process that resumes it. Any other is over: its files stay within the bounds of `retention`.
   * A later save begins the session again. Saves that wait for a `fileSystem` are waited for no longer than
   * `closeTimeout`.
   */
  async close(): Promise<void> {
    return close(this.#hooks, this.#native, this.#closeTimeout)
  }

  /** `await using`: the session ends with the block. */
  async [Symbol.asyncDispose](): Promise<void> {
    return this.clear()
  }

  /** How many contexts have a pointer. */
  get size(): number {
    return this.#native.size()
  }

  /** The session's id. */
  get sessionId(): string {
    return this.#options.session
  }

  /** The directory, absolute, as it was given (symbolic links are not resolved). */
  getContextDir(): string {
    return this.#options.directory
  }

  /** The id of a query: `q_` and 16 hex digits, the same for the same text whatever its case and outer spaces. */
  static hashQuery(query: string): string {
    checkText(query, 'query')
    return `q_${sha256(query.trim().toLowerCase()).slice(0, QUERY_HASH_LENGTH)}`
  }
}
