/** The main entry of the package: everything public. */

export type { ContextStats, StorageStats, SweepReport } from '#addon'
export type { CancellationOptions, ContextError, ContextErrorCode, JsonValue, TaskId, Time } from './arguments/types.ts'
export { copyStorage } from './copying/copy-storage.ts'
export type { CopyPlaces, CopyReport, CopyStorageOptions, CopyStorageReport } from './copying/types.ts'
export type { Embed, Embedder, EmbedOptions } from './embedding/types.ts'
export { ContextHistory } from './history/context-history.ts'
export { DEFAULT_HISTORY_PATH } from './history/options.ts'
export type {
  AppendOptions,
  CompactPolicy,
  CompactReport,
  ContextEntry,
  ContextEntryInput,
  ContextHistoryOptions,
  HistoryFilter,
  ReadOptions,
  TailOptions,
  VerifyReport,
} from './history/types.ts'
export { ContextManager } from './manager/context-manager.ts'
export type {
  ContextKind,
  OffloadAllOptions,
  OffloadedContext,
  OffloadedValue,
  OffloadOptions,
  OffloadPolicy,
  OffloadValueOptions,
  ToolOutput,
} from './manager/offload-types.ts'
export { DEFAULT_CONTEXT_DIRECTORY, DEFAULT_PERSIST_THRESHOLD } from './manager/options.ts'
export type { RecordedStream } from './manager/recorded-stream.ts'
export type {
  ContextFilter,
  ContextSelector,
  ContextSlice,
  GrepContextsHit,
  GrepContextsOptions,
  GrepContextsResult,
  GrepLine,
  GrepMatch,
  GrepOptions,
  LatestOptions,
  MatchedTerm,
  ScoreParts,
  SearchHit,
  SearchOptions,
  SearchSnippet,
  SelectedContext,
  SelectOptions,
  SelectorRequest,
  SliceOptions,
  SliceRange,
} from './manager/retrieval-types.ts'
export type {
  ContextFiles,
  ContextManagerOptions,
  ContextPointer,
  ImportedRecord,
  ImportRecordOptions,
  RecordStreamOptions,
  RetentionOptions,
  SelectablePointer,
  StoredContext,
  ToolOutcome,
} from './manager/types.ts'
export type { IFileSystem } from './native/types.ts'
export { redactStream } from './redaction/redact-stream.ts'
export { redact, redactValue } from './redaction/redaction.ts'
export type {
  RedactedStream,
  RedactedText,
  RedactedValue,
  RedactionFinding,
  RedactionOptions,
  RedactionPattern,
  RedactionReport,
} from './redaction/types.ts'
export { DEFAULT_REPO_MEMORY_ROOT } from './repo/options.ts'
export { RepoMemory } from './repo/repo-memory.ts'
export { summariseStep } from './repo/step-summary.ts'
export type {
  AppendSummaryOptions,
  BranchScope,
  ContextPack,
  ContextPackOptions,
  Convention,
  ConventionInput,
  Decision,
  DecisionInput,
  MigrateReport,
  Note,
  NoteInput,
  NoteSource,
  PackedRecord,
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
} from './repo/types.ts'
export { DEFAULT_STATE_PATH } from './state/options.ts'
export { StateStore } from './state/state-store.ts'
export type {
  StateChange,
  StateComparison,
  StateDeleteOptions,
  StateFilter,
  StateHit,
  StateItem,
  StateListOptions,
  StateNamespacesOptions,
  StateNamespacesPage,
  StateOperation,
  StateOperationResult,
  StatePage,
  StatePutOptions,
  StateSearchOptions,
  StateStats,
  StateStoreOptions,
  StateSweepReport,
  StateTransactionOptions,
  StateValue,
  StateValueOptions,
  StateVerifyReport,
  StateView,
  StateWatchOptions,
} from './state/types.ts'
export type {
  BlobsCredentials,
  BlobsOptions,
  StorageOptions,
  StorageTlsOptions,
  StorageUse,
} from './storage/types.ts'
export { ContextStore } from './store/context-store.ts'
export { DEFAULT_CONTEXT_STORE } from './store/location.ts'
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
} from './store/types.ts'
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
  type RecordedCall,
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
export { toText } from './tools/to-text.ts'
export type {
  ToolDefinition,
  ToolParameterSchema,
  ToolParametersSchema,
  ToolResult,
  ToolStandardSchema,
} from './tools/types.ts'
