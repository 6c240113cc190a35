/** Tokens of texts, for thresholds and budgets that are given in tokens. */

import { Buffer } from 'node:buffer'
import { tokensOf } from '../arguments/tokens.ts'

/** Of English text and code, an average; other writing takes more tokens per byte. */
const BYTES_PER_TOKEN = 4

/** Counts the tokens of a text. */
export type CountTokens = (text: string) => number

/** An estimate: a quarter of the bytes, rounded up. */
export function estimateTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN)
}

/** Bytes of a preview of so many tokens, by the same estimate. */
export function bytesOfTokens(tokens: number): number {
  return Math.min(tokens * BYTES_PER_TOKEN, Number.MAX_SAFE_INTEGER)
}

/** The tokens of a text, by the caller's function where there is one. */
export function countTokensOf(text: string, countTokens: CountTokens | undefined): number {
  return countTokens === undefined ? estimateTokens(text) : tokensOf(countTokens, text, 'offload.countTokens')
}
