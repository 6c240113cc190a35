/** The names of all options of this folder's classes, by which `known-options.ts` recognises unknown options. */

import { knownOptions } from '../arguments/known-options.ts'
import type { RedactionOptions, RedactionPattern } from './types.ts'

export const redactionOptions = knownOptions<RedactionOptions>('RedactionOptions', {
  patterns: true,
  allow: true,
  disable: true,
  keys: true,
  environment: true,
  replacement: true,
  onRedaction: true,
})

export const redactionPattern = knownOptions<RedactionPattern>('RedactionPattern', {
  name: true,
  pattern: true,
  flags: true,
  literals: true,
})
