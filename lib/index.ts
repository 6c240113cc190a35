/** The public entry: everything a user may import. */

export type { ContextStats, SweepReport } from '../native.js'
export type {
  CancellationOptions,
  ContextError,
  ContextErrorCode,
  ContextManagerOptions,
  ContextPointer,
  IFileSystem,
  JsonValue,
  RetentionOptions,
  SelectablePointer,
  SelectOptions,
  StoredContext,
  TaskId,
} from '../types.d.ts'
export { ContextManager, type ToolOutcome } from './context-manager.ts'
export { DEFAULT_CONTEXT_DIRECTORY, DEFAULT_PERSIST_THRESHOLD } from './options.ts'
export {
  createToolRecorder,
  type ToolCallbacks,
  type ToolCallContext,
  type ToolExecutionResult,
  type ToolRecorder,
  type ToolRecorderOptions,
  type ToolResponse,
} from './recorder.ts'
