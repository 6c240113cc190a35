/** `contextPlugin`: tool calls of opencode are recorded, and large outputs are replaced by placeholders. */

import { z } from 'zod'
import { type ToolCall, unsupportedFramework } from '../call-recorder.ts'
import { checkSessionOptions, SessionManagers, type SessionOptions, TOOLS } from '../session-managers.ts'

/** A plugin, as modules in `.opencode/plugin/` export it. */
export type ContextPlugin = (input: object) => Promise<ContextPluginHooks>

interface Call {
  tool: string
  sessionID: string
  callID: string
}

/** A tool with which the model reads stored outputs. Its arguments are those of zod. */
interface ReadBackTool {
  description: string
  args: Record<string, never>
  execute(args: Record<string, unknown>, context: { sessionID: string; abort: AbortSignal }): Promise<string>
}

/** The hooks of the plugin. */
export interface ContextPluginHooks {
  tool: Record<string, ReadBackTool>
  'tool.execute.before'(call: Call): Promise<void>
  'tool.execute.after'(call: Call & { args?: unknown }, output: object): Promise<void>
  'experimental.session.compacting'(input: { sessionID: string }, output: { context: string[] }): Promise<void>
  event(input: { event: object }): Promise<void>
  dispose(): Promise<void>
}

/** A part of a message with the state of a tool call. */
interface ToolPart {
  readonly type?: unknown
  readonly sessionID: string
  readonly callID: string
  readonly tool: string
  readonly state?: { readonly status?: unknown; readonly input?: unknown; readonly error?: unknown }
}

/** The number of stored outputs that are listed when a conversation is compacted. */
const NAMED = 20

/**
 * Returns a plugin that records every tool call, replaces large outputs by placeholders before opencode stores them, and adds
 * the tools with which the model reads them. Each session of opencode, including those of sub-agents, has its own manager.
 * Failed calls are recorded from the events of the session.
 *
 * @example
 * ```ts
 * // .opencode/plugin/agent-context.ts
 * import { contextPlugin } from 'agent-context/opencode'
 * export const AgentContext = contextPlugin()
 * ```
 */
export function contextPlugin(options?: SessionOptions | null): ContextPlugin {
  const given = checkSessionOptions(options)
  return async () => {
    if (typeof z.fromJSONSchema !== 'function') {
      throw unsupportedFramework('opencode', 'zod ^4.2.0', 'the installed one does not read JSON Schema')
    }
    return hooksOf(new SessionManagers(given))
  }
}

function hooksOf(sessions: SessionManagers): ContextPluginHooks {
  /** The ids of recorded failures, because opencode reports a failure in several events. */
  const failures = new Set<string>()
  return {
    tool: Object.fromEntries(TOOLS.map((tool) => [tool.name, readBackTool(tool, sessions)])),

    async 'tool.execute.before'({ callID }) {
      sessions.begin(callID)
    },

    async 'tool.execute.after'({ tool, sessionID, callID, args }, output) {
      const call: ToolCall = { toolName: tool, input: args, callId: callID }
      const { calls } = sessions.of(sessionID)
      const result = output as { output?: unknown; content?: unknown; isError?: unknown }
      const details = sessions.end(call)
      const outcome = { ...details.outcome, ...(result.isError === true ? { success: false } : {}) }
      // Tools of MCP servers return content blocks.
      if (Array.isArray(result.content)) {
        result.content = (await calls.blocks(call, result.content, { ...details, outcome })).value
      } else if (typeof result.output === 'string') {
        result.output = (await calls.output(call, result.output, { ...details, outcome })).text
      }
    },

    async 'experimental.session.compacting'({ sessionID }, { context }) {
      const listing = await sessions.ask(sessionID, 'list_contexts', { limit: NAMED }, undefined)
      context.push(`Outputs of earlier tool calls are stored, and read with read_context_slice.\n${listing}`)
    },

    async event({ event }) {
      const { type, properties } = event as { type?: unknown; properties?: { part?: ToolPart; info?: { id?: string } } }
      const { part, info } = properties ?? {}
      if (type === 'message.part.updated' && part?.type === 'tool' && part.state?.status === 'error') {
        const call: ToolCall = { toolName: part.tool, input: part.state.input, callId: part.callID }
        if (!failures.has(part.callID)) {
          failures.add(part.callID)
          const { outcome } = sessions.end(call)
          await sessions.of(part.sessionID).calls.failure(call, part.state.error, outcome.durationMs)
        }
      } else if (type === 'session.deleted' && typeof info?.id === 'string') {
        await sessions.clear(info.id)
      }
    },

    dispose: () => sessions.close(),
  }
}

function readBackTool(
  { name, description, parameters }: (typeof TOOLS)[number],
  sessions: SessionManagers,
): ReadBackTool {
  return {
    description,
    args: (z.fromJSONSchema(parameters as never) as z.ZodObject).shape as unknown as Record<string, never>,
    execute: (args, { sessionID, abort }) => sessions.ask(sessionID, name, args, abort),
  }
}
