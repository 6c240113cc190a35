/** The details of a save besides a call's arguments and result. */

import { checkBoolean, checkText, optional } from '../arguments/checks.ts'
import { invalidArgument } from '../arguments/errors.ts'
import { debug, type Hooks } from '../native/border.ts'
import { asText } from '../tools/tool-response.ts'
import { checkMediaType } from './offload-options.ts'
import type { ContextKind } from './offload-types.ts'
import type { ContextManagerOptions, SaveOptions, ToolOutcome } from './types.ts'

/** The placeholders that a save is to return, in the form for the native side. */
export interface ShownRequest {
  /** The preview size in bytes of the placeholder for the whole output; `undefined` for no such placeholder. */
  readonly previewBytes: number | undefined
  readonly kind: ContextKind
  readonly prefix: string
  readonly showsRaw: boolean
  /** The size of the output in the conversation, in bytes, if a shorter placeholder replaces it there. */
  readonly outputBytes?: number | undefined
  /** The texts in the output that get placeholders. */
  readonly leaves?: readonly ShownLeaf[]
}

/** A text in an output. */
export interface ShownLeaf {
  readonly steps: readonly (string | number)[]
  /** The same as a JSON path. */
  readonly path: string
  readonly previewBytes: number
}

/** The details in the form for the native side, as JSON. */
export interface Details extends ToolOutcome {
  description?: string
  sourceUrls?: string[]
  callId?: string
  spanId?: string
  ifAbsent?: boolean
  isLarge?: boolean | undefined
  mediaType?: string
  /** The result is only the beginning of the tool's output. */
  cut?: boolean
  /** Requests a handle and placeholders. */
  offload?: ShownRequest
  /** Describes the binary data that is sent next to the result. */
  bytes?: { readonly marker: string; readonly mediaTypes: readonly (string | null)[] }
}

/** The details of most saves: none. */
export const NO_DETAILS: Details = Object.freeze({})

/** The options of a save, with those that only this package sets. */
export interface OwnSaveOptions extends SaveOptions {
  /** The result is only the beginning of the tool's output. */
  cut?: boolean
}

/** Collects the details of a save, also from the callbacks of a manager. */
export class SaveDetails {
  readonly #hooks: Hooks
  readonly #shouldPersist: ContextManagerOptions['shouldPersist']
  readonly #describe: NonNullable<ContextManagerOptions['describe']> | undefined

  constructor(hooks: Hooks, options: ContextManagerOptions) {
    this.#hooks = hooks
    this.#shouldPersist = options.shouldPersist ?? undefined
    this.#describe = options.describe ?? undefined
  }

  /** Whether a callback needs the size of the result. */
  get needsSize(): boolean {
    return this.#shouldPersist !== undefined
  }

  /** `saved` is the sixth argument of a save. */
  of(toolName: string, args: Record<string, unknown>, result: unknown, saved: OwnSaveOptions | undefined): Details {
    const sourceUrls = readSourceUrls(result)
    const hasCallback = this.#describe !== undefined || this.#shouldPersist !== undefined
    if (sourceUrls === undefined && saved === undefined && !hasCallback) {
      return NO_DETAILS
    }
    const details: Details = {}
    if (sourceUrls !== undefined) {
      details.sourceUrls = sourceUrls
    }
    const checked = saved === undefined ? undefined : checkOutcome(saved)
    if (saved !== undefined) {
      Object.assign(details, checked, checkCall(saved), saved.cut === true ? { cut: true } : {})
    }
    if (this.#describe !== undefined) {
      try {
        const description: unknown = this.#describe(toolName, args, result, checked && { ...checked })
        if (typeof description !== 'string') {
          throw invalidArgument('describe', 'a function that gives a string', this.#describe)
        }
        details.description = description.toWellFormed()
      } catch (error) {
        debug(this.#hooks, 'describe failed: the default description is used', { toolName, error })
      }
    }
    return details
  }

  /** The answer of `shouldPersist`; with `undefined`, the threshold decides. */
  isLarge(toolName: string, args: Record<string, unknown>, sizeBytes: number): boolean | undefined {
    try {
      return Boolean(this.#shouldPersist?.(toolName, args, sizeBytes))
    } catch (error) {
      debug(this.#hooks, 'shouldPersist failed: the threshold decides', { toolName, error })
      return undefined
    }
  }
}

/** Checks the facts about the call, and the option `ifAbsent`. */
function checkCall({
  callId,
  spanId,
  ifAbsent,
  mediaType,
}: SaveOptions): Pick<Details, 'callId' | 'spanId' | 'ifAbsent' | 'mediaType'> {
  return {
    ...given('callId', optional(callId, 'callId', wellFormed)),
    ...given('spanId', optional(spanId, 'spanId', wellFormed)),
    ...given('ifAbsent', optional(ifAbsent, 'ifAbsent', checkBoolean)),
    ...given('mediaType', optional(mediaType, 'mediaType', checkMediaType)),
  }
}

function given<Name extends string, T>(name: Name, value: T | undefined): { [Key in Name]?: T } {
  return value === undefined ? {} : ({ [name]: value } as { [Key in Name]: T })
}

function wellFormed(value: string, name: string): string {
  checkText(value, name)
  return value.toWellFormed()
}

function checkDuration(value: number, name: string): number {
  if (!(typeof value === 'number' && Number.isFinite(value) && value >= 0)) {
    throw invalidArgument(name, 'a finite number of ms from 0 up', value)
  }
  return value
}

function checkExitCode(value: number, name: string): number {
  if (!(typeof value === 'number' && (value | 0) === value)) {
    throw invalidArgument(name, 'a whole number of 32 bits', value)
  }
  return value
}

/** Checks the time of a call and converts it to whole ms since 1970. */
export function timeOf(startedAt: number | Date | null | undefined): number {
  const time = startedAt instanceof Date ? startedAt.getTime() : (startedAt ?? Date.now())
  if (typeof time !== 'number' || !Number.isFinite(time) || Math.abs(time) > 8.64e15) {
    throw invalidArgument('startedAt', 'a date, or ms since 1970', startedAt)
  }
  return Math.trunc(time)
}

export function checkOutcome(outcome: ToolOutcome): ToolOutcome {
  const checked: ToolOutcome = {}
  if (outcome.success !== undefined && outcome.success !== null) {
    checked.success = Boolean(outcome.success)
  }
  for (const key of ['error', 'message'] as const) {
    const text = outcome[key]
    if (text !== undefined && text !== null) {
      checked[key] = asText(text)
    }
  }
  Object.assign(
    checked,
    given('durationMs', optional(outcome.durationMs, 'durationMs', checkDuration)),
    given('exitCode', optional(outcome.exitCode, 'exitCode', checkExitCode)),
  )
  return checked
}

/** Reads the `sourceUrls` of a result. */
function readSourceUrls(result: unknown): string[] | undefined {
  if (typeof result !== 'object' || result === null) {
    return undefined
  }
  try {
    if (!Object.hasOwn(result, 'sourceUrls')) {
      return undefined
    }
    const urls = (result as { sourceUrls: unknown }).sourceUrls
    return Array.isArray(urls) && urls.every((url) => typeof url === 'string') ? [...urls] : undefined
  } catch {
    // A throwing getter or Proxy: the result is stored with a marker in its place.
    return undefined
  }
}
