/** Public types of offloading: outputs, messages and arguments on their way into a conversation. */

import type { CancellationOptions, TaskId } from '../arguments/types.ts'
import type { ToolOutcome } from './types.ts'

/** What a text is to a conversation: what a tool gave back, what a user or the model said, what the model passed to a tool. */
export type ContextKind = 'output' | 'message' | 'arguments'

/**
 * Options of `offload`. An option that is `undefined` or `null` has its default. The `signal` rejects a call that has not begun, and stops reading a
 * stream; what is being stored is stored.
 */
export interface OffloadOptions extends CancellationOptions {
  taskId?: TaskId | null | undefined
  queryId?: string | null | undefined
  /** Outputs of at least so many bytes are offloaded; takes the place of what the manager's options say. */
  threshold?: number | null | undefined
  /** Outputs of at least so many tokens are offloaded, by `countTokens` of the manager's options; takes the place of `threshold`. */
  maxTokens?: number | null | undefined
  /**
   * What the text is. The placeholder says so: it calls outputs data of a tool, and neither messages nor arguments.
   * @default 'output'
   */
  kind?: ContextKind | null | undefined
  /** The id of the call, as the model or the framework gave it. */
  callId?: string | null | undefined
  /**
   * Writes nothing when the session has an output with the same handle already.
   * @default false
   */
  ifAbsent?: boolean | null | undefined
  /** How the call ended, stored beside the output. */
  outcome?: ToolOutcome | null | undefined
  /** The media type of the output, such as `'text/csv'`. It is stored, and named in the placeholder. */
  mediaType?: string | null | undefined
  /**
   * What the names of the context tools begin with where the model sees them, such as `mcp__context__`; takes the place of what the
   * manager's options say.
   */
  prefix?: string | null | undefined
}

/** What `offload` does with which output; an option of the manager. */
export interface OffloadPolicy {
  /**
   * Outputs of at least so many bytes of text are offloaded, others stay as they are.
   * @default 8192
   */
  threshold?: number | null | undefined
  /** Outputs of at least so many tokens are offloaded; takes the place of `threshold`. */
  maxTokens?: number | null | undefined
  /** Thresholds of single tools in bytes, by name; `Infinity`: never because of their size. */
  toolThresholds?: Readonly<Record<string, number>> | null | undefined
  /**
   * Tools whose outputs are stored and always stay as they are. What the tools of this package give back stays as well, and is
   * not stored again: those of `contextTools(manager)` under any name, the others (`read_context`, `context_search`, `context_read`) under their own.
   */
  exemptTools?: readonly string[] | null | undefined
  /**
   * All outputs of one call of `offloadAll` together take no more bytes than this in the conversation: the largest are
   * offloaded first, whatever their thresholds. More is only taken by exempt tools, by what could not be stored, and when
   * even placeholders take more.
   * @default no bound
   */
  turnBudget?: number | null | undefined
  /** As `turnBudget`, in tokens; takes its place. */
  turnTokens?: number | null | undefined
  /**
   * Length of the placeholder's preview in bytes, head and tail together.
   * @default 1024
   */
  previewBytes?: number | null | undefined
  /** As `previewBytes`, in tokens of 4 bytes; takes its place. */
  previewTokens?: number | null | undefined
  /**
   * Counts the tokens of a text, where a bound is given in tokens: a finite number from 0 up. What it throws rejects the call.
   * @default an estimate, a quarter of the bytes: English text and code come near it, other writing takes more tokens
   */
  countTokens?: ((text: string) => number) | null | undefined
  /**
   * What the names of the context tools begin with where the model sees them: placeholders name the tools so.
   * @default ''
   */
  prefix?: string | null | undefined
  /**
   * `false`: placeholders show the output as the tool gave it, secrets included, while what is stored and read back is redacted. A
   * framework that persists messages then persists those secrets.
   * @default true
   */
  redactPlaceholders?: boolean | null | undefined
}

/** A tool output for `offloadAll`. */
export interface ToolOutput {
  toolName: string
  args: Record<string, unknown>
  result: unknown
  options?: OffloadOptions | null | undefined
}

/** Options of `offloadAll`. An option that is `undefined` or `null` has its default. */
export interface OffloadAllOptions {
  /**
   * Tokens that the conversation takes without these outputs. While they and the outputs stay below `startAt` of the `window`, nothing is
   * offloaded, whatever its size; all is stored.
   * @default outputs are offloaded whatever the conversation takes
   */
  contextTokens?: number | null | undefined
  /**
   * The share of the window from which outputs are offloaded, from 0 to 1. Needs `contextTokens`.
   * @default 0.6
   */
  startAt?: number | null | undefined
  /**
   * Tokens that the model's window holds. Needs `contextTokens`.
   * @default 200000
   */
  window?: number | null | undefined
}

/** What the conversation gets in place of an output. */
export interface OffloadedContext<T = unknown> {
  /** The text for the model: a placeholder, or the output itself (a string unchanged, anything else as JSON). */
  text: string
  /** `text` is a placeholder. */
  isOffloaded: boolean
  /** Where the output is stored; absent when it could not be, or is not meant to be. */
  filepath?: string
  /** The handle in the placeholder: what `loadContext` and `readContext` take as well. The same for the same call. */
  handle?: string
  /** Size of the output's text in bytes. */
  sizeBytes: number
  /** The output, untouched, when it is not offloaded. */
  result?: T
  /** Why it could not be stored. */
  error?: Error
}

/** Options of `offloadValue`. An option that is `undefined` or `null` has its default. */
export interface OffloadValueOptions extends OffloadOptions {
  /**
   * What becomes of blocks with images, audio and files. `'keep'`: they stay. `'reference'`: a block of at least 1024 characters of data becomes a text block that says
   * what it is and where it is stored.
   * @default 'keep'
   */
  blocks?: 'keep' | 'reference' | null | undefined
}

/** What the conversation gets in place of a value. */
export interface OffloadedValue<T = unknown> {
  /** The value in the same shape, with placeholders in place of long texts; the value itself when there are none. */
  value: T
  /** Placeholders are in it. */
  isOffloaded: boolean
  /** Where the whole value is stored; absent when it could not be, or is not meant to be. */
  filepath?: string
  /** The handle in the placeholders. */
  handle?: string
  /** Size of the value's JSON in bytes. */
  sizeBytes: number
  /** Size of the JSON of what the conversation gets in bytes. */
  shownBytes: number
  /** Why it could not be stored. */
  error?: Error
}
