/** The option `blobs`: the bucket in which long files are kept, beside a database. */

import type { NativeBlobsOptions, NativeDatabase } from '#addon'
import { checkBoolean, checkFilled, optional } from '../arguments/checks.ts'
import { contextError, invalidArgument } from '../arguments/errors.ts'
import { outbox, type PasswordSource, scopeOf } from '../native/border.ts'
import { blobsOptions } from './option-names.ts'
import { sourcesOf } from './sources.ts'
import type { BlobsCredentials, BlobsOptions } from './types.ts'

const credentialSource = sourcesOf((credentials: BlobsCredentials) => {
  const { accessKeyId, secretAccessKey, sessionToken, token, expiration } = credentials
  return JSON.stringify({ accessKeyId, secretAccessKey, sessionToken, token, expiration: expiration?.getTime() })
})

/** Checks the option `blobs` and gives it to the database. Returns the source of its credentials. Opens no connection. */
export function useBlobs(
  database: NativeDatabase,
  blobs: string | BlobsOptions,
  name: string,
): PasswordSource | undefined {
  if (typeof blobs !== 'string' && (typeof blobs !== 'object' || blobs === null)) {
    throw invalidArgument(name, 'a URL or an object', blobs)
  }
  const given = blobsOptions(typeof blobs === 'string' ? { url: blobs } : blobs, name)
  const source = optional(given.credentials, `${name}.credentials`, credentialSource)
  const endpoint = optional(given.endpoint, `${name}.endpoint`, checkFilled)
  const region = optional(given.region, `${name}.region`, checkFilled)
  const account = optional(given.account, `${name}.account`, checkFilled)
  const options: NativeBlobsOptions = {
    url: checkFilled(given.url, `${name}.url`),
    allowHttp: optional(given.allowHttp, `${name}.allowHttp`, checkBoolean) ?? false,
    ...(endpoint === undefined ? {} : { endpoint }),
    ...(region === undefined ? {} : { region }),
    ...(account === undefined ? {} : { account }),
    ...(source === undefined ? {} : { passwords: scopeOf(source) }),
  }
  try {
    database.useBlobs(outbox, options)
  } catch (error) {
    throw contextError('ERR_CONTEXT_INVALID_ARGUMENT', `${name}.${(error as Error).message}`)
  }
  return source
}
