/** The names of all options of this folder, by which `known-options.ts` recognises unknown options. */

import { knownOptions } from '../arguments/known-options.ts'
import type { CopyPlaces, CopyStorageOptions } from './types.ts'

export const copyPlaces = knownOptions<CopyPlaces>('CopyPlaces', {
  storage: true,
  blobs: true,
  contextDir: true,
  history: true,
  store: true,
  memory: true,
  state: true,
})

export const copyStorageOptions = knownOptions<CopyStorageOptions>('CopyStorageOptions', {
  from: true,
  to: true,
  overwrite: true,
  dryRun: true,
  signal: true,
})
