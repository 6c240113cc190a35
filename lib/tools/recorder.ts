/** `createToolRecorder`: saves the tool calls that an agent's callbacks report. */

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

/** Identifies the agent's run and the tool call of a callback. */
export interface ToolCallContext {
  /** The id of the agent's run, whose query `onAgentStart` reports. */
  traceId: string
  /** The id of the tool call, which connects `onToolStart` and `onToolEnd`. */
  spanId: string
  parentSpanId?: string | null | undefined
}

/**
 * The response of a tool. A response with any other member is recorded completely as the result. This includes the results of MCP
 * tools, whose `isError` says whether the call failed.
 */
export type ToolResponse<T = unknown> =
  | { success: true; result: T; message: string }
  | { success: false; error: string; message: string }

/** The agent's report of the execution. Its `success` overrides that of the response. */
export interface ToolExecutionResult {
  success?: boolean | null | undefined
}

/** The callbacks of an agent that a recorder handles. The agent's own callbacks may return any value, including promises. */
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

/** A completed tool call. A member that is `undefined` or `null` is unknown. */
export interface RecordedCall {
  toolName: string
  args?: Record<string, unknown> | null | undefined
  /** The output of the tool. With an `outcome`, it is stored unchanged; otherwise it is read as {@link ToolRecorder.onToolEnd} does. */
  result?: unknown
  /** How the call ended. */
  outcome?: ToolOutcome | null | undefined
  callId?: string | null | undefined
  queryId?: string | null | undefined
  /** The task of the call; the option `taskId` is not called. */
  taskId?: TaskId | null | undefined
  spanId?: string | null | undefined
  /** When the call began: ms since 1970 or a `Date`. */
  startedAt?: number | Date | null | undefined
  /** How long the call took, in ms. */
  durationMs?: number | null | undefined
}

/** Records tool calls. Its callbacks neither throw nor block. */
export interface ToolRecorder {
  /** Remembers the query of a run, so that its tool outputs get the query's id. */
  onAgentStart(context: ToolCallContext, query: string): void
  /** Remembers a copy of a call's arguments. */
  onToolStart(context: ToolCallContext, toolName: string, args: Record<string, unknown>): void
  /**
   * Saves a copy of a call's output with success, error and message. The output is the response's `result`, or the whole response
   * if it has other members or an error that is not a string.
   */
  onToolEnd(
    context: ToolCallContext,
    toolName: string,
    result: ToolResponse,
    executionResult?: ToolExecutionResult,
  ): void
  /** Saves a completed call, for example from a framework's hook. Arguments and result are copied immediately. */
  record(call: RecordedCall): void
  /** Waits for all saves that were started. Rejects with an `AggregateError` of the failures since the last flush. */
  flush(): Promise<void>
  /** Returns callbacks that record a call and then call the given ones, whose results and errors are passed on. */
  wrap<T extends object>(callbacks: T): T & Required<ToolCallbacks>
}

/** Options of `createToolRecorder`. */
export interface ToolRecorderOptions {
  /** Also records to this history. A failure of the history does not prevent the save, nor the reverse. */
  history?: ContextHistory | null | undefined
  /** Returns the task of a call. */
  taskId?: ((context: ToolCallContext) => TaskId | undefined) | null | undefined
  /** Called when a save fails; `flush` reports the failure too. */
  onError?: ((error: unknown, toolName: string) => void) | null | undefined
}

const recorderOptions = knownOptions<ToolRecorderOptions>('ToolRecorderOptions', {
  history: true,
  taskId: true,
  onError: true,
})

/** The largest number of remembered calls and of remembered runs, so that those that never end do not accumulate. */
const MAXIMUM_REMEMBERED = 10_000

/**
 * Returns a recorder for an agent's callbacks.
 *
 * @param target records the calls: a manager saves each output as a context; a history appends an entry with the response's
 * message as its summary and, if there is one, the error under the key `error`
 * @throws `ERR_CONTEXT_INVALID_ARGUMENT` if `target` is neither, or an option is invalid
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
    // Outputs of the retrieval tools are already stored and are not stored again.
    if (manager !== undefined && !isRetrievalTool(toolName)) {
      saves.start(toolName, result, () => {
        const taskId = given.taskId?.(context)
        return manager.saveContext(toolName, args, result, taskId, queries.get(context.traceId), outcome)
      })
    }
    for (const history of histories) {
      saves.start(toolName, result, () => {
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
      saves.start(toolName, read.result, () =>
        manager.saveContext(toolName, args, read.result, taskId, queryId, details),
      )
    }
    for (const history of histories) {
      saves.start(toolName, read.result, () => {
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

/** Checks for the methods of a manager. The class is not checked, so that tests can pass their own object. */
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

/** Copies arguments, because agents may modify them. */
function snapshot(args: unknown): Record<string, unknown> {
  const copy: unknown = JSON.parse(stringify(args ?? {}))
  const isObject = typeof copy === 'object' && copy !== null && !Array.isArray(copy)
  return isObject ? (copy as Record<string, unknown>) : { value: copy }
}

function wrap<T extends object>(recorder: ToolRecorder, callbacks: T): T & Required<ToolCallbacks> {
  const wrapped = {}
  // Methods of classes are not own properties: all callbacks are read from and called on the original object.
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
      // Looked up at each call, because an agent may replace its callbacks.
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
