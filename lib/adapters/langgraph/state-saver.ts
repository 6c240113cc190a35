/** `StateSaver`: a checkpointer of LangGraph over `StateStore`. */

import { Buffer } from 'node:buffer'
import type { RunnableConfig } from '@langchain/core/runnables'
import * as langgraph from '@langchain/langgraph-checkpoint'
import type { ContextError, JsonValue, StateItem, StateOperation, StateStore } from '../../index.ts'
import { unsupportedFramework } from '../call-recorder.ts'
import { allItems, checkState, deleteAll } from '../state-items.ts'
import { placeOf, segmentsBelow } from './place.ts'
import { SUPPORTED_VERSIONS } from './supported-versions.ts'

type Fields = { thread_id?: string; checkpoint_ns?: string; checkpoint_id?: string }
/** A value as the serializer of LangGraph makes it. */
type Typed = [type: string, base64: string]
type SavedCheckpoint = { id: string; parent: string | null; checkpoint: Typed; metadata: Typed }
type SavedWrite = { taskId: string; index: number; path: string; channel: string; value: Typed }

const NAMESPACE = 'ns:'

/**
 * Stores the checkpoints of LangGraph's threads: `new StateGraph(…).compile({ checkpointer: new StateSaver(state) })`. Any number
 * of processes of one machine may share the store's file.
 *
 * Values are read back unchanged: a `StateStore` does not redact by default.
 */
export class StateSaver extends langgraph.BaseCheckpointSaver {
  readonly #state: StateStore

  /** @param serde the serializer of values; LangGraph's own by default */
  constructor(state: StateStore, serde?: langgraph.SerializerProtocol) {
    super(serde)
    if (typeof langgraph.compareWritesSortKeys !== 'function') {
      throw unsupportedFramework('langgraph', SUPPORTED_VERSIONS, 'the installed one does not order writes')
    }
    this.#state = checkState(state)
  }

  async getTuple(config: RunnableConfig): Promise<langgraph.CheckpointTuple | undefined> {
    const { thread_id: thread, checkpoint_ns: namespace = '', checkpoint_id: id } = fieldsOf(config)
    if (!thread) {
      return undefined
    }
    const place = placeOf('checkpoints', thread, NAMESPACE + namespace)
    const item = id
      ? await this.#state.get(place, descending(id))
      : (await this.#state.list(place, { limit: 1 })).items[0]
    return item && this.#tuple(item)
  }

  async *list(
    config: RunnableConfig,
    options?: langgraph.CheckpointListOptions,
  ): AsyncGenerator<langgraph.CheckpointTuple> {
    const { thread_id: thread, checkpoint_ns: namespace, checkpoint_id: id } = fieldsOf(config)
    const { checkpoint_id: before } = fieldsOf(options?.before)
    let left = options?.limit ?? Number.POSITIVE_INFINITY
    const ofThread = thread ? [thread] : []
    const prefix = thread && namespace !== undefined ? [...ofThread, NAMESPACE + namespace] : ofThread
    for await (const item of allItems(this.#state, placeOf('checkpoints', ...prefix))) {
      if (left <= 0) {
        return
      }
      const saved = item.value as SavedCheckpoint
      const isOther = (namespace !== undefined && namespaceOf(item) !== namespace) || (id && saved.id !== id)
      if (isOther || (before && saved.id >= before)) {
        continue
      }
      const metadata = (await this.#load(saved.metadata)) as langgraph.CheckpointMetadata & Record<string, unknown>
      if (Object.entries(options?.filter ?? {}).every(([name, value]) => metadata[name] === value)) {
        left--
        yield await this.#tuple(item, metadata)
      }
    }
  }

  async put(
    config: RunnableConfig,
    checkpoint: langgraph.Checkpoint,
    metadata: langgraph.CheckpointMetadata,
    newVersions: langgraph.ChannelVersions,
  ): Promise<RunnableConfig> {
    const { thread_id, checkpoint_ns: namespace = '', checkpoint_id: parent = null } = fieldsOf(config)
    const thread = threadOf(thread_id)
    const { channel_values: values, ...rest } = checkpoint
    const channels = Object.entries(newVersions).filter(([channel]) => Object.hasOwn(values, channel))
    // Channels that did not change are stored once, with the version at which they did.
    const puts = channels.map(async ([channel, version]): Promise<StateOperation> => {
      const value = await this.#dump(values[channel])
      const place = placeOf('values', thread, NAMESPACE + namespace)
      return { type: 'put', namespace: place, key: valueKey(channel, version), value }
    })
    const saved: SavedCheckpoint = {
      id: checkpoint.id,
      parent,
      metadata: await this.#dump(metadata),
      checkpoint: await this.#dump({ ...rest, channel_values: {} }),
    }
    const place = placeOf('checkpoints', thread, NAMESPACE + namespace)
    const own: StateOperation = { type: 'put', namespace: place, key: descending(checkpoint.id), value: saved }
    await this.#state.batch([...(await Promise.all(puts)), own])
    return configOf(thread, namespace, checkpoint.id)
  }

  async putWrites(
    config: RunnableConfig,
    writes: langgraph.PendingWrite[],
    taskId: string,
    taskPath = '',
  ): Promise<void> {
    const { thread_id, checkpoint_ns: namespace = '', checkpoint_id: id = '' } = fieldsOf(config)
    const place = placeOf('writes', threadOf(thread_id), NAMESPACE + namespace, id)
    const puts = writes.map(async ([channel, value], position) => {
      const index = langgraph.WRITES_IDX_MAP[channel] || position
      const write: SavedWrite = { taskId, index, path: taskPath, channel, value: await this.#dump(value) }
      // Earlier writes of a task are kept; special writes are replaced.
      const options = index >= 0 ? { ifRevision: null } : {}
      try {
        await this.#state.put(place, `${taskId},${index}`, write, options)
      } catch (error) {
        if ((error as Partial<ContextError>).code !== 'ERR_CONTEXT_CONFLICT') {
          throw error
        }
      }
    })
    await Promise.all(puts)
  }

  /** Removes all data of a thread. */
  async deleteThread(threadId: string): Promise<void> {
    for (const part of ['checkpoints', 'values', 'writes'] as const) {
      await deleteAll(this.#state, placeOf(part, threadId))
    }
    // The file contains copies of deleted data until it is swept.
    await this.#state.sweep()
  }

  async #tuple(item: StateItem, known?: langgraph.CheckpointMetadata): Promise<langgraph.CheckpointTuple> {
    const [thread = ''] = segmentsBelow(item.namespace)
    const namespace = namespaceOf(item)
    const saved = item.value as SavedCheckpoint
    const checkpoint = (await this.#load(saved.checkpoint)) as langgraph.Checkpoint
    const versions = Object.entries(checkpoint.channel_versions)
    const place = placeOf('values', thread, NAMESPACE + namespace)
    const gets = versions.map(
      ([channel, version]) => ({ type: 'get', namespace: place, key: valueKey(channel, version) }) as const,
    )
    const [values, pendingWrites] = await Promise.all([
      this.#state.batch(gets),
      this.#writes(thread, namespace, saved.id),
    ])
    for (const [index, value] of values.entries()) {
      if (value !== undefined) {
        checkpoint.channel_values[versions[index]?.[0] ?? ''] = await this.#load(value.value as Typed)
      }
    }
    if (checkpoint.v < 4 && saved.parent !== null) {
      const sends = (await this.#writes(thread, namespace, saved.parent)).filter(
        ([, channel]) => channel === langgraph.TASKS,
      )
      checkpoint.channel_values[langgraph.TASKS] = sends.map(([, , value]) => value)
      const others = versions.map(([, version]) => version)
      checkpoint.channel_versions[langgraph.TASKS] =
        others.length > 0 ? langgraph.maxChannelVersion(...others) : this.getNextVersion(undefined)
    }
    return {
      config: configOf(thread, namespace, saved.id),
      checkpoint,
      metadata: known ?? ((await this.#load(saved.metadata)) as langgraph.CheckpointMetadata),
      pendingWrites,
      ...(saved.parent === null ? {} : { parentConfig: configOf(thread, namespace, saved.parent) }),
    }
  }

  async #writes(thread: string, namespace: string, id: string): Promise<langgraph.CheckpointPendingWrite[]> {
    const writes: SavedWrite[] = []
    for await (const { value } of allItems(this.#state, placeOf('writes', thread, NAMESPACE + namespace, id))) {
      writes.push(value as SavedWrite)
    }
    const keyOf = ({ path, taskId, index }: SavedWrite) => langgraph.writesSortKey(path, taskId, index)
    writes.sort((one, other) => langgraph.compareWritesSortKeys(keyOf(one), keyOf(other)))
    return Promise.all(
      writes.map(async ({ taskId, channel, value }): Promise<langgraph.CheckpointPendingWrite> => {
        return [taskId, channel, await this.#load(value)]
      }),
    )
  }

  async #dump(value: unknown): Promise<Typed & JsonValue> {
    const [type, bytes] = await this.serde.dumpsTyped(value)
    return [type, Buffer.from(bytes).toString('base64')]
  }

  #load([type, base64]: Typed): Promise<unknown> {
    return this.serde.loadsTyped(type, Buffer.from(base64, 'base64'))
  }
}

/** Converts an id so that greater ids sort first, which lists the latest checkpoint first. */
function descending(id: string): string {
  return id.replace(/./gs, (unit) => String.fromCharCode(0xffff - unit.charCodeAt(0)))
}

function valueKey(channel: string, version: langgraph.ChannelVersion): string {
  return `${channel},${version}`
}

function namespaceOf({ namespace }: StateItem): string {
  return (segmentsBelow(namespace)[1] ?? '').slice(NAMESPACE.length)
}

function fieldsOf(config: RunnableConfig | undefined): Fields {
  return (config?.configurable ?? {}) as Fields
}

function threadOf(thread: string | undefined): string {
  if (typeof thread !== 'string' || thread === '') {
    throw new Error('a checkpoint is stored for a thread: pass { configurable: { thread_id: … } } with the call')
  }
  return thread
}

function configOf(thread: string, namespace: string, id: string): RunnableConfig {
  return { configurable: { thread_id: thread, checkpoint_ns: namespace, checkpoint_id: id } }
}
