/** Public types of the state store. */

import type { StorageStats } from '#addon'
import type { CancellationOptions, JsonValue, Time } from '../arguments/types.ts'
import type { EmbedOptions } from '../embedding/types.ts'
import type { RedactionOptions } from '../redaction/types.ts'
import type { BlobsOptions, StorageOptions } from '../storage/types.ts'

/** Options of a state store. An option that is `undefined` or `null` has its default. */
export interface StateStoreOptions {
  /**
   * The database file. It is created when needed, with access for the owner only; SQLite keeps the files `<path>-wal` and
   * `<path>-shm` next to it. A relative path is resolved against the working directory at construction; `~` is expanded. The file
   * must be on a local disk.
   * @default '~/.agent/state.db'
   */
  path?: string | null | undefined
  /**
   * A PostgreSQL database in place of the file, by its URL or with options: any number of machines may share it. `path` is then the
   * name of the store in it, the same on every machine. `durability`, `lockTimeout`, `trustLocks` and `allowShared` are refused. See
   * docs/guides/fleet.md.
   */
  storage?: string | StorageOptions | null | undefined
  /**
   * The bucket of the other classes. Accepted so that all classes can be given the same options; it has no effect, since values are in
   * the database. Needs `storage`.
   */
  blobs?: string | BlobsOptions | null | undefined
  /**
   * A prefix for all namespaces of this store: it is added to every namespace that is passed, and removed from every one that is
   * returned.
   */
  namespace?: readonly string[] | null | undefined
  /**
   * What a change survives after its promise has resolved: with `'process'`, the end or crash of the process; with `'full'`, also
   * a power failure.
   * @default 'process'
   */
  durability?: 'process' | 'full' | null | undefined
  /**
   * The rules by which secrets are removed from values before they are stored. The default is `false`, because state usually has
   * to be read back unchanged. With rules, namespaces and keys that contain a secret are refused.
   * @default false
   */
  redaction?: false | RedactionOptions | null | undefined
  /**
   * The largest value, in bytes of JSON or binary data. A larger one is rejected with `ERR_CONTEXT_TOO_LARGE`.
   * @default 67108864
   */
  maxValueBytes?: number | null | undefined
  /**
   * How long a change waits while other processes write, in ms. After that, it rejects with `ERR_CONTEXT_LOCK_TIMEOUT`.
   * @default 10000
   */
  lockTimeout?: number | null | undefined
  /**
   * Members of JSON values to index, so that `filter` finds items by them without a scan, such as `['$.type',
   * '$.metadata.user']`. The index is created for the existing items when a store first declares the member, and all processes
   * that write to the file maintain it from then on. With `storage`, a filter reads all items below its prefix, and `indexes` has no
   * effect.
   */
  indexes?: readonly string[] | null | undefined
  /**
   * The number of the latest changes that are kept for `watch`.
   * @default 100000
   */
  maxChanges?: number | null | undefined
  /**
   * Asserts that all processes that use the file run on this machine. Without this option, a file on NFS, SMB, 9p and other
   * shared file systems is refused with `ERR_CONTEXT_UNSUPPORTED`. See docs/durability.md.
   * @default false
   */
  trustLocks?: boolean | null | undefined
  /**
   * Allows a directory that belongs to another user. Without this option such a directory is refused with
   * `ERR_CONTEXT_UNSAFE_DIRECTORY`; a process that runs as root only reports it to `onDebug`.
   * @default false
   */
  allowShared?: boolean | null | undefined
  /** Called with a message, and sometimes data, about what the store does; meant for logs. Errors that it throws are ignored. */
  onDebug?: ((message: string, data?: unknown) => void) | null | undefined
}

/** A value of a state store: a JSON value or bytes. */
export type StateValue = JsonValue | Uint8Array

/** An item that was read or written. */
export interface StateItem<Value extends StateValue = StateValue> {
  namespace: string[]
  key: string
  /** The value: JSON, or a `Uint8Array`. */
  value: Value
  /** The revision of the item. Each change gives the item a new one, which is never reused. */
  revision: string
  /** When the item was first written, ISO 8601. */
  createdAt: string
  /** When the item was last written, ISO 8601. */
  updatedAt: string
  /** When the item expires, ISO 8601; absent if it does not. */
  expiresAt?: string
  /** The media type with which it was written. */
  mediaType?: string
}

/** Options of a written value. */
export interface StateValueOptions {
  /** The time to live: ms, or a duration such as `'12h'`. Without it, the item does not expire. */
  ttl?: string | number | null | undefined
  /** When the item expires; set instead of `ttl`. An item whose time is past does not exist. */
  expiresAt?: Time | null | undefined
  /** The media type of the value, for its readers; this package does not use it. */
  mediaType?: string | null | undefined
}

/** Options of `put()`. */
export interface StatePutOptions extends StateValueOptions {
  /** Rejects with `ERR_CONTEXT_CONFLICT` unless the item has this revision; with `null`, unless the item does not exist. */
  ifRevision?: string | null | undefined
}

/** Options of `delete()`. */
export interface StateDeleteOptions {
  /** Rejects with `ERR_CONTEXT_CONFLICT` unless the item has this revision; with `null`, unless the item does not exist. */
  ifRevision?: string | null | undefined
}

/** Comparison operators for a member. Values of different types are unequal and have no order. */
export interface StateComparison {
  /** The member equals the value; objects and arrays are compared member by member. `null` is a value. */
  $eq?: JsonValue | null | undefined
  /** The member does not equal the value, or does not exist. */
  $ne?: JsonValue | null | undefined
  /** The member is greater: numbers by value, strings by code points, and `true` is greater than `false`. */
  $gt?: JsonValue | null | undefined
  $gte?: JsonValue | null | undefined
  $lt?: JsonValue | null | undefined
  $lte?: JsonValue | null | undefined
  /** The member equals one of the values. */
  $in?: readonly JsonValue[] | null | undefined
  /** Whether the member exists. */
  $exists?: boolean | null | undefined
}

/**
 * Conditions on members of JSON values, all of which must hold. A key is the name of a member, or a path such as
 * `'$.metadata.user'`; its value is the value to compare with, or an object of operators.
 */
export type StateFilter = { readonly [member: string]: JsonValue | StateComparison }

/** Options of `list()`. */
export interface StateListOptions extends CancellationOptions {
  /** Only items whose keys begin with this text. */
  keyPrefix?: string | null | undefined
  /** Conditions that the values must meet. Values that are bytes meet no condition. */
  filter?: StateFilter | null | undefined
  /**
   * The order: `'key'` by namespace and key, in code point order; `'updated'` the most recently written first.
   * @default 'key'
   */
  order?: 'key' | 'updated' | null | undefined
  /**
   * The largest number of items of a page; a page of large values has fewer.
   * @default 100
   */
  limit?: number | null | undefined
  /** The `cursor` of the previous page, to get the next one. */
  cursor?: string | null | undefined
}

/** A page of items. */
export interface StatePage {
  items: StateItem[]
  /** Pass this to get the next page; absent on the last page. */
  cursor?: string
}

/** Options of `search()`. */
export interface StateSearchOptions extends EmbedOptions, CancellationOptions {
  /** Conditions that the values must meet. Values that are bytes meet no condition. */
  filter?: StateFilter | null | undefined
  /** @default 10 */
  limit?: number | null | undefined
}

/** An item that matches a query, with its score: greater is better. */
export type StateHit = StateItem & { score: number }

/** Options of `namespaces()`. */
export interface StateNamespacesOptions extends CancellationOptions {
  /** Only namespaces that begin with these segments. */
  prefix?: readonly string[] | null | undefined
  /** Only namespaces that end with these segments. */
  suffix?: readonly string[] | null | undefined
  /** Cuts longer namespaces to this number of segments and lists each result once. */
  maxDepth?: number | null | undefined
  /** @default 100 */
  limit?: number | null | undefined
  /** The `cursor` of the previous page, to get the next one. */
  cursor?: string | null | undefined
}

/** A page of namespaces. */
export interface StateNamespacesPage {
  namespaces: string[][]
  /** Pass this to get the next page; absent on the last page. */
  cursor?: string
}

/** An operation of a batch. */
export type StateOperation =
  | { type: 'get'; namespace: readonly string[]; key: string }
  | ({ type: 'put'; namespace: readonly string[]; key: string; value: StateValue } & StatePutOptions)
  | ({ type: 'delete'; namespace: readonly string[]; key: string } & StateDeleteOptions)

/** The result of an operation of a batch: that of the method with the same name. */
export type StateOperationResult<Operation> = Operation extends { type: 'get' }
  ? StateItem | undefined
  : Operation extends { type: 'put' }
    ? StateItem
    : Operation extends { type: 'delete' }
      ? boolean
      : never

/**
 * The view of the store that the function of a transaction gets. Its reads see its own writes; other readers see the writes after
 * the transaction is committed.
 */
export interface StateView {
  get(namespace: readonly string[], key: string): Promise<StateItem | undefined>
  put(namespace: readonly string[], key: string, value: StateValue, options?: StateValueOptions | null): void
  delete(namespace: readonly string[], key: string): void
}

/** Options of `transaction()`. */
export interface StateTransactionOptions extends CancellationOptions {
  /**
   * How often the function is called at most when other writers change what it read. After that, the transaction rejects with
   * `ERR_CONTEXT_CONFLICT`.
   * @default 20
   */
  attempts?: number | null | undefined
}

/** Options of `watch()`. */
export interface StateWatchOptions extends CancellationOptions {
  /**
   * The cursor of a change or of `stats()`: the watcher yields the changes after it. Without a cursor, it yields the changes
   * after the first call of `next()`: those of this store, and those that others make once the watcher has read where it begins.
   * `sweep()` deletes the recorded changes up to the latest removal of an item; cursors before it expire.
   */
  since?: string | null | undefined
}

/** A change of an item: a write or a removal. The removal of an expired item is a `'delete'`. */
export interface StateChange {
  namespace: string[]
  key: string
  /** The revision of the written item, or of the removal. */
  revision: string
  type: 'put' | 'delete'
  /** The cursor of the change, for the option `since`. */
  cursor: string
}

/** What `sweep()` removed. */
export interface StateSweepReport {
  expiredItems: number
  /** Number of recorded changes that were deleted; watchers cannot see them any more. */
  changes: number
  /**
   * Whether all bytes of items that were removed or overwritten before the call are erased from the file and its write-ahead log.
   * `false` if another process was reading or writing for the whole of `lockTimeout`, or if the file is larger than 128 GiB: call
   * `sweep()` again later.
   */
  erased: boolean
}

/** Counts and sizes for the whole file, with all namespaces. */
export interface StateStats {
  items: number
  /** Size of all values in bytes. */
  valueBytes: number
  /** Number of items that have expired and are not removed yet. */
  expiredItems: number
  /** Number of recorded changes, which `watch` can still yield. */
  changes: number
  /** Size of the database and its write-ahead log in bytes; 0 with `storage`. */
  fileBytes: number
  /** The cursor of the latest change, for `since` of `watch`. */
  cursor: string
  /** What was asked of the database; absent without the option `storage`. */
  storage?: StorageStats
}

/** The result of `verify()`. */
export interface StateVerifyReport {
  items: number
  /** A description of each problem; empty if the file is valid. */
  problems: string[]
}
