/** Counts tokens of texts, for thresholds and budgets that are given in tokens. */

import { Buffer } from 'node:buffer'
import { tokensOf } from '../arguments/tokens.ts'

/** The average for English text and code; other scripts take more tokens per byte. */
const BYTES_PER_TOKEN = 4

/** Counts the tokens of a text. */
export type CountTokens = (text: string) => number

/** Estimates the tokens of a text: a quarter of its bytes, rounded up. */
export function estimateTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN)
}

/** The bytes of a preview with this number of tokens, by the same estimate. */
export function bytesOfTokens(tokens: number): number {
  return Math.min(tokens * BYTES_PER_TOKEN, Number.MAX_SAFE_INTEGER)
}

/** The tokens of a text, by the caller's function if there is one, otherwise estimated. */
export function countTokensOf(text: string, countTokens: CountTokens | undefined): number {
  return countTokens === undefined ? estimateTokens(text) : tokensOf(countTokens, text, 'offload.countTokens')
}
