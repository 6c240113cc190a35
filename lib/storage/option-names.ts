/** The names of all options of this folder, by which `known-options.ts` recognises unknown options. */

import { knownOptions } from '../arguments/known-options.ts'
import type { BlobsOptions, StorageOptions, StorageTlsOptions } from './types.ts'

export const storageOptions = knownOptions<StorageOptions>('StorageOptions', {
  url: true,
  schema: true,
  pool: true,
  timeout: true,
  credentials: true,
  tls: true,
})

export const blobsOptions = knownOptions<BlobsOptions>('BlobsOptions', {
  url: true,
  endpoint: true,
  region: true,
  account: true,
  credentials: true,
  allowHttp: true,
})

export const storageTlsOptions = knownOptions<StorageTlsOptions>('StorageTlsOptions', { ca: true })
