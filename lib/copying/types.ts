/** Public types of `copyStorage`. */

import type { CancellationOptions } from '../arguments/types.ts'
import type { BlobsOptions, StorageOptions } from '../storage/types.ts'

/** The places that `copyStorage` reads or writes. Without `storage` they are paths on the local disk, with it names in the database. */
export interface CopyPlaces {
  /** The database; without it, the local disk. */
  storage?: string | StorageOptions | null | undefined
  /** The bucket with long outputs beside the database, as for the classes: its URL, or options. Needs `storage`. */
  blobs?: string | BlobsOptions | null | undefined
  /** The directory of a `ContextManager`: outputs with their bytes and handles, and the sessions that are not over. */
  contextDir?: string | null | undefined
  /** The `path` of a `ContextHistory`. */
  history?: string | null | undefined
  /** The `path` of a `ContextStore`. */
  store?: string | null | undefined
  /** The `root` of `RepoMemory`: the memories of all repositories. */
  memory?: string | null | undefined
  /** The `path` of a `StateStore`. */
  state?: string | null | undefined
}

/** Options of `copyStorage`. */
export interface CopyStorageOptions extends CancellationOptions {
  /** What is copied: the places that are named here, at least one. */
  from: CopyPlaces
  /** Where to. A place that is not named here has the same name as in `from`. */
  to: CopyPlaces
  /**
   * Replaces what the destination has with other contents. Without it, that stays and is reported. A history at the destination that
   * is not the beginning of the copied one is emptied first.
   * @default false
   */
  overwrite?: boolean | null | undefined
  /**
   * Reports what would be copied, and writes nothing.
   * @default false
   */
  dryRun?: boolean | null | undefined
}

/** What was copied of one place. */
export interface CopyReport {
  /** Number of files, entries or items that were written, with those that replaced others. */
  copied: number
  /** Their bytes. */
  bytes: number
  /** Number of those that replaced others. */
  replaced: number
  /** Number of files, entries or items that the destination had with the same contents. */
  alreadyThere: number
  /** Number of lines of a history that are not entries, and of items that expired meanwhile: they are not copied. */
  skipped: number
  /** Number of files or items that the destination has with other contents, and that stayed so. */
  conflicts: number
  /** The names of the first 100 of these. */
  conflicting: string[]
}

/** The report of `copyStorage`: a member for each place that was named. */
export interface CopyStorageReport {
  contextDir?: CopyReport
  history?: CopyReport
  store?: CopyReport
  memory?: CopyReport
  state?: CopyReport
}
