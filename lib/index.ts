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
export { type AutoRecorder, type AutoRecordOptions, autoRecord, type ToolInvoked } from './auto-record.ts'
export { ContextHistory } from './context-history.ts'
export { ContextManager } from './context-manager.ts'
export { ContextStore } from './context-store.ts'
export {
  type ContextStoreTools,
  type ContextStoreToolsOptions,
  type ContextStoreToolsSource,
  contextStoreTools,
} from './context-store-tools.ts'
export {
  type ContextTool,
  type ContextTools,
  type ContextToolsOptions,
  type ContextToolsSource,
  contextTools,
} from './context-tools.ts'
export type { ListContextsParameters } from './list-contexts-tool.ts'
export { DEFAULT_CONTEXT_DIRECTORY, DEFAULT_HISTORY_PATH, DEFAULT_PERSIST_THRESHOLD } from './options.ts'
export type { ReadContextSliceParameters } from './read-context-slice-tool.ts'
export { type ReadContextOptions, type ReadContextParameters, readContextTool } from './read-context-tool.ts'
export {
  createToolRecorder,
  type ToolCallbacks,
  type ToolCallContext,
  type ToolExecutionResult,
  type ToolRecorder,
  type ToolRecorderOptions,
  type ToolResponse,
} from './recorder.ts'
export { redact, redactValue } from './redaction.ts'
export { RepoMemory } from './repo-memory.ts'
export { DEFAULT_REPO_MEMORY_ROOT } from './repo-options.ts'
export { summariseStep } from './repo-step-summary.ts'
export type { ToolOutcome } from './save-details.ts'
export type { SearchContextsParameters } from './search-contexts-tool.ts'
export { DEFAULT_CONTEXT_STORE } from './store-location.ts'
export type { ContextReadParameters } from './store-read-tool.ts'
export type { ContextSearchParameters } from './store-search-tool.ts'
export type { ContextSupersedeParameters } from './store-supersede-tool.ts'
export type { ContextUpdateParameters } from './store-update-tool.ts'
export type { ContextWriteParameters } from './store-write-tool.ts'
