/** Checks the options of embeddings. */

import { checkFilled, checkFunction, count, optional } from '../arguments/checks.ts'
import { invalidArgument } from '../arguments/errors.ts'
import { embedderOptions } from './option-names.ts'
import type { Embed, Embedder, EmbedOptions } from './types.ts'

const DEFAULT_TIMEOUT = 10_000

export interface CheckedEmbedder {
  /** `undefined` for a function without a model's name. */
  readonly model: string | undefined
  readonly embed: Embed
  /** The timeout of each call of `embed`, in ms. */
  readonly timeout: number
}

/** Checks `embed` and `embedTimeout`; `undefined` without `embed`. `prefix` precedes their names in messages. */
export function checkEmbedder({ embed, embedTimeout }: EmbedOptions, prefix: string): CheckedEmbedder | undefined {
  const timeout = count(embedTimeout, `${prefix}embedTimeout`, DEFAULT_TIMEOUT)
  const given = optional(embed, `${prefix}embed`, checkModel)
  return given === undefined ? undefined : { ...given, timeout }
}

function checkModel(embed: Embed | Embedder, name: string): Omit<CheckedEmbedder, 'timeout'> {
  if (typeof embed === 'function') {
    return { model: undefined, embed }
  }
  if (typeof embed !== 'object') {
    throw invalidArgument(name, 'a function, or { model, embed }', embed)
  }
  const given = embedderOptions(embed, name)
  return {
    model: checkFilled(given.model, `${name}.model`),
    embed: checkFunction(given.embed, `${name}.embed`),
  }
}
