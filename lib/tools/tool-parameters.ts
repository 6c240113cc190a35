/** Shared code of the tools for models: checks of parameters, which a model may get wrong, and failures that say to the model what to do. */

import { inspect } from '../arguments/errors.ts'
import type { CancellationOptions } from '../arguments/types.ts'
import type { ToolResult } from './types.ts'

/** An invalid parameter. The message is for the model. */
export class WrongParameters extends Error {}

/** Reads the parameters of a tool: an object with only the given names. */
export function readParameters<T>(
  tool: string,
  parameters: unknown,
  names: readonly (keyof T & string)[],
  example: string,
): { readonly [Name in keyof T]?: unknown } {
  const given = parameters ?? {}
  if (typeof given !== 'object' || Array.isArray(given)) {
    throw new WrongParameters(`The parameters must be an object such as ${example}, not ${inspect(given)}.`)
  }
  const unknown = Object.keys(given).find((key) => !(names as readonly string[]).includes(key))
  if (unknown !== undefined) {
    throw new WrongParameters(`There is no parameter ${inspect(unknown)}: ${tool} takes ${enumerate(names)}.`)
  }
  return given
}

/** Formats a list of names: `"a", "b" and "c"`. */
function enumerate(names: readonly string[]): string {
  const quoted = names.map((name) => `"${name}"`)
  const last = quoted.at(-1)
  return quoted.length === 1 ? `${last} alone` : `${quoted.slice(0, -1).join(', ')} and ${last}`
}

/** Reads a text parameter; `undefined` if it is absent. An empty text is refused. */
export function readText(value: unknown, name: string, example: string, maximum: number): string | undefined {
  if (value === undefined || value === null) {
    return undefined
  }
  if (typeof value !== 'string' || value === '' || value.length > maximum) {
    throw new WrongParameters(
      `${name} must be a text of 1 to ${maximum} characters, such as ${JSON.stringify(example)}, not ${inspect(value)}.`,
    )
  }
  return value
}

/** Reads a whole number within bounds; `undefined` if it is absent. */
export function readWhole(value: unknown, name: string, minimum: number, maximum: number): number | undefined {
  if (value === undefined || value === null) {
    return undefined
  }
  if (!Number.isSafeInteger(value) || (value as number) < minimum || (value as number) > maximum) {
    const upTo = maximum === Number.MAX_SAFE_INTEGER ? 'up' : `to ${maximum}`
    throw new WrongParameters(`${name} must be a whole number from ${minimum} ${upTo}, not ${inspect(value)}.`)
  }
  return value as number
}

/** Reads a boolean parameter; `undefined` if it is absent. */
export function readBoolean(value: unknown, name: string): boolean | undefined {
  if (value === undefined || value === null) {
    return undefined
  }
  if (typeof value !== 'boolean') {
    throw new WrongParameters(`${name} must be true or false, not ${inspect(value)}.`)
  }
  return value
}

/** Runs a tool's work; any error becomes a failed result. */
export async function execute<T>(
  options: CancellationOptions | null | undefined,
  work: (signal: AbortSignal | undefined) => Promise<ToolResult<T>>,
  explain: (error: unknown) => string,
): Promise<ToolResult<T>> {
  const signal = options?.signal ?? undefined
  try {
    signal?.throwIfAborted()
    return await work(signal)
  } catch (error) {
    if (signal?.aborted === true) {
      return failure('The call was cancelled.')
    }
    return failure(error instanceof WrongParameters ? error.message : explain(error))
  }
}

export function failure(message: string): ToolResult<never> {
  return { message, value: null, success: false }
}

/** The message of a thrown value. */
export function reasonOf(error: unknown): string {
  try {
    return String((error as Error).message)
  } catch {
    return 'unknown error'
  }
}
