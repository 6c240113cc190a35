/** `ContextStore`: the public face of the native store. */

import { sep } from 'node:path'
import { NativeStore } from '#addon'
import { checkFilled, checkText, optional, readSignal } from '../arguments/checks.ts'
import { asContextError } from '../arguments/errors.ts'
import { readCancellation } from '../arguments/known-options.ts'
import { checkCloseTimeout } from '../arguments/timeouts.ts'
import type { CancellationOptions } from '../arguments/types.ts'
import { cancellable, close, debug, type Hooks, operate, outbox, registerHooks } from '../native/border.ts'
import { checkRedaction, reportRedaction } from '../redaction/redaction.ts'
import type { RedactionFinding } from '../redaction/types.ts'
import { checkChange, checkEntryPath, checkNewEntry, checkSaying, type EntryBounds } from './entry.ts'
import { SessionFiles } from './files.ts'
import { checkHousekeeping, housekeep } from './housekeeping.ts'
import { storeDirectory } from './location.ts'
import { storeOptions, updateOptions } from './option-names.ts'
import { type CheckedStoreOptions, checkStoreOptions } from './options.ts'
import { asStored, checkRelatedOptions, checkStoreFilter, checkStoreQuery, meetsNothing } from './query.ts'
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

/** An entry as the native side gives it, which knows no absolute paths. */
type WithoutFile<Entry extends StoreEntrySummary> = Omit<Entry, 'filePath'>

/**
 * What agents know, shared and lasting: a directory of Markdown files with front matter, which `rg`, an editor and other
 * programs read and write as well. Any number of stores, in any number of processes, may share a directory.
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
  readonly #files: SessionFiles

  /** Touches no file: the first write creates the directory. Throws `ERR_CONTEXT_INVALID_ARGUMENT` for an invalid option. */ constructor(options: ContextStoreOptions) {
    storeOptions(options, 'options')
    const redaction = checkRedaction(options.redaction, 'redaction')
    const { checked, prefix } = checkStoreOptions(options, redaction)
    this.#options = checked
    this.#prefix = prefix
    this.#closeTimeout = checkCloseTimeout(options.closeTimeout)
    this.#bounds = { maxBytes: checked.maxEntryBytes, prefix }
    this.#hooks = { fileSystem: options.fileSystem ?? undefined, onDebug: options.onDebug ?? undefined, redaction }
    this.#files = new SessionFiles(checked.path, this.#hooks.fileSystem)
    this.#native = new NativeStore(outbox, { ...checked, id: registerHooks(this.#hooks) }, redaction?.redactor.native)
    debug(this.#hooks, 'ContextStore initialized', {
      path: checked.path,
      agent: checked.agent,
      sessionId: checked.sessionId,
    })
  }

  /**
   * The directory of the store, absolute: the environment variable `SFA_CONTEXT_STORE` as it is now, unless it is empty;
   * otherwise `config.contextStore.path`, unless that is empty; otherwise `~/.local/share/single-file-agents/context`. `~` is
   * expanded.
   *
   * @throws `ERR_CONTEXT_INVALID_ARGUMENT`, also when there is no home directory for `~`
   */
  static resolvePath(config?: ContextStoreConfig | null): string {
    return storeDirectory(config).directory
  }

  /** Who writes. */
  get agent(): string {
    return this.#options.agent
  }

  /** The store's directory, absolute, as it was given (symbolic links are not resolved). */
  get path(): string {
    return this.#options.path
  }

  /** The session that entries are written in: as it was given, or else `SFA_SESSION_ID`, or else a fresh UUID. */
  get sessionId(): string {
    return this.#options.sessionId
  }

  /**
   * Writes an entry to a file of its own, `<agent>/[<sessionId>/]<time>-<slug>.md`. Secrets are taken out of all of it, see
   * `redaction`; what was passed is never touched.
   *
   * @returns the entry as it was written, once the file is there, whole, at the chosen durability
   * @throws (rejects) `ERR_CONTEXT_INVALID_ARGUMENT`; `ERR_CONTEXT_TOO_LARGE`; `ERR_CONTEXT_CONFLICT` when there is a
   * directory of another agent, or session, whose name differs in upper and lower case alone;
   * `ERR_CONTEXT_OUTSIDE_DIRECTORY` when a symbolic link is in the way; `ERR_CONTEXT_REDACTION`,
   * `ERR_CONTEXT_LOCK_TIMEOUT`, `ERR_CONTEXT_IO`
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
   * @param path relative to the store, or absolute: the `path` or the `filePath` that `write` and `search` give. Symbolic
   * links below the store are never followed.
   * @throws (rejects) `ERR_CONTEXT_INVALID_ARGUMENT`, `ERR_CONTEXT_NOT_FOUND`, `ERR_CONTEXT_OUTSIDE_DIRECTORY`,
   * `ERR_CONTEXT_CORRUPT` for a file that is no entry, `ERR_CONTEXT_IO`
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
   * The entries of all agents and sessions that meet every condition: the latest first, with `ranked` those that answer
   * `query` best. What this process wrote is found at once; what others wrote is in a store of up to 10 000 entries, and
   * within 10 s in a larger one.
   *
   * @throws (rejects) `ERR_CONTEXT_INVALID_ARGUMENT`, `ERR_CONTEXT_IO`
   */
  async search(query: StoreQuery): Promise<StoreEntry[]> {
    const { signal, wanted } = this.#read('search', () => ({
      wanted: asStored(checkStoreQuery(query), this.#hooks.redaction?.redactor),
      signal: readSignal(query),
    }))
    return meetsNothing(wanted)
      ? []
      : this.#find(
          'search',
          this.#request('search', () => wanted),
          signal,
        )
  }

  /** As {@link ContextStore.search}, without the texts: what describes the entries, the latest first. */
  async list(filter?: StoreFilter | null): Promise<StoreEntrySummary[]> {
    const { signal, wanted } = this.#read('list', () => ({
      wanted: asStored(checkStoreFilter(filter ?? {}), this.#hooks.redaction?.redactor),
      signal: readSignal(filter),
    }))
    return meetsNothing(wanted)
      ? []
      : this.#find(
          'list',
          this.#request('list', () => wanted),
          signal,
        )
  }

  /**
   * Changes an entry, whoever wrote it, and says so in its changelog. Changes of others are never lost: each is made to
   * the file as it is then, under the store's lock. What of the file no change concerns keeps its bytes. Calls of `update`,
   * `link`, `supersede` and `write` take effect in their order, also when one is not awaited before the next.
   *
   * @param path as for `read`
   * @param description what was changed and why, for the changelog; it becomes one line
   * @returns the entry as it is then
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
   * @param target path of the other one, in the same form; it need not exist
   * @returns the entry that was changed
   * @throws (rejects) as `update`
   */
  async link(path: string, target: string): Promise<StoreEntry> {
    const other = this.#entryPath(target, 'target')
    return this.update(path, { links: [other] }, `Linked to ${other}`)
  }

  /**
   * Writes an entry that takes the place of another. The new one links to the old one, whose changelog says what it was
   * superseded by, and why. Both happen, or neither.
   *
   * @param path the old one, as for `read`
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
   * The entries that are linked with one, the nearest first. Links to what is not there are passed over.
   *
   * @param path as for `read`
   * @throws (rejects) as `read`
   */
  async related(path: string, options?: RelatedOptions | null): Promise<StoreEntry[]> {
    const { signal, wanted } = this.#read('related', () => ({
      wanted: { path: this.#entryPath(path, 'path'), ...checkRelatedOptions(options) },
      signal: readSignal(options),
    }))
    return wanted.limit === 0
      ? []
      : this.#find(
          'related',
          this.#request('related', () => wanted),
          signal,
        )
  }

  /**
   * Removes entries that are old, whoever wrote them, and, in all directories of the store, temporary files that ended
   * processes left more than an hour ago. Nothing else is touched: only whole entries go whose names begin with a time, as the store names them, and each is looked at again, under the
   * store's lock, before it does. Entries that others link to stay, see `includeLinked`.
   *
   * Agents do not call this; whoever keeps the store does, now and then. When it is stopped by `signal`, what went until
   * then is gone.
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

  /** Reads every file of the store, and tells what is wrong. Changes nothing. */
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
   * Paths of the entries that were written or changed in a session, by any `ContextStore` of this process on this
   * directory, each once, the first first: for `meta.contextFiles` of a log. The 1000 sessions that wrote last are known.
   *
   * @param sessionId this store's by default
   */
  contextFiles(sessionId?: string | null): string[] {
    optional(sessionId, 'sessionId', checkText)
    return this.#files.of(sessionId ?? this.sessionId)
  }

  /**
   * Waits for every change called before, whether it succeeds or fails; for those that wait for a `fileSystem`, no longer
   * than `closeTimeout`. The store can be used again afterwards.
   */
  async close(): Promise<void> {
    return close(this.#hooks, this.#native, this.#closeTimeout)
  }

  /** For `await using`: calls `close()` at the end of the block. */
  async [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /** The path of an entry, relative to the store. */
  #entryPath(path: string, name: string): string {
    return checkEntryPath(path, name, this.#prefix)
  }

  /** Reads what was passed; whatever stops that has a code. */
  #read<T>(call: string, read: () => T): T {
    try {
      return read()
    } catch (error) {
      throw asContextError(error, call, 'entry')
    }
  }

  /** What the native side is asked, as JSON. It is asked next: the environment's secrets are those of now. */
  #request(call: string, read: () => object): string {
    const request = this.#read(call, () => JSON.stringify(read()))
    this.#hooks.redaction?.redactor.refresh()
    return request
  }

  #find<Entry extends StoreEntrySummary>(
    method: 'search' | 'list' | 'related',
    request: string,
    signal: AbortSignal | undefined,
  ): Promise<Entry[]> {
    return cancellable(
      this.#hooks,
      this.#native,
      signal,
      (operation) => this.#native[method](operation, request),
      (_, texts) =>
        texts.flatMap((text) => (JSON.parse(text) as WithoutFile<Entry>[]).map((entry) => this.#whole<Entry>(entry))),
    )
  }

  /** The entry that was written or changed. */
  #changed([text = '', findings]: readonly string[]): StoreEntry {
    const entry = this.#whole(JSON.parse(text) as WithoutFile<StoreEntry>)
    this.#remember([entry], findings)
    return entry
  }

  /** What was written or changed, and what was taken out of it. */
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
    const below = this.#hooks.fileSystem === undefined ? path.replaceAll('/', sep) : path
    return { path, filePath: this.#prefix + below, ...rest } as unknown as Entry
  }
}
