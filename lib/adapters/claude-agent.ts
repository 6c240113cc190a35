/** The entry `agent-context/claude-agent`: hooks, tools and sessions of the Claude Agent SDK. */

export type { AdapterManager, CallOptions } from './call-recorder.ts'
export { type ContextHooks, type ContextHooksOptions, contextHooks } from './claude-agent/context-hooks.ts'
export { type ClaudeAgentSdk, contextServer } from './claude-agent/context-server.ts'
export {
  ContextSessionStore,
  type SessionEntry,
  type SessionKey,
  type SessionSummaries,
  type SessionSummary,
} from './claude-agent/context-session-store.ts'
