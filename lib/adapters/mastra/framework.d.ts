/**
 * What the adapter uses of Mastra, so that this package is built without it. The declarations that are published import the
 * framework's own types, against which `__test__/adapters` compiles them.
 */

declare module '@mastra/core/storage' {
  export class MastraCompositeStore {
    constructor(config: { id: string; name?: string })
    stores?: { memory?: MemoryStorage; workflows?: WorkflowsStorage }
  }

  type Direction = 'ASC' | 'DESC'
  type OrderField = 'createdAt' | 'updatedAt'
  export interface StorageOrderBy {
    field?: OrderField
    direction?: Direction
  }
  export interface StorageThreadType {
    id: string
    title?: string
    resourceId: string
    createdAt: Date
    updatedAt: Date
    metadata?: Record<string, unknown>
  }
  export interface StorageResourceType {
    id: string
    workingMemory?: string
    metadata?: Record<string, unknown>
    createdAt: Date
    updatedAt: Date
  }
  export interface MastraDBMessage {
    id: string
    role: 'user' | 'assistant' | 'system' | 'signal'
    createdAt: Date
    threadId?: string
    resourceId?: string
    type?: string
    content: { format: 2; parts: object[]; metadata?: Record<string, unknown> }
  }
  export type MessageUpdate = Partial<Omit<MastraDBMessage, 'content'>> & { id: string; content?: object }
  interface Page {
    total: number
    page: number
    perPage: number | false
    hasMore: boolean
  }
  export interface StorageListMessagesOptions {
    include?: { id: string; withPreviousMessages?: number; withNextMessages?: number }[]
    perPage?: number | false
    page?: number
    filter?: { dateRange?: object; metadata?: object }
    orderBy?: StorageOrderBy
  }
  export type StorageListMessagesInput = StorageListMessagesOptions & {
    threadId: string | string[]
    resourceId?: string
  }
  export type StorageListMessagesByResourceIdInput = StorageListMessagesOptions & { resourceId: string }
  export type StorageListMessagesOutput = Page & { messages: MastraDBMessage[] }
  export interface StorageListThreadsInput {
    perPage?: number | false
    page?: number
    orderBy?: StorageOrderBy
    filter?: { resourceId?: string; metadata?: Record<string, unknown> }
  }
  export type StorageListThreadsOutput = Page & { threads: StorageThreadType[] }
  export interface StorageCloneThreadInput {
    sourceThreadId: string
    newThreadId?: string
    resourceId?: string
    title?: string
    metadata?: Record<string, unknown>
    options?: {
      messageLimit?: number
      messageFilter?: { startDate?: Date; endDate?: Date; messageIds?: string[] }
    }
  }
  export interface StorageCopyThreadOutput {
    thread: StorageThreadType
    messageIdMap?: Record<string, string>
  }

  export abstract class MemoryStorage {
    readonly supportsPartialThreadUpdate?: boolean
    updateThreadMetadata(change: {
      id: string
      resourceId?: string
      update: (thread: StorageThreadType) => Record<string, unknown> | undefined
    }): Promise<StorageThreadType | null>
    listMessagesByResourceId(query: StorageListMessagesByResourceIdInput): Promise<StorageListMessagesOutput>
    deleteMessages(messageIds: string[]): Promise<void>
    copyThread(copy: StorageCloneThreadInput): Promise<StorageCopyThreadOutput>
    updateThreadResourceId(change: { threadId: string; resourceId: string }): Promise<StorageThreadType>
    getResourceById(query: { resourceId: string }): Promise<StorageResourceType | null>
    saveResource(given: { resource: StorageResourceType }): Promise<StorageResourceType>
    updateResource(change: {
      resourceId: string
      workingMemory?: string
      metadata?: Record<string, unknown>
    }): Promise<StorageResourceType>
    protected parseOrderBy(
      orderBy?: StorageOrderBy,
      defaultDirection?: Direction,
    ): { field: OrderField; direction: Direction }
    protected validateMetadataKeys(metadata: Record<string, unknown> | undefined): void
    protected validatePaginationInput(page: number, perPage: number | false): void
  }

  export type WorkflowStepResult = object
  export interface WorkflowRunState {
    status: string
    context: Record<string, WorkflowStepResult>
  }
  export type UpdateWorkflowStateOptions = { expectedStatus?: string | string[] } & Partial<WorkflowRunState>
  export interface PersistedSnapshot {
    workflowName: string
    runId: string
    resourceId?: string
    snapshot: WorkflowRunState
    createdAt?: Date
    updatedAt?: Date
  }
  export interface StorageListWorkflowRunsInput {
    workflowName?: string
    fromDate?: Date
    toDate?: Date
    perPage?: number | false
    page?: number
    resourceId?: string
    threadId?: string
    status?: string
  }
  export interface WorkflowRun {
    workflowName: string
    runId: string
    snapshot: WorkflowRunState | string
    createdAt: Date
    updatedAt: Date
    resourceId?: string
  }
  export interface WorkflowRuns {
    runs: WorkflowRun[]
    total: number
  }
  export abstract class WorkflowsStorage {
    abstract supportsConcurrentUpdates(): boolean
  }

  export function normalizePerPage(perPage: number | false | undefined, byDefault: number): number
  export function calculatePagination(
    page: number,
    perPage: number | false | undefined,
    size: number,
  ): { offset: number; perPage: number | false }
  export function createEmptyWorkflowSnapshot(runId: string): WorkflowRunState
  export function mergeWorkflowStepResult(merge: {
    snapshot: WorkflowRunState
    stepId: string
    result: WorkflowStepResult
    requestContext: Record<string, unknown>
  }): Record<string, WorkflowStepResult>
  export function matchesExpectedWorkflowStatus(status: string, expected: string | string[] | undefined): boolean
  export function getSnapshotMemoryInfo(snapshot: WorkflowRunState): { threadId?: string } | undefined
  export function validateStorageMetadataFilter(filter: object | undefined): object | undefined
  export function storageMessageMatchesMetadataFilter(content: unknown, filter: object | undefined): boolean
  export function filterByDateRange<T>(items: T[], timeOf: (item: T) => Date, range: object | undefined): T[]
  export function jsonValueEquals(one: unknown, other: unknown): boolean
  export function safelyParseJSON(text: unknown): unknown
}
