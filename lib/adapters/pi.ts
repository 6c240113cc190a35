/** The entry `agent-context/pi`: an extension of Pi. It imports nothing of Pi. */

export { type ContextExtension, contextExtension, type ExtensionHost } from './pi/context-extension.ts'
export type { SessionManager, SessionOptions } from './session-managers.ts'
