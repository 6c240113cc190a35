/** Functions of the caller that give passwords and credentials, as objects that the native side calls. */

import { contextError } from '../arguments/errors.ts'
import type { PasswordSource } from '../native/border.ts'

/**
 * Returns a function that checks an option and makes a source of it: always the same for the same function, so that objects with it
 * share their connections. `textOf` converts what the caller's function gives.
 */
export function sourcesOf<T>(
  textOf: (given: T) => string,
): (credentials: () => T | Promise<T>, name: string) => PasswordSource {
  const known = new WeakMap<() => T | Promise<T>, PasswordSource>()
  return (credentials, name) => {
    if (typeof credentials !== 'function') {
      // The value may be a secret.
      throw contextError('ERR_CONTEXT_INVALID_ARGUMENT', `${name} must be a function that returns them`)
    }
    let source = known.get(credentials)
    if (source === undefined) {
      source = { password: async () => textOf(await credentials()) }
      known.set(credentials, source)
    }
    return source
  }
}
