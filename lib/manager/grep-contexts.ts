/** `grepContexts`: checks the options, and builds the result from the native side's answer. */

import type { NativeManager } from '#addon'
import { checkText, checkWhole, optional, readSignal } from '../arguments/checks.ts'
import { invalidArgument } from '../arguments/errors.ts'
import { cancellable, type Hooks } from '../native/border.ts'
import { checkContextFilter } from './filter.ts'
import { contextFilter, grepContextsOptions } from './option-names.ts'
import type { GrepContextsOptions, GrepContextsResult } from './retrieval-types.ts'
import { readGrep } from './slices.ts'

const DEFAULT_LIMIT = 100
const DEFAULT_MAXIMUM_BYTES = 262_144

export async function grepContexts(
  hooks: Hooks,
  native: NativeManager,
  pattern: string | RegExp,
  options: GrepContextsOptions | null | undefined,
): Promise<GrepContextsResult> {
  const given = optional(options, 'options', grepContextsOptions) ?? {}
  const { before, after, ignoreCase } = given
  const paths = optional(given.paths, 'options.paths', checkPaths)
  const filter = optional(given.filter, 'options.filter', contextFilter)
  if (paths !== undefined && filter !== undefined) {
    throw invalidArgument('options.filter', 'absent beside paths', filter)
  }
  const request = JSON.stringify({
    paths,
    filter: checkContextFilter(filter ?? {}, 'options.filter'),
    grep: readGrep({ pattern, before, after, ignoreCase }, { pattern: 'pattern', prefix: 'options.' }),
    limit: optional(given.limit, 'options.limit', checkWhole) ?? DEFAULT_LIMIT,
    maxBytes: optional(given.maxBytes, 'options.maxBytes', checkWhole) ?? DEFAULT_MAXIMUM_BYTES,
  })
  return cancellable(
    hooks,
    native,
    readSignal(given),
    (operation) => native.grep(operation, request),
    (_, [found = '']) => JSON.parse(found) as GrepContextsResult,
  )
}

function checkPaths(paths: readonly string[], name: string): string[] {
  if (!Array.isArray(paths)) {
    throw invalidArgument(name, 'an array of paths', paths)
  }
  return Array.from(paths as readonly string[], (path, index) => {
    checkText(path, `${name}[${index}]`)
    return path.toWellFormed()
  })
}
