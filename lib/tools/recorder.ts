/** `createToolRecorder`: saves what an agent's callbacks tell. */

import { checkFunction, optional } from '../arguments/checks.ts'
import { invalidArgument } from '../arguments/errors.ts'
import { knownOptions } from '../arguments/known-options.ts'
import type { TaskId } from '../arguments/types.ts'
import { type ContextHistory, checkHistory, isHistory } from '../history/context-history.ts'
import { ContextManager } from '../manager/context-manager.ts'
import { checkOutcome } from '../manager/save-details.ts'
import { isRetrievalTool } from '../manager/tool-names.ts'
import type { ToolOutcome } from '../manager/types.ts'
import { stringify } from '../native/stringify.ts'
import { PendingSaves } from './pending-saves.ts'
import { readResponse } from './tool-response.ts'

/** Where in an agent's run a callback belongs. */
export interface ToolCallContext {
  /** The agent's run: its query is taken from `onAgentStart`. */
  traceId: string
  /** The tool call: pairs `onToolStart` with `onToolEnd`. */
  spanId: string
  parentSpanId?: string | null | undefined
}

/**
 * What a tool gave back. A response with any other member is recorded whole, as the result; that includes the results of MCP
 * tools, whose `isError` says whether the call failed.
 */
export type ToolResponse<T = unknown> =
  | { success: true; result: T; message: string }
  | { success: false; error: string; message: string }

/** What the agent says of the execution; its `success` counts over the response's. */
export interface ToolExecutionResult {
  success?: boolean | null | undefined
}

/** The callbacks that a recorder listens to. An agent's own callbacks may return anything, promises included. */
export interface ToolCallbacks {
  onAgentStart?(context: ToolCallContext, query: string): unknown
  onToolStart?(context: ToolCallContext, toolName: string, args: Record<string, unknown>): unknown
  onToolEnd?(
    context: ToolCallContext,
    toolName: string,
    result: ToolResponse,
    executionResult?: ToolExecutionResult,
  ): unknown
}

/** A tool call that ended. `undefined` and `null` mean unknown. */
export interface RecordedCall {
  toolName: string
  args?: Record<string, unknown> | null | undefined
  /** What the tool gave back: stored whole where there is an `outcome`, else read as {@link ToolRecorder.onToolEnd} does. */
  result?: unknown
  /** How the call ended. */
  outcome?: ToolOutcome | null | undefined
  callId?: string | null | undefined
  queryId?: string | null | undefined
  /** The task that the call belongs to; the option `taskId` is not asked. */
  taskId?: TaskId | null | undefined
  spanId?: string | null | undefined
  /** When the call began, ms since 1970 or a date. */
  startedAt?: number | Date | null | undefined
  /** How long it took, in ms. */
  durationMs?: number | null | undefined
}

/** Records tool calls. No callback ever throws or waits. */
export interface ToolRecorder {
  /** Remembers the query of a run: its tool outputs get the query's id. */
  onAgentStart(context: ToolCallContext, query: string): void
  /** Remembers a call's arguments as they are now. */
  onToolStart(context: ToolCallContext, toolName: string, args: Record<string, unknown>): void
  /**
   * Saves a call's output as it is now, beside success, error and message: the value inside the response, or the whole
   * response when it has other members or an error that is no string.
   */
  onToolEnd(
    context: ToolCallContext,
    toolName: string,
    result: ToolResponse,
    executionResult?: ToolExecutionResult,
  ): void
  /** Saves a call in one step, from any framework's hook; arguments and result as they are now. */
  record(call: RecordedCall): void
  /** Waits for the saves so far. Rejects with an `AggregateError` of those that failed since the last flush. */
  flush(): Promise<void>
  /** Callbacks that record and then call the given ones, whose results and errors are passed on. */
  wrap<T extends object>(callbacks: T): T & Required<ToolCallbacks>
}

/** Options of `createToolRecorder`. */
export interface ToolRecorderOptions {
  /** Records to this history as well. What fails there keeps nothing from being saved, and the other way round. */
  history?: ContextHistory | null | undefined
  /** The task that a call belongs to. */
  taskId?: ((context: ToolCallContext) => TaskId | undefined) | null | undefined
  /** Told at once when a save fails; `flush` reports it as well. */
  onError?: ((error: unknown, toolName: string) => void) | null | undefined
}

const recorderOptions = knownOptions<ToolRecorderOptions>('ToolRecorderOptions', {
  history: true,
  taskId: true,
  onError: true,
})

/** Calls that never end and runs that never stop must not pile up. */
const MAXIMUM_REMEMBERED = 10_000

/**
 * A recorder for an agent's callbacks.
 *
 * @param target where calls are recorded: a manager saves each output as a context, a history appends an entry with the
 * response's message as its summary and, where there is one, the error under the key `error`
 * @throws `ERR_CONTEXT_INVALID_ARGUMENT` when it is neither, or an option is wrong
 * @example
 * ```ts
 * const recorder = createToolRecorder(manager, { history })
 * const agent = new Agent({ callbacks: recorder.wrap(myCallbacks) })
 * // …
 * await recorder.flush()
 * ```
 */
export function createToolRecorder<Task extends TaskId = number>(
  target: ContextManager<Task> | ContextHistory,
  options?: ToolRecorderOptions | null,
): ToolRecorder {
  const queries = new Map<string, string>()
  const calls = new Map<string, Record<string, unknown>>()
  const given = optional(options, 'options', recorderOptions) ?? {}
  optional(given.taskId, 'taskId', checkFunction)
  const saves = new PendingSaves('tool outputs', optional(given.onError, 'onError', checkFunction))
  const manager = isHistory(target) ? undefined : checkManager(target)
  const histories = new Set<ContextHistory>()
  if (isHistory(target)) {
    histories.add(target)
  }
  const also = optional(given.history, 'history', checkHistory)
  if (also !== undefined) {
    histories.add(also)
  }

  function save(
    context: ToolCallContext,
    toolName: string,
    response: ToolResponse,
    execution: ToolExecutionResult | undefined,
  ): void {
    const { result, outcome } = readResponse(response, execution?.success)
    const args = calls.get(context.spanId) ?? {}
    calls.delete(context.spanId)
    // What is already stored is not stored again each time the model looks at it.
    if (manager !== undefined && !isRetrievalTool(toolName)) {
      saves.start(toolName, () => {
        const taskId = given.taskId?.(context)
        return manager.saveContext(toolName, args, result, taskId, queries.get(context.traceId), outcome)
      })
    }
    for (const history of histories) {
      saves.start(toolName, () => {
        const { success, message, error } = checkOutcome(outcome)
        const summary = message ?? `Called ${toolName}`
        return history.append({ toolName, params: args, result, success, summary, error })
      })
    }
  }

  function recordCall(call: RecordedCall): void {
    const { toolName, result, taskId, queryId, callId, spanId, startedAt, durationMs } = call
    const args = snapshot(call.args)
    const told = call.outcome ?? undefined
    const read = told === undefined ? readResponse(result, undefined) : { result, outcome: told }
    const outcome = { ...read.outcome, ...(durationMs === undefined ? {} : { durationMs }) }
    if (manager !== undefined && !isRetrievalTool(toolName)) {
      const details = { ...outcome, callId, spanId, startedAt }
      saves.start(toolName, () => manager.saveContext(toolName, args, read.result, taskId, queryId, details))
    }
    for (const history of histories) {
      saves.start(toolName, () => {
        const { success, message, error, durationMs: duration } = checkOutcome(outcome)
        const summary = message ?? `Called ${toolName}`
        const entry = { toolName, params: args, result: read.result, success, summary, error }
        return history.append({ ...entry, queryId, callId, spanId, durationMs: duration, timestamp: startedAt })
      })
    }
  }

  const recorder: ToolRecorder = {
    onAgentStart(context, query) {
      try {
        remember(queries, context.traceId, ContextManager.hashQuery(query))
      } catch (error) {
        saves.failed(error, '')
      }
    },
    onToolStart(context, toolName, args) {
      try {
        remember(calls, context.spanId, snapshot(args))
      } catch (error) {
        saves.failed(error, toolName)
      }
    },
    onToolEnd(context, toolName, result, executionResult) {
      try {
        save(context, toolName, result, executionResult)
      } catch (error) {
        saves.failed(error, toolName)
      }
    },
    record(call) {
      try {
        recordCall(call)
      } catch (error) {
        saves.failed(error, String(call?.toolName ?? ''))
      }
    },
    flush() {
      return saves.flush()
    },
    wrap(callbacks) {
      return wrap(recorder, callbacks)
    },
  }
  return recorder
}

/** Known by its method: tests bring their own. */
function checkManager<Task extends TaskId>(value: ContextManager<Task>): ContextManager<Task> {
  if (typeof (value as Partial<ContextManager<Task>> | null | undefined)?.saveContext !== 'function') {
    throw invalidArgument('target', 'a ContextManager or a ContextHistory', value)
  }
  return value
}

function remember<T>(map: Map<string, T>, key: string, value: T): void {
  map.set(key, value)
  if (map.size > MAXIMUM_REMEMBERED) {
    for (const oldest of map.keys()) {
      map.delete(oldest)
      break
    }
  }
}

/** Arguments as they are now: agents change them. */
function snapshot(args: unknown): Record<string, unknown> {
  const copy: unknown = JSON.parse(stringify(args ?? {}))
  const isObject = typeof copy === 'object' && copy !== null && !Array.isArray(copy)
  return isObject ? (copy as Record<string, unknown>) : { value: copy }
}

function wrap<T extends object>(recorder: ToolRecorder, callbacks: T): T & Required<ToolCallbacks> {
  const wrapped = {}
  // Methods of classes are not own properties; all are read from, and called on, their own object.
  for (const key of keysOf(callbacks)) {
    Object.defineProperty(wrapped, key, {
      enumerable: true,
      configurable: true,
      get() {
        const value: unknown = Reflect.get(callbacks, key)
        return typeof value === 'function' ? value.bind(callbacks) : value
      },
      set(value: unknown) {
        Reflect.set(callbacks, key, value)
      },
    })
  }
  for (const key of ['onAgentStart', 'onToolStart', 'onToolEnd'] as const) {
    const record = recorder[key] as (...parameters: unknown[]) => void
    function composed(...parameters: unknown[]): unknown {
      record(...parameters)
      // Looked up now: an agent may change its callbacks.
      const own: unknown = Reflect.get(callbacks, key)
      return typeof own === 'function' ? own.apply(callbacks, parameters) : undefined
    }
    Object.defineProperty(wrapped, key, { enumerable: true, configurable: true, writable: true, value: composed })
  }
  return wrapped as T & Required<ToolCallbacks>
}

function keysOf(callbacks: object): Set<string | symbol> {
  const keys = new Set<string | symbol>()
  for (
    let object: object | null = callbacks;
    object !== null && object !== Object.prototype;
    object = Object.getPrototypeOf(object) as object | null
  ) {
    for (const key of Reflect.ownKeys(object)) {
      keys.add(key)
    }
  }
  keys.delete('constructor')
  return keys
}
