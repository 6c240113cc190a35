/** `contextExtension`: tool calls of Pi are recorded, and large outputs are replaced by placeholders. */

import { failed, type ToolCall, textOf, unsupportedFramework } from '../call-recorder.ts'
import { checkSessionOptions, SessionManagers, type SessionOptions, TOOLS } from '../session-managers.ts'

/** The members of Pi's `ExtensionAPI` that are used. */
export interface ExtensionHost {
  on(event: never, handler: never): unknown
  registerTool(tool: never): void
}

/** An extension, as modules of Pi export it by default. */
export type ContextExtension = (pi: ExtensionHost) => void

interface Host {
  on(event: string, handler: (event: never, context: HostContext) => unknown): unknown
  registerTool(tool: ReadBackTool): void
}

interface HostContext {
  readonly sessionManager: { getSessionId(): string }
}

interface ReadBackTool {
  readonly name: string
  readonly label: string
  readonly description: string
  readonly parameters: object
  execute(
    callId: string,
    input: unknown,
    signal: AbortSignal | undefined,
    update: unknown,
    context: HostContext,
  ): Promise<{ content: { type: 'text'; text: string }[]; details: undefined }>
}

interface ToolResult {
  readonly toolName: string
  readonly toolCallId: string
  readonly input: unknown
  readonly content: readonly object[]
  readonly isError: boolean
}

/**
 * Returns an extension that records every tool call, replaces long texts in large outputs by placeholders before Pi stores them,
 * and adds the tools with which the model reads them. Each session of Pi has its own manager, which is resumed when the session
 * is resumed.
 *
 * @example
 * ```ts
 * // ~/.pi/agent/extensions/agent-context.ts
 * import { contextExtension } from 'agent-context/pi'
 * export default contextExtension()
 * ```
 */
export function contextExtension(options?: SessionOptions | null): ContextExtension {
  const given = checkSessionOptions(options)
  const sessions = new SessionManagers(given)
  return (pi) => {
    const host = pi as unknown as Host
    if (typeof host?.on !== 'function' || typeof host.registerTool !== 'function') {
      throw unsupportedFramework('pi', 'Pi 0.87 or newer', 'the installed one has no tools of extensions')
    }
    for (const { name, description, parameters } of TOOLS) {
      host.registerTool({
        name,
        label: name,
        description,
        // A copy, because Pi may modify it.
        parameters: structuredClone(parameters),
        async execute(_, input, signal, __, { sessionManager }) {
          const text = await sessions.ask(sessionManager.getSessionId(), name, input, signal)
          return { content: [{ type: 'text', text }], details: undefined }
        },
      })
    }
    host.on('tool_execution_start', ({ toolCallId }: ToolResult) => sessions.begin(toolCallId))
    host.on('tool_result', async (result: ToolResult, { sessionManager }) => {
      const { toolName, toolCallId: callId, input, content, isError } = result
      const call: ToolCall = { toolName, input, callId }
      const { outcome, ...details } = sessions.end(call)
      const end = isError ? { ...failed(textOf(content)), ...outcome } : outcome
      const { calls } = sessions.of(sessionManager.getSessionId())
      const { isOffloaded, value } = await calls.blocks(call, content, { ...details, outcome: end })
      return isOffloaded ? { content: value } : undefined
    })
    host.on('session_shutdown', () => sessions.close())
  }
}
