/** Public types of the option `storage`. */

import type { StorageStats } from '#addon'

/** A database in which a class keeps its data, in place of files. */
export interface StorageOptions {
  /**
   * The URL of a PostgreSQL database, such as `'postgres://user@host:5432/database'`. Several hosts may be given, separated by
   * commas. `sslmode=disable` turns encryption off. `require`, `verify-ca` and `verify-full` encrypt connections within the machine
   * as well. The server's certificate is verified in every mode.
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
   * `false` turns encryption off, and is refused if the URL's `sslmode` demands encryption. `ca` has certificates in the PEM format,
   * which are trusted in place of the system's. Connections within the machine are encrypted only with `ca` or if `sslmode` demands it.
   */
  tls?: false | StorageTlsOptions | null | undefined
}

/** What `stats()` returns of a class that counts nothing else. */
export interface StorageUse {
  /** What was asked of the database; absent without the option `storage`. */
  storage?: StorageStats
}

/** A bucket in which large tool outputs and other long files are kept, beside the database of `storage`. */
export interface BlobsOptions {
  /**
   * The bucket and a prefix for all objects: `'s3://bucket/prefix'` for S3 and services that speak its protocol,
   * `'gs://bucket/prefix'` for Google Cloud Storage, `'az://container/prefix'` for Azure.
   */
  url: string
  /**
   * The address of the service, for S3 on a server of your own, such as `'https://minio.example:9000'`. `AWS_ENDPOINT_URL` is used
   * without it.
   */
  endpoint?: string | null | undefined
  /** The region of an S3 bucket. Without it, `AWS_REGION` is used, or `us-east-1`. */
  region?: string | null | undefined
  /** The storage account of an Azure container. Without it, `AZURE_STORAGE_ACCOUNT_NAME` is used. */
  account?: string | null | undefined
  /**
   * Returns credentials, again when they expire. The providers of `@aws-sdk/credential-providers` can be passed. Without it, those of
   * the environment and the machine are used: `AWS_ACCESS_KEY_ID` and the like, web identities, roles of ECS, EKS and EC2;
   * `GOOGLE_APPLICATION_CREDENTIALS`; `AZURE_STORAGE_ACCOUNT_KEY` and the like.
   */
  credentials?: (() => BlobsCredentials | Promise<BlobsCredentials>) | null | undefined
  /**
   * Whether an endpoint on another machine may be used without encryption. Endpoints on this machine may always.
   * @default false
   */
  allowHttp?: boolean | null | undefined
}

/** Credentials of a bucket: `accessKeyId` and `secretAccessKey` for S3, `token` for Google Cloud Storage and Azure. */
export interface BlobsCredentials {
  /** The id of the access key. */
  accessKeyId?: string | undefined
  /** The secret of the access key. */
  secretAccessKey?: string | undefined
  /** The token of a temporary access key. */
  sessionToken?: string | undefined
  /** An OAuth 2.0 access token. */
  token?: string | undefined
  /** When they expire. Without it, they are asked for every five minutes. */
  expiration?: Date | undefined
}

/** Options of encrypted connections to a database. */
export interface StorageTlsOptions {
  /** Certificates in the PEM format. */
  ca: string
}
