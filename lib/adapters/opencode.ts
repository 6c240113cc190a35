/** The entry `agent-context/opencode`: a plugin of opencode. */

export { type ContextPlugin, type ContextPluginHooks, contextPlugin } from './opencode/context-plugin.ts'
export type { SessionManager, SessionOptions } from './session-managers.ts'
