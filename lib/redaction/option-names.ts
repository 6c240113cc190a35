/** The names of the options of this folder; see `known-options.ts`. */

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
