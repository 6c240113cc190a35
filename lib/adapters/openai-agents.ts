/** The entry `agent-context/openai-agents`: sessions and tools of the OpenAI Agents SDK. */

import { invalidArgument } from '../arguments/errors.ts'
import { contextTools, toText } from '../index.ts'
import {
  type AdapterManager,
  type CallOptions,
  CallRecorder,
  checkAdapterManager,
  failed,
  type ToolCall,
  unsupportedFramework,
} from './call-recorder.ts'

export {
  type ContextSession,
  type ContextSessionOptions,
  contextSession,
  type HistoryTransaction,
} from './openai-agents/context-session.ts'
export type { AdapterManager, CallOptions }

/** A tool with which the model reads stored outputs: a `FunctionTool` of the SDK. */
export interface ReadBackTool {
  type: 'function'
  name: string
  description: string
  parameters: { type: 'object'; properties: Record<string, never>; required: string[]; additionalProperties: false }
  strict: false
  invoke(context: unknown, input: string, details?: { signal?: AbortSignal | undefined }): Promise<string>
  needsApproval(): Promise<boolean>
  isEnabled(): Promise<boolean>
}

type Invoke = (context: unknown, input: string, details?: { toolCall?: { callId?: unknown } }) => Promise<unknown>

const RANGE = '@openai/agents-core ^0.20.0'
/** The beginning of the text that the SDK returns for an error, unless a tool has its own `errorFunction`. */
const DEFAULT_ERROR = 'An error occurred while running the tool.'
const BLOCKS: ReadonlySet<unknown> = new Set(['text', 'image', 'file', 'input_text', 'input_image', 'input_file'])

/**
 * Wraps a tool so that its calls are recorded and its large outputs are replaced by placeholders, also in the session.
 *
 * @param tool a tool made by `tool()` of the SDK
 */
export function offloaded<Tool extends { name: string }>(
  tool: Tool,
  manager: AdapterManager,
  options?: CallOptions | null,
): Tool {
  const calls = new CallRecorder(manager, options)
  const { invoke } = tool as { invoke?: Invoke }
  if (typeof invoke !== 'function') {
    throw invalidArgument('tool', 'a function tool', tool)
  }
  const invokeRecorded: Invoke = async (context, input, details) => {
    const callId = details?.toolCall?.callId
    if (typeof callId !== 'string') {
      throw unsupportedFramework('openai-agents', RANGE, 'the installed one calls tools without a callId')
    }
    const call: ToolCall = { toolName: tool.name, input: parse(input), callId }
    const settle = async (output: unknown, durationMs: number): Promise<unknown> => {
      if (Array.isArray(output) && output.every((block) => BLOCKS.has((block as { type?: unknown } | null)?.type))) {
        return (await calls.blocks(call, output, { outcome: { durationMs } })).value
      }
      const isError = typeof output === 'string' && output.startsWith(DEFAULT_ERROR)
      const outcome = { ...(isError ? failed(output) : {}), durationMs }
      const { isOffloaded, text } = await calls.output(call, output, { outcome })
      return isOffloaded ? text : output
    }
    return calls.run(call, () => invoke.call(tool, context, input, details), settle)
  }
  return { ...tool, invoke: invokeRecorded }
}

/** Returns the tools with which the model reads stored outputs, for an agent's `tools`. */
export function contextToolList(manager: AdapterManager): ReadBackTool[] {
  return contextTools(checkAdapterManager(manager)).map(({ name, description, parameters, execute }) => ({
    type: 'function',
    name,
    description,
    parameters: structuredClone(parameters) as unknown as ReadBackTool['parameters'],
    // Optional parameters are not part of strict schemas.
    strict: false,
    invoke: async (_, input, details) => toText(await execute(parse(input), { signal: details?.signal })),
    needsApproval: async () => false,
    isEnabled: async () => true,
  }))
}

function parse(input: string): unknown {
  try {
    return JSON.parse(input)
  } catch {
    return input
  }
}
