/**
 * What the adapter uses of LangChain, so that this package is built without it. The declarations that are published import the
 * framework's own types, against which `__test__/adapters` compiles them.
 */

declare module 'langchain' {
  export interface ToolMessageFields {
    content: string | object[]
    tool_call_id: string
    name?: string | undefined
    id?: string | undefined
    status?: 'success' | 'error' | undefined
    artifact?: unknown
    additional_kwargs?: object
    response_metadata?: object
    metadata?: Record<string, unknown> | undefined
  }

  export class ToolMessage {
    constructor(fields: ToolMessageFields)
    static isInstance(value: unknown): value is ToolMessage
    content: string | object[]
    tool_call_id: string
    name?: string
    id?: string
    status?: 'success' | 'error'
    artifact?: unknown
    additional_kwargs: object
    response_metadata: object
    metadata?: Record<string, unknown>
  }

  export interface AgentMiddleware {
    readonly name: string
  }

  interface ToolCallRequest {
    toolCall: { id?: string; name: string; args: Record<string, unknown> }
  }

  export function createMiddleware<Result extends object>(config: {
    name: string
    tools: object[]
    wrapToolCall(
      request: ToolCallRequest,
      handler: (request: ToolCallRequest) => Result | Promise<Result>,
    ): Promise<Result>
  }): AgentMiddleware

  export function tool(
    run: (input: unknown, config?: { signal?: AbortSignal }) => Promise<string>,
    fields: { name: string; description: string; schema: object },
  ): object
}
