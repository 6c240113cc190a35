/** `offloadProcessor`: tool calls of Mastra's agents are recorded, and large outputs are replaced by placeholders. */

import { invalidArgument } from '../../arguments/errors.ts'
import { type ContextTool, contextTools, toText } from '../../index.ts'
import { type AdapterManager, type CallOptions, CallRecorder, type ToolCall } from '../call-recorder.ts'

/** An input processor of Mastra. */
export interface OffloadProcessor {
  readonly id: 'agent-context'
  processInputStep(step: { tools?: Record<string, unknown> | undefined }): { tools: Record<string, unknown> }
}

interface ReadBackTool {
  readonly id: string
  readonly description: string
  readonly parameters: { readonly '~standard': ContextTool<unknown>['~standard'] }
  execute(input: unknown, options?: { abortSignal?: AbortSignal | undefined }): Promise<string>
}

type Execute = (input: unknown, options?: { toolCallId?: unknown }) => unknown
type ForModel = (output: unknown) => unknown

/** The key under which a wrapped tool refers to its original: a repeated step passes wrapped tools again. */
const WRAPPED = Symbol('agent-context')
/** Recognises a handle in a placeholder of the manager. */
const PLACEHOLDER = /\bctx_[0-9a-f]{16}\b/

/**
 * Returns a processor that records every tool call of an agent, and replaces large outputs by placeholders before they reach the
 * messages, the stream and the storage. It adds the tools with which the model reads the outputs.
 *
 * @example
 * ```ts
 * const agent = new Agent({ …, tools, inputProcessors: [offloadProcessor(manager)] })
 * ```
 */
export function offloadProcessor(manager: AdapterManager, options?: CallOptions | null): OffloadProcessor {
  const calls = new CallRecorder(manager, options)
  const readBack = Object.fromEntries(contextTools(manager).map((tool) => [tool.name, readBackTool(tool)]))
  return {
    id: 'agent-context',
    processInputStep(step) {
      if (typeof step !== 'object' || step === null) {
        throw invalidArgument('step', 'what Mastra gives a processor', step)
      }
      const wrapped = Object.entries(step.tools ?? {}).map(([name, tool]) => [name, wrap(name, tool, calls)])
      return { tools: { ...Object.fromEntries(wrapped), ...readBack } }
    },
  }
}

function wrap(toolName: string, tool: unknown, calls: CallRecorder): unknown {
  const given = tool as { execute?: Execute; toModelOutput?: ForModel; [WRAPPED]?: CallRecorder } | null
  if (typeof given?.execute !== 'function' || given[WRAPPED] === calls) {
    return tool
  }
  const { execute, toModelOutput } = given
  const members = {
    [WRAPPED]: calls,
    execute(input: unknown, details?: { toolCallId?: unknown }): Promise<unknown> {
      const callId = details?.toolCallId
      const call: ToolCall = { toolName, input, callId: typeof callId === 'string' ? callId : undefined }
      const settle = (output: unknown, durationMs: number) => shorten(calls, call, output, durationMs)
      return calls.run(call, () => execute.call(tool, input, details), settle)
    },
    // The tool's `toModelOutput` cannot process a placeholder.
    ...(toModelOutput && {
      toModelOutput: (output: unknown) =>
        typeof output === 'string' && PLACEHOLDER.test(output)
          ? { type: 'text', value: output }
          : toModelOutput.call(tool, output),
    }),
  }
  return Object.assign(Object.create(Object.getPrototypeOf(tool)), tool, members)
}

async function shorten(calls: CallRecorder, call: ToolCall, output: unknown, durationMs: number): Promise<unknown> {
  const error = errorOf(output)
  const outcome = { ...(error === undefined ? {} : { success: false, error }), durationMs }
  if (hasBlocks(output)) {
    return (await calls.blocks(call, output, { outcome })).value
  }
  const { isOffloaded, text } = await calls.output(call, output, { outcome })
  return isOffloaded ? text : output
}

/** The error that Mastra returns instead of an output when a tool's input or output does not match its schema. */
function errorOf(output: unknown): string | undefined {
  const { error, message } = (typeof output === 'object' && output !== null ? output : {}) as Record<string, unknown>
  return error === true && typeof message === 'string' ? message.slice(0, 2000) : undefined
}

/** Whether an output is the result of an MCP tool. */
function hasBlocks(output: unknown): boolean {
  const { content } = (typeof output === 'object' && output !== null ? output : {}) as { content?: unknown }
  const isBlock = (block: unknown) => typeof (block as { type?: unknown } | null)?.type === 'string'
  return Array.isArray(content) && content.length > 0 && content.every(isBlock)
}

function readBackTool(tool: ContextTool<unknown>): ReadBackTool {
  return {
    id: tool.name,
    description: tool.description,
    parameters: { '~standard': tool['~standard'] },
    execute: async (input, options) => toText(await tool.execute(input, { signal: options?.abortSignal })),
  }
}
