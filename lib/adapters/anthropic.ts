/** The entry `agent-context/anthropic`: the memory tool and the runnable tools of the Anthropic SDK. */

import { invalidArgument } from '../arguments/errors.ts'
import { contextTools, toText } from '../index.ts'
import {
  type AdapterManager,
  type CallOptions,
  CallRecorder,
  checkAdapterManager,
  type ToolCall,
  unsupportedFramework,
} from './call-recorder.ts'

export {
  type MemoryHandlers,
  type MemoryHandlersOptions,
  memoryHandlers,
} from './anthropic/memory-handlers.ts'
export type { AdapterManager, CallOptions }

/** A tool with which the model reads stored outputs, for the `tools` of `toolRunner`. */
export interface ReadBackTool {
  type: 'custom'
  name: string
  description: string
  input_schema: { type: 'object'; properties: Record<string, unknown>; required: string[] }
  parse(content: unknown): Record<string, unknown>
  run(input: Record<string, unknown>, context?: { signal?: AbortSignal | null | undefined }): Promise<string>
}

type Run = (input: unknown, context?: { toolUse?: { id?: unknown } }) => unknown

/**
 * Wraps a tool so that its calls are recorded and its large outputs are replaced by placeholders, also in the messages of the runner.
 *
 * @param tool a tool made by `betaTool`, `betaZodTool` or `betaMemoryTool` of the SDK
 * @example
 * ```ts
 * const tools = [wrapRunnable(searchCustomers, manager), ...contextToolList(manager)]
 * const message = await client.beta.messages.toolRunner({ model, max_tokens: 1024, messages, tools })
 * ```
 */
export function wrapRunnable<Tool extends { name: string }>(
  tool: Tool,
  manager: AdapterManager,
  options?: CallOptions | null,
): Tool {
  const calls = new CallRecorder(manager, options)
  const { name, run } = (tool ?? {}) as { name?: unknown; run?: Run }
  if (typeof run !== 'function' || typeof name !== 'string') {
    throw invalidArgument('tool', 'a runnable tool with a name', tool)
  }
  const runRecorded: Run = (input, context) => {
    const callId = context?.toolUse?.id
    if (typeof callId !== 'string') {
      throw unsupportedFramework(
        'anthropic',
        '@anthropic-ai/sdk ^1.0.0',
        'the tool is run without the tool_use block that it answers',
      )
    }
    const call: ToolCall = { toolName: name, input, callId }
    const settle = async (output: unknown, durationMs: number): Promise<unknown> => {
      if (Array.isArray(output)) {
        return (await calls.blocks(call, output, { outcome: { durationMs } })).value
      }
      const { isOffloaded, text } = await calls.output(call, output, { outcome: { durationMs } })
      return isOffloaded ? text : output
    }
    return calls.run(call, () => run.call(tool, input, context), settle)
  }
  return { ...tool, run: runRecorded }
}

/** Returns the tools with which the model reads stored outputs, for `tools`. */
export function contextToolList(manager: AdapterManager): ReadBackTool[] {
  return contextTools(checkAdapterManager(manager)).map(({ name, description, parameters, execute }) => ({
    type: 'custom',
    name,
    description,
    input_schema: structuredClone(parameters) as unknown as ReadBackTool['input_schema'],
    parse: (content) => content as Record<string, unknown>,
    run: async (input, context) => toText(await execute(input, { signal: context?.signal ?? undefined })),
  }))
}
