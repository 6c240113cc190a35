/** The names of all options of this folder, by which `known-options.ts` recognises unknown options. */

import { knownOptions } from '../arguments/known-options.ts'
import type { StorageOptions, StorageTlsOptions } from './types.ts'

export const storageOptions = knownOptions<StorageOptions>('StorageOptions', {
  url: true,
  schema: true,
  pool: true,
  timeout: true,
  credentials: true,
  tls: true,
})

export const storageTlsOptions = knownOptions<StorageTlsOptions>('StorageTlsOptions', { ca: true })
