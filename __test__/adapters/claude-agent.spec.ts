/**
 * `agent-context/claude-agent` under the real Claude Code of the Agent SDK, which asks a local mock of the API. Claude Code starts
 * slowly: few runs, each with many calls.
 */

import { randomUUID } from 'node:crypto'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as sdk from '@anthropic-ai/claude-agent-sdk'
import { StateStore } from 'agent-context'
import { ContextSessionStore, contextHooks, contextServer, type SessionKey } from 'agent-context/claude-agent'
import { describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { runClaude } from './support/claude-api.ts'
import {
  LARGE_TEXT,
  newDirectory,
  newManager,
  PNG,
  recordsOf,
  runGuide,
  runScript,
  SECRET,
} from './support/fixtures.ts'
import { medianOf } from './support/medians.ts'
import { randomOf } from './support/random.ts'
import { callOf, nameIn, piecesOf, readBack, type Script } from './support/script.ts'

/** Claude Code starts several times, beside other tests. */
const SLOW = 300_000

const PREFIX = 'mcp__context__'
const customers = () =>
  sdk.createSdkMcpServer({
    name: 'customers',
    alwaysLoad: true,
    tools: [
      sdk.tool('search', 'd', { query: z.string().optional() }, async () => ({
        content: [
          { type: 'text', text: LARGE_TEXT },
          { type: 'image', data: PNG, mimeType: 'image/png' },
        ],
      })),
      sdk.tool('fails', 'd', {}, async () => {
        throw new Error('the database is down')
      }),
    ],
  })

/** A directory with a file of customers. */
function newHome(): string {
  const home = newDirectory()
  writeFileSync(join(home, 'customers.txt'), JSON.stringify(JSON.parse(LARGE_TEXT), null, 1).slice(0, 40_000))
  return home
}

/** The calls of a conversation, each with what it adds to a request at most once its output is offloaded. */
const callsIn = (home: string) => [
  { ...bash(`head -c 20000 ${home}/customers.txt`), name: 'Bash', most: 3500 },
  // Claude Code keeps what is longer in a file, and shows its beginning.
  { ...bash(`cat ${home}/customers.txt ${home}/customers.txt`), name: 'Bash', most: 3500 },
  { step: callOf('Read', { file_path: `${home}/customers.txt`, limit: 500 }), name: 'Read', most: 3500 },
  { step: callOf('mcp__customers__search'), name: 'mcp__customers__search', most: 4000 },
]
const bash = (command: string) => ({ step: callOf('Bash', { command, description: 'd' }) })
const failures: Script = [callOf('mcp__customers__fails'), bash('echo broken >&2; exit 3').step]

/** What the model said, as it was streamed. */
const piecesIn = (messages: readonly sdk.SDKMessage[]) =>
  messages.flatMap((message) =>
    message.type === 'stream_event' &&
    message.event.type === 'content_block_delta' &&
    message.event.delta.type === 'text_delta'
      ? [message.event.delta.text]
      : [],
  )

/** The outputs of tools that the caller gets. */
const outputsIn = (messages: readonly sdk.SDKMessage[]) =>
  JSON.stringify(messages.flatMap((message) => (message.type === 'user' ? [message.message.content] : [])))

test(
  'outputs of every shape become placeholders, in requests and transcripts, and another process reads them back',
  async () => {
    const home = newHome()
    const calls = callsIn(home)
    const steps = calls.map(({ step }) => step)
    const script = [...failures, ...steps]
    const includePartialMessages = true
    const last = 'Customer 7 pays on time.'
    const plain = await runClaude([...script, last], home, {
      mcpServers: { customers: customers() },
      includePartialMessages,
    })

    const manager = newManager({ contextDir: join(home, 'contexts'), sessionId: 'conversation', resume: true })
    const state = new StateStore({ path: join(home, 'state.db') })
    const sessionStore = new ContextSessionStore(state, sdk)
    const page = (request: string) =>
      callOf(`${PREFIX}read_context_slice`, { id: /ctx_[0-9a-f]{16}/.exec(request)?.[0] })
    const { requests, messages, tools } = await runClaude(
      [...script, page, (request) => readBack(request, PREFIX), (request) => `${nameIn(request)}: ${last}`],
      home,
      {
        includePartialMessages,
        hooks: contextHooks(manager),
        mcpServers: { customers: customers(), context: contextServer(manager, sdk) },
        sessionStore,
      },
    )
    expect(tools).toContain(`${PREFIX}search_contexts`)
    expect(messages.at(-1)).toMatchObject({ type: 'result', result: `Customer number 7: ${last}` })

    // The text of the model is streamed as without the hooks; outputs reach the stream as placeholders.
    const pieces = piecesIn(messages)
    expect(piecesIn(plain.messages)).toEqual(piecesOf(last))
    expect(pieces).toEqual(piecesOf(`Customer number 7: ${last}`))
    expect(outputsIn(plain.messages)).toContain('Customer number 44')
    expect(outputsIn(messages)).toContain('stored as ctx_')
    expect(outputsIn(messages).length).toBeLessThan(outputsIn(plain.messages).length / 2)

    const lengths = [plain, { requests }].map((run) => run.requests.map(({ length }) => length))
    const added = (run: number, index: number) => (lengths[run]?.[index + 1] ?? 0) - (lengths[run]?.[index] ?? 0)
    // What fails reaches the model as without the hooks.
    expect([added(1, 0), added(1, 1)]).toEqual([added(0, 0), added(0, 1)])
    for (const [index, { name, most }] of calls.entries()) {
      const [before, after] = [added(0, index + failures.length), added(1, index + failures.length)]
      console.log(`Claude Agent SDK, ${name}: bytes that an output adds to the request ${before} → ${after}`)
      expect(after).toBeLessThan(most)
      expect(after).toBeLessThan(before)
    }
    const after = requests[script.length] ?? ''
    expect(after).toContain(PNG)
    console.log(`Claude Agent SDK: bytes in the last request ${plain.requests.at(-1)?.length} → ${after.length}`)
    // A page takes more than the threshold of an output: it is neither stored nor replaced.
    expect(added(1, script.length)).toBeGreaterThan(10_000)
    const names = ['mcp__customers__fails', 'Bash', ...calls.map(({ name }) => name)]
    expect(recordsOf(manager)).toMatchObject(
      names.map((toolName, index) => {
        return { toolName, callId: `call-${index + 1}-0`, success: index >= failures.length, isTimed: true }
      }),
    )
    const errors = await manager.loadContexts(manager.getAllPointers().map(({ filepath }) => filepath))
    expect(errors.map(({ error }) => error).slice(0, 2)).toEqual(['the database is down', 'Exit code 3\nbroken'])

    const { session_id: sessionId = '' } = messages.at(-1) as { session_id?: string }
    const listed = vi.spyOn(sessionStore, 'load')
    expect(await sdk.listSessions({ dir: home, sessionStore })).toMatchObject([
      { sessionId, firstPrompt: 'Who is customer 7?' },
    ])
    expect(listed).not.toHaveBeenCalled()
    const transcript = JSON.stringify(await sdk.getSessionMessages(sessionId, { dir: home, sessionStore }))
    expect(transcript).toContain('stored as ctx_')
    expect(transcript).not.toContain('Customer number 444')
    await manager.close()
    await state.close()
    expect(runScript('support/claude-turn.ts', [sessionId, home]).trim()).toBe('Customer number 7')
  },
  SLOW,
)

test(
  'calls of sub-agents have their task, parallel ones their ids, and without CLAUDE_CONFIG_DIR nothing is mirrored',
  async () => {
    const manager = newManager()
    const state = new StateStore({ path: join(newDirectory(), 'state.db') })
    const sessionStore = new ContextSessionStore(state)
    const { step } = bash('seq 1 4000')
    const home = newHome()
    await runClaude(
      [
        callOf('Agent', {
          description: 'd',
          prompt: 'count',
          subagent_type: 'general-purpose',
          run_in_background: false,
        }),
        step,
        'counted',
        [1, 2, 3].map((from) => ({ tool: 'Bash', input: { command: `seq ${from} 4000`, description: 'd' } })),
        'done',
      ],
      home,
      { hooks: contextHooks(manager), sessionStore, env: { CLAUDE_CONFIG_DIR: undefined } },
    )
    const records = recordsOf(manager)
    expect(records.map(({ toolName, callId }) => `${toolName} ${callId}`).sort()).toEqual([
      'Agent call-1-0',
      'Bash call-2-0',
      'Bash call-4-0',
      'Bash call-4-1',
      'Bash call-4-2',
    ])
    expect(records.map(({ callId, taskId }) => (taskId === undefined ? '' : callId)).join('')).toBe('call-2-0')
    expect((await state.stats()).items).toBe(0)
    await state.close()
  },
  SLOW,
)

test.each(['interrupted', 'aborted'])(
  'a call that is running when the conversation is %s is recorded as failed, once',
  async (kind) => {
    const home = newHome()
    const manager = newManager()
    const abortController = new AbortController()
    const [signal, options] = kind === 'aborted' ? [abortController.signal, { abortController }] : [undefined, {}]
    const hooks = contextHooks(manager, { signal })
    const { step } = bash(`touch ${home}/started; sleep 300`)
    const script = [step, bash('echo on').step, 'done']
    await runClaude(script, home, { ...options, hooks }, () => existsSync(`${home}/started`))
    await expect.poll(() => manager.size).toBe(kind === 'aborted' ? 1 : 2)
    const pointer = manager.getAllPointers().find(({ callId }) => callId === 'call-1-0')
    expect(pointer).toMatchObject({ toolName: 'Bash', success: false, durationMs: expect.any(Number) })
    expect((await manager.loadContext(pointer?.filepath ?? '')).error).toMatch(kind)
  },
  SLOW,
)

test('what ends a turn or a session records the calls of that agent which did not end', async () => {
  const manager = newManager()
  const hooks = contextHooks(manager)
  const fire = (name: keyof typeof hooks, input: object) =>
    hooks[name][0]?.hooks[0]?.({ hook_event_name: name, session_id: 's', ...input })
  const begin = (id: string, input: object = {}) =>
    fire('PreToolUse', { tool_name: 'Bash', tool_input: {}, tool_use_id: id, ...input })
  const ids = () => recordsOf(manager).map(({ callId, taskId }) => `${callId} ${taskId ?? 'main'}`)
  await begin('a')
  await begin('b', { agent_id: 'x' })
  await begin('c', { session_id: 't' })
  await begin('d')
  await fire('PostToolUse', { tool_name: 'Bash', tool_input: {}, tool_use_id: 'd', tool_response: { stdout: '' } })
  expect(ids()).toEqual(['d main'])
  await fire('Stop', {})
  expect(ids()).toEqual(['d main', 'a main'])
  await fire('SubagentStop', { agent_id: 'y' })
  await fire('SubagentStop', { agent_id: 'x' })
  expect(ids()).toEqual(['d main', 'a main', 'b x'])
  await begin('e', { agent_id: 'x' })
  await fire('StopFailure', {})
  await fire('SessionEnd', {})
  expect(ids()).toEqual(['d main', 'a main', 'b x', 'e x'])
  await fire('SessionEnd', { session_id: 't' })
  expect(ids().at(-1)).toBe('c main')
})

test(
  'says what it costs a call',
  async () => {
    const home = newHome()
    const { step } = bash(`head -c 20000 ${home}/customers.txt`)
    const script = [...Array.from({ length: 12 }, () => step), 'done']
    const manager = newManager()
    const waits: number[][] = [[], []]
    for (const hooks of [undefined, contextHooks(manager), undefined, contextHooks(manager)]) {
      const run = await runClaude(script, home, hooks && { hooks })
      // The first call starts what later ones use.
      waits[hooks === undefined ? 0 : 1]?.push(...run.waits.slice(1))
    }
    const [without = 0, withHooks = 0] = waits.map(medianOf)
    console.log(`Claude Agent SDK: ${(withHooks - without).toFixed(1)} ms more a call of 20000 bytes`)
    expect(manager.size).toBe(24)
  },
  SLOW,
)

test('what Claude Code says of an interrupted call is recorded, and options have the last word', async () => {
  const manager = newManager()
  const [
    {
      hooks: [hook],
    } = { hooks: [] },
  ] = contextHooks(manager, { taskId: 'mine' }).PostToolUseFailure
  const call = { tool_name: 'Bash', tool_input: {}, tool_use_id: 'x', agent_id: 'a' }
  expect(await hook?.({ ...call, error: 'stopped', is_interrupt: true })).toEqual({})
  const [pointer] = manager.getAllPointers()
  expect(pointer).toMatchObject({ success: false, taskId: 'mine' })
  expect((await manager.loadContext(pointer?.filepath ?? '')).error).toBe('interrupted: stopped')
})

describe('ContextSessionStore', () => {
  const openStore = () => new StateStore({ path: join(newDirectory(), 'state.db') })

  /** What the SDK calls the project of a directory. */
  async function projectKeyOf(dir: string): Promise<string> {
    const asked: string[] = []
    const sessionStore: sdk.SessionStore = {
      append: async () => {},
      load: async () => null,
      async listSessions(projectKey) {
        asked.push(projectKey)
        return []
      },
    }
    await sdk.listSessions({ dir, sessionStore })
    return asked[0] ?? ''
  }

  test('random operations give what InMemorySessionStore gives', async () => {
    const state = openStore()
    const store = new ContextSessionStore(state, sdk)
    const model = new sdk.InMemorySessionStore()
    const random = randomOf(23)
    let count = 0
    for (let round = 0; round < 1500; round++) {
      const subpath = random(3) === 0 ? `subagents/agent-${random(2)}` : undefined
      const key: SessionKey = {
        projectKey: `project-${random(2)}`,
        sessionId: `session ${random(3)}`,
        ...(subpath !== undefined && { subpath }),
      }
      const entries = Array.from({ length: random(4) }, () => {
        count += 1
        return { type: 'user', message: { n: count, text: 'é\u0000' }, ...(random(2) === 0 && { uuid: `id-${count}` }) }
      })
      const step = random(11)
      const outcomes = [store, model].map(async (target) => {
        if (step < 4) return target.append(key, entries)
        if (step < 7) return target.load(key)
        if (step < 8) return (await target.listSubkeys(key)).sort()
        if (step < 9) return (await target.listSessions(key.projectKey)).map(({ sessionId }) => sessionId).sort()
        if (step === 10) {
          const summaries = await target.listSessionSummaries(key.projectKey)
          return Object.fromEntries(summaries.map(({ sessionId, data }) => [sessionId, data]))
        }
        return undefined
      })
      expect(await outcomes[0]).toEqual(await outcomes[1])
      if (step === 9 && random(3) === 0) {
        await Promise.all([store.delete(key), model.delete(key)])
      }
    }
    await state.close()
  })

  test('an entry that is appended again is stored once, and appends beside each other lose nothing', async () => {
    const state = openStore()
    const [one, other] = [new ContextSessionStore(state), new ContextSessionStore(state)]
    const key = { projectKey: 'p', sessionId: 's' }
    const entry = { type: 'user', uuid: 'a' }
    await one.append(key, [entry, entry])
    await one.append(key, [entry, { type: 'title' }, { type: 'title' }])
    expect(await other.load(key)).toEqual([entry, { type: 'title' }, { type: 'title' }])
    const appends = Array.from({ length: 20 }, (_, index) =>
      (index % 2 ? one : other).append(key, [{ type: 'user', uuid: `u${index}` }]),
    )
    await Promise.all(appends)
    expect(await one.load(key)).toHaveLength(23)
    const [session] = await one.listSessions('p')
    expect(Math.abs(Date.now() - (session?.mtime ?? 0))).toBeLessThan(600_000)
    await state.close()
  })

  test('summaries are of all entries: without the SDK for some of them there is none, and the SDK reads the transcript', async () => {
    const state = openStore()
    const [store, plain] = [new ContextSessionStore(state, sdk), new ContextSessionStore(state)]
    const dir = newDirectory()
    const projectKey = await projectKeyOf(dir)
    const prompt = (content: string) => ({
      type: 'user',
      uuid: randomUUID(),
      timestamp: '2026-11-23T07:00:00.000Z',
      message: { role: 'user', content },
    })
    const [kept, dropped, begun] = [randomUUID(), randomUUID(), randomUUID()]
    await store.append({ projectKey, sessionId: kept }, [prompt('the first question')])
    await store.append({ projectKey, sessionId: kept }, [prompt('the second question')])
    await store.append({ projectKey, sessionId: kept, subpath: 'subagents/agent-1' }, [prompt('of a sub-agent')])
    await store.append({ projectKey, sessionId: dropped }, [prompt('a dropped question')])
    await plain.append({ projectKey, sessionId: dropped }, [prompt('more')])
    await plain.append({ projectKey, sessionId: begun }, [prompt('a question without the SDK')])
    await store.append({ projectKey, sessionId: begun }, [prompt('more')])

    const [summary, ...others] = await store.listSessionSummaries(projectKey)
    expect(others).toEqual([])
    const sessions = await store.listSessions(projectKey)
    expect(sessions).toContainEqual({ sessionId: kept, mtime: summary?.mtime })
    const load = vi.spyOn(store, 'load')
    const listed = await sdk.listSessions({ dir, sessionStore: store })
    expect(Object.fromEntries(listed.map(({ sessionId, firstPrompt }) => [sessionId, firstPrompt]))).toEqual({
      [kept]: 'the first question',
      [dropped]: 'a dropped question',
      [begun]: 'a question without the SDK',
    })
    expect(load.mock.calls.map(([{ sessionId }]) => sessionId).sort()).toEqual([dropped, begun].sort())
    await state.close()
  })

  test('entries come back with their secrets, unless the store is to redact', async () => {
    const path = join(newDirectory(), 'state.db')
    for (const [redaction, isKept] of [
      [undefined, true],
      [{}, false],
    ] as const) {
      const state = new StateStore({ path, redaction })
      const store = new ContextSessionStore(state, sdk)
      const key = { projectKey: String(isKept), sessionId: 's' }
      await store.append(key, [{ type: 'user', message: { role: 'user', content: `token: ${SECRET}` } }])
      expect(JSON.stringify(await store.load(key)).includes(SECRET)).toBe(isKept)
      expect(JSON.stringify(await store.listSessionSummaries(key.projectKey)).includes(SECRET)).toBe(isKept)
      await state.close()
    }
  })

  test('summaries of appends beside each other are of all of them', async () => {
    const state = openStore()
    const stores = [new ContextSessionStore(state, sdk), new ContextSessionStore(state, sdk)]
    const key = { projectKey: 'p', sessionId: 's' }
    const entries = Array.from({ length: 20 }, (_, index) => ({ type: 'custom-title', customTitle: `title ${index}` }))
    await Promise.all(entries.map((entry, index) => stores[index % 2]?.append(key, [entry])))
    const stored = (await stores[0]?.load(key)) ?? []
    const [summary] = (await stores[0]?.listSessionSummaries('p')) ?? []
    expect(summary?.data).toEqual(sdk.foldSessionSummary(undefined, key, stored).data)
    expect(JSON.stringify(summary?.data)).toContain(String(stored.at(-1)?.['customTitle']))
    await state.close()
  })
})

test('wrong arguments are refused', () => {
  expect(() => contextHooks({} as never)).toThrow('manager must be a ContextManager')
  expect(() => contextHooks(newManager(), { taskID: 1 } as never)).toThrow("did you mean 'taskId'")
  expect(() => contextServer(newManager(), {} as never)).toThrow(
    'sdk must be the module @anthropic-ai/claude-agent-sdk',
  )
  expect(() => new ContextSessionStore({} as never)).toThrow('state must be a StateStore')
  const old = { createSdkMcpServer: () => ({}) } as never
  expect(() => contextServer(newManager(), old)).toThrow('@anthropic-ai/claude-agent-sdk ^0.3.300')
  const state = new StateStore({ path: join(newDirectory(), 'state.db') })
  expect(() => new ContextSessionStore(state, old)).toThrow('@anthropic-ai/claude-agent-sdk ^0.3.300')
  expect(() => new ContextSessionStore(state, 'sdk' as never)).toThrow('sdk must be the module')
})

test(
  'the guide runs',
  () => {
    const modules = {
      'environment.ts': `
import { AnthropicApi } from '../../support/anthropic-api.ts'
import { environmentOf } from '../../support/claude-api.ts'
import { callOf, nameIn, readBack } from '../../support/script.ts'
import { homedir } from 'node:os'
const large = { command: 'seq -f "Customer number %g pays on time" 1 500', description: 'd' }
const api = new AnthropicApi([callOf('Bash', large), (request) => readBack(request, 'mcp__context__'), nameIn, nameIn])
export const env = environmentOf(await api.start(), homedir())
`,
    }
    const output = runGuide('claude-agent', modules)
    expect(output).toContain('Customer number 7')
  },
  SLOW,
)

test(
  'the example runs, and says what is saved',
  () => {
    const output = runScript('examples/claude-agent.ts')
    expect(output).toMatch(/without: \d{5} bytes/)
    expect(output).toMatch(/with: +\d{5} bytes/)
  },
  SLOW,
)
