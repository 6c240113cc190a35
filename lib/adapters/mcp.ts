/** The entry `agent-context/mcp`: servers and clients of the Model Context Protocol, with the TypeScript SDK v2 and v1. */

import { contextError, invalidArgument } from '../arguments/errors.ts'
import { type ContextTools, contextTools } from '../index.ts'
import {
  type AdapterManager,
  type CallOptions,
  CallRecorder,
  checkAdapterManager,
  type ToolCall,
  unsupportedFramework,
} from './call-recorder.ts'
import { answer, callIdOf, type RequestContext, settler } from './mcp/call-results.ts'

export type { AdapterManager, CallOptions }

/** An `McpServer` of the SDK v2 or v1. */
export interface McpServerLike {
  registerTool: unknown
}

/** A `Client` of the SDK v2 or v1. */
export interface McpClientLike {
  callTool: unknown
  listTools: unknown
}

/** Options of `registerContextTools`. */
export interface RegisterOptions {
  /** The module `zod` 4, which the SDK v1 needs for parameters. The SDK v2 does not need it. */
  z?: { fromJSONSchema(schema: never): unknown } | null | undefined
}

const RANGE = '@modelcontextprotocol/server ^2.0.0 or @modelcontextprotocol/sdk ^1.29.0'

type Handler = (...parameters: unknown[]) => unknown
type Config = { inputSchema?: unknown; outputSchema?: unknown }
type Register = (name: string, config: Config, handler: Handler) => unknown
/**
 * Records the calls of a server's tools, and replaces large texts in their results by placeholders; images, audio and links are
 * kept. Only tools that are registered with `registerTool` after this call are wrapped.
 *
 * @returns the server itself
 */
export function wrapServer<Server extends McpServerLike>(
  server: Server,
  manager: AdapterManager,
  options?: CallOptions | null,
): Server {
  const calls = new CallRecorder(manager, options)
  const register = registerOf(server)
  const registerWrapped: Register = (name, config, handler) =>
    register(name, config, (...parameters) => {
      const input = config.inputSchema === undefined ? undefined : parameters[0]
      const call: ToolCall = { toolName: name, input, callId: callIdOf(parameters.at(-1)) }
      // Clients validate structured content against the declared schema, which a placeholder would not match.
      const keepsStructure = config.outputSchema !== undefined
      return calls.run(call, () => handler(...parameters), settler(calls, call, keepsStructure))
    })
  server.registerTool = registerWrapped
  return server
}

/**
 * Records the calls that a client makes to any server, and replaces large texts in their results by placeholders. `listTools`
 * also returns the tools with which the model reads the outputs; `callTool` answers calls of these tools locally.
 *
 * @returns the client itself
 */
export function wrapClient<Client extends McpClientLike>(
  client: Client,
  manager: AdapterManager,
  options?: CallOptions | null,
): Client {
  const calls = new CallRecorder(manager, options)
  if (typeof client?.callTool !== 'function' || typeof client.listTools !== 'function') {
    throw invalidArgument('client', 'a Client', client)
  }
  const callTool = client.callTool.bind(client) as Handler
  const listTools = client.listTools.bind(client) as Handler
  const own = new Map<string, ContextTools[number]>(contextTools(manager).map((tool) => [tool.name, tool]))
  client.callTool = async (...parameters: unknown[]) => {
    const { name, arguments: input } = (parameters[0] ?? {}) as { name?: unknown; arguments?: unknown }
    const tool = own.get(String(name))
    if (tool !== undefined) {
      return answer(tool, input, (parameters.at(-1) ?? {}) as RequestContext)
    }
    const call: ToolCall = { toolName: String(name), input, callId: undefined }
    return calls.run(call, () => callTool(...parameters), settler(calls, call, false))
  }
  client.listTools = async (...parameters: unknown[]) => {
    const page = (await listTools(...parameters)) as { tools: { name: string }[]; nextCursor?: string }
    for (const { name } of page.tools) {
      // The server stores its outputs itself: calls of its retrieval tools are passed on to it.
      own.delete(name)
    }
    if (page.nextCursor !== undefined) {
      return page
    }
    const added = [...own.values()].map(({ name, description, parameters: inputSchema }) => {
      return { name, description, inputSchema: structuredClone(inputSchema), annotations: { readOnlyHint: true } }
    })
    return { ...page, tools: [...page.tools, ...added] }
  }
  return client
}

/** Adds to a server the tools with which a model reads stored outputs. */
export function registerContextTools<Server extends McpServerLike>(
  server: Server,
  manager: AdapterManager,
  options?: RegisterOptions | null,
): Server {
  checkAdapterManager(manager)
  const register = registerOf(server)
  const z = options?.z
  for (const tool of contextTools(manager)) {
    const { name, description, parameters, '~standard': standard } = tool
    const inputSchema = z ? z.fromJSONSchema(parameters as never) : { '~standard': standard }
    const config = { description, inputSchema, annotations: { readOnlyHint: true } }
    try {
      register(name, config, (input: unknown, context: unknown) => answer(tool, input, context as RequestContext))
    } catch (error) {
      throw z
        ? error
        : contextError(
            'ERR_CONTEXT_UNSUPPORTED',
            'this server does not take a Standard Schema: with the SDK v1 (@modelcontextprotocol/sdk ^1.29.0) pass { z } of zod 4',
            error,
          )
    }
  }
  return server
}

function registerOf(server: McpServerLike): Register {
  if (typeof server?.registerTool !== 'function') {
    if (typeof (server as { tool?: unknown } | null | undefined)?.tool === 'function') {
      throw unsupportedFramework('mcp', RANGE, 'this server has no registerTool')
    }
    throw invalidArgument('server', 'an McpServer', server)
  }
  return server.registerTool.bind(server) as Register
}
