/** Public types of the state store. */

import type { CancellationOptions, JsonValue, Time } from '../arguments/types.ts'
import type { RedactionOptions } from '../redaction/types.ts'

/** Options of a state store. `undefined` and `null` mean the default. */
export interface StateStoreOptions {
  /**
   * The database file, created on demand for the owner only, beside which SQLite keeps `<path>-wal` and `<path>-shm`. Relative
   * paths count from the working directory at construction; `~` is expanded. It has to be on a local disk.
   * @default '~/.agent/state.db'
   */
  path?: string | null | undefined
  /**
   * The namespace below which everything of this store is: it is put before every namespace that is given, and left out of every
   * one that is returned.
   */
  namespace?: readonly string[] | null | undefined
  /**
   * What an acknowledged change survives: `'process'` the end of the process however it comes, `'full'` the loss of power
   * as well.
   * @default 'process'
   */
  durability?: 'process' | 'full' | null | undefined
  /**
   * What is redacted in values before they are stored. State has to come back unchanged, so that nothing is by default. With it,
   * namespaces and keys that hold a secret are refused.
   * @default false
   */
  redaction?: false | RedactionOptions | null | undefined
  /**
   * Larger values are refused with `ERR_CONTEXT_TOO_LARGE`, in bytes of JSON or binary data.
   * @default 67108864
   */
  maxValueBytes?: number | null | undefined
  /**
   * How long a change waits while other processes write, in ms. Then it rejects with `ERR_CONTEXT_LOCK_TIMEOUT`.
   * @default 10000
   */
  lockTimeout?: number | null | undefined
  /**
   * Members of JSON values that `filter` finds by an index, such as `['$.type', '$.metadata.user']`. Any process that writes to
   * the file keeps the index from then on; the first one that declares a member indexes what is there.
   */
  indexes?: readonly string[] | null | undefined
  /**
   * How many of the latest changes are kept for `watch`.
   * @default 100000
   */
  maxChanges?: number | null | undefined
  /**
   * Vouches that all processes that use the file run on this machine. Without it, a file on NFS, SMB, 9p and other shared file
   * systems is refused with `ERR_CONTEXT_UNSUPPORTED`. See docs/durability.md.
   * @default false
   */
  trustLocks?: boolean | null | undefined
  /**
   * Uses a directory that belongs to another user. Without it such a directory is refused with
   * `ERR_CONTEXT_UNSAFE_DIRECTORY`; a process that runs as root only reports it to `onDebug`.
   * @default false
   */
  allowShared?: boolean | null | undefined
  /** Called with what is worth knowing. What it throws is swallowed. */
  onDebug?: ((message: string, data?: unknown) => void) | null | undefined
}

/** What a state store holds under a key. */
export type StateValue = JsonValue | Uint8Array

/** An item as it was read or written. */
export interface StateItem<Value extends StateValue = StateValue> {
  namespace: string[]
  key: string
  /** JSON, or a `Uint8Array`. */
  value: Value
  /** Another one after each change, never used again. */
  revision: string
  /** When the item was first written, in ISO 8601. */
  createdAt: string
  /** When it was last written. */
  updatedAt: string
  /** When it expires, if it does. */
  expiresAt?: string
  /** The media type it was written with. */
  mediaType?: string
}

/** Options of what is written. */
export interface StateValueOptions {
  /** When the item expires: ms from now, or a duration such as `'12h'`. Without it the item stays. */
  ttl?: string | number | null | undefined
  /** When the item expires, in place of `ttl`. One whose time is past is not there. */
  expiresAt?: Time | null | undefined
  /** What the value is, to its readers; this package does not look at it. */
  mediaType?: string | null | undefined
}

/** Options of `put()`. */
export interface StatePutOptions extends StateValueOptions {
  /** Rejects with `ERR_CONTEXT_CONFLICT` unless the item has this revision; `null`: unless there is no such item. */
  ifRevision?: string | null | undefined
}

/** Options of `delete()`. */
export interface StateDeleteOptions {
  /** Rejects with `ERR_CONTEXT_CONFLICT` unless the item has this revision; `null`: unless there is no such item. */
  ifRevision?: string | null | undefined
}

/** What a member is compared with. Values of different types are unequal and have no order. */
export interface StateComparison {
  /** Equal to the value; objects and arrays are compared member by member. `null` is a value. */
  $eq?: JsonValue | null | undefined
  /** Not equal to it, or not there. */
  $ne?: JsonValue | null | undefined
  /** Greater: numbers, strings by code points, and `true` is greater than `false`. */
  $gt?: JsonValue | null | undefined
  $gte?: JsonValue | null | undefined
  $lt?: JsonValue | null | undefined
  $lte?: JsonValue | null | undefined
  /** Equal to one of the values. */
  $in?: readonly JsonValue[] | null | undefined
  /** Whether there is such a member. */
  $exists?: boolean | null | undefined
}

/**
 * Conditions on members of JSON values, all of which have to hold. A name is a member of the value, or a path such as
 * `'$.metadata.user'`; what it is compared with is a value, or an object of operators.
 */
export type StateFilter = { readonly [member: string]: JsonValue | StateComparison }

/** Options of `list()`. */
export interface StateListOptions extends CancellationOptions {
  /** What the keys begin with. */
  keyPrefix?: string | null | undefined
  /** What the values have to meet. Bytes meet no filter. */
  filter?: StateFilter | null | undefined
  /**
   * `'key'`: by namespace and key, by code points; `'updated'`: the latest written first.
   * @default 'key'
   */
  order?: 'key' | 'updated' | null | undefined
  /**
   * At most this many; a page of large values has fewer.
   * @default 100
   */
  limit?: number | null | undefined
  /** Where the page before ended. */
  cursor?: string | null | undefined
}

/** A page of items. */
export interface StatePage {
  items: StateItem[]
  /** Where the next page begins; absent where there is none. */
  cursor?: string
}

/** Options of `search()`. */
export interface StateSearchOptions extends CancellationOptions {
  /** What the values have to meet. Bytes meet no filter. */
  filter?: StateFilter | null | undefined
  /** @default 10 */
  limit?: number | null | undefined
}

/** An item that answers a question, and how well. */
export type StateHit = StateItem & { score: number }

/** Options of `namespaces()`. */
export interface StateNamespacesOptions extends CancellationOptions {
  /** What the namespaces begin with. */
  prefix?: readonly string[] | null | undefined
  /** What they end with. */
  suffix?: readonly string[] | null | undefined
  /** Longer ones are cut to so many segments; each is listed once. */
  maxDepth?: number | null | undefined
  /** @default 100 */
  limit?: number | null | undefined
  /** Where the page before ended. */
  cursor?: string | null | undefined
}

/** A page of namespaces. */
export interface StateNamespacesPage {
  namespaces: string[][]
  /** Where the next page begins; absent where there is none. */
  cursor?: string
}

/** An operation of a batch. */
export type StateOperation =
  | { type: 'get'; namespace: readonly string[]; key: string }
  | ({ type: 'put'; namespace: readonly string[]; key: string; value: StateValue } & StatePutOptions)
  | ({ type: 'delete'; namespace: readonly string[]; key: string } & StateDeleteOptions)

/** What comes of an operation of a batch: what the method of that name gives. */
export type StateOperationResult<Operation> = Operation extends { type: 'get' }
  ? StateItem | undefined
  : Operation extends { type: 'put' }
    ? StateItem
    : Operation extends { type: 'delete' }
      ? boolean
      : never

/** What the function of a transaction works on: what it writes is seen by its own reads, and by others when all is done. */
export interface StateView {
  get(namespace: readonly string[], key: string): Promise<StateItem | undefined>
  put(namespace: readonly string[], key: string, value: StateValue, options?: StateValueOptions | null): void
  delete(namespace: readonly string[], key: string): void
}

/** Options of `transaction()`. */
export interface StateTransactionOptions extends CancellationOptions {
  /**
   * How often the function is called when other writers change what it read. Then the transaction rejects with
   * `ERR_CONTEXT_CONFLICT`.
   * @default 20
   */
  attempts?: number | null | undefined
}

/** Options of `watch()`. */
export interface StateWatchOptions extends CancellationOptions {
  /**
   * The cursor of a change or of `stats()`, after which the changes begin; without it, at the first `next()`. A `sweep()` forgets
   * the changes up to the latest removal of an item: cursors before it expire.
   */
  since?: string | null | undefined
}

/** Something that was written or removed. An item that is removed because it has expired is a `'delete'`. */
export interface StateChange {
  namespace: string[]
  key: string
  /** That of the item written; that of the removal where it was removed. */
  revision: string
  type: 'put' | 'delete'
  /** For `since`. */
  cursor: string
}

/** What `sweep()` removed. */
export interface StateSweepReport {
  expiredItems: number
  /** Changes that no watcher can see any more. */
  changes: number
  /**
   * Whether no byte is left in the file and its write-ahead log of items that were removed or overwritten before the call; `false`
   * where another process kept reading or writing for `lockTimeout`, or the file has more than 128 GiB: sweep again later.
   */
  erased: boolean
}

/** What is in the file, of all namespaces. */
export interface StateStats {
  items: number
  /** Bytes of all values. */
  valueBytes: number
  /** Items that have expired and are not removed yet. */
  expiredItems: number
  /** Changes that `watch` can still see. */
  changes: number
  /** Bytes of the database and its write-ahead log. */
  fileBytes: number
  /** The position of the latest change, for `watch`. */
  cursor: string
}

/** What `verify()` found. */
export interface StateVerifyReport {
  items: number
  /** What is wrong, in words; empty where all is well. */
  problems: string[]
}
