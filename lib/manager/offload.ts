/** `offload`: tool outputs on their way into a conversation. All are stored; large ones are replaced by placeholders. */

import { Buffer } from 'node:buffer'
import { checkArguments, checkObject, checkTask, checkText, checkWhole, count, optional } from '../arguments/checks.ts'
import { asContextError, inspect, invalidArgument } from '../arguments/errors.ts'
import type { TaskId } from '../arguments/types.ts'
import { textOfBinary } from '../native/binary.ts'
import { debug, type Hooks } from '../native/border.ts'
import { type Encoded, encodeText } from '../native/snapshot.ts'
import { offloadOptions, offloadPolicy } from './option-names.ts'
import type { OffloadedContext, OffloadOptions, OffloadPolicy, ToolOutput } from './retrieval-types.ts'

const DEFAULT_THRESHOLD = 8192
const DEFAULT_PREVIEW_BYTES = 1024

/** What these tools return was stored before: storing it again would only hide it behind another placeholder. */
export const RETRIEVAL_TOOLS: ReadonlySet<string> = new Set([
  'list_contexts',
  'search_contexts',
  'read_context_slice',
  'read_context',
])

/** A policy, complete. */
interface CheckedPolicy {
  readonly threshold: number
  readonly toolThresholds: ReadonlyMap<string, number>
  readonly exemptTools: ReadonlySet<string>
  readonly turnBudget: number
  readonly previewBytes: number
}

/** An output as a caller gives it. */
type GivenOutput = Omit<ToolOutput, 'options'> & { options?: OffloadOptions | null | undefined }

/** An output, checked, with its text. */
interface Output {
  readonly toolName: string
  readonly args: Record<string, unknown>
  readonly result: unknown
  readonly taskId: TaskId | undefined
  readonly queryId: string | undefined
  readonly threshold: number
  readonly text: string
  readonly sizeBytes: number
  /** The text, ready to cross, when it is not the result itself. */
  readonly encoded: Encoded | undefined
  /** Why there is no text. */
  readonly unreadable: Error | undefined
}

/** What the native side says of an output that it stored. */
interface Stored {
  readonly path: string
  readonly handle: string
  readonly placeholder: string | null
}

type Outcome = Stored | { readonly error: Error }

/** Asks a save for a handle, and with `previewBytes` for a placeholder. */
export interface OffloadRequest {
  readonly encoded: Encoded | undefined
  readonly previewBytes: number | undefined
}

/** Saves an output; gives `Stored` as JSON. */
type Save = (
  toolName: string,
  args: Record<string, unknown>,
  result: unknown,
  taskId: TaskId | undefined,
  queryId: string | undefined,
  request: OffloadRequest,
) => Promise<string>

/** Offloads outputs for a manager. */
export class Offloading {
  readonly #hooks: Hooks
  readonly #policy: CheckedPolicy
  readonly #save: Save

  constructor(hooks: Hooks, policy: OffloadPolicy | null | undefined, save: Save) {
    this.#hooks = hooks
    this.#policy = checkPolicy(optional(policy, 'offload', offloadPolicy) ?? {})
    this.#save = save
  }

  async offload<T>(
    toolName: string,
    args: Record<string, unknown>,
    result: T,
    options: OffloadOptions | null | undefined,
  ): Promise<OffloadedContext<T>> {
    const [offloaded] = await this.#offload(
      [this.#read({ toolName, args, result, options }, '')],
      Number.POSITIVE_INFINITY,
    )
    return offloaded as OffloadedContext<T>
  }

  async offloadAll(outputs: readonly ToolOutput[]): Promise<OffloadedContext[]> {
    if (!Array.isArray(outputs)) {
      throw invalidArgument('outputs', 'an array of tool outputs', outputs)
    }
    // All are read before the first is stored: a wrong one leaves nothing behind.
    const read = Array.from(outputs, (output, index) =>
      this.#read(checkObject(output, `outputs[${index}]`), `outputs[${index}].`),
    )
    return this.#offload(read, this.#policy.turnBudget)
  }

  async #offload(outputs: readonly Output[], budget: number): Promise<OffloadedContext[]> {
    const isWithinBudget = total(outputs.map(({ sizeBytes }) => sizeBytes)) <= budget
    const outcomes = await Promise.all(
      outputs.map((output) => {
        const isMeant = !this.#isExempt(output) && (isLarge(output) || !isWithinBudget)
        return this.#store(output, isMeant ? this.#policy.previewBytes : undefined)
      }),
    )
    const isOffloaded = choose(outputs, outcomes, budget)
    return outputs.map((output, index) => settle(output, outcomes[index], isOffloaded[index] === true))
  }

  #isExempt({ toolName }: Output): boolean {
    return this.#policy.exemptTools.has(toolName)
  }

  /** Stores an output, whatever comes of it; `undefined` when it is not meant to be stored. */
  async #store(output: Output, previewBytes: number | undefined): Promise<Outcome | undefined> {
    const { toolName, args, result, taskId, queryId, encoded, unreadable } = output
    if (RETRIEVAL_TOOLS.has(toolName)) {
      return undefined
    }
    try {
      if (unreadable !== undefined) {
        throw unreadable
      }
      return JSON.parse(await this.#save(toolName, args, result, taskId, queryId, { encoded, previewBytes })) as Stored
    } catch (thrown) {
      const error = asContextError(thrown, 'offload', 'arguments') as Error
      debug(this.#hooks, 'Failed to store an output: it stays in the conversation', { toolName, error })
      return { error }
    }
  }

  #read(given: GivenOutput, prefix: string): Output {
    const { toolName, args, result } = given
    checkText(toolName, `${prefix}toolName`)
    checkArguments(args, `${prefix}args`)
    const options = optional(given.options, `${prefix}options`, offloadOptions) ?? {}
    const optionName = prefix === '' ? '' : `${prefix}options.`
    const queryId = options.queryId ?? undefined
    optional(queryId, `${optionName}queryId`, checkText)
    const { toolThresholds, threshold } = this.#policy
    return {
      toolName,
      args,
      result,
      taskId: optional(options.taskId, `${optionName}taskId`, checkTask),
      queryId,
      threshold: count(options.threshold, `${optionName}threshold`, toolThresholds.get(toolName) ?? threshold),
      ...textOf(toolName, result),
    }
  }
}

/** The text of a result: a string and binary data that is text as they are, anything else as JSON. */
function textOf(toolName: string, result: unknown): Pick<Output, 'text' | 'sizeBytes' | 'encoded' | 'unreadable'> {
  const whole = typeof result === 'object' && result !== null ? textOfBinary(result) : result
  if (typeof whole === 'string') {
    return { text: whole, sizeBytes: Buffer.byteLength(whole), encoded: undefined, unreadable: undefined }
  }
  try {
    const encoded = encodeText(result)
    return { text: encoded.text, sizeBytes: Buffer.byteLength(encoded.text), encoded, unreadable: undefined }
  } catch (thrown) {
    // No string can hold its JSON.
    const unreadable = asContextError(thrown, 'offload', 'result') as Error
    const text = `[The output of ${inspect(toolName)} is too large to be shown: ask the tool for less of it.]`
    return { text, sizeBytes: Buffer.byteLength(text), encoded: undefined, unreadable }
  }
}

function isLarge({ sizeBytes, threshold }: Output): boolean {
  return sizeBytes >= threshold
}

/** Which outputs are replaced: the large ones, and then the largest, until all fit into the budget. */
function choose(outputs: readonly Output[], outcomes: readonly (Outcome | undefined)[], budget: number): boolean[] {
  const placeholderBytes = outcomes.map(bytesOfPlaceholder)
  // A placeholder that takes more than the output helps nobody.
  const isShorter = outputs.map(({ sizeBytes }, index) => (placeholderBytes[index] as number) < sizeBytes)
  const isOffloaded = outputs.map((output, index) => isLarge(output) && isShorter[index] === true)
  let bytes = total(
    outputs.map(({ sizeBytes }, index) => (isOffloaded[index] ? (placeholderBytes[index] as number) : sizeBytes)),
  )
  const largestFirst = [...outputs.keys()]
    .filter((index) => isShorter[index] && !isOffloaded[index])
    .sort((one, other) => (outputs[other] as Output).sizeBytes - (outputs[one] as Output).sizeBytes)
  for (const index of largestFirst) {
    if (bytes <= budget) {
      break
    }
    isOffloaded[index] = true
    bytes += (placeholderBytes[index] as number) - (outputs[index] as Output).sizeBytes
  }
  return isOffloaded
}

/** `Infinity` where there is none. */
function bytesOfPlaceholder(outcome: Outcome | undefined): number {
  const placeholder = outcome !== undefined && 'placeholder' in outcome ? outcome.placeholder : null
  return placeholder === null ? Number.POSITIVE_INFINITY : Buffer.byteLength(placeholder)
}

function settle(output: Output, outcome: Outcome | undefined, isOffloaded: boolean): OffloadedContext {
  const { text, sizeBytes, result } = output
  if (outcome === undefined) {
    return { text, isOffloaded: false, sizeBytes, result }
  }
  if ('error' in outcome) {
    return { text, isOffloaded: false, sizeBytes, result, error: outcome.error }
  }
  const { path: filepath, handle, placeholder } = outcome
  if (isOffloaded && placeholder !== null) {
    return { text: placeholder, isOffloaded: true, filepath, handle, sizeBytes }
  }
  return { text, isOffloaded: false, filepath, handle, sizeBytes, result }
}

function total(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0)
}

function checkPolicy(policy: OffloadPolicy): CheckedPolicy {
  const thresholds = Object.entries(optional(policy.toolThresholds, 'offload.toolThresholds', checkObject) ?? {})
  const exemptTools = policy.exemptTools ?? []
  if (!Array.isArray(exemptTools) || exemptTools.some((name) => typeof name !== 'string')) {
    throw invalidArgument('offload.exemptTools', 'an array of names', policy.exemptTools)
  }
  return {
    threshold: count(policy.threshold, 'offload.threshold', DEFAULT_THRESHOLD),
    toolThresholds: new Map(
      thresholds.map(([name, threshold]) => [
        name,
        count(threshold, `offload.toolThresholds.${name}`, DEFAULT_THRESHOLD),
      ]),
    ),
    exemptTools: new Set(exemptTools),
    turnBudget: count(policy.turnBudget, 'offload.turnBudget', Number.POSITIVE_INFINITY),
    previewBytes: optional(policy.previewBytes, 'offload.previewBytes', checkWhole) ?? DEFAULT_PREVIEW_BYTES,
  }
}
