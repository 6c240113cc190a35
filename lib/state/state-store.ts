/** `StateStore`: the public class over the native state store. */

import { NativeState } from '#addon'
import { checkFunction, checkPath, checkText, checkWhole, count, optional, readSignal } from '../arguments/checks.ts'
import { asContextError, invalidArgument } from '../arguments/errors.ts'
import { readCancellation } from '../arguments/known-options.ts'
import type { CancellationOptions } from '../arguments/types.ts'
import { Embeddings } from '../embedding/embeddings.ts'
import { checkEmbedder } from '../embedding/options.ts'
import { cancellable, debug, type Hooks, operate, outbox, registerHooks } from '../native/border.ts'
import { resolveFile } from '../native/file-system.ts'
import { checkRedaction } from '../redaction/redaction.ts'
import { storageStats } from '../storage/storage.ts'
import { type CrossingOperation, checkOperations, operationResults } from './batch.ts'
import { checkStateFilter } from './filter.ts'
import { completeItems, conditionsOf, contentOf, type PartialItem, partsOf } from './item.ts'
import {
  stateDeleteOptions,
  stateListOptions,
  stateNamespacesOptions,
  statePutOptions,
  stateSearchOptions,
  stateStoreOptions,
  stateWatchOptions,
} from './option-names.ts'
import { type CheckedStateOptions, checkStateOptions } from './options.ts'
import { type CheckedNamespace, checkKey, checkNamespace, checkPrefix, NO_NAMESPACE, placeOf } from './place.ts'
import { runTransaction } from './transaction.ts'
import type {
  StateChange,
  StateDeleteOptions,
  StateHit,
  StateItem,
  StateListOptions,
  StateNamespacesOptions,
  StateNamespacesPage,
  StateOperation,
  StateOperationResult,
  StatePage,
  StatePutOptions,
  StateSearchOptions,
  StateStats,
  StateStoreOptions,
  StateSweepReport,
  StateTransactionOptions,
  StateValue,
  StateVerifyReport,
  StateView,
  StateWatchOptions,
} from './types.ts'
import { type Watched, Watcher } from './watch.ts'

const DEFAULT_LIMIT = 100
const DEFAULT_SEARCH_LIMIT = 10

/**
 * A key-value store that survives the process, for checkpoints, sessions, memory files and agent state. Each item is a JSON
 * value or bytes under a namespace and a key. All items are in one SQLite database, which any number of processes of one machine
 * may share, or with `storage` in a PostgreSQL database, which any number of machines may share.
 *
 * A read sees every change whose promise resolved before the read was called. Changes of one `StateStore` object take effect in
 * the order of the calls.
 *
 * @example
 * ```ts
 * const store = new StateStore()
 * const saved = await store.put(['threads', 'a1'], 'state', { step: 3 })
 * await store.put(['threads', 'a1'], 'state', { step: 4 }, { ifRevision: saved.revision })
 * const item = await store.get(['threads', 'a1'], 'state')
 * ```
 */
export class StateStore {
  readonly #native: NativeState
  readonly #options: CheckedStateOptions
  readonly #root: CheckedNamespace
  readonly #hooks: Hooks
  readonly #embeddings: Embeddings
  readonly #watchers = new Set<Watcher>()

  /** Does not access the disk: the first call does. Throws `ERR_CONTEXT_INVALID_ARGUMENT` for an invalid option. */
  constructor(options?: StateStoreOptions | null) {
    const given = optional(options, 'options', stateStoreOptions) ?? {}
    const redaction = checkRedaction(given.redaction ?? false, 'redaction')
    this.#options = checkStateOptions(given)
    this.#root = optional(given.namespace, 'namespace', checkNamespace) ?? NO_NAMESPACE
    const { storage, ...native } = this.#options
    const passwords = storage?.passwords
    this.#hooks = { fileSystem: undefined, onDebug: given.onDebug ?? undefined, redaction, passwords }
    this.#native = new NativeState(
      outbox,
      { ...native, id: registerHooks(this.#hooks), root: this.#root.segments.length },
      redaction?.redactor.native,
      storage?.native,
    )
    this.#embeddings = new Embeddings(this.#hooks, this.#native)
    debug(this.#hooks, 'StateStore initialized', { path: this.path })
  }

  /** The absolute path of the database. Symbolic links are not resolved. With `storage`, the name of the store in it. */
  get path(): string {
    return this.#options.path
  }

  /**
   * Reads the item under a key. Resolves to `undefined` if there is none, or if it has expired.
   *
   * @throws (rejects) `ERR_CONTEXT_INVALID_ARGUMENT`; like every method, if the file cannot be used, `ERR_CONTEXT_CORRUPT`,
   * `ERR_CONTEXT_UNSUPPORTED`, `ERR_CONTEXT_UNSAFE_DIRECTORY`, `ERR_CONTEXT_LOCK_TIMEOUT`, `ERR_CONTEXT_IO`; with `storage`,
   * `ERR_CONTEXT_STORAGE`, `ERR_CONTEXT_TIMEOUT`, `ERR_CONTEXT_ACCESS`
   */
  async get(namespace: readonly string[], key: string): Promise<StateItem | undefined> {
    const { segments, place } = this.#place(namespace, key)
    return operate(
      this.#hooks,
      (operation) => this.#native.get(operation, place),
      (text, parts) => {
        const { json, rest } = partsOf(text, parts)
        if (json === '') {
          return undefined
        }
        const item = { namespace: segments, key, ...(JSON.parse(json) as PartialItem) }
        return completeItems<StateItem>([item], rest)[0]
      },
    )
  }

  /**
   * Writes an item. The value is copied before the method returns: later changes to it have no effect.
   *
   * A JSON value is read back as `JSON.parse(JSON.stringify(value))` returns it, a `Uint8Array` as a `Uint8Array`.
   *
   * @returns the item, after it is stored at the chosen durability. Its `value` is the passed one, or the stored one if something
   * was redacted
   * @throws (rejects) `ERR_CONTEXT_CONFLICT` if `ifRevision` does not match; `ERR_CONTEXT_TOO_LARGE`;
   * `ERR_CONTEXT_INVALID_ARGUMENT`, also for a value that JSON cannot represent, such as `undefined`, a BigInt or a cycle;
   * `ERR_CONTEXT_REDACTION`. A rejected call has changed nothing; with `storage`, unless the error has `mayExist: true`.
   */
  put<Value extends StateValue>(
    namespace: readonly string[],
    key: string,
    value: Value,
    options?: StatePutOptions | null,
  ): Promise<StateItem<Value>> {
    try {
      const { segments, place } = this.#place(namespace, key)
      const conditions = conditionsOf(optional(options, 'options', statePutOptions))
      const content = contentOf(value, key, this.#options.maxValueBytes)
      const item = { type: 'put', namespace: segments, key, value, mediaType: options?.mediaType ?? undefined } as const
      this.#hooks.redaction?.redactor.refresh()
      return operate(
        this.#hooks,
        (operation) =>
          this.#native.put(operation, place, content, conditions === undefined ? '' : JSON.stringify(conditions)),
        (text, parts) => operationResults([item], text, parts, this.#hooks.redaction, this.path)[0] as StateItem<Value>,
      )
    } catch (error) {
      return Promise.reject(asContextError(error, 'put', 'value'))
    }
  }

  /**
   * Removes an item. Its value is overwritten with zeros; `sweep()` erases the remaining traces, see there.
   *
   * @returns whether there was an item that had not expired
   * @throws (rejects) `ERR_CONTEXT_CONFLICT` if `ifRevision` does not match
   */
  async delete(namespace: readonly string[], key: string, options?: StateDeleteOptions | null): Promise<boolean> {
    const given = optional(options, 'options', stateDeleteOptions) ?? {}
    const [wasThere] = await this.batch([{ type: 'delete', namespace, key, ...given }])
    return wasThere
  }

  /**
   * Lists one page of the items whose namespaces begin with a prefix. An empty prefix means all namespaces.
   *
   * Each page is a consistent snapshot. An item that is written between the reads of two pages may be in neither.
   */
  async list(prefix: readonly string[], options?: StateListOptions | null): Promise<StatePage> {
    const below = checkPrefix(prefix, 'prefix')
    const given = optional(options, 'options', stateListOptions) ?? {}
    const keyPrefix = given.keyPrefix ?? ''
    checkText(keyPrefix, 'keyPrefix')
    const request = {
      filter: optional(given.filter, 'filter', checkStateFilter) ?? [],
      isByUpdate: checkOrder(given.order ?? 'key') === 'updated',
      limit: checkLimit(given.limit, DEFAULT_LIMIT),
      cursor: optional(given.cursor, 'cursor', checkCursor),
    }
    return cancellable(
      this.#hooks,
      this.#native,
      readSignal(given),
      (operation) => this.#native.list(operation, this.#root.text + below.text, keyPrefix, JSON.stringify(request)),
      (text, parts) => {
        const { json, rest } = partsOf(text, parts)
        const page = JSON.parse(json) as StatePage
        return { ...page, items: completeItems<StateItem>(page.items, rest) }
      },
    )
  }

  /**
   * Finds the items below a prefix that match a query best, best first, by the words of their keys, of JSON values, and of bytes
   * that are UTF-8 text. Searches the 20 000 most recently written items, up to 64 MiB of text; in a database, all items.
   */
  async search(prefix: readonly string[], query: string, options?: StateSearchOptions | null): Promise<StateHit[]> {
    const below = checkPrefix(prefix, 'prefix')
    checkText(query, 'query')
    const given = optional(options, 'options', stateSearchOptions) ?? {}
    const embedder = checkEmbedder(given, '')
    const signal = readSignal(given)
    const request = JSON.stringify({
      query: query.toWellFormed(),
      filter: optional(given.filter, 'filter', checkStateFilter) ?? [],
      limit: checkLimit(given.limit, DEFAULT_SEARCH_LIMIT),
    })
    const place = this.#root.text + below.text
    const embedded =
      embedder &&
      (await this.#embeddings.queryOf(embedder, signal, (operation, vectors, limit) =>
        this.#native.textsToSearch(operation, place, request, vectors, limit),
      ))
    return cancellable(
      this.#hooks,
      this.#native,
      signal,
      (operation) => this.#native.search(operation, place, request, embedded),
      (text, parts) => {
        const { json, rest } = partsOf(text, parts)
        return completeItems<StateHit>((JSON.parse(json) as { items: StateHit[] }).items, rest)
      },
    )
  }

  /** Lists one page of the namespaces that contain an item, in code point order. */
  async namespaces(options?: StateNamespacesOptions | null): Promise<StateNamespacesPage> {
    const given = optional(options, 'options', stateNamespacesOptions) ?? {}
    const prefix = optional(given.prefix, 'prefix', checkPrefix) ?? NO_NAMESPACE
    const suffix = optional(given.suffix, 'suffix', checkPrefix) ?? NO_NAMESPACE
    const request = {
      maxDepth: optional(given.maxDepth, 'maxDepth', checkDepth),
      limit: checkLimit(given.limit, DEFAULT_LIMIT),
      cursor: optional(given.cursor, 'cursor', checkCursor),
    }
    return cancellable(
      this.#hooks,
      this.#native,
      readSignal(given),
      (operation) =>
        this.#native.namespaces(operation, this.#root.text + prefix.text, suffix.text, JSON.stringify(request)),
      (_, [json = '']) => JSON.parse(json) as StateNamespacesPage,
    )
  }

  /**
   * Performs several operations in one transaction: all of them, or none if one of them fails.
   *
   * @returns the results in the order of the operations: for a `get` the item or `undefined`, for a `put` the written item, for a
   * `delete` whether the item existed
   */
  batch<const Operations extends readonly StateOperation[]>(
    operations: Operations,
  ): Promise<{ -readonly [Index in keyof Operations]: StateOperationResult<Operations[Index]> }> {
    try {
      const checked = checkOperations(operations, this.#root, this.#hooks.redaction, this.#options.maxValueBytes)
      return this.#run(checked) as Promise<{
        -readonly [Index in keyof Operations]: StateOperationResult<Operations[Index]>
      }>
    } catch (error) {
      return Promise.reject(asContextError(error, 'batch', 'value'))
    }
  }

  #run(operations: readonly CrossingOperation[]): Promise<unknown[]> {
    if (operations.length === 0) {
      return Promise.resolve([])
    }
    this.#hooks.redaction?.redactor.refresh()
    const request = JSON.stringify(operations.map(({ request }) => request))
    const places = operations.map(({ place }) => place)
    const contents = operations.flatMap(({ content }) => (content === undefined ? [] : [content]))
    return operate(
      this.#hooks,
      (operation) => this.#native.batch(operation, request, places, contents),
      (text, parts) =>
        operationResults(
          operations.map(({ item }) => item),
          text,
          parts,
          this.#hooks.redaction,
          this.path,
        ),
    )
  }

  /**
   * Runs a function whose reads and writes take effect atomically. If another writer changes an item that the function has read,
   * nothing is written and the function is called again. No lock is held while it runs. Because it may be called several times,
   * its other side effects should be repeatable.
   *
   * @returns what the function returned
   * @throws (rejects) what the function throws; `ERR_CONTEXT_CONFLICT` if other writers interfered with each of the `attempts`
   */
  async transaction<T>(
    change: (view: StateView) => T | PromiseLike<T>,
    options?: StateTransactionOptions | null,
  ): Promise<T> {
    checkFunction(change, 'change')
    return runTransaction(
      {
        get: (namespace, key) => this.get(namespace, key),
        check: (operations) =>
          checkOperations(operations, this.#root, this.#hooks.redaction, this.#options.maxValueBytes),
        run: (operations) => this.#run(operations),
      },
      change,
      options,
    )
  }

  /**
   * Yields the changes of items whose namespaces begin with a prefix, made by any process, in their order. The iteration ends
   * when the store is closed; an aborted signal ends it with the signal's reason. While it waits, it keeps the process alive.
   *
   * @throws (rejects, at the next step) `ERR_CONTEXT_CURSOR_EXPIRED` if the changes after `since` are no longer recorded
   * @example
   * ```ts
   * for await (const { type, key } of store.watch(['threads'])) {
   *   console.log(type, key)
   * }
   * ```
   */
  watch(prefix: readonly string[], options?: StateWatchOptions | null): AsyncIterable<StateChange> {
    return {
      [Symbol.asyncIterator]: () => {
        const open = (): Watched => {
          const below = checkPrefix(prefix, 'prefix')
          const given = optional(options, 'options', stateWatchOptions) ?? {}
          return {
            since: optional(given.since, 'since', checkCursor),
            signal: readSignal(given),
            changes: (since, signal) =>
              cancellable(
                this.#hooks,
                this.#native,
                signal,
                (operation) => this.#native.changes(operation, this.#root.text + below.text, since),
                (_, [changes = '', cursor = '']) => ({ changes: JSON.parse(changes) as StateChange[], cursor }),
              ),
          }
        }
        return new Watcher(open, this.#watchers)
      },
    }
  }

  /**
   * Removes all expired items and the recorded changes beyond `maxChanges`. Also erases the traces of removed and overwritten
   * items from the file: their namespaces and keys in the recorded changes, copies in unused parts of database pages, and the
   * write-ahead log. Waiting watchers receive the changes first. Reads the whole file.
   *
   * Each write also removes some expired items and old recorded changes. An explicit call is needed if nothing is written, and if
   * no byte of a removed item may remain. With `storage`, `erased` is `false`: the vacuum of the database frees the space later.
   */
  async sweep(): Promise<StateSweepReport> {
    return operate(
      this.#hooks,
      (operation) => this.#native.sweep(operation),
      (_, [json = '']) => JSON.parse(json) as StateSweepReport,
    )
  }

  /** Returns counts and sizes for the whole file, with all namespaces. Reads everything except the values. */
  async stats(options?: CancellationOptions | null): Promise<StateStats> {
    readCancellation(options)?.throwIfAborted()
    return operate(
      this.#hooks,
      (operation) => this.#native.stats(operation),
      (_, [json = '']): StateStats => ({ ...JSON.parse(json), ...storageStats(this.#options.storage?.native) }),
    )
  }

  /** Reads the whole file and reports problems. Changes nothing. */
  async verify(options?: CancellationOptions | null): Promise<StateVerifyReport> {
    readCancellation(options)?.throwIfAborted()
    return operate(
      this.#hooks,
      (operation) => this.#native.verify(operation),
      (_, [json = '']) => JSON.parse(json) as StateVerifyReport,
    )
  }

  /**
   * Writes a copy of the current state of the database while other processes continue to read and write. The copy appears under
   * its path only when it is complete, and can be opened as a store.
   *
   * @param file the path of the copy, which must not exist; a relative path is resolved against the working directory, `~` is
   * expanded
   * @throws (rejects) `ERR_CONTEXT_CONFLICT` if the path exists; `ERR_CONTEXT_UNSUPPORTED` with `storage`: use `pg_dump`
   */
  async backup(file: string): Promise<void> {
    const { path } = resolveFile(checkPath(file, 'file'), 'file', undefined, 0)
    return operate(
      this.#hooks,
      (operation) => this.#native.backup(operation, path),
      () => {},
    )
  }

  /** Waits for every earlier call, ends all watchers, and closes the file. The store can be used again afterwards. */
  async close(): Promise<void> {
    for (const watcher of this.#watchers) {
      watcher.end()
    }
    return operate(
      this.#hooks,
      (operation) => this.#native.close(operation),
      () => {},
    )
  }

  /** For `await using`: calls `close()` at the end of the block. */
  async [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #place(namespace: readonly string[], key: string): { segments: string[]; place: string } {
    const space = checkNamespace(namespace, 'namespace', this.#hooks.redaction)
    checkKey(key, 'key', this.#hooks.redaction)
    return { segments: space.segments, place: placeOf(this.#root, space, key) }
  }
}

function checkOrder(value: 'key' | 'updated'): 'key' | 'updated' {
  if (value !== 'key' && value !== 'updated') {
    throw invalidArgument('order', "'key' or 'updated'", value)
  }
  return value
}

function checkLimit(value: number | null | undefined, byDefault: number): number {
  // JSON cannot represent `Infinity`.
  return Math.min(count(value, 'limit', byDefault), Number.MAX_SAFE_INTEGER)
}

function checkDepth(value: number, name: string): number {
  if (checkWhole(value, name) === 0) {
    throw invalidArgument(name, 'a whole number from 1 up', value)
  }
  return value
}

function checkCursor(value: string, name: string): string {
  checkText(value, name)
  return value.toWellFormed()
}
