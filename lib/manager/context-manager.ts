/** `ContextManager`: the public face of the native manager. */

import { Buffer } from 'node:buffer'
import { type ContextStats, NativeManager, type SweepReport, sha256 } from '#addon'
import { checkArguments, checkText, checkWhole, optional, taskToken } from '../arguments/checks.ts'
import { asContextError, contextError, inspect, invalidArgument } from '../arguments/errors.ts'
import { readCancellation } from '../arguments/known-options.ts'
import { tooLarge } from '../arguments/messages.ts'
import { checkCloseTimeout } from '../arguments/timeouts.ts'
import type { CancellationOptions, TaskId } from '../arguments/types.ts'
import { leastBytes } from '../native/binary.ts'
import { cancellable, close, debug, type Hooks, operate, outbox, registerHooks } from '../native/border.ts'
import { type Encoded, encode, encodeText, FLAT } from '../native/snapshot.ts'
import { stringify } from '../native/stringify.ts'
import type { IFileSystem } from '../native/types.ts'
import { checkRedaction, reportSave } from '../redaction/redaction.ts'
import { checkPointer, selectable } from './candidates.ts'
import { loadContext, loadContexts } from './load-contexts.ts'
import { Offloading, type OffloadRequest } from './offload.ts'
import { latestOptions, managerOptions } from './option-names.ts'
import { type CheckedOptions, checkOptions } from './options.ts'
import { PointerCache, readPointers, sequenceOf } from './pointers.ts'
import type {
  ContextSlice,
  LatestOptions,
  OffloadedContext,
  OffloadOptions,
  SearchHit,
  SearchOptions,
  SelectedContext,
  SelectOptions,
  SliceOptions,
  ToolOutput,
} from './retrieval-types.ts'
import { NO_DETAILS, SaveDetails } from './save-details.ts'
import { search } from './search.ts'
import { Selecting } from './select-contexts.ts'
import { checkSlice, readSlice } from './slices.ts'
import type { ContextManagerOptions, ContextPointer, SelectablePointer, StoredContext, ToolOutcome } from './types.ts'

/** Pointers fetched at once. */
const PAGE = 4096
const page = new Float64Array(PAGE)
const QUERY_HASH_LENGTH = 16
const DEFAULT_LATEST = 20

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
  readonly #details: SaveDetails
  readonly #offloading: Offloading
  readonly #cache = new PointerCache<Task>()
  readonly #selecting: Selecting<Task>

  /** Touches no file: the directory is created by the first save. Throws `ERR_CONTEXT_INVALID_ARGUMENT`. */
  constructor(options?: ContextManagerOptions | null) {
    const given = optional(options, 'options', managerOptions) ?? {}
    const redaction = checkRedaction(given.redaction, 'redaction')
    this.#options = checkOptions(given, redaction)
    this.#closeTimeout = checkCloseTimeout(given.closeTimeout)
    const fileSystem: IFileSystem | undefined = given.fileSystem ?? undefined
    this.#hooks = { fileSystem, onDebug: given.onDebug ?? undefined, redaction }
    this.#details = new SaveDetails(this.#hooks, given)
    this.#offloading = new Offloading(this.#hooks, given.offload, (toolName, args, result, taskId, queryId, request) =>
      this.#save(toolName, args, result, taskId, queryId, undefined, request),
    )
    this.#native = new NativeManager(
      outbox,
      { ...this.#options, id: registerHooks(this.#hooks) },
      redaction?.redactor.native,
    )
    this.#selecting = new Selecting(this.#native, this.#hooks, this.#options)
    debug(this.#hooks, 'ContextManager initialized', {
      contextDir: this.#options.directory,
      persistThreshold: this.#options.persistThreshold,
      sessionId: this.#options.session,
    })
  }

  /**
   * Stores a tool output. The value is taken as it is now: later changes to it do not count, and it is not kept alive.
   *
   * A `Buffer` or `Uint8Array` that is UTF-8 text is stored as that text. What JSON cannot hold is stored as
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
   * @param outcome how the call ended, stored beside the result
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
    outcome?: ToolOutcome | null,
  ): Promise<string> {
    try {
      return this.#save(toolName, args, result, taskId ?? undefined, queryId ?? undefined, outcome ?? undefined)
    } catch (error) {
      return Promise.reject(asContextError(error, 'saveContext', 'result'))
    }
  }

  #save(
    toolName: string,
    args: Record<string, unknown>,
    result: unknown,
    taskId: TaskId | undefined,
    queryId: string | undefined,
    outcome: ToolOutcome | undefined,
    offload?: OffloadRequest,
  ): Promise<string> {
    checkText(toolName, 'toolName')
    checkArguments(args, 'args')
    const task = taskId === undefined ? undefined : taskToken(taskId, 'taskId')
    if (queryId !== undefined) {
      checkText(queryId, 'queryId')
    }
    const maximum = this.#options.maxResultBytes
    if (leastBytes(result) > maximum) {
      throw this.#tooLarge(toolName)
    }
    const argumentsText = stringify(args)
    const isObject = argumentsText.startsWith('{')
    let details = this.#details.of(toolName, args, result, outcome)
    const encoded: Encoded = offload?.encoded ?? (this.#details.needsSize ? encodeText(result) : encode(result))
    // The text of a snapshot holds keys as well, and keys of absent values do not count.
    if (encoded.kind !== FLAT && encoded.text.length > maximum + 2) {
      throw this.#tooLarge(toolName)
    }
    if (this.#details.needsSize) {
      details.isLarge = this.#details.isLarge(toolName, args, Buffer.byteLength(encoded.text))
    }
    if (offload !== undefined) {
      details = { ...details, offload: { previewBytes: offload.previewBytes } }
    }
    this.#hooks.redaction?.redactor.refresh()
    // The native side copies what it is given before it returns.
    return operate(
      this.#hooks,
      (operation) =>
        this.#native.save(
          operation,
          toolName,
          Date.now(),
          queryId,
          task,
          isObject ? argumentsText : `{"value":${argumentsText}}`,
          encoded.kind,
          encoded.text,
          encoded.operations,
          encoded.length,
          encoded.chunks,
          details === NO_DETAILS ? undefined : JSON.stringify(details),
        ),
      (saved, texts) => (texts.length === 0 ? saved : reportSave(this.#hooks.redaction, texts)),
    )
  }

  #tooLarge(toolName: string): Error {
    const { maxResultBytes } = this.#options
    return tooLarge(this.#hooks.redaction?.redactor, 'result', toolName, maxResultBytes, 'retention.maxResultBytes')
  }

  /**
   * Stores a tool output, and gives the text for the conversation: a large output is replaced by a placeholder, which is
   * the same for the same call with the same output. What fails to be stored stays as it is.
   *
   * @throws (rejects) `ERR_CONTEXT_INVALID_ARGUMENT` alone
   */
  async offload<T>(
    toolName: string,
    args: Record<string, unknown>,
    result: T,
    options?: OffloadOptions | null,
  ): Promise<OffloadedContext<T>> {
    return this.#offloading.offload(toolName, args, result, options)
  }

  /** As {@link ContextManager.offload}, for all outputs of a turn, in their order and within `offload.turnBudget`. */
  async offloadAll(outputs: readonly ToolOutput[]): Promise<OffloadedContext[]> {
    return this.#offloading.offloadAll(outputs)
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
    const checked = checkSlice(slice)
    return cancellable(
      this.#hooks,
      this.#native,
      checked.signal,
      (operation) => this.#native.read(operation, filepath, checked.request),
      (_, texts) => readSlice(filepath, checked, texts),
    )
  }

  /** Every pointer, in the order of the calls. Deep copies. */
  getAllPointers(): ContextPointer<Task>[] {
    const pointers: ContextPointer<Task>[] = []
    for (let start = 0; ; ) {
      const found = readPointers<Task>(this.#native.pointersFrom(start, page), this.#options, page, this)
      if (start === 0 && found.length < PAGE) {
        return found
      }
      for (const pointer of found) {
        pointers.push(pointer)
      }
      if (found.length < PAGE) {
        return pointers
      }
      start = (page[PAGE - 1] as number) + 1
    }
  }

  /** The pointers of a query, in the order of the calls; `[]` for `undefined`. Deep copies. */
  getPointersForQuery(queryId: string | null | undefined): ContextPointer<Task>[] {
    if (queryId === undefined || queryId === null) {
      return []
    }
    checkText(queryId, 'queryId')
    return this.#group(`q${queryId}`, (sequences) => this.#native.pointersForQuery(queryId, sequences))
  }

  /** The pointers of a task, in the order of the calls; `[]` for `undefined`. Deep copies. */
  getPointersForTask(taskId: TaskId | null | undefined): ContextPointer<Task>[] {
    if (taskId === undefined || taskId === null) {
      return []
    }
    const task = taskToken(taskId, 'taskId')
    return this.#group(`t${task}`, (sequences) => this.#native.pointersForTask(task, sequences))
  }

  /** The latest pointers, newest first. Deep copies. */
  getLatestPointers(options?: LatestOptions | null): ContextPointer<Task>[] {
    const { toolName, before, limit } = optional(options, 'options', latestOptions) ?? {}
    optional(toolName, 'toolName', checkText)
    optional(before, 'before', checkText)
    const sequences = new Float64Array(Math.min(optional(limit, 'limit', checkWhole) ?? DEFAULT_LATEST, this.size))
    const text = this.#native.latestPointers(toolName ?? undefined, before ?? undefined, sequences)
    if (text === null) {
      throw contextError('ERR_CONTEXT_NOT_FOUND', `this manager has no context ${inspect(before)}`)
    }
    return readPointers<Task>(text, this.#options, sequences, this)
  }

  #group(key: string, fetch: (sequences: Float64Array) => string | null): ContextPointer<Task>[] {
    // Asked before the reading: what changes meanwhile makes the copy stale.
    const generation = this.#native.generation()
    const cached = this.#cache.get(generation, key, this)
    if (cached !== undefined) {
      return cached
    }
    for (let sequences = page; ; sequences = new Float64Array(2 * sequences.length)) {
      const text = fetch(sequences)
      if (text !== null) {
        const pointers = readPointers<Task>(text, this.#options, sequences, this)
        this.#cache.set(generation, key, pointers, sequences)
        return pointers
      }
    }
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
    checkText(query, 'query')
    if (!Array.isArray(availablePointers)) {
      throw invalidArgument('availablePointers', 'an array of pointers', availablePointers)
    }
    const pointers = availablePointers as readonly SelectablePointer[]
    const positions = this.#rank(query, pointers, true) ?? this.#rank(query, pointers, false) ?? []
    if (positions.length === 0) {
      return pointers.map((pointer) => pointer.filepath)
    }
    return positions.map((position) => (pointers[position] as SelectablePointer).filepath)
  }

  #rank(query: string, pointers: readonly SelectablePointer[], usesMarks: boolean): number[] | null {
    const sequences = new Float64Array(pointers.length)
    const foreign: unknown[] = []
    for (let index = 0; index < pointers.length; index++) {
      const pointer = checkPointer(pointers[index], 'availablePointers', index)
      const sequence = usesMarks ? sequenceOf(pointer, this) : -1
      sequences[index] = sequence
      if (sequence < 0) {
        foreign.push(selectable(pointer))
      }
    }
    return this.#native.rank(query, sequences, foreign.length === 0 ? '[]' : stringify(foreign))
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
    return search<Task>(this.#hooks, this.#native, query, options)
  }

  /**
   * Forgets one context, by its path or handle: memory, index and file.
   *
   * @returns `false` when there is no such context
   * @throws (rejects) `ERR_CONTEXT_OUTSIDE_DIRECTORY`, `ERR_CONTEXT_CONFLICT` when it belongs to another session that is
   * alive, `ERR_CONTEXT_IO`
   */
  async forget(filepath: string): Promise<boolean> {
    checkText(filepath, 'filepath')
    return operate(
      this.#hooks,
      (operation) => this.#native.forget(operation, filepath),
      (text) => text === 'true',
    )
  }

  /** Counts and bytes by tier. */
  stats(): ContextStats {
    return this.#native.stats()
  }

  /**
   * Removes what dead sessions left behind, within the bounds of `retention`. Runs by itself in the background, once per
   * process and directory. Live sessions and foreign files are never touched; with an injected file system nothing is.
   */
  async sweep(options?: CancellationOptions | null): Promise<SweepReport> {
    return cancellable(
      this.#hooks,
      this.#native,
      readCancellation(options),
      (operation) => this.#native.sweep(operation),
      (text) => JSON.parse(text) as SweepReport,
    )
  }

  /** Drops every pointer, and what only memory holds. Files stay. */
  clearPointers(): void {
    this.#native.clearPointers()
    debug(this.#hooks, 'Context pointers cleared')
  }

  /**
   * Removes this session's files and those of sessions that are over. Pointers stay. Files of sessions that are alive and
   * files that are no contexts always stay. A directory that does not exist is no error; `onDebug` reports it.
   */
  async clearContextDir(): Promise<void> {
    return operate(
      this.#hooks,
      (operation) => this.#native.clearDirectory(operation),
      () => {},
    )
  }

  /** The session's end: removes the memory and files of every save called before. The manager starts anew. */
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
   * Waits for every save called before and ends the session without clearing: its files stay, within the bounds of
   * `retention`. A later save begins the session again. Saves that wait for a `fileSystem` are waited for no longer than
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
