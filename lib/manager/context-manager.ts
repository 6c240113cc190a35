/** `ContextManager`: the public class over the native manager. */

import { type ContextStats, type SweepReport, sha256 } from '#addon'
import { checkText, optional } from '../arguments/checks.ts'
import { readCancellation } from '../arguments/known-options.ts'
import type { CancellationOptions, TaskId } from '../arguments/types.ts'
import { cancellable, close, debug, operate, sendNow } from '../native/border.ts'
import { grepContexts } from './grep-contexts.ts'
import { importRecord } from './import-record.ts'
import { loadContext, loadContexts } from './load-contexts.ts'
import { type ManagerParts, managerParts } from './manager-parts.ts'
import type {
  OffloadAllOptions,
  OffloadedContext,
  OffloadedValue,
  OffloadOptions,
  OffloadValueOptions,
  ToolOutput,
} from './offload-types.ts'
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
import { search } from './search.ts'
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
 * Stores the tool outputs of one agent session. Each output gets a small pointer that describes it; a query selects the relevant
 * ones. Small outputs are also cached in memory. `clear()` removes everything at the end of the session.
 *
 * Use one manager per agent session. Any number of managers, in any number of processes, may share a directory.
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
  readonly #parts: ManagerParts<Task>

  /** Does not access the disk: the first save creates the directory. Throws `ERR_CONTEXT_INVALID_ARGUMENT` for an invalid option. */
  constructor(options?: ContextManagerOptions | null) {
    this.#parts = managerParts<Task>(options, this)
    const { hooks, options: checked, sessions } = this.#parts
    debug(hooks, 'ContextManager initialized', {
      contextDir: checked.directory,
      persistThreshold: checked.persistThreshold,
      sessionId: checked.session,
    })
    sessions.begin()
  }

  /**
   * Stores a tool output. The value is copied before the method returns: later changes to it have no effect, and the manager
   * keeps no reference to it.
   *
   * A promise is awaited. A stream (any async iterable) is read to its end and stored up to `retention.maxResultBytes` of JSON.
   * Where more came, or the stream failed, the record has `cut: true`. Chunks that are texts or bytes are joined to one text, or
   * to bytes where they are not UTF-8; chunks of other types become an array. A stream of more than 1 MiB is written to temporary
   * files while it is read, unless there is a `fileSystem`. A `Response` becomes `{ url, status, statusText, headers, body }`, a
   * `Blob` its bytes, with its type as `mediaType`.
   *
   * A `Buffer`, `Uint8Array`, `ArrayBuffer` or `DataView` that is UTF-8 text is stored as that text. Other binary data, and
   * base64 in data URLs and in content blocks with a media type, is stored as bytes in a file next to the record, at any depth of
   * the result; loading returns it as a `Uint8Array`, or as base64 again. Binary data that is not text is not redacted.
   *
   * An `Error` is stored as its `name`, `message`, `cause`, `errors` and own properties, without its stack; a `Map` as an object
   * if all keys are strings, otherwise as an array of entries; a `Set` as an array; a `RegExp` and a `URL` as their text;
   * `Headers`, `FormData` and `URLSearchParams` as an array of entries. Other values that JSON cannot represent are stored as
   * `JSON.stringify` writes them. Where `JSON.stringify` throws, a marker string replaces each value that makes it throw: a
   * BigInt (`[BigInt 10]`), a cycle (`[Circular]`), a throwing getter or `toJSON` (`[Throws: message]`), or a value nested deeper
   * than 10 000 levels (`[Too deep]`). A result of `undefined` is stored as `null`. Arguments whose JSON is not an object are
   * stored under the key `value`.
   *
   * Secrets are removed from all of this before it is stored, see `redaction`: no file, pointer or loaded context contains them.
   *
   * @param toolName the tool that made the output
   * @param args the tool's input
   * @param result the tool's output
   * @param taskId the task that the output belongs to, for `getPointersForTask` and filters
   * @param queryId the id of the query that caused the call, see {@link ContextManager.hashQuery}
   * @param options the outcome of the call and facts about it, which are stored with the result
   * @returns the path of the stored context, after the complete file is written at the chosen durability (with `persist:
   * 'large'`, a small output is only in memory at that time). Saving the same call twice stores both outputs.
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
    return this.#parts.saving.saveContext(toolName, args, result, taskId, queryId, options)
  }

  /**
   * Passes a stream through to its reader, and stores the chunks that were read when the stream ends, fails or is no longer
   * read: up to `retention.maxResultBytes` of JSON. The record has `cut: true` where it does not hold the whole stream; the
   * reader always gets every chunk. While a long stream is written to temporary files, the reader gets each chunk only when the
   * writer has room for it (backpressure). Texts and bytes are joined to one text; chunks of other types become an array.
   *
   * @param stream an async iterable, such as a `ReadableStream` or a readable stream of Node
   * @throws `ERR_CONTEXT_INVALID_ARGUMENT`; the promise `stored` rejects as `saveContext` does
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
    return this.#parts.saving.recordStream(toolName, args, stream, options)
  }

  /**
   * Stores a tool output and returns the text for the conversation. A large output is replaced by a placeholder with a preview
   * and a handle; equal calls with equal outputs get equal placeholders, so that prompt caches stay valid. An output that cannot
   * be stored is returned unchanged, with the `error`.
   *
   * @throws (rejects) `ERR_CONTEXT_INVALID_ARGUMENT`, or with the reason of a `signal` that is already aborted
   */
  async offload<T>(
    toolName: string,
    args: Record<string, unknown>,
    result: T,
    options?: OffloadOptions | null,
  ): Promise<OffloadedContext<T>> {
    return this.#parts.offloading.offload(toolName, args, result, options)
  }

  /**
   * As {@link ContextManager.offload}, for all tool outputs of one turn, in their order and within `offload.turnBudget`. With
   * `contextTokens`, outputs are offloaded only after the conversation has reached the share `startAt` of the model's window.
   */
  async offloadAll(outputs: readonly ToolOutput[], options?: OffloadAllOptions | null): Promise<OffloadedContext[]> {
    return this.#parts.offloading.offloadAll(outputs, options)
  }

  /**
   * Stores a tool output and returns a value of the same shape for the conversation: content blocks, `{ stdout, stderr }`, any
   * plain objects and arrays. If the value is large, each of its long texts is replaced by a placeholder with the handle of the
   * output and the JSON path of the text. Short members, such as ids and types, and instances of classes are kept. A value
   * without long texts is returned unchanged whatever its size: check `shownBytes`.
   *
   * @throws (rejects) `ERR_CONTEXT_INVALID_ARGUMENT`, or with the reason of a `signal` that is already aborted
   */
  async offloadValue<T>(
    toolName: string,
    args: Record<string, unknown>,
    value: T,
    options?: OffloadValueOptions | null,
  ): Promise<OffloadedValue<T>> {
    return this.#parts.valueOffloading.offload(toolName, args, value, options)
  }

  /**
   * Loads one context, from the memory cache if it is there, otherwise from its file.
   *
   * @param filepath a pointer's `filepath`, or a handle that `offload` returned. Only files inside the context directory are
   * read; symbolic links are not followed
   * @throws (rejects) `ERR_CONTEXT_NOT_FOUND`, `ERR_CONTEXT_OUTSIDE_DIRECTORY`, `ERR_CONTEXT_CORRUPT`, `ERR_CONTEXT_IO`
   */
  loadContext<T = unknown>(filepath: string): Promise<StoredContext<T, Task>> {
    return loadContext<T, Task>(this.#parts.hooks, this.#parts.native, filepath)
  }

  /** Loads several contexts, in the order given. A context that cannot be read is skipped and reported to `onDebug`. */
  async loadContexts(filepaths: readonly string[]): Promise<StoredContext<unknown, Task>[]> {
    return loadContexts<Task>(this.#parts.hooks, this.#parts.native, filepaths)
  }

  /**
   * Reads a part of a stored result, without loading the rest into JavaScript: a range of lines or bytes, the lines that match a
   * regular expression, or the values that a JSON path selects. Give at most one of `lines`, `bytes` and `grep`; without them,
   * reading starts at the beginning. The returned text has at most `maxBytes`; `next` holds the options that read the following
   * part. Lines and bytes of a long text are read without the rest of the file.
   *
   * @throws (rejects) as `loadContext`, and `ERR_CONTEXT_INVALID_ARGUMENT` with the position of the error in an invalid
   * expression or path
   */
  async readContext(filepath: string, slice?: SliceOptions | null): Promise<ContextSlice> {
    checkText(filepath, 'filepath')
    const checked = checkSlice(slice, this.sessionId)
    return cancellable(
      this.#parts.hooks,
      this.#parts.native,
      checked.signal,
      (operation) => this.#parts.native.read(operation, filepath, checked.request),
      (_, texts) => readSlice(filepath, checked, texts),
    )
  }

  /**
   * Finds the lines that match a regular expression in many contexts: those of the given paths, or those that meet a filter, the
   * latest first. Lines are returned whole. The number of lines and bytes is limited; `isComplete` is `false` when a limit was
   * reached. A context that cannot be read is skipped and counted in `skipped`.
   *
   * @throws (rejects) `ERR_CONTEXT_INVALID_ARGUMENT`, with the position of the error in an invalid expression
   */
  async grepContexts(pattern: string | RegExp, options?: GrepContextsOptions | null): Promise<GrepContextsResult> {
    return grepContexts(this.#parts.hooks, this.#parts.native, pattern, options)
  }

  /** Returns deep copies of all pointers of the session, in the order of the calls. */
  getAllPointers(): ContextPointer<Task>[] {
    return this.#parts.pointers.all()
  }

  /** Returns deep copies of the pointers with this query id, in the order of the calls; `[]` for `undefined`. */
  getPointersForQuery(queryId: string | null | undefined): ContextPointer<Task>[] {
    return this.#parts.pointers.ofQuery(queryId)
  }

  /** Returns deep copies of the pointers with this task id, in the order of the calls; `[]` for `undefined`. */
  getPointersForTask(taskId: TaskId | null | undefined): ContextPointer<Task>[] {
    return this.#parts.pointers.ofTask(taskId)
  }

  /** Returns deep copies of the latest pointers, newest first. */
  getLatestPointers(options?: LatestOptions | null): ContextPointer<Task>[] {
    return this.#parts.pointers.latest(options)
  }

  /**
   * Lists the contexts of one session, or of all sessions of the directory if no id is given, oldest first. It includes the files
   * that other processes wrote, and the outputs that are only in this process's memory. Results are not read.
   */
  async listContexts(sessionId?: string | null, options?: CancellationOptions | null): Promise<ContextPointer<Task>[]> {
    optional(sessionId, 'sessionId', checkText)
    return cancellable(
      this.#parts.hooks,
      this.#parts.native,
      readCancellation(options),
      (operation) => this.#parts.native.list(operation, sessionId ?? undefined),
      (_, texts) => texts.flatMap((text) => JSON.parse(text) as ContextPointer<Task>[]),
    )
  }

  /**
   * Ranks pointers by how well they match a query, and returns the paths of those that share a word with it, best first. The
   * score is BM25 over the tool's name, the description, the arguments and, for outputs in this manager's index, the text of the
   * result; recent outputs score slightly higher. Equal scores are ordered by time, the most recent first. When no pointer
   * matches, all paths are returned in the order given. For pointers of this manager, only `filepath` is read. The method is
   * synchronous and waits for neither saves nor the disk.
   */
  selectRelevantContexts(query: string, availablePointers: readonly SelectablePointer[]): string[] {
    return this.#parts.pointers.relevant(query, availablePointers)
  }

  /**
   * Selects the contexts that match a query, best first, within the given filters, limit and budgets. The ranking is that of
   * {@link ContextManager.selectRelevantContexts} and runs on another thread. When nothing matches, it returns all contexts that
   * meet the filter, in their order, reduced to the most recent ones that fit into the limit and the budgets.
   *
   * @throws (rejects) `ERR_CONTEXT_INVALID_ARGUMENT`, also when `countTokens` fails
   */
  async selectContexts(query: string, options?: SelectOptions | null): Promise<SelectedContext<Task>[]> {
    checkText(query, 'query')
    return this.#parts.selecting.select(query, options)
  }

  /**
   * Searches the texts of stored outputs: names, descriptions, arguments and results. Finds every output whose save resolved
   * before the call.
   *
   * @param query words, of which at least one must match (matches of more and of rarer words score higher); `"exact phrases"`,
   * all of which must match; `prefix*`; `-excluded`; `tool:name`, `after:2026-11-01`, `before:2026-11-01T09:30`. Any other syntax
   * is read as words.
   * @returns the hits, best first; for a query that has only filters and exclusions, latest first
   * @throws (rejects) `ERR_CONTEXT_INVALID_ARGUMENT`, `ERR_CONTEXT_IO`
   */
  async search(query: string, options?: SearchOptions | null): Promise<SearchHit<Task>[]> {
    const { hooks, native, embeddings } = this.#parts
    return search<Task>(hooks, native, query, options, this.sessionId, embeddings)
  }

  /**
   * Finds the latest output of an equal call, so that the caller can reuse it: the same tool with equal arguments, in any order
   * of keys. Resolves to `undefined` when there is none.
   *
   * @throws (rejects) `ERR_CONTEXT_INVALID_ARGUMENT`, `ERR_CONTEXT_IO`
   */
  async findContext(
    toolName: string,
    args: Record<string, unknown>,
    options?: FindOptions | null,
  ): Promise<ContextPointer<Task> | undefined> {
    return this.#parts.sessions.findContext<Task>(toolName, args, options)
  }

  /**
   * Removes the contexts that meet the filter from memory, index and disk: those of this session, or those of another session
   * that has ended.
   *
   * @throws (rejects) `ERR_CONTEXT_INVALID_ARGUMENT`, also for a filter without a condition; `ERR_CONTEXT_CONFLICT` when the
   * other session is live or paused (nothing is removed); `ERR_CONTEXT_IO`
   */
  forget(filter: ForgetFilter, options?: ForgetOptions | null): Promise<ForgetReport>
  /**
   * Removes one context, given by its path or handle, from memory, index and disk.
   *
   * @returns whether the context existed
   * @throws (rejects) `ERR_CONTEXT_OUTSIDE_DIRECTORY`, `ERR_CONTEXT_CONFLICT` when it belongs to another session that is live or
   * paused, `ERR_CONTEXT_IO`
   */
  forget(filepath: string): Promise<boolean>
  async forget(what: string | ForgetFilter, options?: ForgetOptions | null): Promise<boolean | ForgetReport> {
    // An array is not a filter: it is passed on as a path, which the argument check refuses.
    return typeof what === 'object' && what !== null && !Array.isArray(what)
      ? this.#parts.sessions.forgetMatching(what, options)
      : this.#parts.sessions.forget(what as string)
  }

  /**
   * Stores an output of another directory, under its file name and with its session. It is redacted again, and its handle is
   * recomputed from its content. The session counts as ended, so that this directory's retention applies to the output. Existing
   * files are never replaced.
   *
   * @throws (rejects) `ERR_CONTEXT_INVALID_ARGUMENT` if the content is not a record or the name not that of a record's file;
   * `ERR_CONTEXT_CORRUPT` if the binary data is missing or does not match the record; `ERR_CONTEXT_CONFLICT` if another file has the
   * name; `ERR_CONTEXT_REDACTION`, `ERR_CONTEXT_UNSAFE_DIRECTORY`, `ERR_CONTEXT_IO`; the signal's reason. Nothing is stored in these
   * cases
   */
  async importRecord(files: ContextFiles, options?: ImportRecordOptions | null): Promise<ImportedRecord> {
    return importRecord(this.#parts.hooks, this.#parts.native, files, options)
  }

  /**
   * Exempts a context, given by its path or handle, from `retention.maxLiveBytes` and `retention.maxLiveFiles` until `unpin` is
   * called. The pin is in this manager's memory: other processes of the session do not see it.
   *
   * @returns whether this manager has such a context
   */
  async pin(filepath: string): Promise<boolean> {
    return this.#parts.sessions.pin(filepath, true)
  }

  /** Removes a pin that `pin` set. Returns whether this manager has such a context. */
  async unpin(filepath: string): Promise<boolean> {
    return this.#parts.sessions.pin(filepath, false)
  }

  /** Returns how many contexts this manager has, and their bytes, in memory and on disk. */
  stats(): ContextStats {
    return this.#parts.native.stats()
  }

  /**
   * Removes the contexts of ended sessions that exceed the limits of `retention`, and the contexts of this session that exceed
   * `retention.maxLiveBytes` and `retention.maxLiveFiles`. The manager calls it in the background at the first save of a process
   * in a directory, and then about every 10 minutes while outputs are saved. It never removes contexts of other live or paused
   * sessions, or files that are not contexts. With a `fileSystem` it removes nothing.
   */
  async sweep(options?: SweepOptions | null): Promise<SweepReport> {
    return this.#parts.sessions.sweep(options)
  }

  /**
   * With the option `resume`, resolves when the pointers that earlier processes of the session left are restored. Without the
   * option, resolves immediately.
   *
   * @throws (rejects) `ERR_CONTEXT_IO` when the directory cannot be read; the next call tries again
   */
  async resume(): Promise<void> {
    return this.#parts.sessions.resume()
  }

  /** Lists the sessions of the directory, the most recently used first. With a `fileSystem`, every session counts as live. */
  async sessions(options?: CancellationOptions | null): Promise<SessionInfo[]> {
    return this.#parts.sessions.list(options)
  }

  /**
   * Ends a session of the directory. Its contexts are then kept only within the limits of `retention`, as soon as no process uses
   * the session. To remove this session's contexts immediately, call `clear()`.
   *
   * @returns whether the session was live or paused
   */
  async endSession(sessionId: string): Promise<boolean> {
    return this.#parts.sessions.end(sessionId)
  }

  /** Removes all pointers, and the outputs that are only in memory. Files are kept. */
  clearPointers(): void {
    sendNow()
    this.#parts.native.clearPointers()
    debug(this.#parts.hooks, 'Context pointers cleared')
  }

  /**
   * Removes the files of this session and of ended sessions, and keeps the pointers. Files of other live or paused sessions, and
   * files that are not contexts, are kept. A directory that does not exist is not an error; it is reported to `onDebug`.
   */
  async clearContextDir(): Promise<void> {
    return operate(
      this.#parts.hooks,
      (operation) => this.#parts.native.clearDirectory(operation),
      () => {},
    )
  }

  /**
   * Ends the session: removes pointers, memory and files of every earlier save. Call it when the conversation will not continue;
   * if it may continue, call `close()`. A later save starts the session again.
   */
  async clear(): Promise<void> {
    return operate(
      this.#parts.hooks,
      (operation) => this.#parts.native.clear(operation),
      () => {},
    )
  }

  /** The same as {@link ContextManager.clear}. */
  async clearContexts(): Promise<void> {
    return this.clear()
  }

  /**
   * Waits for every earlier save and releases the session. A session whose `sessionId` was given is paused: its contexts are kept
   * for `retention.keepPaused`, so that another process can resume it. Any other session ends: its files are kept within the
   * limits of `retention`. A later save starts the session again. Waits for pending calls of a `fileSystem` for `closeTimeout` at
   * most, and for a running background sweep of the directory for five seconds at most.
   */
  async close(): Promise<void> {
    return close(this.#parts.hooks, this.#parts.native, this.#parts.closeTimeout)
  }

  /** For `await using`: calls `clear()` at the end of the block. */
  async [Symbol.asyncDispose](): Promise<void> {
    return this.clear()
  }

  /** The number of pointers. */
  get size(): number {
    return this.#parts.native.size()
  }

  /** The id of the session: the option `sessionId`, or a generated id. */
  get sessionId(): string {
    return this.#parts.options.session
  }

  /** Returns the absolute path of the context directory. Symbolic links are not resolved. */
  getContextDir(): string {
    return this.#parts.options.directory
  }

  /** Returns the id of a query: `q_` and 16 hexadecimal digits. Case and surrounding white space of the text do not matter. */
  static hashQuery(query: string): string {
    checkText(query, 'query')
    return `q_${sha256(query.trim().toLowerCase()).slice(0, QUERY_HASH_LENGTH)}`
  }
}
