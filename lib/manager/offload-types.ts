/** Public types of offloading: replacing large outputs, messages and arguments in a conversation by placeholders. */

import type { CancellationOptions, TaskId } from '../arguments/types.ts'
import type { ToolOutcome } from './types.ts'

/**
 * The role of a text in the conversation: the output of a tool, a message of the user or the model, or the arguments that the
 * model passed to a tool.
 */
export type ContextKind = 'output' | 'message' | 'arguments'

/**
 * Options of `offload`. An option that is `undefined` or `null` has its default. An aborted `signal` rejects a call that has not
 * started and stops the reading of a stream; a write that has started is completed.
 */
export interface OffloadOptions extends CancellationOptions {
  taskId?: TaskId | null | undefined
  queryId?: string | null | undefined
  /** Offloads the output if it has at least this many bytes; overrides the thresholds of the manager's options. */
  threshold?: number | null | undefined
  /** Offloads the output if it has at least this many tokens, as `countTokens` of the manager's options counts them; overrides `threshold`. */
  maxTokens?: number | null | undefined
  /**
   * The role of the text, which the placeholder names. Only the placeholder of an `'output'` says that the text is data of a
   * tool.
   * @default 'output'
   */
  kind?: ContextKind | null | undefined
  /** The id of the call, as the model or the framework gave it. */
  callId?: string | null | undefined
  /**
   * Writes nothing when the session already has an output with the same handle.
   * @default false
   */
  ifAbsent?: boolean | null | undefined
  /** How the call ended; stored with the output. */
  outcome?: ToolOutcome | null | undefined
  /** The media type of the output, such as `'text/csv'`. It is stored and shown in the placeholder. */
  mediaType?: string | null | undefined
  /**
   * The prefix of the context tools' names as the model sees them, such as `mcp__context__`; overrides `offload.prefix` of the
   * manager's options.
   */
  prefix?: string | null | undefined
}

/** Options of the manager that decide which outputs are offloaded, and how placeholders look. */
export interface OffloadPolicy {
  /**
   * Outputs of at least this many bytes of text are offloaded; smaller ones are returned unchanged.
   * @default 8192
   */
  threshold?: number | null | undefined
  /** Outputs of at least this many tokens are offloaded; overrides `threshold`. */
  maxTokens?: number | null | undefined
  /** Thresholds for individual tools in bytes, by tool name. With `Infinity`, the size never causes offloading. */
  toolThresholds?: Readonly<Record<string, number>> | null | undefined
  /**
   * Tools whose outputs are stored but never replaced. Answers of this package's tools are neither replaced nor stored again:
   * those of `contextTools(manager)` under any tool name, those of `read_context`, `context_search` and `context_read` under
   * these names.
   */
  exemptTools?: readonly string[] | null | undefined
  /**
   * The largest size of all outputs of one `offloadAll` call in the conversation, in bytes. To meet it, the largest outputs are
   * offloaded first, whatever their thresholds. It can be exceeded by outputs of exempt tools, by outputs that could not be
   * stored, and when the placeholders themselves are larger.
   * @default no limit
   */
  turnBudget?: number | null | undefined
  /** The same as `turnBudget` in tokens; overrides it. */
  turnTokens?: number | null | undefined
  /**
   * Length of the preview in a placeholder, in bytes, beginning and end together.
   * @default 1024
   */
  previewBytes?: number | null | undefined
  /** The same as `previewBytes` in tokens of 4 bytes; overrides it. */
  previewTokens?: number | null | undefined
  /**
   * Returns the number of tokens of a text: a finite number, 0 or greater. Used where a limit is given in tokens. An error that
   * it throws rejects the call.
   * @default an estimate, a quarter of the bytes: close for English text and code, too low for other
   * scripts
   */
  countTokens?: ((text: string) => number) | null | undefined
  /**
   * The prefix of the context tools' names as the model sees them. Placeholders name the tools with this prefix.
   * @default ''
   */
  prefix?: string | null | undefined
  /**
   * With `false`, placeholders show the tool's output including its secrets, while stored outputs are still redacted. A framework
   * that persists messages then persists those secrets.
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
   * Number of tokens of the conversation without these outputs. While the conversation and the outputs together are below
   * `startAt * window`, outputs are stored but not offloaded, whatever their size.
   * @default outputs are offloaded whatever the
   * size of the conversation
   */
  contextTokens?: number | null | undefined
  /**
   * The share of the window at which offloading starts, from 0 to 1. Requires `contextTokens`.
   * @default 0.6
   */
  startAt?: number | null | undefined
  /**
   * Size of the model's context window in tokens. Requires `contextTokens`.
   * @default 200000
   */
  window?: number | null | undefined
}

/** The result of `offload`: the text for the conversation. */
export interface OffloadedContext<T = unknown> {
  /** The text for the model: a placeholder, or the output itself (a string unchanged, anything else as JSON). */
  text: string
  /** Whether `text` is a placeholder. */
  isOffloaded: boolean
  /** The path of the stored output; absent if it could not be stored, or was not to be stored. */
  filepath?: string
  /** The handle in the placeholder, which `loadContext` and `readContext` also take. Equal calls with equal outputs have the same handle. */
  handle?: string
  /** Size of the output's text in bytes. */
  sizeBytes: number
  /** The unchanged output, if it is not offloaded. */
  result?: T
  /** The error, if it could not be stored. */
  error?: Error
}

/** Options of `offloadValue`. An option that is `undefined` or `null` has its default. */
export interface OffloadValueOptions extends OffloadOptions {
  /**
   * How content blocks with images, audio and files are treated. `'keep'`: they are not changed. `'reference'`: a block with at
   * least 1024 characters of data is replaced by a text block that describes it and says where it is stored.
   * @default 'keep'
   */
  blocks?: 'keep' | 'reference' | null | undefined
}

/** The result of `offloadValue`: the value for the conversation. */
export interface OffloadedValue<T = unknown> {
  /** The value in the same shape, with placeholders in place of long texts; the passed value itself if nothing was replaced. */
  value: T
  /** Whether `value` contains placeholders. */
  isOffloaded: boolean
  /** The path of the stored value; absent if it could not be stored, or was not to be stored. */
  filepath?: string
  /** The handle in the placeholders. */
  handle?: string
  /** Size of the value's JSON in bytes. */
  sizeBytes: number
  /** Size in bytes of the JSON of the returned `value`. */
  shownBytes: number
  /** The error, if it could not be stored. */
  error?: Error
}
