/** `agent-context/mastra` under Mastra's agents and workflows; its in-memory storage is the model of the storage. */

import { join } from 'node:path'
import { Agent } from '@mastra/core/agent'
import { Mastra } from '@mastra/core/mastra'
import { InMemoryStore, type MemoryStorage, type WorkflowsStorage } from '@mastra/core/storage'
import { createTool } from '@mastra/core/tools'
import { createStep, createWorkflow } from '@mastra/core/workflows'
import { Memory } from '@mastra/memory'
import { StateStore } from 'agent-context'
import { offloadProcessor, StateStorage } from 'agent-context/mastra'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { adapterSuite, type Run } from './support/adapter-suite.ts'
import { scriptedModel } from './support/ai-sdk-model.ts'
import { LARGE, newDirectory, newManager, recordsOf, runGuide, runScript } from './support/fixtures.ts'
import { requestsOf } from './support/mastra-agent.ts'
import { randomOf } from './support/random.ts'
import { callOf } from './support/script.ts'

const openStore = () => new StateStore({ path: join(newDirectory(), 'state.db') })

function agentOf({ tools: given, script, manager, taskId, signal }: Run) {
  const model = scriptedModel(script)
  const tools = Object.fromEntries(
    Object.entries(given).map(([name, run]) => [
      name,
      createTool({
        id: name,
        description: 'd',
        inputSchema: z.object({ query: z.string().optional() }),
        execute: async (input, { abortSignal, writer }) =>
          run(input, abortSignal, (progress) => writer?.write(progress)),
      }),
    ]),
  )
  const state = openStore()
  const storage = new StateStorage(state)
  const agent = new Agent({
    id: 'a',
    name: 'a',
    instructions: 'i',
    model: model as never, // the mock of another version of the types
    tools,
    memory: new Memory({ storage }),
    ...(manager && { inputProcessors: [offloadProcessor(manager, { taskId })] }),
  })
  const memory = { thread: 't', resource: 'r' }
  const options = { memory, maxSteps: 5, ...(signal && { abortSignal: signal }) }
  /** What came of it, once the run is over. */
  const ran = async (outcome: PromiseSettledResult<unknown>) => {
    const { messages } = await storage.stores.memory.listMessages({ threadId: 't', perPage: false })
    await state.close()
    const error = outcome.status === 'rejected' ? { error: outcome.reason } : {}
    return { requests: requestsOf(model), kept: JSON.stringify(messages), ...error }
  }
  return { agent, options, ran }
}

adapterSuite({
  name: 'Mastra',
  async run(given) {
    const { agent, options, ran } = agentOf(given)
    const [outcome] = await Promise.allSettled([agent.generate('Who is customer 7?', options)])
    return ran(outcome)
  },
  async stream(given) {
    const { agent, options, ran } = agentOf(given)
    const [pieces, reports, outputs]: [string[], string[], string[]] = [[], [], []]
    const follow = async () => {
      const { fullStream } = await agent.stream('Who is customer 7?', options)
      for await (const chunk of fullStream) {
        if (chunk.type === 'text-delta') {
          pieces.push(chunk.payload.text)
        } else if (chunk.type === 'tool-output') {
          reports.push(String(chunk.payload.output))
        } else if (chunk.type === 'tool-result') {
          outputs.push(JSON.stringify(chunk.payload.result))
        }
      }
    }
    const [outcome] = await Promise.allSettled([follow()])
    return { ...(await ran(outcome)), pieces, reports, outputs }
  },
  withImage: (text, png) => ({
    content: [
      { type: 'text', text },
      { type: 'image', data: png, mimeType: 'image/png' },
    ],
  }),
  turn: 'support/mastra-turn.ts',
  example: 'mastra',
})

describe('offloadProcessor', () => {
  const lookUp = createTool({ id: 'lookUp', description: 'd', execute: async () => LARGE })
  const agentOf = (model: ReturnType<typeof scriptedModel>, tools: Record<string, object>, manager = newManager()) =>
    new Agent({
      id: 'a',
      name: 'a',
      instructions: 'i',
      model: model as never, // the mock of another version of the types
      tools: tools as never,
      inputProcessors: [offloadProcessor(manager)],
    })

  test('streams the placeholder in place of the output', async () => {
    const stream = await agentOf(scriptedModel([callOf('lookUp'), 'done']), { lookUp }).stream('go', { maxSteps: 3 })
    const chunks: string[] = []
    for await (const chunk of stream.fullStream) {
      chunks.push(JSON.stringify(chunk))
    }
    expect(chunks.find((chunk) => chunk.includes('tool-result'))).toContain('ctx_')
    expect(chunks.join('')).not.toContain('Customer number 77"')
  })

  test('gives a tool that says what the model gets no placeholder to say it of', async () => {
    const manager = newManager()
    const counts = createTool({
      id: 'counts',
      description: 'd',
      execute: async () => LARGE,
      toModelOutput: (output) => ({ type: 'text', value: `${(output as typeof LARGE).results.length} customers` }),
    })
    const model = scriptedModel([callOf('counts'), 'done'])
    await agentOf(model, { counts }, manager).generate('go', { maxSteps: 3 })
    expect(requestsOf(model).at(-1)).toContain('ctx_')
    expect(manager.size).toBe(1)
  })

  test('records an input that a tool refuses as a failure', async () => {
    const manager = newManager()
    const inputSchema = z.object({ id: z.number() })
    const strict = createTool({ id: 'strict', description: 'd', inputSchema, execute: async () => 'never' })
    const model = scriptedModel([callOf('strict', { id: 'seven' }), 'done'])
    await agentOf(model, { strict }, manager).generate('go', { maxSteps: 3 })
    expect(recordsOf(manager)).toMatchObject([{ toolName: 'strict', success: false }])
  })

  test('refuses wrong arguments', () => {
    expect(() => offloadProcessor({} as never)).toThrow('manager must be a ContextManager')
    expect(() => offloadProcessor(newManager(), { query: 'x' } as never)).toThrow("unknown option 'query'")
    expect(() => new StateStorage({} as never)).toThrow('state must be a StateStore')
  })
})

/** As JSON holds it, without what the clock decides. */
function comparable(value: unknown): unknown {
  const text = JSON.stringify(value, (name, member) => (name === 'updatedAt' ? undefined : member))
  return text === undefined ? undefined : JSON.parse(text)
}

const outcomeOf = (call: Promise<unknown>) =>
  call.then(
    (value) => ({ value: comparable(value) }),
    () => 'rejected',
  )

describe('StateStorage', () => {
  test('random operations on threads and messages give what InMemoryStore gives', async () => {
    const state = openStore()
    const targets = [new StateStorage(state).stores.memory, new InMemoryStore().stores.memory] as MemoryStorage[]
    const random = randomOf(21)
    const pick = <T>(values: readonly T[]): T => values[random(values.length)] as T
    const threads = ['t1', 't2', 't3', 'é/4']
    const timeAt = (minute: number) => new Date(Date.UTC(2026, 0, 1, 0, minute))
    const perform = async (operation: (memory: MemoryStorage) => Promise<unknown>) => {
      const [found, expected] = await Promise.all(targets.map((target) => outcomeOf(operation(target))))
      expect(found).toEqual(expected)
    }
    for (let round = 0; round < 1500; round++) {
      const [threadId, resourceId, id] = [pick(threads), pick(['r1', 'r2']), `m${random(30)}`]
      const metadata = { kind: pick(['x', 'y']), n: random(3) }
      // Ties are broken by the order in which messages were stored: here and in the model.
      const createdAt = timeAt(random(20))
      const message = () => ({
        id,
        threadId,
        resourceId,
        role: pick(['user', 'assistant'] as const),
        type: 'text',
        createdAt,
        content: { format: 2 as const, parts: [{ type: 'text' as const, text: `text ${round}` }], metadata },
      })
      const direction = pick(['ASC', 'DESC'] as const)
      const page = {
        perPage: pick([false, 2, 5, 0, undefined] as const),
        orderBy: { field: 'createdAt' as const, direction },
      }
      const query = {
        ...(page.perPage === undefined ? { orderBy: page.orderBy } : { ...page, perPage: page.perPage }),
        page: page.perPage === false ? 0 : random(3),
        filter: pick([
          {},
          { dateRange: { start: timeAt(5), end: timeAt(15) } },
          { dateRange: { start: timeAt(5), startExclusive: true } },
          { metadata: { kind: 'x' } },
        ]),
      }
      const include = random(3) === 0 ? { include: [{ id, withPreviousMessages: 2, withNextMessages: 1 }] } : {}
      const step = random(24)
      if (step < 2) {
        const thread = { id: threadId, resourceId, title: `title ${round}`, metadata, createdAt, updatedAt: createdAt }
        await perform((memory) => memory.saveThread({ thread: structuredClone(thread) }))
      } else if (step < 9) {
        const saved = message()
        await perform((memory) => memory.saveMessages({ messages: [structuredClone(saved)] }))
      } else if (step < 11) {
        const change = pick([
          { id, content: { metadata: { n: round } } },
          { id, threadId, content: { content: 'short' } },
          { id, role: 'assistant' as const, resourceId },
        ])
        await perform((memory) => memory.updateMessages({ messages: [structuredClone(change)] as never }))
      } else if (step < 12) {
        await perform((memory) => memory.deleteMessages([id, `m${(round + 1) % 30}`]))
      } else if (step < 13) {
        await perform((memory) => memory.updateThread({ id: threadId, metadata: { round } }))
      } else if (step < 14) {
        const ids = [id, 'm1', 'm2']
        const sorted = async (memory: MemoryStorage) => {
          const { messages } = await memory.listMessagesById({ messageIds: ids })
          return messages.map((one) => comparable(one)).sort((one, other) => idOf(one).localeCompare(idOf(other)))
        }
        await perform(sorted)
      } else if (step < 18) {
        await perform((memory) => memory.listMessages({ threadId, ...query, ...include }))
      } else if (step < 19) {
        await perform((memory) => memory.listMessages({ threadId: [threadId, 't1'], resourceId, ...query }))
      } else if (step < 21) {
        const plain = page.perPage === 0 ? { ...query, perPage: 1 } : query
        // The model orders messages of one time in another way.
        await perform(async (memory) => {
          const { messages, ...rest } = await memory.listMessagesByResourceId({ resourceId, ...plain })
          return { ...rest, times: messages.map((one) => one.createdAt), ids: messages.map(({ id }) => id).sort() }
        })
      } else if (step < 22) {
        const filter = pick([{}, { resourceId }, { metadata: { kind: 'y' } }, { metadata: { 'no key': 1 } }])
        const orderBy = { field: 'createdAt' as const, direction }
        await perform((memory) => memory.listThreads({ filter, orderBy, perPage: 3, page: round % 2 }))
      } else if (step < 23) {
        await perform((memory) => memory.getThreadById({ threadId, resourceId }))
        await perform(async (memory) => {
          const change = round % 2 === 0 ? { workingMemory: `memory ${round}` } : { metadata }
          const { createdAt: _, ...updated } = await memory.updateResource({ resourceId, ...change })
          const { createdAt: __, ...stored } = (await memory.getResourceById({ resourceId })) ?? {}
          return { updated, stored }
        })
      } else if (random(4) === 0) {
        await perform((memory) => memory.deleteThread({ threadId }))
      }
    }
    await state.close()
  })

  test('copies a thread, and gives another resource a thread with its messages', async () => {
    const state = openStore()
    const { memory } = new StateStorage(state).stores
    const now = new Date()
    await memory.saveThread({ thread: { id: 't', resourceId: 'r', title: 'T', createdAt: now, updatedAt: now } })
    const messages = ['one', 'two', 'three'].map((id, index) => ({
      id,
      threadId: 't',
      resourceId: 'r',
      role: 'user' as const,
      createdAt: new Date(now.getTime() + index),
      content: { format: 2 as const, parts: [{ type: 'text' as const, text: id }] },
    }))
    await memory.saveMessages({ messages })
    const copy = await memory.cloneThread({ sourceThreadId: 't', newThreadId: 'c', options: { messageLimit: 2 } })
    expect(copy.thread).toMatchObject({ title: 'Clone of T', metadata: { clone: { lastMessageId: 'three' } } })
    expect(copy.clonedMessages.map(({ content }) => content.parts)).toEqual([
      [{ type: 'text', text: 'two' }],
      [{ type: 'text', text: 'three' }],
    ])
    await expect(memory.cloneThread({ sourceThreadId: 't', newThreadId: 'c' })).rejects.toThrow('already exists')
    await memory.updateThreadResourceId({ threadId: 't', resourceId: 'other' })
    const moved = await memory.listMessagesByResourceId({ resourceId: 'other', perPage: false })
    expect(moved.messages.map(({ id }) => id)).toEqual(['one', 'two', 'three'])
    await state.close()
  })

  test('loses no step and no change of metadata between two storages of one file', async () => {
    const path = join(newDirectory(), 'state.db')
    const states = [new StateStore({ path }), new StateStore({ path })]
    const storages = states.map((state) => new StateStorage(state))
    const [one] = storages as [StateStorage]
    const now = new Date()
    await one.stores.memory.saveThread({ thread: { id: 't', resourceId: 'r', createdAt: now, updatedAt: now } })
    const run = { workflowName: 'w', runId: '1' }
    await one.stores.workflows.persistWorkflowSnapshot({ ...run, snapshot: snapshotOf('running') })
    await Promise.all(
      storages.flatMap(({ stores }, index) =>
        Array.from({ length: 5 }, async (_, at) => {
          await stores.memory.updateThreadMetadata({
            id: 't',
            update: ({ metadata }) => ({ ...metadata, [`key${index}${at}`]: at }),
          })
          const result = { status: 'success', output: at, payload: {}, startedAt: 1, endedAt: 2 } as const
          await stores.workflows.updateWorkflowResults({
            ...run,
            stepId: `step ${index} ${at}`,
            result,
            requestContext: {},
          })
        }),
      ),
    )
    expect(Object.keys((await one.stores.memory.getThreadById({ threadId: 't' }))?.metadata ?? {})).toHaveLength(10)
    const snapshot = await one.stores.workflows.loadWorkflowSnapshot(run)
    expect(Object.keys(snapshot?.context ?? {}).filter((id) => id.startsWith('step '))).toHaveLength(10)
    await Promise.all(states.map((state) => state.close()))
  })

  test('random operations on workflow runs give what InMemoryStore gives', async () => {
    const state = openStore()
    const targets = [
      new StateStorage(state).stores.workflows,
      new InMemoryStore().stores.workflows,
    ] as WorkflowsStorage[]
    const random = randomOf(5)
    const pick = <T>(values: readonly T[]): T => values[random(values.length)] as T
    const perform = async (operation: (workflows: WorkflowsStorage) => Promise<unknown>) => {
      const [found, expected] = await Promise.all(targets.map((target) => outcomeOf(operation(target))))
      expect(found).toEqual(expected)
    }
    const known = ({ workflowName, runId, resourceId, snapshot, createdAt }: WorkflowRunRecord) => {
      return { workflowName, runId, resourceId, snapshot, createdAt }
    }
    for (let round = 0; round < 400; round++) {
      const run = { workflowName: pick(['w', 'v']), runId: `${random(6)}` }
      const [status, step] = [pick(['running', 'suspended', 'success'] as const), random(7)]
      if (step < 2) {
        const createdAt = new Date(Date.UTC(2026, 0, 1, 0, round))
        const persisted = { ...run, resourceId: pick(['r', 'q']), snapshot: snapshotOf(status), createdAt }
        await perform((workflows) => workflows.persistWorkflowSnapshot(structuredClone(persisted)))
      } else if (step < 3) {
        const result = { status: 'success', output: round, payload: {}, startedAt: 1, endedAt: 2 } as const
        const update = { ...run, stepId: `s${random(3)}`, result, requestContext: { round } }
        await perform((workflows) => workflows.updateWorkflowResults(structuredClone(update)))
      } else if (step < 4) {
        const opts = { status, ...(random(2) === 0 ? { expectedStatus: 'suspended' as const } : {}) }
        await perform((workflows) => workflows.updateWorkflowState({ ...run, opts }))
      } else if (step < 5) {
        await perform((workflows) => workflows.loadWorkflowSnapshot(run))
        await perform(async (workflows) => {
          const { runId } = run
          const found = await workflows.getWorkflowRunById(round % 2 === 0 ? run : { runId })
          return found && known(found)
        })
      } else if (step < 6) {
        const query = pick([{}, { workflowName: 'w' }, { status }, { resourceId: 'r' }, { perPage: 2, page: 1 }])
        await perform(async (workflows) => {
          const { runs, total } = await workflows.listWorkflowRuns(query)
          return { runs: runs.map(known), total }
        })
      } else {
        await perform((workflows) => workflows.deleteWorkflowRunById(run))
      }
    }
    await state.close()
  })

  test('a workflow that is suspended goes on in another process', () => {
    const home = newDirectory()
    expect(runScript('support/mastra-workflow.ts', ['start'], home).trim()).toBe('suspended')
    expect(runScript('support/mastra-workflow.ts', ['resume'], home).trim()).toBe('asked, answered yes')
  })

  test('a workflow runs, and its snapshot is stored', async () => {
    const state = openStore()
    const storage = new StateStorage(state)
    const step = createStep({
      id: 'double',
      inputSchema: z.object({ n: z.number() }),
      outputSchema: z.object({ n: z.number() }),
      execute: async ({ inputData }) => ({ n: inputData.n * 2 }),
    })
    const workflow = createWorkflow({ id: 'w', inputSchema: z.object({ n: z.number() }), outputSchema: z.object({}) })
      .then(step)
      .commit()
    const mastra = new Mastra({ storage, workflows: { w: workflow }, logger: false })
    const run = await mastra.getWorkflow('w').createRun()
    expect((await run.start({ inputData: { n: 21 } })).status).toBe('success')
    expect((await storage.stores.workflows.listWorkflowRuns({ workflowName: 'w' })).total).toBe(1)
    await state.close()
  })
})

type WorkflowRunRecord = NonNullable<Awaited<ReturnType<WorkflowsStorage['getWorkflowRunById']>>>

const idOf = (message: unknown) => (message as { id: string }).id

function snapshotOf(status: 'running' | 'suspended' | 'success') {
  return {
    runId: '1',
    status,
    value: {},
    context: {},
    activePaths: [],
    activeStepsPath: {},
    serializedStepGraph: [],
    suspendedPaths: {},
    resumeLabels: {},
    waitingPaths: {},
    timestamp: 1,
  }
}

test('the guide runs', () => {
  const modules = {
    'agent.ts': `
import { createTool } from '@mastra/core/tools'
import { scriptedModel } from '../../support/ai-sdk-model.ts'
import { LARGE } from '../../support/large.ts'
export const tools = { search_customers: createTool({ id: 'search_customers', description: 'd', execute: async () => LARGE }) }
export const model = scriptedModel([[{ tool: 'search_customers', input: {} }], 'Customer 7 pays on time.'])
`,
  }
  const output = runGuide('mastra', modules)
  expect(output).toContain('Customer 7 pays on time.')
  expect(output).toContain('search_customers')
})
