/** `contextServer`: the tools with which Claude reads stored outputs. */

import { z } from 'zod'
import { invalidArgument } from '../../arguments/errors.ts'
import { contextTools, toText } from '../../index.ts'
import { type AdapterManager, checkAdapterManager, unsupportedFramework } from '../call-recorder.ts'

export const CLAUDE_AGENT_RANGE = '@anthropic-ai/claude-agent-sdk ^0.3.300'

/** The members of the module `@anthropic-ai/claude-agent-sdk` that are used. */
export interface ClaudeAgentSdk<Server> {
  createSdkMcpServer(options: { name: string; alwaysLoad: boolean; tools: never[] }): Server
  /** Only used to detect older versions, which neither support session stores nor replace the outputs of all tools. */
  readonly InMemorySessionStore: unknown
}

/**
 * Returns an MCP server in the process of the SDK, for `mcpServers: { context: contextServer(manager, sdk) }`. Its tools are in
 * every request, even if Claude Code defers the loading of other tools.
 *
 * @param sdk `import * as sdk from '@anthropic-ai/claude-agent-sdk'`
 */
export function contextServer<Server>(manager: AdapterManager, sdk: ClaudeAgentSdk<Server>): Server {
  checkAdapterManager(manager)
  if (typeof sdk?.createSdkMcpServer !== 'function') {
    throw invalidArgument('sdk', 'the module @anthropic-ai/claude-agent-sdk', sdk)
  }
  if (sdk.InMemorySessionStore === undefined) {
    throw unsupportedFramework('claude-agent', CLAUDE_AGENT_RANGE, 'the installed one is older')
  }
  if (typeof z.fromJSONSchema !== 'function') {
    throw unsupportedFramework('claude-agent', 'zod ^4.2.0', 'the installed one does not read JSON Schema')
  }
  const tools = contextTools(manager).map(({ name, description, parameters, execute }) => ({
    name,
    description,
    // The SDK takes the members of a schema of zod.
    inputSchema: (z.fromJSONSchema(parameters as never) as z.ZodObject).shape,
    annotations: { readOnlyHint: true },
    async handler(input: unknown, extra: unknown) {
      const { signal } = (extra ?? {}) as { signal?: AbortSignal }
      const result = await execute(input, { signal })
      return { content: [{ type: 'text', text: toText(result) }], ...(result.success ? {} : { isError: true }) }
    },
  }))
  return sdk.createSdkMcpServer({ name: 'context', alwaysLoad: true, tools: tools as never[] })
}
