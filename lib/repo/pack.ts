/** Context packs (`buildContextFromMemory`): checks the options, and finds the longest text within a token budget. */

import {
  checkEach,
  checkFilled,
  checkFunction,
  checkString,
  checkWhole,
  count,
  optional,
  readSignal,
} from '../arguments/checks.ts'
import { contextError, invalidArgument } from '../arguments/errors.ts'
import { tokensOf } from '../arguments/tokens.ts'
import { type CheckedEmbedder, checkEmbedder } from '../embedding/options.ts'
import { packOptions, repoMapFocus } from './option-names.ts'
import type { ContextPackOptions, RepoMapFocus } from './types.ts'

const DEFAULT_LATEST_SUMMARIES = 10
/** The largest number of renderings to find a text that fits into a token budget. */
const MAXIMUM_RENDERINGS = 8
/** A text that takes at least this share of the token budget ends the search. */
const FULL = 0.97

/** The request to the native side, as JSON. */
export interface PackRequest {
  readonly query: string | undefined
  readonly latestSummaries: number
  readonly repoMap: boolean
  readonly focus: readonly string[]
}

/** A token budget, with the caller's function that counts tokens. */
export interface TokenBudget {
  readonly maxTokens: number
  readonly countTokens: (text: string) => number
}

interface CheckedPack {
  readonly request: PackRequest
  readonly tokens: TokenBudget | undefined
  readonly embedder: CheckedEmbedder | undefined
  readonly signal: AbortSignal | undefined
}

/** Checks the options of a pack. */
export function checkPack(options: ContextPackOptions | null | undefined): CheckedPack {
  const given = optional(options, 'options', packOptions) ?? {}
  const { isWanted, focus } = checkMap(given.repoMap ?? true)
  return {
    request: {
      query: optional(given.query, 'query', checkString),
      latestSummaries: optional(given.latestSummaries, 'latestSummaries', checkWhole) ?? DEFAULT_LATEST_SUMMARIES,
      repoMap: isWanted,
      focus,
    },
    tokens: checkTokens(given),
    embedder: checkEmbedder(given, ''),
    signal: readSignal(given),
  }
}

/** Checks a length in UTF-16 code units. */
export function checkMaxChars(value: number, name: string): number {
  if (value === undefined || value === null) {
    throw invalidArgument(name, 'a whole number from 0 up, or Infinity', value)
  }
  return count(value, name, 0)
}

export function checkFocus(focus: readonly string[], name: string): readonly string[] {
  return checkEach(focus, name, checkFilled)
}

function checkMap(value: boolean | RepoMapFocus): { isWanted: boolean; focus: readonly string[] } {
  if (typeof value === 'boolean') {
    return { isWanted: value, focus: [] }
  }
  if (typeof value !== 'object') {
    throw invalidArgument('repoMap', 'true, false, or { focus }', value)
  }
  return { isWanted: true, focus: optional(repoMapFocus(value, 'repoMap').focus, 'repoMap.focus', checkFocus) ?? [] }
}

function checkTokens({ maxTokens, countTokens }: ContextPackOptions): TokenBudget | undefined {
  const most = optional(maxTokens, 'maxTokens', (value, name) => count(value, name, 0))
  const counter = optional(countTokens, 'countTokens', checkFunction)
  if (most === undefined && counter === undefined) {
    return undefined
  }
  if (most === undefined || counter === undefined) {
    throw contextError('ERR_CONTEXT_INVALID_ARGUMENT', 'maxTokens and countTokens are needed together, or neither')
  }
  return { maxTokens: most, countTokens: counter }
}

/**
 * Renders packs of different lengths, and returns the one with the longest text within the token budget; an empty pack if none fits.
 *
 * @param render returns the pack of at most the given number of UTF-16 code units
 */
export async function fitTokens<Pack extends { text: string }>(
  render: (maxChars: number) => Promise<Pack>,
  maxChars: number,
  { maxTokens, countTokens }: TokenBudget,
): Promise<Pack> {
  let best: Pack | undefined
  // `low` is the largest length known to fit, `high` the smallest known not to fit, in UTF-16 code units.
  let [low, high] = [0, maxChars]
  let budget = maxChars
  for (let rendering = 1; rendering <= MAXIMUM_RENDERINGS; rendering++) {
    const pack = await render(budget)
    const { text } = pack
    const tokens = text === '' ? 0 : tokensOf(countTokens, text, 'countTokens')
    if (tokens > maxTokens) {
      high = Math.min(budget, text.length)
    } else {
      best = best === undefined || text.length > best.text.length ? pack : best
      low = budget
      if (budget === maxChars || tokens >= maxTokens * FULL) {
        break
      }
    }
    budget = nextBudget(low, high, (text.length * maxTokens) / tokens)
    // One rendering is reserved for the empty pack, in case no other fits.
    if (budget <= low || (best === undefined && rendering === MAXIMUM_RENDERINGS - 1)) {
      break
    }
  }
  return best ?? render(0)
}

/** The next length to try: the estimate from the last text's tokens if it is between the bounds, otherwise their middle. */
function nextBudget(low: number, high: number, told: number): number {
  // Texts end at whole records, so that the ratio of tokens to length is not exact: aims slightly below the budget.
  const estimate = Math.floor(told * ((1 + FULL) / 2))
  return estimate > low && estimate < high ? estimate : Math.floor((low + high) / 2)
}
