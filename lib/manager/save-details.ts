/** What a save says beside a call's arguments and result. */

import { invalidArgument } from '../arguments/errors.ts'
import { debug, type Hooks } from '../native/border.ts'
import { asText } from '../tools/tool-response.ts'
import type { ContextManagerOptions, ToolOutcome } from './types.ts'

/** As it crosses, as JSON. */
export interface Details extends ToolOutcome {
  description?: string
  sourceUrls?: string[]
  isLarge?: boolean | undefined
  /** A handle is wanted, and with `previewBytes` a placeholder. */
  offload?: { previewBytes: number | undefined }
}

/** Most saves say nothing. */
export const NO_DETAILS: Details = Object.freeze({})

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

  of(toolName: string, args: Record<string, unknown>, result: unknown, outcome: ToolOutcome | undefined): Details {
    const sourceUrls = readSourceUrls(result)
    const hasCallback = this.#describe !== undefined || this.#shouldPersist !== undefined
    if (sourceUrls === undefined && outcome === undefined && !hasCallback) {
      return NO_DETAILS
    }
    const details: Details = {}
    if (sourceUrls !== undefined) {
      details.sourceUrls = sourceUrls
    }
    if (outcome !== undefined) {
      Object.assign(details, checkOutcome(outcome))
    }
    if (this.#describe !== undefined) {
      try {
        const description: unknown = this.#describe(toolName, args)
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
