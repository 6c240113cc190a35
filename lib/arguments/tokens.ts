/** Callers' functions that count tokens. */

import { contextError, inspect, invalidArgument } from './errors.ts'

/**
 * What a caller's function counts.
 *
 * @param name the parameter, for messages
 * @throws `ERR_CONTEXT_INVALID_ARGUMENT` when it fails, or gives no finite number from 0 up
 */
export function tokensOf<T>(countTokens: (counted: T) => number, counted: T, name: string): number {
  let tokens: unknown
  try {
    tokens = countTokens(counted)
  } catch (cause) {
    throw contextError('ERR_CONTEXT_INVALID_ARGUMENT', `${name} failed: ${inspect(cause)}`, cause)
  }
  if (typeof tokens !== 'number' || !Number.isFinite(tokens) || tokens < 0) {
    throw invalidArgument(name, 'a function that gives a finite number from 0 up', tokens)
  }
  return tokens
}
