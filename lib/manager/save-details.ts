/** What a save says beside a call's arguments and result. */

import { checkBoolean, checkText, optional } from '../arguments/checks.ts'
import { invalidArgument } from '../arguments/errors.ts'
import { debug, type Hooks } from '../native/border.ts'
import { asText } from '../tools/tool-response.ts'
import { checkMediaType } from './offload-options.ts'
import type { ContextKind } from './offload-types.ts'
import type { ContextManagerOptions, SaveOptions, ToolOutcome } from './types.ts'

/** Which placeholders are wanted of a save, as it crosses. */
export interface ShownRequest {
  /** Of the whole output, with a preview of so many bytes; `undefined`: none. */
  readonly previewBytes: number | undefined
  readonly kind: ContextKind
  readonly prefix: string
  readonly showsRaw: boolean
  /** Bytes of the output in the conversation, where its placeholder takes its place unless it is as long. */
  readonly outputBytes?: number | undefined
  /** Of texts within it. */
  readonly leaves?: readonly ShownLeaf[]
}

/** A text within an output. */
export interface ShownLeaf {
  readonly steps: readonly (string | number)[]
  /** The same as a JSON path. */
  readonly path: string
  readonly previewBytes: number
}

/** As it crosses, as JSON. */
export interface Details extends ToolOutcome {
  description?: string
  sourceUrls?: string[]
  callId?: string
  spanId?: string
  ifAbsent?: boolean
  isLarge?: boolean | undefined
  mediaType?: string
  /** The result is the beginning of what the tool gave. */
  cut?: boolean
  /** A handle is wanted, and placeholders. */
  offload?: ShownRequest
  /** Of the bytes that cross beside the result. */
  bytes?: { readonly marker: string; readonly mediaTypes: readonly (string | null)[] }
}

/** Most saves say nothing. */
export const NO_DETAILS: Details = Object.freeze({})

/** What this package says of a save beside its caller. */
export interface OwnSaveOptions extends SaveOptions {
  /** The result is the beginning of what the tool gave. */
  cut?: boolean
}

/** Gathers what is said of a save, with the callbacks of a manager. */
export class SaveDetails {
  readonly #hooks: Hooks
  readonly #shouldPersist: ContextManagerOptions['shouldPersist']
  readonly #describe: NonNullable<ContextManagerOptions['describe']> | undefined

  constructor(hooks: Hooks, options: ContextManagerOptions) {
    this.#hooks = hooks
    this.#shouldPersist = options.shouldPersist ?? undefined
    this.#describe = options.describe ?? undefined
  }

  /** Whether a callback wants to know how large the result is. */
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

  /** What `shouldPersist` says; `undefined` leaves it to the threshold. */
  isLarge(toolName: string, args: Record<string, unknown>, sizeBytes: number): boolean | undefined {
    try {
      return Boolean(this.#shouldPersist?.(toolName, args, sizeBytes))
    } catch (error) {
      debug(this.#hooks, 'shouldPersist failed: the threshold decides', { toolName, error })
      return undefined
    }
  }
}

/** What is known of the call itself, and whether it is stored again. */
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

/** When a call began, in whole ms since 1970. */
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

/** The result's own `sourceUrls`. */
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
    // A getter or Proxy that throws: the result itself is stored with a marker.
    return undefined
  }
}
