/** `offload`: stores tool outputs, and replaces large ones by placeholders in the conversation. */

import { Buffer } from 'node:buffer'
import { checkArguments, checkObject, checkText, checkWhole, optional } from '../arguments/checks.ts'
import { asContextError, inspect, invalidArgument } from '../arguments/errors.ts'
import { textOfBinary } from '../native/binary.ts'
import { debug, type Hooks } from '../native/border.ts'
import { type Encoded, encodeText } from '../native/snapshot.ts'
import { TakenBytes } from '../native/taken-bytes.ts'
import type { AnswerMarks } from './answer-marks.ts'
import { type CheckedOffload, readOffloadOptions } from './offload-options.ts'
import { type CheckedPolicy, choose, sum, type Threshold } from './offload-policy.ts'
import type { OffloadAllOptions, OffloadedContext, OffloadOptions, ToolOutput } from './offload-types.ts'
import { offloadAllOptions } from './option-names.ts'
import { arrival, isPending } from './pending-values.ts'
import type { SaveStored, Stored } from './save-request.ts'
import type { Saving } from './saving.ts'
import type { SpooledStream } from './spooled-stream.ts'
import type { LongStreams } from './stream-keeper.ts'
import { isRetrievalTool } from './tool-names.ts'

const DEFAULT_START = 0.6
const DEFAULT_WINDOW = 200_000
const NO_BUDGET: Threshold = { unit: 'bytes', least: Number.POSITIVE_INFINITY }

/** An output as the caller passed it. */
type GivenOutput = Omit<ToolOutput, 'options'> & { options?: OffloadOptions | null | undefined }

/** A checked output with its text. */
interface Output {
  readonly toolName: string
  readonly args: Record<string, unknown>
  readonly result: unknown
  readonly options: CheckedOffload
  readonly threshold: Threshold
  readonly text: string
  /** The size of the text and of binary data that the text does not show. */
  readonly sizeBytes: number
  /** The size of binary data that the text does not show. */
  readonly hiddenBytes: number
  /** The encoded text, if it is not the result itself. */
  readonly encoded: Encoded | undefined
  /** The error because of which there is no text. */
  readonly unreadable: Error | undefined
  /** The output (or its member `body`) if it is a stream in temporary files; there is no text then. */
  readonly spooled?: SpooledStream | undefined
}

type Outcome = Stored | { readonly error: Error }

/** Offloads outputs for a manager. */
export class Offloading {
  readonly policy: CheckedPolicy
  readonly #hooks: Hooks
  readonly #marks: AnswerMarks
  readonly #save: SaveStored
  readonly #maxBytes: number
  readonly #long: LongStreams | undefined

  /** @param maxBytes the largest size of a stream's stored part */
  constructor(hooks: Hooks, policy: CheckedPolicy, marks: AnswerMarks, saving: Saving, maxBytes: number) {
    this.#maxBytes = maxBytes
    this.#long = saving.longStreams
    this.policy = policy
    this.#hooks = hooks
    this.#marks = marks
    this.#save = saving.saveStored
  }

  async offload<T>(
    toolName: string,
    args: Record<string, unknown>,
    result: T,
    options: OffloadOptions | null | undefined,
  ): Promise<OffloadedContext<T>> {
    const given = { toolName, args, result, options }
    const output = isPending(result) ? await this.#readArriving(given, '', true) : this.#read(given, '')
    output.options.signal?.throwIfAborted()
    const [offloaded] = await this.#offload([output], NO_BUDGET, true)
    return offloaded as OffloadedContext<T>
  }

  async offloadAll(
    outputs: readonly ToolOutput[],
    options: OffloadAllOptions | null | undefined,
  ): Promise<OffloadedContext[]> {
    if (!Array.isArray(outputs)) {
      throw invalidArgument('outputs', 'an array of tool outputs', outputs)
    }
    const room = readRoom(options)
    // All outputs are checked before the first one is stored, so that an invalid one causes no partial save.
    const given = Array.from(outputs, (output, index) => checkObject(output, `outputs[${index}]`))
    const read = given.some(({ result }) => isPending(result))
      ? await Promise.all(
          given.map((output, index) => this.#readArriving(output, `outputs[${index}].`, room === undefined)),
        )
      : given.map((output, index) => this.#read(output, `outputs[${index}].`))
    for (const { options } of read) {
      options.signal?.throwIfAborted()
    }
    const isFull = room === undefined || sum(read.map(({ text }) => this.policy.sizeOf(text, 'tokens'))) >= room
    return this.#offload(read, this.policy.turn, isFull)
  }

  async #offload(outputs: readonly Output[], budget: Threshold, mayReplace: boolean): Promise<OffloadedContext[]> {
    const sizes = outputs.map(({ text, hiddenBytes, threshold, spooled }) => ({
      whole:
        sizeOfBytes(hiddenBytes, budget.unit) +
        (budget.least === Number.POSITIVE_INFINITY ? Buffer.byteLength(text) : this.policy.sizeOf(text, budget.unit)),
      isLarge: mayReplace && (spooled !== undefined || this.#isLarge(text, hiddenBytes, threshold)),
    }))
    const isWithinBudget = sum(sizes.map(({ whole }) => whole)) <= budget.least
    const outcomes = await Promise.all(
      outputs.map((output, index) => {
        const isMeant = mayReplace && (sizes[index]?.isLarge === true || !isWithinBudget)
        const mayGiveWay = isMeant && !this.policy.exemptTools.has(output.toolName)
        return this.#store(output, mayGiveWay, mayGiveWay && sizes[index]?.isLarge === true)
      }),
    )
    const isReplaced = choose(
      sizes.map(({ whole, isLarge }, index) => {
        const placeholder = placeholderOf(outcomes[index])
        const replaced = placeholder === null ? Number.POSITIVE_INFINITY : this.policy.sizeOf(placeholder, budget.unit)
        return { whole, isLarge, replaced }
      }),
      mayReplace ? budget.least : Number.POSITIVE_INFINITY,
    )
    return outputs.map((output, index) => settle(output, outcomes[index], isReplaced[index] === true))
  }

  #isLarge(text: string, hiddenBytes: number, threshold: Threshold): boolean {
    return sizeOfBytes(hiddenBytes, threshold.unit) >= threshold.least || this.policy.isLarge(text, threshold)
  }

  /**
   * Stores an output and returns the result or the error; `undefined` if it is not to be stored.
   *
   * @param isMeant whether the output may be replaced by a placeholder
   * @param isCertain whether the output is replaced if the placeholder is shorter
   */
  async #store(output: Output, isMeant: boolean, isCertain: boolean): Promise<Outcome | undefined> {
    const { toolName, args, result, options, encoded, unreadable, text, spooled, sizeBytes } = output
    const { kind, saved } = options
    const prefix = options.prefix ?? this.policy.prefix
    if (isRetrievalTool(toolName, prefix)) {
      return undefined
    }
    try {
      if (unreadable !== undefined) {
        throw unreadable
      }
      if (this.#marks.mayBeAnswer(text) && (await this.#marks.isAnswer(text))) {
        return undefined
      }
      return await this.#save(toolName, args, result, options.taskId, options.queryId, {
        encoded,
        spooled,
        saved,
        shown: {
          previewBytes: isMeant ? this.policy.previewBytes : undefined,
          kind,
          prefix,
          showsRaw: this.policy.showsRaw,
          outputBytes: isCertain ? sizeBytes : undefined,
        },
      })
    } catch (thrown) {
      const error = asContextError(thrown, 'offload', 'arguments') as Error
      debug(this.#hooks, 'Failed to store an output: it stays in the conversation', { toolName, error })
      return { error }
    }
  }

  /** Waits for an output that is a promise or a stream. An invalid option rejects before. */
  async #readArriving(given: GivenOutput, prefix: string, mayReplace: boolean): Promise<Output> {
    const empty = this.#read({ ...given, result: '' }, prefix)
    empty.options.signal?.throwIfAborted()
    const long = mayReplace ? this.#longStreams(empty) : undefined
    const arrived = await arrival(given.result, this.#maxBytes, empty.options.signal, long)
    const { result, isCut, outcome, mediaType, spooled, lost } = arrived
    if (lost !== undefined) {
      const text = lostText(given.toolName)
      return { ...empty, result: undefined, text, unreadable: asContextError(lost.error, 'offload', 'result') as Error }
    }
    const typed = mediaType === undefined ? {} : { options: { mediaType, ...given.options } }
    const whole = this.#read({ ...given, ...typed, result: spooled === undefined ? result : '' }, prefix)
    const read = spooled === undefined ? whole : { ...whole, result, spooled, ...sizesOf(spooled) }
    const saved = { ...read.options.saved, ...outcome, cut: isCut }
    // The read part of a stream is stored even if the signal ended the stream.
    return isCut ? { ...read, options: { ...read.options, saved, signal: undefined } } : read
  }

  /**
   * The options for keeping a long stream in files. This is possible if the stream is certain to be replaced, because its text is
   * not needed then.
   */
  #longStreams({ toolName, options, threshold }: Output): LongStreams | undefined {
    const isRetrieval = isRetrievalTool(toolName, options.prefix ?? this.policy.prefix)
    if (this.#long === undefined || isRetrieval || this.policy.exemptTools.has(toolName) || this.policy.showsRaw) {
      return undefined
    }
    const mayOpen = (soFar: unknown): boolean => {
      const { text, hiddenBytes } = textOf(toolName, soFar, options.saved?.mediaType)
      return this.#isLarge(text, hiddenBytes, threshold)
    }
    return { ...this.#long, mayOpen }
  }

  #read(given: GivenOutput, prefix: string): Output {
    const { toolName, args, result } = given
    checkText(toolName, `${prefix}toolName`)
    checkArguments(args, `${prefix}args`)
    const optionName = prefix === '' ? '' : `${prefix}options.`
    const options = readOffloadOptions(given.options, `${prefix}options`, optionName)
    const threshold = this.policy.thresholdOf(toolName, options)
    return { toolName, args, result, options, threshold, ...textOf(toolName, result, options.saved?.mediaType) }
  }
}

/** The number of tokens that outputs may take before they are offloaded; `undefined` without this limit. */
function readRoom(options: OffloadAllOptions | null | undefined): number | undefined {
  const { contextTokens, startAt, window } = optional(options, 'options', offloadAllOptions) ?? {}
  const used = optional(contextTokens, 'contextTokens', checkWhole)
  const share = optional(startAt, 'startAt', checkShare)
  const whole = optional(window, 'window', checkWhole)
  if (used === undefined) {
    if (share !== undefined || whole !== undefined) {
      throw invalidArgument('contextTokens', 'the tokens of the conversation, beside startAt and window', contextTokens)
    }
    return undefined
  }
  return (share ?? DEFAULT_START) * (whole ?? DEFAULT_WINDOW) - used
}

function checkShare(value: number, name: string): number {
  if (!(typeof value === 'number' && value >= 0 && value <= 1)) {
    throw invalidArgument(name, 'a number from 0 to 1', value)
  }
  return value
}

/** The text of a result: a string, or binary data that is text, unchanged; any other value as JSON. */
function textOf(
  toolName: string,
  result: unknown,
  mediaType: string | null | undefined,
): Pick<Output, 'text' | 'sizeBytes' | 'hiddenBytes' | 'encoded' | 'unreadable'> {
  const whole = typeof result === 'object' && result !== null ? textOfBinary(result) : result
  if (typeof whole === 'string') {
    const sizeBytes = Buffer.byteLength(whole)
    return { text: whole, sizeBytes, hiddenBytes: 0, encoded: undefined, unreadable: undefined }
  }
  try {
    const encoded = encodeText(result, new TakenBytes(mediaType ?? undefined))
    const hiddenBytes = encoded.taken?.size ?? 0
    // The description of a result that consists only of bytes has no quotes.
    const json = encoded.taken?.shown(encoded.text) ?? encoded.text
    const text = json.startsWith('"') ? (JSON.parse(json) as string) : json
    return { text, sizeBytes: Buffer.byteLength(text) + hiddenBytes, hiddenBytes, encoded, unreadable: undefined }
  } catch (thrown) {
    // The JSON is longer than a string can be.
    const unreadable = asContextError(thrown, 'offload', 'result') as Error
    const text = `[The output of ${inspect(toolName)} is too large to be shown: ask the tool for less of it.]`
    return { text, sizeBytes: Buffer.byteLength(text), hiddenBytes: 0, encoded: undefined, unreadable }
  }
}

/** The text in place of a stream that was read and could not be stored. */
function lostText(toolName: string): string {
  return `[The output of ${inspect(toolName)} was a stream that could not be stored: run the tool again.]`
}

/** The sizes of a stream in temporary files. */
function sizesOf({ bytes }: SpooledStream): Pick<Output, 'sizeBytes' | 'hiddenBytes'> {
  return { sizeBytes: bytes, hiddenBytes: bytes }
}

/** The size of bytes; in tokens, that of their base64, which has four characters for three bytes. */
function sizeOfBytes(bytes: number, unit: Threshold['unit']): number {
  return unit === 'tokens' ? Math.ceil(bytes / 3) : bytes
}

function placeholderOf(outcome: Outcome | undefined): string | null {
  return outcome !== undefined && 'placeholder' in outcome ? outcome.placeholder : null
}

function settle(output: Output, outcome: Outcome | undefined, isReplaced: boolean): OffloadedContext {
  const { text, sizeBytes, result, spooled } = output
  if (outcome === undefined) {
    return { text, isOffloaded: false, sizeBytes, result }
  }
  if ('error' in outcome && spooled !== undefined) {
    return { text: lostText(output.toolName), isOffloaded: false, sizeBytes, result: undefined, error: outcome.error }
  }
  if ('error' in outcome) {
    return { text, isOffloaded: false, sizeBytes, result, error: outcome.error }
  }
  const { path: filepath, handle, placeholder } = outcome
  if (placeholder !== null && (isReplaced || spooled !== undefined)) {
    return { text: placeholder, isOffloaded: true, filepath, handle, sizeBytes: outcome.streamBytes ?? sizeBytes }
  }
  return { text, isOffloaded: false, filepath, handle, sizeBytes, result }
}
