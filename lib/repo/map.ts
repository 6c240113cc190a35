/** Checks the options of a repository map, and parses the map that the native side returns. */

import { checkFunction, optional, readSignal } from '../arguments/checks.ts'
import type { Progress } from '../native/border.ts'
import { repoMapOptions } from './option-names.ts'
import { checkFocus, checkMaxChars } from './pack.ts'
import type { RepoMap, RepoMapOptions, RepoMapProgress, SymbolSummary } from './types.ts'

const DEFAULT_MAXIMUM_CHARS = 8000

interface CheckedRepoMap {
  /** The request to the native side, as JSON. */
  readonly request: { readonly maxChars: number; readonly focus: readonly string[] }
  readonly progress: Progress | undefined
  readonly signal: AbortSignal | undefined
}

/** Checks the options of a map. */
export function checkRepoMap(options: RepoMapOptions | null | undefined): CheckedRepoMap {
  const given = optional(options, 'options', repoMapOptions) ?? {}
  const maxChars = checkMaxChars(given.maxChars ?? DEFAULT_MAXIMUM_CHARS, 'maxChars')
  const onProgress = optional(given.onProgress, 'onProgress', checkFunction)
  return {
    // JSON cannot represent `Infinity`.
    request: {
      maxChars: Math.min(maxChars, Number.MAX_SAFE_INTEGER),
      focus: optional(given.focus, 'focus', checkFocus) ?? [],
    },
    progress: onProgress && ((text) => onProgress(JSON.parse(text) as RepoMapProgress)),
    signal: readSignal(given),
  }
}

/** A symbol in the form of the native side. */
type CrossedSymbol = Omit<SymbolSummary, 'container'> & { container: string | null }

/** Parses the map from the native side. */
export function parseRepoMap(text: string): RepoMap {
  const map = JSON.parse(text) as Omit<RepoMap, 'files'> & { files: { path: string; symbols: CrossedSymbol[] }[] }
  return { ...map, files: map.files.map(({ path, symbols }) => ({ path, symbols: symbols.map(symbolOf) })) }
}

/** Parses the symbols of a file from the native side. */
export function parseSymbols(text: string): SymbolSummary[] {
  return (JSON.parse(text) as CrossedSymbol[]).map(symbolOf)
}

function symbolOf({ container, ...rest }: CrossedSymbol): SymbolSummary {
  return container === null ? rest : { ...rest, container }
}
