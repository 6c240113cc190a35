/** Calls functions of callers that count tokens. */

import { contextError, inspect, invalidArgument } from './errors.ts'

/** Calls a caller's function that counts tokens.
 *
 * @param name the parameter, for messages
 * @throws `ERR_CONTEXT_INVALID_ARGUMENT` if it fails, or does not return a finite number, 0 or greater
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
