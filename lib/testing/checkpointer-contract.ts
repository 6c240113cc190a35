/** `checkpointerContract`: a `BaseCheckpointSaver` of LangGraph. */

import assert from 'node:assert/strict'
import { type Cases, type ContractOptions, registerCases } from './register.ts'

/** The methods of a checkpointer that are tested. */
export interface CheckpointerSubject {
  getTuple(config: never): Promise<unknown>
  list(config: never, options?: never): AsyncIterable<unknown>
  put(config: never, checkpoint: never, metadata: never, newVersions: never): Promise<unknown>
  putWrites(config: never, writes: never[], taskId: string): Promise<void>
  deleteThread(threadId: string): Promise<void>
}

interface Config {
  configurable: { thread_id: string; checkpoint_ns?: string; checkpoint_id?: string }
}
interface Tuple {
  config: Config
  parentConfig?: Config
  checkpoint: { id: string; channel_values: Record<string, unknown> }
  metadata: { step: number }
  pendingWrites?: unknown[]
}

const thread = (thread_id: string, checkpoint_ns = ''): Config => ({ configurable: { thread_id, checkpoint_ns } })
const idOf = (step: number) => `1f000000-0000-6000-8000-${String(step).padStart(12, '0')}`

/** Puts the checkpoint of a step after another one. */
async function put(
  saver: CheckpointerSubject,
  after: Config,
  step: number,
  values: object = { step },
): Promise<Config> {
  const versions = Object.fromEntries(Object.keys(values).map((channel) => [channel, step + 1]))
  const checkpoint = {
    v: 4,
    id: idOf(step),
    ts: new Date(0).toISOString(),
    channel_values: { ...values },
    channel_versions: versions,
    versions_seen: {},
  }
  const metadata = { source: 'loop', step, parents: {} }
  return (await saver.put(after as never, checkpoint as never, metadata as never, versions as never)) as Config
}

async function get(saver: CheckpointerSubject, config: Config): Promise<Tuple | undefined> {
  return (await saver.getTuple(config as never)) as Tuple | undefined
}

async function stepsOf(saver: CheckpointerSubject, config: Config, options: object = {}): Promise<number[]> {
  const steps: number[] = []
  for await (const tuple of saver.list(config as never, options as never)) {
    steps.push((tuple as Tuple).metadata.step)
  }
  return steps
}

/** Puts the checkpoints of several steps, each after the one before. */
async function putSteps(saver: CheckpointerSubject, config: Config, count: number): Promise<Config> {
  let last = config
  for (let step = 0; step < count; step++) {
    last = await put(saver, last, step)
  }
  return last
}

const cases: Cases<CheckpointerSubject> = {
  alone: {
    async 'has nothing of a thread that it does not know'(saver) {
      assert.equal(await get(saver, thread('none')), undefined)
      assert.deepEqual(await stepsOf(saver, thread('none')), [])
    },
    async 'gives the latest checkpoint, with its values'(saver) {
      const values = {
        text: 'ünï',
        list: [1, null, { deep: true }],
        bytes: new Uint8Array([0, 255]),
        date: new Date(1),
      }
      const first = await put(saver, thread('one'), 0)
      const second = await put(saver, first, 1, values)
      const latest = await get(saver, thread('one'))
      assert.equal(latest?.checkpoint.id, idOf(1))
      assert.deepEqual(latest.checkpoint.channel_values['list'], values.list)
      assert.equal(latest.checkpoint.channel_values['text'], values.text)
      assert.deepEqual([...(latest.checkpoint.channel_values['bytes'] as Uint8Array)], [0, 255])
      assert.equal(latest.config.configurable.checkpoint_id, second.configurable.checkpoint_id)
      assert.equal(latest.parentConfig?.configurable.checkpoint_id, idOf(0))
    },
    async 'gives a checkpoint by its id'(saver) {
      const first = await put(saver, thread('one'), 0)
      await put(saver, first, 1)
      const tuple = await get(saver, first)
      assert.equal(tuple?.metadata.step, 0)
      assert.deepEqual(tuple.checkpoint.channel_values, { step: 0 })
    },
    async 'lists the latest first, to a limit, before a checkpoint, and by metadata'(saver) {
      await putSteps(saver, thread('one'), 4)
      const before = { configurable: { ...thread('one').configurable, checkpoint_id: idOf(2) } }
      assert.deepEqual(await stepsOf(saver, thread('one')), [3, 2, 1, 0])
      assert.deepEqual(await stepsOf(saver, thread('one'), { limit: 2 }), [3, 2])
      assert.deepEqual(await stepsOf(saver, thread('one'), { before }), [1, 0])
      assert.deepEqual(await stepsOf(saver, thread('one'), { filter: { step: 1 } }), [1])
    },
    async 'keeps threads and their namespaces apart'(saver) {
      await put(saver, thread('one'), 0)
      await put(saver, thread('one', 'child'), 1)
      await put(saver, thread('two'), 2)
      const steps = [thread('one'), thread('one', 'child'), thread('two')].map((config) => stepsOf(saver, config))
      assert.deepEqual(await Promise.all(steps), [[0], [1], [2]])
    },
    async 'keeps the writes of a task with its checkpoint, once'(saver) {
      const config = await put(saver, thread('one'), 0)
      const writes = [['text', 'one'] as never, ['list', [1]] as never]
      await saver.putWrites(config as never, writes, 'task')
      await saver.putWrites(config as never, writes, 'task')
      const tuple = await get(saver, thread('one'))
      assert.deepEqual(tuple?.pendingWrites, [
        ['task', 'text', 'one'],
        ['task', 'list', [1]],
      ])
    },
    async 'does not change with the values that it was given'(saver) {
      const list = ['one']
      await put(saver, thread('one'), 0, { list })
      list.push('changed')
      assert.deepEqual((await get(saver, thread('one')))?.checkpoint.channel_values['list'], ['one'])
    },
    async 'deletes a thread with its writes, and no other'(saver) {
      for (const name of ['one', 'two']) {
        const config = await putSteps(saver, thread(name), 2)
        await saver.putWrites(config as never, [['text', name] as never], 'task')
      }
      await saver.deleteThread('one')
      assert.equal(await get(saver, thread('one')), undefined)
      assert.deepEqual(await stepsOf(saver, thread('two')), [1, 0])
      await put(saver, thread('one'), 1)
      assert.deepEqual((await get(saver, thread('one')))?.pendingWrites ?? [], [])
    },
  },
  reopened: {
    async 'has its threads when it is opened again'(saver, reopen) {
      const config = await putSteps(saver, thread('one'), 3)
      await saver.putWrites(config as never, [['text', 'one'] as never], 'task')
      const tuple = await get(await reopen(), thread('one'))
      assert.deepEqual(tuple?.checkpoint.channel_values, { step: 2 })
      assert.deepEqual(tuple?.pendingWrites, [['task', 'text', 'one']])
    },
  },
}

/**
 * Registers tests of the behaviour that LangGraph expects of a checkpointer. They do not need LangGraph; its own suite,
 * `@langchain/langgraph-checkpoint-validation`, has more.
 */
export function checkpointerContract<Subject extends CheckpointerSubject>(options: ContractOptions<Subject>): void {
  registerCases(options, cases)
}
