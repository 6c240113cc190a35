/** The supported clients: the form of their events, and of the answers that they accept. */

import { type Client, type ClientName, type Happening, parsed, record, text } from './hook-event.ts'

const NOTHING: Happening = { kind: 'other' }

const milliseconds = (value: unknown): number | undefined =>
  typeof value === 'number' && value >= 0 ? value : undefined

/** Claude Code, Codex and Gemini CLI name their members alike. */
function commonPlace(input: Readonly<Record<string, unknown>>): { session: string; workspace: string } {
  return { session: text(input['session_id']) ?? 'unknown', workspace: text(input['cwd']) ?? process.cwd() }
}

const isFailure = (response: unknown): boolean | undefined => {
  const { isError, is_error, interrupted, error } = record(response)
  // Gemini CLI returns an object with the type and the message of an error.
  const hasError = typeof error === 'string' || (typeof error === 'object' && error !== null)
  return isError === true || is_error === true || interrupted === true || hasError ? true : undefined
}

function commonCall(input: Readonly<Record<string, unknown>>): Happening {
  const tool = text(input['tool_name'])
  return tool === undefined
    ? NOTHING
    : {
        kind: 'tool',
        tool,
        args: record(input['tool_input']),
        response: input['tool_response'],
        callId: text(input['tool_use_id']),
        durationMs: milliseconds(input['duration_ms']),
        failed: isFailure(input['tool_response']),
      }
}

/** A session may go on after a stop of the model, not after its end. */
function commonHappening(event: string, afterTool: string, input: Readonly<Record<string, unknown>>): Happening {
  switch (event) {
    case afterTool:
      return commonCall(input)
    case 'session-start':
    case 'session-end':
      return { kind: event }
    default:
      return NOTHING
  }
}

const startContext = (additionalContext: string): object => ({
  hookSpecificOutput: { hookEventName: 'SessionStart', additionalContext },
})

const claudeCode: Client = {
  read: (event, input) => ({ ...commonPlace(input), happening: commonHappening(event, 'post-tool-use', input) }),
  context: startContext,
  replace: (_, updatedToolOutput) => ({ hookSpecificOutput: { hookEventName: 'PostToolUse', updatedToolOutput } }),
}

const isMcpTool = (tool: string): boolean => /^(mcp__|MCP:)/.test(tool)

const codex: Client = {
  ...claudeCode,
  // Its schema has a member for outputs of MCP tools, and refuses others.
  replace: ({ tool }, updatedMCPToolOutput) =>
    isMcpTool(tool) ? { hookSpecificOutput: { hookEventName: 'PostToolUse', updatedMCPToolOutput } } : undefined,
}

const gemini: Client = {
  read: (event, input) => ({ ...commonPlace(input), happening: commonHappening(event, 'after-tool', input) }),
  context: startContext,
  // The reason takes the place of the output in the conversation.
  replace: (_, __, reason) => ({ decision: 'deny', reason }),
}

const cursor: Client = {
  read(event, input) {
    const [root] = Array.isArray(input['workspace_roots']) ? (input['workspace_roots'] as unknown[]) : []
    const place = {
      session: text(input['conversation_id']) ?? text(input['session_id']) ?? 'unknown',
      workspace: text(root) ?? text(input['cwd']) ?? process.cwd(),
    }
    const durationMs = milliseconds(input['duration'])
    if (event === 'post-tool-use') {
      const call = commonCall({ ...input, tool_response: parsed(input['tool_output']) })
      return { ...place, happening: call.kind === 'tool' ? { ...call, durationMs } : call }
    }
    if (event === 'after-shell-execution') {
      const args = { command: input['command'] }
      return { ...place, happening: { kind: 'tool', tool: 'Shell', args, response: input['output'], durationMs } }
    }
    if (event === 'after-mcp-execution') {
      const args = record(parsed(input['tool_input']))
      const tool = `MCP:${text(input['tool_name']) ?? 'unknown'}`
      return { ...place, happening: { kind: 'tool', tool, args, response: parsed(input['result_json']), durationMs } }
    }
    return { ...place, happening: commonHappening(event, '', input) }
  },
  context: (additional_context) => ({ additional_context }),
  // Other outputs are observed; the client takes no replacement of them.
  replace: ({ tool }, updated_mcp_tool_output) => (isMcpTool(tool) ? { updated_mcp_tool_output } : undefined),
}

const opencode: Client = {
  read(event, input) {
    const place = {
      session: text(input['sessionID']) ?? 'unknown',
      workspace: text(input['directory']) ?? process.cwd(),
    }
    const tool = text(input['tool'])
    if (event !== 'tool-execute-after' || tool === undefined) {
      return { ...place, happening: commonHappening(event, '', input) }
    }
    return {
      ...place,
      happening: {
        kind: 'tool',
        tool,
        args: record(input['args']),
        response: record(input['output'])['output'],
        callId: text(input['callID']),
      },
    }
  },
  context: (context) => ({ context }),
  replace: (_, __, output) => ({ output }),
}

export const CLIENT: Readonly<Record<ClientName, Client>> = {
  'claude-code': claudeCode,
  codex,
  cursor,
  gemini,
  opencode,
}
