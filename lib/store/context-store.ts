/** `ContextStore`: the public class over the native store. */

import { sep } from 'node:path'
import { type NativeDatabase, NativeStore } from '#addon'
import { checkFilled, checkText, optional, readSignal } from '../arguments/checks.ts'
import { asContextError } from '../arguments/errors.ts'
import { readCancellation } from '../arguments/known-options.ts'
import { checkCloseTimeout } from '../arguments/timeouts.ts'
import type { CancellationOptions } from '../arguments/types.ts'
import { Embeddings } from '../embedding/embeddings.ts'
import { cancellable, close, debug, type Hooks, operate, outbox, registerHooks } from '../native/border.ts'
import { checkRedaction, reportRedaction } from '../redaction/redaction.ts'
import type { RedactionFinding } from '../redaction/types.ts'
import { storageOf, storageStats } from '../storage/storage.ts'
import type { StorageUse } from '../storage/types.ts'
import { checkChange, checkEntryPath, checkNewEntry, checkSaying, type EntryBounds } from './entry.ts'
import { SessionFiles } from './files.ts'
import { checkHousekeeping, housekeep } from './housekeeping.ts'
import { storeDirectory } from './location.ts'
import { storeOptions, updateOptions } from './option-names.ts'
import { type CheckedStoreOptions, checkStoreOptions } from './options.ts'
import {
  asStored,
  checkQueryEmbedder,
  checkRelatedOptions,
  checkStoreFilter,
  checkStoreQuery,
  meetsNothing,
} from './query.ts'
import type {
  ContextStoreConfig,
  ContextStoreOptions,
  HousekeepingPolicy,
  HousekeepingReport,
  NewStoreEntry,
  RelatedOptions,
  StoreEntry,
  StoreEntryChange,
  StoreEntrySummary,
  StoreFilter,
  StoreQuery,
  StoreVerifyReport,
  UpdateOptions,
} from './types.ts'

/** An entry from the native side, which returns paths relative to the store. */
type WithoutFile<Entry extends StoreEntrySummary> = Omit<Entry, 'filePath'>

/**
 * A store of knowledge that several agents share and that outlives their sessions: a directory of Markdown files with front
 * matter, which editors, `rg` and other programs may also read and write. Any number of `ContextStore` objects, in any number of
 * processes, may share a directory.
 *
 * @example
 * ```ts
 * const store = new ContextStore({ agent: 'code-reviewer' })
 * const { path } = await store.write({
 *   type: 'finding',
 *   slug: 'auth-vulnerability',
 *   content: 'Session tokens are compared with `==`, which leaks their length.',
 *   tags: ['security', 'authentication'],
 * })
 * await store.update(path, { addTags: ['fixed'] }, 'Compared in constant time since 4f2a')
 * const found = await store.search({ query: 'session tokens', type: 'finding', ranked: true })
 * ```
 */
export class ContextStore {
  readonly #native: NativeStore
  readonly #options: CheckedStoreOptions
  readonly #prefix: string
  readonly #closeTimeout: number
  readonly #bounds: EntryBounds
  readonly #hooks: Hooks
  readonly #embeddings: Embeddings
  readonly #database: NativeDatabase | undefined
  readonly #files: SessionFiles
  /** What separates the parts of an entry's absolute path. */
  readonly #separator: string

  /** Does not access the disk: the first write creates the directory. Throws `ERR_CONTEXT_INVALID_ARGUMENT` for an invalid option. */
  constructor(options: ContextStoreOptions) {
    storeOptions(options, 'options')
    const redaction = checkRedaction(options.redaction, 'redaction')
    const storage = storageOf(options)
    const { checked, prefix } = checkStoreOptions(options, redaction, storage)
    this.#options = checked
    this.#prefix = prefix
    this.#closeTimeout = checkCloseTimeout(options.closeTimeout)
    this.#bounds = { maxBytes: checked.maxEntryBytes, prefix }
    this.#hooks = {
      fileSystem: options.fileSystem ?? undefined,
      onDebug: options.onDebug ?? undefined,
      redaction,
      passwords: storage?.passwords,
    }
    const place = storage === undefined ? checked.path : `${storage.native.place}\0${checked.path}`
    this.#files = new SessionFiles(place, this.#hooks.fileSystem)
    this.#separator = this.#hooks.fileSystem === undefined && storage === undefined ? sep : '/'
    this.#database = storage?.native
    this.#native = new NativeStore(
      outbox,
      { ...checked, id: registerHooks(this.#hooks) },
      redaction?.redactor.native,
      storage?.native,
    )
    this.#embeddings = new Embeddings(this.#hooks, this.#native)
    debug(this.#hooks, 'ContextStore initialized', {
      path: checked.path,
      agent: checked.agent,
      sessionId: checked.sessionId,
    })
  }

  /**
   * Returns the absolute path of the store's directory: the current value of the environment variable `SFA_CONTEXT_STORE`, unless
   * it is empty; otherwise `config.contextStore.path`, unless that is empty; otherwise
   * `~/.local/share/single-file-agents/context`. `~` is expanded.
   *
   * @throws `ERR_CONTEXT_INVALID_ARGUMENT`, also when there is no home directory for `~`
   */
  static resolvePath(config?: ContextStoreConfig | null): string {
    return storeDirectory(config).directory
  }

  /** Returns what was asked of the database, with the option `storage`. */
  stats(): StorageUse {
    return storageStats(this.#database)
  }

  /** The name of the agent, as passed to the constructor. */
  get agent(): string {
    return this.#options.agent
  }

  /** The absolute path of the store's directory. Symbolic links are not resolved. */
  get path(): string {
    return this.#options.path
  }

  /** The id of the session in which entries are written: the option `sessionId`, otherwise `SFA_SESSION_ID`, otherwise a new UUID. */
  get sessionId(): string {
    return this.#options.sessionId
  }

  /**
   * Writes an entry to a new file, `<agent>/[<sessionId>/]<time>-<slug>.md`. Secrets are removed from all its parts, see
   * `redaction`; the passed object is not modified.
   *
   * @returns the entry as it was written, after the complete file is stored at the chosen durability
   * @throws (rejects) `ERR_CONTEXT_INVALID_ARGUMENT`; `ERR_CONTEXT_TOO_LARGE`; `ERR_CONTEXT_CONFLICT` when the directory of
   * another agent or session has a name that differs only in case; `ERR_CONTEXT_OUTSIDE_DIRECTORY` when the path contains a
   * symbolic link; `ERR_CONTEXT_REDACTION`, `ERR_CONTEXT_LOCK_TIMEOUT`, `ERR_CONTEXT_IO`
   */
  async write(entry: NewStoreEntry): Promise<StoreEntry> {
    const request = this.#request('write', () => checkNewEntry(entry, 'entry', this.#bounds))
    return operate(
      this.#hooks,
      (operation) => this.#native.write(operation, request),
      (_, texts) => this.#changed(texts),
    )
  }

  /**
   * Reads one entry.
   *
   * @param path relative to the store, or absolute: the `path` or the `filePath` of an entry. Symbolic links below the store are
   * not followed.
   * @throws (rejects) `ERR_CONTEXT_INVALID_ARGUMENT`, `ERR_CONTEXT_NOT_FOUND`, `ERR_CONTEXT_OUTSIDE_DIRECTORY`,
   * `ERR_CONTEXT_CORRUPT` for a file that is not a valid entry, `ERR_CONTEXT_IO`
   */
  async read(path: string): Promise<StoreEntry> {
    const request = this.#request('read', () => ({ path: this.#entryPath(path, 'path') }))
    return operate(
      this.#hooks,
      (operation) => this.#native.read(operation, request),
      (_, [text = '']) => this.#whole(JSON.parse(text) as WithoutFile<StoreEntry>),
    )
  }

  /**
   * Finds the entries of all agents and sessions that meet every condition: the latest first, or with `ranked` the best matches
   * of `query` first. Entries that this process wrote are found immediately. Entries that other processes wrote are found
   * immediately in a store of up to 10 000 entries, and within 10 s in a larger one.
   *
   * @throws (rejects) `ERR_CONTEXT_INVALID_ARGUMENT`, `ERR_CONTEXT_IO`
   */
  async search(query: StoreQuery): Promise<StoreEntry[]> {
    const { signal, wanted, embedder } = this.#read('search', () => ({
      wanted: asStored(checkStoreQuery(query), this.#hooks.redaction?.redactor),
      embedder: checkQueryEmbedder(query),
      signal: readSignal(query),
    }))
    if (meetsNothing(wanted)) {
      return []
    }
    const request = this.#request('search', () => wanted)
    const embedded =
      embedder &&
      (await this.#embeddings.queryOf(embedder, signal, (operation, vectors, limit) =>
        this.#native.textsToSearch(operation, request, vectors, limit),
      ))
    return this.#find(signal, (operation) => this.#native.search(operation, request, embedded))
  }

  /** As {@link ContextStore.search}, but without the entries' contents: returns their metadata, the latest first. */
  async list(filter?: StoreFilter | null): Promise<StoreEntrySummary[]> {
    const { signal, wanted } = this.#read('list', () => ({
      wanted: asStored(checkStoreFilter(filter ?? {}), this.#hooks.redaction?.redactor),
      signal: readSignal(filter),
    }))
    if (meetsNothing(wanted)) {
      return []
    }
    const request = this.#request('list', () => wanted)
    return this.#find(signal, (operation) => this.#native.list(operation, request))
  }

  /**
   * Changes an entry of any agent and adds a line to its changelog. The change is applied to the current file under the store's
   * lock, so that concurrent changes of other processes are not lost. The parts of the file that do not change keep their bytes.
   * Calls of `update`, `link`, `supersede` and `write` take effect in the order of the calls, even if a call is not awaited
   * before the next.
   *
   * @param path as for `read`
   * @param description what was changed and why, as one line for the changelog
   * @returns the entry after the change
   * @throws (rejects) `ERR_CONTEXT_CONFLICT` when the entry has another revision than `ifRevision`; as `read` and `write`
   */
  async update(
    path: string,
    change: StoreEntryChange,
    description: string,
    options?: UpdateOptions | null,
  ): Promise<StoreEntry> {
    const request = this.#request('update', () => ({
      path: this.#entryPath(path, 'path'),
      ...checkChange(change, 'change', this.#bounds, this.#hooks.redaction?.redactor),
      description: checkSaying(description, 'description'),
      ifRevision: optional(optional(options, 'options', updateOptions)?.ifRevision, 'ifRevision', checkFilled),
    }))
    return operate(
      this.#hooks,
      (operation) => this.#native.update(operation, request),
      (_, texts) => this.#changed(texts),
    )
  }

  /**
   * Links an entry to another.
   *
   * @param path as for `read`
   * @param target the path of the other entry, in the same form; it need not exist
   * @returns the entry with the new link
   * @throws (rejects) as `update`
   */
  async link(path: string, target: string): Promise<StoreEntry> {
    const other = this.#entryPath(target, 'target')
    return this.update(path, { links: [other] }, `Linked to ${other}`)
  }

  /**
   * Writes an entry that replaces an older one. The new entry links to the old one, and the changelog of the old entry names its
   * successor and the reason. Either both files change or neither.
   *
   * @param path the path of the old entry, as for `read`
   * @throws (rejects) as `read` and `write`
   */
  async supersede(
    path: string,
    replacement: NewStoreEntry,
    reason: string,
  ): Promise<{ old: StoreEntry; replacement: StoreEntry }> {
    const request = this.#request('supersede', () => ({
      path: this.#entryPath(path, 'path'),
      replacement: checkNewEntry(replacement, 'replacement', this.#bounds),
      reason: checkSaying(reason, 'reason'),
    }))
    return operate(
      this.#hooks,
      (operation) => this.#native.supersede(operation, request),
      (_, [text = '', findings]) => {
        const answer = JSON.parse(text) as { old: WithoutFile<StoreEntry>; replacement: WithoutFile<StoreEntry> }
        const written = { old: this.#whole(answer.old), replacement: this.#whole(answer.replacement) }
        this.#remember([written.replacement, written.old], findings)
        return written
      },
    )
  }

  /**
   * Finds the entries that are linked with an entry, the nearest first. Links to entries that do not exist are skipped.
   *
   * @param path as for `read`
   * @throws (rejects) as `read`
   */
  async related(path: string, options?: RelatedOptions | null): Promise<StoreEntry[]> {
    const { signal, wanted } = this.#read('related', () => ({
      wanted: { path: this.#entryPath(path, 'path'), ...checkRelatedOptions(options) },
      signal: readSignal(options),
    }))
    if (wanted.limit === 0) {
      return []
    }
    const request = this.#request('related', () => wanted)
    return this.#find(signal, (operation) => this.#native.related(operation, request))
  }

  /**
   * Removes old entries of all agents, and temporary files that ended processes left in the store more than an hour ago. No other
   * file is removed: a file counts as an entry only if it is valid and its name begins with a time, as the store names its files.
   * Each entry is checked again under the store's lock before it is removed. Entries that other entries link to are kept, see
   * `includeLinked`.
   *
   * The operator of the store calls this from time to time; agents do not. Aborting `signal` stops the work; entries removed
   * until then stay removed.
   *
   * @throws (rejects) `ERR_CONTEXT_INVALID_ARGUMENT`, `ERR_CONTEXT_LOCK_TIMEOUT`, `ERR_CONTEXT_IO`
   */
  async housekeep(policy?: HousekeepingPolicy | null): Promise<HousekeepingReport> {
    const checked = this.#read('housekeep', () => checkHousekeeping(policy))
    const first = ([text = '']: readonly string[]): string => text
    return housekeep(checked, {
      plan: (request) =>
        cancellable(
          this.#hooks,
          this.#native,
          checked.signal,
          (operation) => this.#native.planHousekeeping(operation, request),
          (_, texts) => first(texts),
        ),
      removeExpired: (request) =>
        operate(
          this.#hooks,
          (operation) => this.#native.removeExpired(operation, request),
          (_, texts) => first(texts),
        ),
      removeLeftovers: () =>
        operate(
          this.#hooks,
          (operation) => this.#native.removeLeftovers(operation),
          () => {},
        ),
    })
  }

  /** Reads every file of the store and reports invalid files and links. Changes nothing. */
  async verify(options?: CancellationOptions | null): Promise<StoreVerifyReport> {
    return cancellable(
      this.#hooks,
      this.#native,
      this.#read('verify', () => readCancellation(options)),
      (operation) => this.#native.verify(operation),
      (_, [text = '']) => JSON.parse(text) as StoreVerifyReport,
    )
  }

  /**
   * Returns the paths of the entries that were written or changed in a session by any `ContextStore` of this process on this
   * directory, each once, in the order of their first change. Intended for `meta.contextFiles` of a log. The 1000 sessions that
   * wrote last are remembered.
   *
   * @param sessionId the id of the session; this store's session by default
   */
  contextFiles(sessionId?: string | null): string[] {
    optional(sessionId, 'sessionId', checkText)
    return this.#files.of(sessionId ?? this.sessionId)
  }

  /**
   * Waits until every earlier change has succeeded or failed; waits for pending calls of a `fileSystem` for `closeTimeout` at
   * most. The store can be used again afterwards.
   */
  async close(): Promise<void> {
    return close(this.#hooks, this.#native, this.#closeTimeout)
  }

  /** For `await using`: calls `close()` at the end of the block. */
  async [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /** Converts the path of an entry to one relative to the store. */
  #entryPath(path: string, name: string): string {
    return checkEntryPath(path, name, this.#prefix)
  }

  /** Reads the arguments of a call. An error in it is converted to one with a code. */
  #read<T>(call: string, read: () => T): T {
    try {
      return read()
    } catch (error) {
      throw asContextError(error, call, 'entry')
    }
  }

  /** The request to the native side, as JSON. Refreshes the secret environment variables, because the request is sent next. */
  #request(call: string, read: () => object): string {
    const request = this.#read(call, () => JSON.stringify(read()))
    this.#hooks.redaction?.redactor.refresh()
    return request
  }

  #find<Entry extends StoreEntrySummary>(
    signal: AbortSignal | undefined,
    start: (operation: number) => void,
  ): Promise<Entry[]> {
    return cancellable(this.#hooks, this.#native, signal, start, (_, texts) =>
      texts.flatMap((text) => (JSON.parse(text) as WithoutFile<Entry>[]).map((entry) => this.#whole<Entry>(entry))),
    )
  }

  /** Parses the entry that was written or changed, and reports its findings. */
  #changed([text = '', findings]: readonly string[]): StoreEntry {
    const entry = this.#whole(JSON.parse(text) as WithoutFile<StoreEntry>)
    this.#remember([entry], findings)
    return entry
  }

  /** Remembers the entries that were written or changed, and reports what was redacted in them. */
  #remember(entries: readonly StoreEntry[], findings: string | undefined): void {
    this.#files.add(
      this.sessionId,
      entries.map(({ path }) => path),
    )
    if (findings !== undefined) {
      reportRedaction(this.#hooks.redaction, {
        kind: 'storeEntry',
        agent: this.agent,
        filepath: entries[0]?.filePath ?? '',
        findings: JSON.parse(findings) as RedactionFinding[],
      })
    }
  }

  #whole<Entry extends StoreEntrySummary>(entry: WithoutFile<Entry>): Entry {
    const { path, ...rest } = entry
    const below = path.replaceAll('/', this.#separator)
    return { path, filePath: this.#prefix + below, ...rest } as unknown as Entry
  }
}
