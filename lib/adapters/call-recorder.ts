/** Records tool calls of frameworks with id, duration and outcome, and replaces large outputs in the conversation. */

import { checkTask, checkText, optional } from '../arguments/checks.ts'
import { contextError, invalidArgument } from '../arguments/errors.ts'
import { knownOptions } from '../arguments/known-options.ts'
import type {
  ContextManager,
  ContextToolsSource,
  OffloadedContext,
  OffloadedValue,
  OffloadOptions,
  TaskId,
  ToolOutcome,
} from '../index.ts'

/** The methods of a manager that adapters use; every `ContextManager` has them, whatever its type of tasks. */
export interface AdapterManager extends ContextToolsSource, Pick<ContextManager, 'offload' | 'offloadValue'> {}

/** Facts that an adapter stores with every call. */
export interface CallOptions {
  /** The id of the query that causes the calls: `ContextManager.hashQuery(query)`. */
  queryId?: string | null | undefined
  /** The task, or the sub-agent, that makes the calls. */
  taskId?: TaskId | null | undefined
}

/** A call of a tool. */
export interface ToolCall {
  readonly toolName: string
  /** The arguments of the call. */
  readonly input: unknown
  readonly callId: string | undefined
}

const callOptions = knownOptions<CallOptions>('CallOptions', { queryId: true, taskId: true })
const MAXIMUM_ERROR = 2000

/**
 * Records the calls of an adapter. It never rejects because of a storage failure: an output that cannot be stored stays in the
 * conversation. Answers of the context tools, which the manager recognises, are neither stored nor replaced.
 */
export class CallRecorder {
  readonly #manager: AdapterManager
  readonly #options: CallOptions

  constructor(manager: AdapterManager, options?: CallOptions | null) {
    this.#manager = checkAdapterManager(manager)
    const given = optional(options, 'options', callOptions) ?? {}
    optional(given.queryId, 'queryId', checkText)
    optional(given.taskId, 'taskId', checkTask)
    this.#options = { ...given }
  }

  /** Records an output and returns its text for the conversation, a placeholder if it is large. */
  output<T>(call: ToolCall, output: T, details: OffloadOptions): Promise<OffloadedContext<T>> {
    return this.#manager.offload(call.toolName, argumentsOf(call.input), output, this.#detailsOf(call, details))
  }

  /** Records content blocks and returns them with placeholders in place of long texts; images, audio and files are kept. */
  blocks<T>(call: ToolCall, blocks: T, details: OffloadOptions): Promise<OffloadedValue<T>> {
    return this.#manager.offloadValue(call.toolName, argumentsOf(call.input), blocks, this.#detailsOf(call, details))
  }

  /** Records a call that has thrown. */
  async failure(call: ToolCall, error: unknown, durationMs?: number, details?: OffloadOptions): Promise<void> {
    await this.output(call, null, { ...details, outcome: { ...failed(reasonOf(error)), durationMs } })
  }

  /**
   * Runs a call and records how it ended. An error is recorded and rethrown.
   *
   * @returns what `settle` makes of the output
   */
  async run<T, R>(
    call: ToolCall,
    run: () => T | PromiseLike<T>,
    settle: (output: T, durationMs: number) => Promise<R>,
  ): Promise<R> {
    const start = performance.now()
    let output: T
    try {
      output = await run()
    } catch (error) {
      await this.failure(call, error, performance.now() - start)
      throw error
    }
    return settle(output, performance.now() - start)
  }

  #detailsOf({ callId }: ToolCall, { outcome, ...details }: OffloadOptions): OffloadOptions {
    return { ...this.#options, ...details, callId, outcome: { success: true, ...outcome } }
  }
}

export function checkAdapterManager(manager: AdapterManager): AdapterManager {
  if (typeof manager?.offload !== 'function' || typeof manager.offloadValue !== 'function') {
    throw invalidArgument('manager', 'a ContextManager', manager)
  }
  return manager
}

/** The outcome of a failed call whose output describes the failure to the model. */
export function failed(error: string): ToolOutcome {
  return { success: false, error: error.slice(0, MAXIMUM_ERROR) }
}

/** The texts of content blocks. */
export function textOf(blocks: readonly unknown[]): string {
  const texts = blocks.map((block) => (block as { text?: unknown } | null)?.text)
  return texts.filter((text) => typeof text === 'string').join('\n')
}

/** Makes the error for an installed framework version that an adapter does not support. */
export function unsupportedFramework(entry: string, needed: string, found: string): Error {
  return contextError(
    'ERR_CONTEXT_UNSUPPORTED',
    `agent-context/${entry} needs ${needed}; ${found}. Install a version in that range.`,
  )
}

/** Converts any input to the object that is stored as arguments. */
function argumentsOf(input: unknown): Record<string, unknown> {
  if (typeof input === 'object' && input !== null && !Array.isArray(input)) {
    return input as Record<string, unknown>
  }
  return input === undefined || input === null ? {} : { value: input }
}

/** The message of a thrown value. */
function reasonOf(error: unknown): string {
  const { name, message } = (typeof error === 'object' && error !== null ? error : {}) as Partial<Error>
  if (typeof message === 'string') {
    return name === 'AbortError' || name === 'TimeoutError' ? `${name}: ${message}` : message
  }
  return typeof error === 'string' ? error : 'the tool threw a value that is no error'
}
