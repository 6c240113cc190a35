/** Records MCP results and replaces their long texts by placeholders; converts answers of the context tools to MCP results. */

import { type ContextTools, toText } from '../../index.ts'
import { type CallRecorder, failed, type ToolCall, textOf } from '../call-recorder.ts'

type CallResult = { readonly content?: unknown; readonly structuredContent?: unknown; readonly isError?: unknown }
/** The second argument of handlers and clients, in v2 (`mcpReq`) and v1. */
export type RequestContext = {
  readonly mcpReq?: { readonly id?: unknown; readonly signal?: AbortSignal }
  readonly requestId?: unknown
  readonly signal?: AbortSignal
  readonly sessionId?: unknown
}

/** Calls a tool of `contextTools` and converts its answer to an MCP result. */
export async function answer(tool: ContextTools[number], input: unknown, context: RequestContext): Promise<object> {
  const result = await tool.execute(input, { signal: context?.mcpReq?.signal ?? context?.signal })
  return { content: [{ type: 'text', text: toText(result) }], ...(result.success ? {} : { isError: true }) }
}

/** Returns a function that records a result and returns the one for the client. */
export function settler(calls: CallRecorder, call: ToolCall, keepsStructure: boolean) {
  return async (result: unknown, durationMs: number): Promise<unknown> => {
    const { content, structuredContent, isError } = (result ?? {}) as CallResult
    const hasContent = Array.isArray(content) && (content.length > 0 || structuredContent === undefined)
    // A request for user input, or a result of an old protocol version.
    if (!hasContent && structuredContent === undefined) {
      return result
    }
    const blocks = hasContent ? (content as unknown[]) : [{ type: 'text', text: JSON.stringify(structuredContent) }]
    const outcome = { ...(isError === true ? failed(textOf(blocks)) : {}), durationMs }
    const { value, isOffloaded } = await calls.blocks(call, blocks, { outcome })
    if (!isOffloaded) {
      return result
    }
    const { structuredContent: _, ...rest } = result as CallResult
    return { ...(keepsStructure ? (result as CallResult) : rest), content: value }
  }
}

/** The id of the request, with the id of the session if there is one. */
export function callIdOf(context: unknown): string | undefined {
  const { mcpReq, requestId, sessionId } = (context ?? {}) as RequestContext
  const id = mcpReq?.id ?? requestId
  if (id === undefined || id === null) {
    return undefined
  }
  return typeof sessionId === 'string' ? `${sessionId}:${String(id)}` : String(id)
}
