/** `offloadValue`: replaces long texts in a value by placeholders and keeps the value's shape. */

import { Buffer } from 'node:buffer'
import { checkArguments, checkText, optional } from '../arguments/checks.ts'
import { asContextError, invalidArgument } from '../arguments/errors.ts'
import { debug, type Hooks } from '../native/border.ts'
import { encodeText } from '../native/snapshot.ts'
import { TakenBytes } from '../native/taken-bytes.ts'
import type { AnswerMarks } from './answer-marks.ts'
import { blockOf, isMediaData, isReferenced } from './media-blocks.ts'
import { readOffloadOptions } from './offload-options.ts'
import { type CheckedPolicy, choose, sum, type Threshold } from './offload-policy.ts'
import type { OffloadedValue, OffloadValueOptions } from './offload-types.ts'
import { offloadValueOptions } from './option-names.ts'
import type { SaveStored, Stored } from './save-request.ts'
import { isRetrievalTool } from './tool-names.ts'
import { type BytesLeaf, type Leaf, leavesOf, type Place, replaceAt, type Step } from './value-leaves.ts'

/** The length of the shortest placeholder, in UTF-16 code units. */
const LEAST_REPLACED = 400
/** The size of all previews of a value together, as a multiple of `previewBytes`. Each preview has at least `LEAST_PREVIEW` bytes. */
const PREVIEWS = 4
const LEAST_PREVIEW = 100

/** A part of the value that is replaced. */
interface Replacement {
  readonly steps: readonly Step[]
  readonly value: unknown
}

/** Offloads values for a manager. */
export class ValueOffloading {
  readonly #hooks: Hooks
  readonly #policy: CheckedPolicy
  readonly #marks: AnswerMarks
  readonly #save: SaveStored

  constructor(hooks: Hooks, policy: CheckedPolicy, marks: AnswerMarks, save: SaveStored) {
    this.#hooks = hooks
    this.#policy = policy
    this.#marks = marks
    this.#save = save
  }

  async offload<T>(
    toolName: string,
    args: Record<string, unknown>,
    value: T,
    given: OffloadValueOptions | null | undefined,
  ): Promise<OffloadedValue<T>> {
    checkText(toolName, 'toolName')
    checkArguments(args, 'args')
    const { blocks, ...rest } = optional(given, 'options', offloadValueOptions) ?? {}
    const refersToMedia = (optional(blocks, 'blocks', checkBlocks) ?? 'keep') === 'reference'
    const options = readOffloadOptions(rest, 'options', '')
    options.signal?.throwIfAborted()
    const prefix = options.prefix ?? this.#policy.prefix
    const threshold = this.#policy.thresholdOf(toolName, options)
    let sizeBytes = 0
    try {
      const encoded = encodeText(value, new TakenBytes(options.saved?.mediaType ?? undefined))
      // The encoded text of a string is the string itself, which the native side quotes.
      const json = typeof value === 'string' ? JSON.stringify(value) : encoded.text
      sizeBytes = Buffer.byteLength(json) + (encoded.taken?.size ?? 0)
      const leaves = leavesOf(value)
      const isOwn =
        isRetrievalTool(toolName, prefix) || (this.#marks.mayBeAnswer(json) && (await this.#marks.isAnswer(json)))
      if (isOwn) {
        return { value, isOffloaded: false, sizeBytes, shownBytes: sizeBytes }
      }
      const isExempt = this.#policy.exemptTools.has(toolName)
      const candidates = isExempt ? [] : await this.#candidates(json, leaves.texts, threshold)
      const previewBytes = Math.min(
        this.#policy.previewBytes,
        Math.max(LEAST_PREVIEW, Math.floor((PREVIEWS * this.#policy.previewBytes) / Math.max(1, candidates.length))),
      )
      const stored = await this.#save(toolName, args, value, options.taskId, options.queryId, {
        encoded: typeof value === 'string' ? undefined : encoded,
        saved: options.saved,
        shown: {
          previewBytes: undefined,
          kind: options.kind,
          prefix,
          showsRaw: this.#policy.showsRaw,
          leaves: candidates.map((leaf) => ({ steps: leaf.steps, path: leaf.path, previewBytes })),
        },
      })
      const { path, handle, leaves: placeholders } = stored
      const replacements = [
        ...this.#texts(json, candidates, placeholders, threshold),
        ...(refersToMedia && !isExempt ? references(leaves, stored, prefix) : []),
      ]
      const shown = replaceAt(value, replacements) as T
      const shownBytes = replacements.length === 0 ? sizeBytes : sizeOf(shown)
      return { value: shown, isOffloaded: replacements.length > 0, filepath: path, handle, sizeBytes, shownBytes }
    } catch (thrown) {
      const error = asContextError(thrown, 'offloadValue', 'value') as Error
      debug(this.#hooks, 'Failed to store a value: it stays in the conversation', { toolName, error })
      return { value, isOffloaded: false, sizeBytes, shownBytes: sizeBytes, error }
    }
  }

  /** The texts that may be replaced, if the value is large. */
  async #candidates(json: string, leaves: readonly Leaf[], threshold: Threshold): Promise<Leaf[]> {
    if (!this.#policy.isLarge(json, threshold)) {
      return []
    }
    const long = leaves.filter((leaf) => leaf.text.length >= LEAST_REPLACED && !isMediaData(leaf))
    const isAnswer = await Promise.all(long.map(({ text }) => this.#marks.isAnswer(text)))
    return long.filter((_, index) => isAnswer[index] === false)
  }

  /** Chooses the texts to replace: the long ones, and then the longest of the others until the value is not large any more. */
  #texts(
    json: string,
    candidates: readonly Leaf[],
    placeholders: readonly (string | null)[],
    threshold: Threshold,
  ): Replacement[] {
    if (candidates.length === 0) {
      return []
    }
    const { unit, least } = threshold
    const sizes = candidates.map(({ text }, index) => {
      const placeholder = placeholders[index] ?? null
      return {
        whole: this.#policy.sizeOf(text, unit),
        replaced: placeholder === null ? Number.POSITIVE_INFINITY : this.#policy.sizeOf(placeholder, unit),
        isLarge: this.#policy.isLarge(text, threshold),
      }
    })
    const others = this.#policy.sizeOf(json, unit) - sum(sizes.map(({ whole }) => whole))
    const isReplaced = choose(sizes, least - others)
    return candidates.flatMap(({ steps }, index) =>
      isReplaced[index] === true ? [{ steps, value: placeholders[index] }] : [],
    )
  }
}

/** Builds the replacements of binary data: text blocks for blocks with data, and texts for bytes outside of blocks. */
function references(leaves: ReturnType<typeof leavesOf>, { parts, handle }: Stored, prefix: string): Replacement[] {
  const descriptions = new Map(parts)
  function textOf({ steps, path }: Place, otherwise: string): string {
    const call = `${prefix}read_context_slice(${JSON.stringify({ id: handle, json_path: path })})`
    const description = descriptions.get(JSON.stringify(steps)) ?? otherwise
    return `[${description}, stored as ${handle} at ${path}. Read its base64 with ${call}]`
  }
  const ofTexts = leaves.texts.filter(isMediaData).flatMap((leaf): Replacement[] => {
    const block = isReferenced(leaf.text.length) ? blockOf(leaf) : undefined
    const text = textOf(leaf, `${leaf.text.length} characters of base64`)
    return block === undefined ? [] : [{ steps: block.steps, value: { type: block.textType, text } }]
  })
  const ofBytes = leaves.bytes.flatMap((leaf: BytesLeaf): Replacement[] => {
    const block = blockOf(leaf)
    const text = textOf(leaf, `${leaf.bytes.length} bytes`)
    return isReferenced((leaf.bytes.length * 4) / 3)
      ? [
          block === undefined
            ? { steps: leaf.steps, value: text }
            : { steps: block.steps, value: { type: block.textType, text } },
        ]
      : []
  })
  return [...ofTexts, ...ofBytes]
}

function sizeOf(value: unknown): number {
  const { text, taken } = encodeText(value, new TakenBytes())
  return Buffer.byteLength(text) + (taken?.size ?? 0)
}

function checkBlocks(blocks: 'keep' | 'reference', name: string): 'keep' | 'reference' {
  if (blocks !== 'keep' && blocks !== 'reference') {
    throw invalidArgument(name, "'keep' or 'reference'", blocks)
  }
  return blocks
}
