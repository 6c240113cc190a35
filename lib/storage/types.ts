/** Public types of the option `storage`. */

import type { StorageStats } from '#addon'

/** A database in which a class keeps its data, in place of files. */
export interface StorageOptions {
  /**
   * The URL of a PostgreSQL database, such as `'postgres://user@host:5432/database'`. Several hosts may be given, separated by
   * commas. `sslmode=disable` turns encryption off; every other mode verifies the server's certificate.
   */
  url: string
  /**
   * The schema with the tables of this package: lower-case letters, digits and `_`. It is created if the role may create it. Give
   * each tenant a schema and a role of its own: a namespace is no boundary.
   * @default 'agent_context'
   */
  schema?: string | null | undefined
  /**
   * The largest number of connections of this process for histories and state, and as many for the files of the other classes, which
   * keep one more for heartbeats. All objects with equal options share them.
   * @default 4
   */
  pool?: number | null | undefined
  /**
   * How long a call may take, in ms, with everything that is repeated after lost connections and conflicts. After that, it
   * rejects with `ERR_CONTEXT_TIMEOUT` or `ERR_CONTEXT_STORAGE`.
   * @default 30000
   */
  timeout?: number | null | undefined
  /** Returns the password of each new connection, for tokens that expire. Without it, the URL's password is used. */
  credentials?: (() => string | Promise<string>) | null | undefined
  /**
   * `false` turns encryption off. `ca` has certificates in the PEM format, which are trusted in place of the system's. Connections
   * within the machine are not encrypted unless `ca` is set.
   */
  tls?: false | StorageTlsOptions | null | undefined
}

/** What `stats()` returns of a class that counts nothing else. */
export interface StorageUse {
  /** What was asked of the database; absent without the option `storage`. */
  storage?: StorageStats
}

/** Options of encrypted connections to a database. */
export interface StorageTlsOptions {
  /** Certificates in the PEM format. */
  ca: string
}
