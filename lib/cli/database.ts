/** The database that `--storage`, a variable or the settings file names, and the parts of its URL that may be shown. */

import type { BlobsOptions, StorageOptions } from '../index.ts'
import { EXIT } from './command-types.ts'
import { CliError } from './failures.ts'

export const STORAGE_VARIABLE = 'AGENT_CONTEXT_STORAGE'
export const BLOBS_VARIABLE = 'AGENT_CONTEXT_BLOBS'
/** PostgreSQL's own variable. */
const PASSWORD_VARIABLE = 'PGPASSWORD'

export interface DatabaseSetting {
  readonly url: string
  /** The settings file is a part of the repository: neither a password nor what agents start on their own goes to its database. */
  readonly isFromFile: boolean
}

/** A database that the command line names. Other users of the machine see command lines, so that a password is refused there. */
export function databaseOfOption(url: string, option: string): DatabaseSetting {
  if (hasPassword(url)) {
    throw new CliError(
      `${option} has a password, which other users of this machine can see: set ${STORAGE_VARIABLE} to the URL, or leave the password out and set ${PASSWORD_VARIABLE}`,
      EXIT.usage,
    )
  }
  return { url, isFromFile: false }
}

export function databaseOfFile(url: string, file: string): DatabaseSetting {
  if (hasPassword(url)) {
    throw new CliError(
      `${file}: 'storage' has a password, which must not be in a file of a repository: set ${STORAGE_VARIABLE} to the URL`,
      EXIT.usage,
    )
  }
  return { url, isFromFile: true }
}

/** The options `storage` and `blobs` of the library's classes. */
export interface PlaceOptions {
  readonly storage?: string | StorageOptions | undefined
  readonly blobs?: string | BlobsOptions | undefined
}

/** Where objects of the library's classes keep their data. `blobs` is the URL of a bucket beside the database. */
export function storageOf({
  database,
  blobs,
}: {
  readonly database?: DatabaseSetting | undefined
  readonly blobs?: string | undefined
}): PlaceOptions {
  if (database === undefined) {
    return {}
  }
  const { url, isFromFile } = database
  const password = process.env[PASSWORD_VARIABLE] || undefined
  const hasOwnPassword = isFromFile || password === undefined || hasPassword(url)
  return {
    storage: hasOwnPassword ? url : { url, credentials: passwordOfVariable },
    ...(blobs === undefined ? {} : { blobs }),
  }
}

/** One function, so that all objects share their connections. */
const passwordOfVariable = (): string => process.env[PASSWORD_VARIABLE] ?? ''

/** Refuses a database that only the settings file names, for commands that coding agents start by themselves. */
export function refuseFromFile(database: DatabaseSetting | undefined, file: string | undefined): void {
  if (database?.isFromFile === true) {
    throw new CliError(
      `the database is named by ${file ?? 'the settings file'} only, and a repository must not decide where outputs are sent: set ${STORAGE_VARIABLE}, or pass --storage`,
      EXIT.refused,
    )
  }
}

/** The servers and the name of a database, without credentials: `host:5432/database`. */
export function databaseName(url: string): string {
  const afterScheme = url.slice(url.indexOf('://') + 3)
  const at = afterScheme.indexOf('@')
  const name = afterScheme.slice(at + 1).replace(/[?#].*$/s, '')
  // Another @ may be in a password that was not encoded.
  return name.includes('@') || name === '' ? 'the database' : name
}

/** What is before the first `@` are user and password; a parameter can have a password as well. */
function hasPassword(url: string): boolean {
  const afterScheme = url.slice(url.indexOf('://') + 3)
  const at = afterScheme.indexOf('@')
  // An encoded name could be any parameter.
  const isPassword = ([, name = '']: RegExpExecArray): boolean => /pass|%/i.test(name)
  return (at >= 0 && afterScheme.slice(0, at).includes(':')) || [...url.matchAll(/[?&]([^=&]*)=/g)].some(isPassword)
}
