/** The public entry: everything a user may import. */

export type {
  BranchScope,
  ContextPackOptions,
  Convention,
  ConventionInput,
  Decision,
  DecisionInput,
  MigrateReport,
  Note,
  NoteInput,
  NoteSource,
  RecordKind,
  RepoHashOptions,
  RepoMap,
  RepoMapFocus,
  RepoMapOptions,
  RepoMapProgress,
  RepoMemoryContents,
  RepoMemoryLocation,
  RepoMemoryMigration,
  RepoMemoryOptions,
  StepSummary,
  Summary,
  SymbolKind,
  SymbolSummary,
  Workflow,
  WorkflowStep,
  WorkflowStepOptions,
} from '../memory.d.ts'
export type { ContextStats, SweepReport } from '../native.js'
export type {
  RedactedText,
  RedactedValue,
  RedactionFinding,
  RedactionOptions,
  RedactionPattern,
  RedactionReport,
} from '../redaction.d.ts'
export type {
  ContextFilter,
  ContextSelector,
  ContextSlice,
  Embed,
  GrepMatch,
  GrepOptions,
  LatestOptions,
  MatchedTerm,
  OffloadedContext,
  OffloadOptions,
  OffloadPolicy,
  SearchHit,
  SearchOptions,
  SearchSnippet,
  SelectedContext,
  SelectOptions,
  SelectorRequest,
  SliceOptions,
  SliceRange,
  Time,
  ToolOutput,
} from '../retrieval.d.ts'
export type {
  ContextStoreConfig,
  ContextStoreOptions,
  ContextType,
  HousekeepingPolicy,
  HousekeepingReport,
  NewStoreEntry,
  RelatedOptions,
  StoreEntry,
  StoreEntryChange,
  StoreEntryChangelogLine,
  StoreEntrySummary,
  StoreFilter,
  StoreQuery,
  StoreTagFilter,
  StoreVerifyReport,
  UpdateOptions,
} from '../store.d.ts'
export type {
  CancellationOptions,
  CompactPolicy,
  CompactReport,
  ContextEntry,
  ContextEntryInput,
  ContextError,
  ContextErrorCode,
  ContextHistoryOptions,
  ContextManagerOptions,
  ContextPointer,
  HistoryFilter,
  IFileSystem,
  JsonValue,
  ReadOptions,
  RetentionOptions,
  SelectablePointer,
  StoredContext,
  TaskId,
  ToolDefinition,
  ToolResult,
  VerifyReport,
} from '../types.d.ts'
export { DEFAULT_CONTEXT_DIRECTORY, DEFAULT_HISTORY_PATH, DEFAULT_PERSIST_THRESHOLD } from './arguments/options.ts'
export { ContextHistory } from './history/context-history.ts'
export { ContextManager } from './manager/context-manager.ts'
export type { ToolOutcome } from './manager/save-details.ts'
export { redact, redactValue } from './redaction/redaction.ts'
export { DEFAULT_REPO_MEMORY_ROOT } from './repo/options.ts'
export { RepoMemory } from './repo/repo-memory.ts'
export { summariseStep } from './repo/step-summary.ts'
export { ContextStore } from './store/context-store.ts'
export { DEFAULT_CONTEXT_STORE } from './store/location.ts'
export { type AutoRecorder, type AutoRecordOptions, autoRecord, type ToolInvoked } from './tools/auto-record.ts'
export {
  type ContextStoreTools,
  type ContextStoreToolsOptions,
  type ContextStoreToolsSource,
  contextStoreTools,
} from './tools/context-store-tools.ts'
export {
  type ContextTool,
  type ContextTools,
  type ContextToolsOptions,
  type ContextToolsSource,
  contextTools,
} from './tools/context-tools.ts'
export type { ListContextsParameters } from './tools/list-contexts-tool.ts'
export type { ReadContextSliceParameters } from './tools/read-context-slice-tool.ts'
export { type ReadContextOptions, type ReadContextParameters, readContextTool } from './tools/read-context-tool.ts'
export {
  createToolRecorder,
  type ToolCallbacks,
  type ToolCallContext,
  type ToolExecutionResult,
  type ToolRecorder,
  type ToolRecorderOptions,
  type ToolResponse,
} from './tools/recorder.ts'
export type { SearchContextsParameters } from './tools/search-contexts-tool.ts'
export type { ContextReadParameters } from './tools/store-read-tool.ts'
export type { ContextSearchParameters } from './tools/store-search-tool.ts'
export type { ContextSupersedeParameters } from './tools/store-supersede-tool.ts'
export type { ContextUpdateParameters } from './tools/store-update-tool.ts'
export type { ContextWriteParameters } from './tools/store-write-tool.ts'
