/** The checked policy of offloading. It decides which outputs are large, and which are replaced to meet a budget. */

import { Buffer } from 'node:buffer'
import { checkBoolean, checkFunction, checkObject, checkWhole, count, optional } from '../arguments/checks.ts'
import { invalidArgument } from '../arguments/errors.ts'
import type { CheckedOffload } from './offload-options.ts'
import type { OffloadPolicy } from './offload-types.ts'
import { offloadPolicy } from './option-names.ts'
import { bytesOfTokens, type CountTokens, countTokensOf } from './token-counts.ts'
import { checkPrefix } from './tool-names.ts'

const DEFAULT_THRESHOLD = 8192
const DEFAULT_PREVIEW_BYTES = 1024

/** The size from which a text is large, in bytes or tokens. */
export interface Threshold {
  readonly unit: 'bytes' | 'tokens'
  readonly least: number
}

/** A checked policy with all defaults. */
export class CheckedPolicy {
  readonly exemptTools: ReadonlySet<string>
  readonly previewBytes: number
  readonly prefix: string
  readonly showsRaw: boolean
  /** The budget of all outputs of a turn together. */
  readonly turn: Threshold
  readonly #threshold: Threshold
  readonly #toolThresholds: ReadonlyMap<string, number>
  readonly #countTokens: CountTokens | undefined

  constructor(given: OffloadPolicy | null | undefined) {
    const policy = optional(given, 'offload', offloadPolicy) ?? {}
    const exemptTools = policy.exemptTools ?? []
    if (!Array.isArray(exemptTools) || exemptTools.some((name) => typeof name !== 'string')) {
      throw invalidArgument('offload.exemptTools', 'an array of names', policy.exemptTools)
    }
    this.exemptTools = new Set(exemptTools)
    const previewBytes = optional(policy.previewBytes, 'offload.previewBytes', checkWhole)
    const previewTokens = optional(policy.previewTokens, 'offload.previewTokens', checkWhole)
    this.previewBytes =
      previewTokens === undefined ? (previewBytes ?? DEFAULT_PREVIEW_BYTES) : bytesOfTokens(previewTokens)
    this.prefix = optional(policy.prefix, 'offload.prefix', checkPrefix) ?? ''
    this.showsRaw = !(optional(policy.redactPlaceholders, 'offload.redactPlaceholders', checkBoolean) ?? true)
    this.#countTokens = optional(policy.countTokens, 'offload.countTokens', checkFunction)
    const threshold = count(policy.threshold, 'offload.threshold', DEFAULT_THRESHOLD)
    this.#threshold = inTokens(policy.maxTokens, 'offload.maxTokens') ?? { unit: 'bytes', least: threshold }
    const thresholds = Object.entries(optional(policy.toolThresholds, 'offload.toolThresholds', checkObject) ?? {})
    this.#toolThresholds = new Map(
      thresholds.map(([name, least]) => [name, count(least, `offload.toolThresholds.${name}`, DEFAULT_THRESHOLD)]),
    )
    const turnBudget = count(policy.turnBudget, 'offload.turnBudget', Number.POSITIVE_INFINITY)
    this.turn = inTokens(policy.turnTokens, 'offload.turnTokens') ?? { unit: 'bytes', least: turnBudget }
  }

  /** The size from which an output of a tool is large. */
  thresholdOf(toolName: string, { threshold, maxTokens }: CheckedOffload): Threshold {
    if (maxTokens !== undefined) {
      return { unit: 'tokens', least: maxTokens }
    }
    const least = threshold ?? this.#toolThresholds.get(toolName)
    return least === undefined ? this.#threshold : { unit: 'bytes', least }
  }

  /** The size of a text. */
  sizeOf(text: string, unit: Threshold['unit']): number {
    return unit === 'bytes' ? Buffer.byteLength(text) : countTokensOf(text, this.#countTokens)
  }

  isLarge(text: string, { unit, least }: Threshold): boolean {
    // Compares the length first, because most texts are short in either unit and counting tokens is expensive.
    return least === Number.POSITIVE_INFINITY ? false : this.sizeOf(text, unit) >= least
  }
}

function inTokens(tokens: number | null | undefined, name: string): Threshold | undefined {
  return optional(tokens, name, (value) => ({ unit: 'tokens', least: count(value, name, 0) }) as const)
}

/** The sizes of an output in the conversation: unchanged, and as a placeholder (`Infinity` if there is none). */
export interface Sizes {
  readonly whole: number
  readonly replaced: number
  readonly isLarge: boolean
}

/** Chooses the outputs to replace: the large ones, and then the largest of the others until all fit into the budget. */
export function choose(sizes: readonly Sizes[], budget: number): boolean[] {
  // A placeholder that is longer than the output is not used.
  const isShorter = sizes.map(({ whole, replaced }) => replaced < whole)
  const isReplaced = sizes.map(({ isLarge }, index) => isLarge && isShorter[index] === true)
  let total = sum(sizes.map(({ whole, replaced }, index) => (isReplaced[index] ? replaced : whole)))
  const largestFirst = [...sizes.entries()]
    .filter(([index]) => isShorter[index] && !isReplaced[index])
    .sort(([, one], [, other]) => other.whole - one.whole)
  for (const [index, { whole, replaced }] of largestFirst) {
    if (total <= budget) {
      break
    }
    isReplaced[index] = true
    total += replaced - whole
  }
  return isReplaced
}

export function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
