/** The entry `agent-context/ai-sdk`: tools and language models of the AI SDK 7. */

import { contextTools as definitions, type ToolStandardSchema, toText } from '../index.ts'
import { type ModelOutput, RANGE, shorten } from './ai-sdk/model-output.ts'
import { streamed } from './ai-sdk/streamed-results.ts'
import {
  type AdapterManager,
  type CallOptions,
  CallRecorder,
  checkAdapterManager,
  type ToolCall,
  unsupportedFramework,
} from './call-recorder.ts'

export { type OffloadMiddleware, offloadMiddleware } from './ai-sdk/offload-middleware.ts'
export type { AdapterManager, CallOptions }

/** A tool of the AI SDK with which the model reads stored outputs. */
export interface ReadBackTool {
  description: string
  inputSchema: { readonly '~standard': ToolStandardSchema<Record<string, unknown>> }
  execute(input: Record<string, unknown>, options?: { abortSignal?: AbortSignal | undefined }): Promise<string>
}

/** The tools of `contextTools`, by name: a `ToolSet`. */
export type ReadBackTools = Record<'list_contexts' | 'search_contexts' | 'read_context_slice', ReadBackTool>

type ForModel = (options: {
  toolCallId: string
  input: unknown
  output: unknown
}) => ModelOutput | PromiseLike<ModelOutput>
interface ToolMembers {
  readonly execute?: (
    input: unknown,
    options: { toolCallId?: unknown; abortSignal?: AbortSignal | undefined },
  ) => unknown
  readonly toModelOutput?: ForModel
}

/** The key of the object that replaces the output of a tool with `toModelOutput`. Stored conversations contain it. */
const FOR_MODEL = 'agent-context:forModel'
/** The size up to which the result of a tool's `toModelOutput` is not replaced, in characters of JSON. */
const SMALL_FOR_MODEL = 4096

/**
 * Wraps tools so that their calls are recorded and their large outputs are replaced by placeholders, also in the `steps` of the
 * result. Adds the tools with which the model reads the outputs.
 *
 * @example
 * ```ts
 * const { text } = await generateText({ model, prompt, tools: withContext(tools, manager), stopWhen: isStepCount(20) })
 * ```
 */
export function withContext<Tools extends Readonly<Record<string, object>>>(
  tools: Tools,
  manager: AdapterManager,
  options?: CallOptions | null,
): Tools & ReadBackTools {
  const calls = new CallRecorder(manager, options)
  const wrapped = Object.entries(tools).map(([name, tool]) => [name, wrap(name, tool, calls)])
  return { ...(Object.fromEntries(wrapped) as Tools), ...contextTools(manager) }
}

/** Returns the tools with which the model reads stored outputs, as a `ToolSet`. */
export function contextTools(manager: AdapterManager): ReadBackTools {
  const tools = definitions(checkAdapterManager(manager)).map((tool): [string, ReadBackTool] => {
    const { name, description, '~standard': standard } = tool
    const inputSchema = { '~standard': standard as ToolStandardSchema<Record<string, unknown>> }
    return [
      name,
      {
        description,
        inputSchema,
        execute: async (input, given) => toText(await tool.execute(input, { signal: given?.abortSignal })),
      },
    ]
  })
  return Object.fromEntries(tools) as ReadBackTools
}

function wrap(toolName: string, tool: object, calls: CallRecorder): object {
  const { execute, toModelOutput } = tool as ToolMembers
  if (typeof execute !== 'function') {
    return tool
  }
  const settle = async (call: ToolCall, output: unknown, durationMs: number): Promise<unknown> => {
    const { isOffloaded, text } = await calls.output(call, output, { outcome: { durationMs } })
    if (!isOffloaded || toModelOutput === undefined) {
      return isOffloaded ? text : output
    }
    const forModel = await toModelOutput.call(tool, { toolCallId: call.callId ?? '', input: call.input, output })
    const isSmall = JSON.stringify(forModel).length <= SMALL_FOR_MODEL
    return { [FOR_MODEL]: isSmall ? forModel : await shorten(calls, call, forModel) }
  }
  const members: ToolMembers = {
    execute(input, given) {
      const callId = given?.toolCallId
      if (typeof callId !== 'string') {
        throw unsupportedFramework('ai-sdk', RANGE, 'the installed one calls tools without a toolCallId')
      }
      const call = { toolName, input, callId }
      const start = performance.now()
      let output: unknown
      try {
        output = execute.call(tool, input, given)
      } catch (error) {
        output = Promise.reject(error)
      }
      return isAsyncIterable(output)
        ? streamed(output, calls, call, start, settle, given.abortSignal)
        : calls.run(
            call,
            () => output,
            (value, durationMs) => settle(call, value, durationMs),
          )
    },
    ...(toModelOutput && { toModelOutput: (given) => forModelOf(given.output) ?? toModelOutput.call(tool, given) }),
  }
  return { ...tool, ...members }
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof (value as Partial<AsyncIterable<unknown>> | null | undefined)?.[Symbol.asyncIterator] === 'function'
}

function forModelOf(output: unknown): ModelOutput | undefined {
  return (output as { readonly [FOR_MODEL]?: ModelOutput } | null | undefined)?.[FOR_MODEL]
}
