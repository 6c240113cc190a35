/** The option `storage`: opens the database in which a class keeps its data. */

import { NativeDatabase, type NativeDatabaseOptions, type StorageStats } from '#addon'
import { checkFilled, checkWhole, optional } from '../arguments/checks.ts'
import { contextError, invalidArgument } from '../arguments/errors.ts'
import { outbox, type PasswordSource, scopeOf } from '../native/border.ts'
import { useBlobs } from './blobs.ts'
import { storageOptions, storageTlsOptions } from './option-names.ts'
import { sourcesOf } from './sources.ts'
import type { BlobsOptions, StorageOptions } from './types.ts'

/** The database of an object, and what has to be referenced while the object exists. */
export interface Storage {
  readonly native: NativeDatabase
  /** The sources of passwords and credentials, which the native side calls by number. */
  readonly passwords: readonly PasswordSource[]
}

/** The options of every class for keeping its data in a database. */
export interface StorageChoice {
  readonly storage?: string | StorageOptions | null | undefined
  readonly blobs?: string | BlobsOptions | null | undefined
}

const passwordSource = sourcesOf((password: string) => password)

/** Checks the options `storage` and `blobs`, whose names begin with `prefix` in errors. Opens no connection. */
export function checkStorage(choice: StorageChoice, prefix = ''): Storage | undefined {
  const storage = optional(choice.storage, `${prefix}storage`, checkDatabase)
  const blobs = choice.blobs ?? undefined
  if (blobs === undefined) {
    return storage
  }
  if (storage === undefined) {
    throw contextError(
      'ERR_CONTEXT_INVALID_ARGUMENT',
      `${prefix}blobs needs ${prefix}storage, the database that refers to its objects; pass both`,
    )
  }
  const credentials = useBlobs(storage.native, blobs, `${prefix}blobs`)
  return credentials === undefined ? storage : { ...storage, passwords: [...storage.passwords, credentials] }
}

function checkDatabase(storage: string | StorageOptions, name: string): Storage {
  if (typeof storage !== 'string' && (typeof storage !== 'object' || storage === null)) {
    throw invalidArgument(name, 'a URL or an object', storage)
  }
  const given = storageOptions(typeof storage === 'string' ? { url: storage } : storage, name)
  const passwords = optional(given.credentials, `${name}.credentials`, passwordSource)
  const schema = optional(given.schema, `${name}.schema`, checkFilled)
  const pool = optional(given.pool, `${name}.pool`, checkWhole)
  const timeout = optional(given.timeout, `${name}.timeout`, checkWhole)
  const options: NativeDatabaseOptions = {
    url: checkFilled(given.url, `${name}.url`),
    ...(schema === undefined ? {} : { schema }),
    ...(pool === undefined ? {} : { pool }),
    ...(timeout === undefined ? {} : { timeout }),
    ...(passwords === undefined ? {} : { passwords: scopeOf(passwords) }),
    ...checkTls(given.tls, `${name}.tls`),
  }
  try {
    return { native: new NativeDatabase(outbox, options), passwords: passwords === undefined ? [] : [passwords] }
  } catch (error) {
    throw contextError('ERR_CONTEXT_INVALID_ARGUMENT', `${name}.${(error as Error).message}`)
  }
}

/** The member `storage` of an object's statistics. */
export function storageStats(database: NativeDatabase | undefined): { storage?: StorageStats } {
  return database === undefined ? {} : { storage: database.stats() }
}

/** Refuses options that a database replaces. */
export function refuseWithStorage(given: Readonly<Record<string, unknown>>, names: readonly string[]): void {
  const refused = names.find((name) => (given[name] ?? undefined) !== undefined)
  if (refused !== undefined) {
    throw contextError('ERR_CONTEXT_INVALID_ARGUMENT', `${refused} and storage exclude each other; pass one of them`)
  }
}

/**
 * The namespace that takes the place of a path: an absolute path with `/`, the same on every machine. `~`, a drive and the
 * working directory have no meaning in a database.
 */
export function namespaceOf(path: string, name: string): string {
  const segments = path.split(/[/\\]+/).filter((segment) => segment !== '' && segment !== '.' && segment !== '~')
  if (segments.length === 0 || segments.includes('..') || path.includes('\0') || !path.isWellFormed()) {
    throw invalidArgument(name, 'a path without .. that names a place in the database', path)
  }
  return `/${segments.join('/')}`
}

/** As {@link namespaceOf} for a directory, and the same with a separator at its end. */
export function namespaceDirectory(path: string, name: string): { directory: string; prefix: string } {
  const directory = namespaceOf(path, name)
  return { directory, prefix: `${directory}/` }
}

/** As {@link checkStorage}, for an object that can also use a `fileSystem`. */
export function storageOf(options: StorageChoice & { readonly fileSystem?: unknown }): Storage | undefined {
  const storage = checkStorage(options)
  if (storage !== undefined) {
    refuseWithStorage({ fileSystem: options.fileSystem }, ['fileSystem'])
  }
  return storage
}

function checkTls(tls: StorageOptions['tls'], name: string): { isPlain: boolean; certificates?: string } {
  if (tls === false) {
    return { isPlain: true }
  }
  const given = optional(tls, name, storageTlsOptions)
  return given === undefined
    ? { isPlain: false }
    : { isPlain: false, certificates: checkFilled(given.ca, `${name}.ca`) }
}
