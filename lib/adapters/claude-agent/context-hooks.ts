/** `contextHooks`: tool calls of Claude are recorded, and large outputs are replaced by placeholders. */

import { checkFilled, optional, readSignal } from '../../arguments/checks.ts'
import type { OffloadOptions } from '../../index.ts'
import { type AdapterManager, type CallOptions, CallRecorder, type ToolCall } from '../call-recorder.ts'
import { type EventInput, RunningCalls } from './running-calls.ts'

/** Options of `contextHooks`. An option that is `undefined` or `null` has its default. */
export interface ContextHooksOptions extends CallOptions {
  /**
   * The name of `contextServer` in `mcpServers`, which is part of the tool names in placeholders.
   * @default 'context'
   */
  server?: string | null | undefined
  /** The signal of the query's `abortController`. Calls that are running when it is aborted are recorded as failed. */
  signal?: AbortSignal | null | undefined
}

/** For the option `hooks` of `query`. */
export interface ContextHooks {
  PreToolUse: { hooks: Hook[] }[]
  PostToolUse: { hooks: Hook[] }[]
  PostToolUseFailure: { hooks: Hook[] }[]
  Stop: { hooks: Hook[] }[]
  StopFailure: { hooks: Hook[] }[]
  SubagentStop: { hooks: Hook[] }[]
  SessionEnd: { hooks: Hook[] }[]
}

type Hook = (input: object) => Promise<{
  hookSpecificOutput?: { hookEventName: 'PostToolUse'; updatedToolOutput: unknown }
}>

/** What the hooks read of their input. */
interface HookInput extends EventInput {
  readonly tool_name: string
  readonly tool_input: unknown
  readonly tool_response?: unknown
  readonly tool_use_id: string
  readonly duration_ms?: number
  readonly error?: string
  readonly is_interrupt?: boolean
}

/** Members with which Claude Code refers to its own copy of a long output; removed, because the placeholder replaces them. */
const PERSISTED: readonly string[] = ['persistedOutputPath', 'persistedOutputSize']

/**
 * Returns hooks that record every tool call and replace long texts in large outputs by placeholders, in the request and in the
 * transcript. The output keeps its shape. Calls of a sub-agent are recorded with its id as their task, unless the option
 * `taskId` is set.
 * An interrupted or refused call is recorded when the agent's turn, or the session, ends.
 *
 * @example
 * ```ts
 * const options = { hooks: contextHooks(manager), mcpServers: { context: contextServer(manager, sdk) } }
 * for await (const message of sdk.query({ prompt, options })) { … }
 * ```
 */
export function contextHooks(manager: AdapterManager, options?: ContextHooksOptions | null): ContextHooks {
  const { server, signal: _, ...callOptions } = options ?? {}
  const signal = readSignal(options)
  const prefix = `mcp__${optional(server, 'server', checkFilled) ?? 'context'}__`
  const calls = new CallRecorder(manager, callOptions)
  const callOf = ({ tool_name: toolName, tool_input: input, tool_use_id: callId }: HookInput): ToolCall => {
    return { toolName, input, callId }
  }
  const detailsOf = ({ agent_id: taskId }: HookInput): OffloadOptions => {
    return taskId === undefined || (callOptions.taskId ?? null) !== null ? { prefix } : { prefix, taskId }
  }
  const running = new RunningCalls<HookInput>()
  const beforeUse: Hook = async (given) => {
    running.begin(given as HookInput)
    return {}
  }
  const recordUnended = async (reason: string, event?: EventInput): Promise<void> => {
    const failures = running
      .takeUnended(event)
      .map(({ input, durationMs }) => calls.failure(callOf(input), reason, durationMs, detailsOf(input)))
    await Promise.all(failures)
  }
  const afterTurn: Hook = async (given) => {
    await recordUnended('the call did not end: it was interrupted or refused', given as EventInput)
    return {}
  }
  signal?.addEventListener('abort', () => void recordUnended('aborted: the call did not end'), { once: true })
  const afterUse: Hook = async (given) => {
    const input = given as HookInput
    running.end(input)
    const details = { ...detailsOf(input), outcome: { durationMs: input.duration_ms } }
    const { isOffloaded, value } = await calls.blocks(callOf(input), input.tool_response, details)
    return isOffloaded
      ? { hookSpecificOutput: { hookEventName: 'PostToolUse', updatedToolOutput: withoutPersisted(value) } }
      : {}
  }
  const afterFailure: Hook = async (given) => {
    const input = given as HookInput
    running.end(input)
    const { error = 'the tool failed', is_interrupt: isInterrupt, duration_ms: durationMs } = input
    const reason = isInterrupt === true ? `interrupted: ${error}` : error
    await calls.failure(callOf(input), reason, durationMs, detailsOf(input))
    return {}
  }
  return {
    PreToolUse: [{ hooks: [beforeUse] }],
    PostToolUse: [{ hooks: [afterUse] }],
    PostToolUseFailure: [{ hooks: [afterFailure] }],
    Stop: [{ hooks: [afterTurn] }],
    StopFailure: [{ hooks: [afterTurn] }],
    SubagentStop: [{ hooks: [afterTurn] }],
    SessionEnd: [{ hooks: [afterTurn] }],
  }
}

function withoutPersisted(output: unknown): unknown {
  return typeof output === 'object' && output !== null && !Array.isArray(output)
    ? Object.fromEntries(Object.entries(output).filter(([name]) => !PERSISTED.includes(name)))
    : output
}
