/** The entry `agent-context/mastra`: tool calls of Mastra's agents, and its threads, messages and workflow runs in a `StateStore`. */

export type { AdapterManager, CallOptions } from './call-recorder.ts'
export { type OffloadProcessor, offloadProcessor } from './mastra/offload-processor.ts'
export { StateStorage } from './mastra/state-storage.ts'
