/**
 * Checks the names of options. An object with an unknown name is refused, because a misspelt option would be ignored silently.
 * Each options type has a table in its folder's `option-names.ts` with exactly the names of the type, which the compiler
 * verifies.
 *
 * Data objects may have unknown members and have no table: entries, records, outputs and outcomes of tools, pointers, events,
 * `config`, file systems, and objects whose keys are the caller's (`toolThresholds`, the `retention` of agents).
 */

import { optional, readSignal } from './checks.ts'
import { contextError, inspect, invalidArgument } from './errors.ts'
import { nearestName } from './nearest-name.ts'
import type { CancellationOptions } from './types.ts'

/** Names of parameters of public methods. Messages leave them out, because the option's name suffices. */
const PARAMETERS: ReadonlySet<string> = new Set(['options', 'filter', 'query', 'policy', 'change'])

/** The number of names that a message lists if no known name is similar. */
const MAXIMUM_LISTED = 8

/** A check of an options object, which returns the object. */
type OptionsCheck<Options> = <Given extends Options>(given: Given, name: string) => Given

/** The names of the members of all types of a union. */
type NameOf<Options> = Options extends unknown ? keyof Options & string : never

export type Names<Options> = { readonly [Name in NameOf<Options>]: true }

/**
 * @param type the name of the options' type
 * @param names the names of all options
 * @param ignored further names that are accepted and ignored
 */
export function knownOptions<Options extends object>(
  type: string,
  names: Names<Options>,
  ignored: Readonly<Record<string, true>> = {},
): OptionsCheck<Options> {
  const known = Object.keys(names)
  return (given, name) => {
    if (typeof given !== 'object' || given === null || Array.isArray(given)) {
      throw invalidArgument(name, 'an object', given)
    }
    for (const key of Object.keys(given)) {
      const isKnown = Object.hasOwn(names, key) || Object.hasOwn(ignored, key)
      // An unknown name whose value is `undefined` or `null` is accepted: it would have no effect under the right name either.
      if (!isKnown && ((given as Record<string, unknown>)[key] ?? undefined) !== undefined) {
        throw unknownOption(key, name, known, type)
      }
    }
    return given
  }
}

function unknownOption(key: string, name: string, known: readonly string[], type: string): Error {
  const place = PARAMETERS.has(name) ? '' : `${name}.`
  const nearest = nearestName(key, known)
  const advice = nearest === undefined ? listOf(known, type) : `did you mean '${nearest}'?`
  return contextError(
    'ERR_CONTEXT_INVALID_ARGUMENT',
    `unknown option '${place}${inspect(key).slice(1, -1)}': ${advice}`,
  )
}

function listOf(known: readonly string[], type: string): string {
  if (known.length > MAXIMUM_LISTED) {
    return `see the type ${type} for the known ones`
  }
  return `known ${known.length === 1 ? 'is' : 'are'} ${known.map((name) => `'${name}'`).join(', ')}`
}

export const CANCELLATION: Names<CancellationOptions> = { signal: true }

const cancellationOptions = knownOptions<CancellationOptions>('CancellationOptions', CANCELLATION)

/** Reads the signal from the options of a call that has no other option. */
export function readCancellation(options: CancellationOptions | null | undefined): AbortSignal | undefined {
  return readSignal(optional(options, 'options', cancellationOptions))
}
