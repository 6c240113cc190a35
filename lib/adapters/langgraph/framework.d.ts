/**
 * What the adapters use of LangGraph, so that this package is built without it. The declarations that are published import the
 * framework's own types, against which `__test__/adapters` compiles them.
 */

declare module '@langchain/core/runnables' {
  export interface RunnableConfig {
    readonly configurable?: object
  }
}

declare module '@langchain/langgraph-checkpoint' {
  import type { RunnableConfig } from '@langchain/core/runnables'

  export type ChannelVersion = number | string
  export type ChannelVersions = Record<string, ChannelVersion>
  export type PendingWrite = [channel: string, value: unknown]
  export type CheckpointPendingWrite = [taskId: string, channel: string, value: unknown]
  export type CheckpointMetadata = { step: number } & object
  export type WritesSortKey = readonly [string, string, number]

  export interface Checkpoint {
    v: number
    id: string
    channel_values: Record<string, unknown>
    channel_versions: Record<string, ChannelVersion>
  }

  export interface CheckpointTuple {
    config: RunnableConfig
    checkpoint: Checkpoint
    metadata?: CheckpointMetadata
    parentConfig?: RunnableConfig
    pendingWrites?: CheckpointPendingWrite[]
  }

  export interface CheckpointListOptions {
    limit?: number
    before?: RunnableConfig
    filter?: Record<string, unknown>
  }

  export interface SerializerProtocol {
    dumpsTyped(value: unknown): Promise<[string, Uint8Array]>
    loadsTyped(type: string, data: Uint8Array | string): Promise<unknown>
  }

  export abstract class BaseCheckpointSaver {
    serde: SerializerProtocol
    constructor(serde?: SerializerProtocol)
    getNextVersion(current: number | undefined): number
    abstract getTuple(config: RunnableConfig): Promise<CheckpointTuple | undefined>
    abstract list(config: RunnableConfig, options?: CheckpointListOptions): AsyncGenerator<CheckpointTuple>
    abstract put(
      config: RunnableConfig,
      checkpoint: Checkpoint,
      metadata: CheckpointMetadata,
      newVersions: ChannelVersions,
    ): Promise<RunnableConfig>
    abstract putWrites(config: RunnableConfig, writes: PendingWrite[], taskId: string, taskPath?: string): Promise<void>
    abstract deleteThread(threadId: string): Promise<void>
  }

  export const TASKS: string
  export const WRITES_IDX_MAP: Record<string, number>
  export function maxChannelVersion(...versions: ChannelVersion[]): ChannelVersion
  export function writesSortKey(taskPath: string, taskId?: string, index?: number): WritesSortKey
  export function compareWritesSortKeys(one: WritesSortKey, other: WritesSortKey): number

  export interface Item {
    value: Record<string, unknown>
    key: string
    namespace: string[]
    createdAt: Date
    updatedAt: Date
  }
  export interface SearchItem extends Item {
    score?: number
  }
  export interface GetOperation {
    namespace: string[]
    key: string
  }
  export interface SearchOperation {
    namespacePrefix: string[]
    filter?: Record<string, unknown>
    limit?: number
    offset?: number
    query?: string
  }
  export interface PutOperation {
    namespace: string[]
    key: string
    value: Record<string, unknown> | null
    index?: false | string[]
  }
  export interface MatchCondition {
    matchType: 'prefix' | 'suffix'
    path: string[]
  }
  export interface ListNamespacesOperation {
    matchConditions?: MatchCondition[]
    maxDepth?: number
    limit: number
    offset: number
  }
  export type Operation = GetOperation | SearchOperation | PutOperation | ListNamespacesOperation
  export type OperationResults<Operations extends readonly Operation[]> = { [Index in keyof Operations]: unknown }

  export function validateNamespace(
    namespace: string[],
    options?: { allowEmpty?: boolean; allowReservedRoot?: boolean },
  ): void

  export abstract class BaseStore {
    abstract batch<Operations extends Operation[]>(operations: Operations): Promise<OperationResults<Operations>>
  }
}
