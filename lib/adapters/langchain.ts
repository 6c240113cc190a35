/** The entry `agent-context/langchain`: agents of LangChain 1. */

// Imported as a namespace, so that this module can report a version that lacks one of the names.
import * as langchain from 'langchain'
import { contextTools, toText } from '../index.ts'
import {
  type AdapterManager,
  type CallOptions,
  CallRecorder,
  failed,
  type ToolCall,
  textOf,
  unsupportedFramework,
} from './call-recorder.ts'

export type { AdapterManager, CallOptions }

/** Errors that suspend the run: the call is repeated, or continues elsewhere. */
const SUSPENSIONS: ReadonlySet<unknown> = new Set(['GraphInterrupt', 'NodeInterrupt', 'GraphBubbleUp', 'ParentCommand'])

/**
 * Returns a middleware that records every tool call and replaces large outputs by placeholders in the messages, and therefore in
 * the checkpoints. It adds the tools with which the model reads the outputs.
 *
 * An error of a tool is recorded and rethrown: unless another middleware catches it, it ends the run.
 *
 * @example
 * ```ts
 * const agent = createAgent({ model, tools, middleware: [contextMiddleware(manager)] })
 * ```
 */
export function contextMiddleware(manager: AdapterManager, options?: CallOptions | null): langchain.AgentMiddleware {
  const calls = new CallRecorder(manager, options)
  if (typeof langchain.createMiddleware !== 'function') {
    throw unsupportedFramework('langchain', 'langchain ^1.5.0', 'the installed one has no middleware')
  }
  return langchain.createMiddleware({
    name: 'AgentContext',
    tools: contextTools(manager).map(({ name, description, parameters, execute }) =>
      langchain.tool(async (input, config) => toText(await execute(input, { signal: config?.signal })), {
        name,
        description,
        schema: parameters,
      }),
    ),
    async wrapToolCall(request, handler) {
      const { id, name, args } = request.toolCall
      const call: ToolCall = { toolName: name, input: args, callId: id }
      const start = performance.now()
      try {
        const result = await handler(request)
        return await shorten(calls, call, result, performance.now() - start)
      } catch (error) {
        if (!SUSPENSIONS.has((error as Partial<Error> | null)?.name)) {
          await calls.failure(call, error, performance.now() - start)
        }
        throw error
      }
    },
  })
}

/** The message of a call, or a command that brings messages. */
async function shorten<Result extends object>(
  calls: CallRecorder,
  call: ToolCall,
  result: Result,
  durationMs: number,
): Promise<Result> {
  if (langchain.ToolMessage.isInstance(result)) {
    return (await shortenMessage(calls, call, result, durationMs)) as Result & langchain.ToolMessage
  }
  const { update } = result as { update?: { messages?: unknown } }
  if (!Array.isArray(update?.messages)) {
    await calls.output(call, null, { outcome: { durationMs } })
    return result
  }
  const messages = await Promise.all(
    update.messages.map((message: unknown) =>
      langchain.ToolMessage.isInstance(message) ? shortenMessage(calls, call, message, durationMs) : message,
    ),
  )
  return Object.assign(Object.create(Object.getPrototypeOf(result)), result, { update: { ...update, messages } })
}

async function shortenMessage(
  calls: CallRecorder,
  call: ToolCall,
  message: langchain.ToolMessage,
  durationMs: number,
): Promise<langchain.ToolMessage> {
  const { content } = message
  const isText = typeof content === 'string'
  const end = message.status === 'error' ? failed(isText ? content : textOf(content)) : {}
  const details = { outcome: { ...end, durationMs } }
  if (isText) {
    const { isOffloaded, text } = await calls.output(call, content, details)
    return isOffloaded ? withContent(message, text) : message
  }
  const { isOffloaded, value } = await calls.blocks(call, content, details)
  return isOffloaded ? withContent(message, value) : message
}

/** Copies each member, because a copy of the message object would keep its original content. */
function withContent(message: langchain.ToolMessage, content: langchain.ToolMessage['content']): langchain.ToolMessage {
  const { tool_call_id, name, id, status, artifact, additional_kwargs, response_metadata, metadata } = message
  return new langchain.ToolMessage({
    content,
    tool_call_id,
    additional_kwargs,
    response_metadata,
    ...(name === undefined ? {} : { name }),
    ...(id === undefined ? {} : { id }),
    ...(status === undefined ? {} : { status }),
    ...(artifact === undefined ? {} : { artifact }),
    ...(metadata === undefined ? {} : { metadata }),
  })
}
