/** `agent-context/strands` under Strands Agents: its in-memory storage is the model, its offloader and its sessions write to it. */

import { join } from 'node:path'
import { Agent, FunctionTool, SessionManager } from '@strands-agents/sdk'
import { InMemoryStorage, type Storage } from '@strands-agents/sdk/storage'
import { ContextOffloader } from '@strands-agents/sdk/vended-plugins/context-offloader'
import { StateStore } from 'agent-context'
import { ContextStorage } from 'agent-context/strands'
import { describe, expect, test } from 'vitest'
import { bytesOf, LARGE, newDirectory, runGuide, runScript } from './support/fixtures.ts'
import { randomOf } from './support/random.ts'
import { callOf } from './support/script.ts'
import { retrieve, ScriptedModel } from './support/strands-model.ts'

const openStore = () => new StateStore({ path: join(newDirectory(), 'state.db') })
const bytes = (text: string) => new TextEncoder().encode(text)
const lines = () => JSON.stringify(LARGE, null, 1)
const lookUp = new FunctionTool({
  name: 'lookUp',
  description: 'd',
  inputSchema: { type: 'object' },
  callback: lines,
})

/** What a call gives, and whether it is refused. */
const outcomeOf = (call: () => Promise<unknown>) =>
  Promise.resolve()
    .then(call)
    .then(
      (value) => ({ value: value instanceof Uint8Array ? [...value] : value }),
      () => 'refused',
    )

describe('ContextStorage', () => {
  test('random operations give what InMemoryStorage gives, below prefixes too', async () => {
    const state = openStore()
    const random = randomOf(3)
    const pick = <T>(values: readonly T[]): T => values[random(values.length)] as T
    const storages: readonly [Storage, Storage] = [new ContextStorage(state), new InMemoryStorage()]
    const keys = ['a', 'a/b', 'a/b/c', 'a/bc', '/a//b/', 'é/1', 'a/../b', '', 'a\\b', 'b/c d', 'ab']
    const prefixes = ['', 'a', 'a/', 'a/b', 'a/b/', '/a', 'x', 'é', '..', 'b\\', '/']
    for (let round = 0; round < 2000; round++) {
      const scope = pick([undefined, 'a', 'a/b', '/x'])
      // Below a prefix, the model takes no key for the prefix.
      const key = pick(scope === undefined ? keys : keys.filter((candidate) => candidate !== ''))
      const [prefix, step] = [pick(prefixes), random(10)]
      const data = Uint8Array.from({ length: random(40) }, () => random(256))
      const outcomes = await Promise.all(
        storages.map((storage) =>
          outcomeOf(async () => {
            const target = scope === undefined ? storage : (storage.namespace?.(scope) as Storage)
            if (step < 4) return target.write(key, data)
            if (step < 6) return target.read(key)
            if (step < 8) return target.list(prefix)
            return target.delete(key)
          }),
        ),
      )
      expect(outcomes[0]).toEqual(outcomes[1])
    }
    await state.close()
  })

  test('keeps every byte', async () => {
    const state = openStore()
    const storage = new ContextStorage(state)
    const all = Uint8Array.from({ length: 512 }, (_, index) => index % 256)
    await storage.write('all', all)
    expect(await storage.read('all')).toEqual(all)
    await storage.write('none', new Uint8Array())
    expect(await storage.read('none')).toEqual(new Uint8Array())
    await state.close()
  })

  test('searches by words, best first, and below a prefix nothing else', async () => {
    const state = openStore()
    const storage = new ContextStorage(state)
    await storage.write('notes/tea', bytes('Ann drinks green tea in the morning'))
    await storage.write('notes/city', bytes('Ann lives in Lisbon'))
    await storage.write('other/city', bytes('Bob lives in Lisbon'))
    expect((await storage.search('Lisbon')).map(({ key }) => key).sort()).toEqual(['notes/city', 'other/city'])
    const [hit, ...more] = await storage.namespace('notes').search('who lives in Lisbon?')
    expect(hit).toMatchObject({ key: 'city', data: bytes('Ann lives in Lisbon') })
    expect(hit?.score).toBeGreaterThan(0)
    expect(more.map(({ key }) => key)).not.toContain('city')
    await state.close()
  })

  test('keeps storages of one file apart by their namespaces', async () => {
    const state = openStore()
    const [one, other] = ['one', 'other'].map((namespace) => new ContextStorage(state, { namespace }))
    await one?.write('key', bytes('1'))
    expect(await other?.read('key')).toBeNull()
    expect(await new ContextStorage(state).list('')).toEqual(['one/key'])
    await state.close()
  })

  test('refuses wrong arguments', async () => {
    expect(() => new ContextStorage({} as never)).toThrow('state must be a StateStore')
    expect(() => new ContextStorage(openStore(), { name: 'x' } as never)).toThrow("unknown option 'name'")
    expect(() => new ContextStorage(openStore(), { namespace: '../x' })).toThrow('namespace')
    await expect(new ContextStorage(openStore()).read('a/../b')).rejects.toThrow('key')
  })
})

describe('ContextOffloader on ContextStorage', () => {
  const run = async (
    state: StateStore,
    script: ConstructorParameters<typeof ScriptedModel>[0],
    isOffloaded: boolean,
  ) => {
    const model = new ScriptedModel(script)
    const storage = new ContextStorage(state)
    const plugins = isOffloaded ? [new ContextOffloader({ storage })] : []
    const agent = new Agent({ model, tools: [lookUp], plugins, printer: false })
    await agent.invoke('Who is customer 7?')
    return { model, agent, storage }
  }

  test('offloads a large output, and the model finds in it what it looks for', async () => {
    const state = openStore()
    const plain = await run(state, [callOf('lookUp'), 'done'], false)
    const { model, agent, storage } = await run(state, [callOf('lookUp'), retrieve, 'done'], true)
    const [before, after] = [plain, { model }].map(({ model }) => Buffer.byteLength(model.requests.at(-1) ?? ''))
    console.log(`Strands: bytes in the last request ${before} → ${after}`)
    expect(before).toBeGreaterThan(50_000)
    expect(after).toBeLessThan(12_000)
    expect(bytesOf(agent.messages)).toBeLessThan(12_000)
    const answer = model.requests.at(-1) ?? ''
    expect(answer.slice(answer.lastIndexOf('retrieve_offloaded_content'))).toContain('Customer number 7')
    const [key, ...others] = await storage.list('offloader/')
    expect(others).toEqual([])
    const [hit] = await storage.namespace('offloader').search('Customer number 499')
    expect(`offloader/${hit?.key}`).toBe(key)
    await state.close()
  })

  test('keeps the output of each of ten parallel calls', async () => {
    const state = openStore()
    const calls = Array.from({ length: 10 }, () => ({ tool: 'lookUp', input: {} }))
    const { storage } = await run(state, [calls, 'done'], true)
    expect(await storage.list('offloader/')).toHaveLength(10)
    await state.close()
  })

  test('a session goes on in another process, and its references are there', () => {
    const home = newDirectory()
    const [stored, resumed] = ['first', 'second'].map((part) => runScript('support/strands-turn.ts', [part], home))
    expect(Number(stored)).toBeLessThan(12_000)
    expect(resumed?.trim()).toBe('Customer number 7')
  })
})

describe('SessionManager on ContextStorage', () => {
  const agentOf = (sessionManager: SessionManager, script: string[]) =>
    new Agent({ id: 'a', model: new ScriptedModel(script), sessionManager, printer: false })
  const sessionOf = (state: StateStore, sessionId = 's') =>
    new SessionManager({
      sessionId,
      storage: new ContextStorage(state),
      snapshotTrigger: () => true,
    })

  test('restores the latest snapshot, and each one before it', async () => {
    const state = openStore()
    const agent = agentOf(sessionOf(state), ['one', 'two'])
    await agent.invoke('first')
    const after = structuredClone(agent.messages.map((message) => message.toJSON()))
    await agent.invoke('second')

    const session = sessionOf(state)
    const resumed = agentOf(session, ['three'])
    await resumed.initialize()
    expect(resumed.messages).toHaveLength(4)
    const ids = await session.listSnapshotIds({ target: resumed })
    expect(ids).toHaveLength(2)
    expect(await session.listSnapshotIds({ target: resumed, startAfter: ids[0] as string })).toEqual([ids[1]])
    expect(await session.restoreSnapshot({ target: resumed, snapshotId: ids[0] as string })).toBe(true)
    expect(resumed.messages.map((message) => message.toJSON())).toEqual(after)
    await state.close()
  })

  test('deleteSession leaves nothing of the session, and the others', async () => {
    const state = openStore()
    for (const sessionId of ['doomed', 'other']) {
      await agentOf(sessionOf(state, sessionId), ['one']).invoke('hello')
    }
    const storage = new ContextStorage(state)
    const before = await storage.list('')
    await sessionOf(state, 'doomed').deleteSession()
    const left = await storage.list('')
    expect(left).toEqual(before.filter((key) => !key.includes('doomed')))
    expect(left.length).toBeGreaterThan(0)
    await state.close()
  })
})

test('the example runs, and says what is saved', () => {
  const output = runScript('examples/strands.ts')
  expect(output).toMatch(/without: \d{5} bytes/)
  expect(output).toMatch(/with: +\d{4} bytes/)
})

test('the guide runs', () => {
  const modules = {
    'agent.ts': `
import { FunctionTool } from '@strands-agents/sdk'
import { LARGE } from '../../support/large.ts'
import { ScriptedModel } from '../../support/strands-model.ts'
export const model = new ScriptedModel([[{ tool: 'search_customers', input: {} }], 'Customer 7 pays on time.'])
export const tools = [new FunctionTool({ name: 'search_customers', description: 'd', inputSchema: { type: 'object' }, callback: () => JSON.stringify(LARGE, null, 1) })]
`,
  }
  const output = runGuide('strands', modules)
  expect(output).toContain('Customer 7 pays on time.')
  expect(output).toMatch(/offloader\//)
})
