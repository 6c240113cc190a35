/** `agent-context/anthropic` under the SDK's tool runner and a local mock of the API; its local memory files are the model of memory. */

import { existsSync, rmSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { betaTool } from '@anthropic-ai/sdk/helpers/beta/json-schema'
import { betaMemoryTool } from '@anthropic-ai/sdk/helpers/beta/memory'
import { ToolError } from '@anthropic-ai/sdk/lib/tools/ToolError'
import { BetaLocalFilesystemMemoryTool } from '@anthropic-ai/sdk/tools/memory/node'
import { StateStore } from 'agent-context'
import { contextToolList, memoryHandlers, wrapRunnable } from 'agent-context/anthropic'
import { describe, expect, test } from 'vitest'
import { adapterSuite, type Run } from './support/adapter-suite.ts'
import { runRunner } from './support/anthropic-run.ts'
import { LARGE_TEXT, newDirectory, newManager, recordsOf, runGuide } from './support/fixtures.ts'
import { randomOf } from './support/random.ts'
import { callOf, nameIn, readBack } from './support/script.ts'

const openStore = () => new StateStore({ path: join(newDirectory(), 'state.db') })
const inputSchema = { type: 'object', properties: { query: { type: 'string' } } } as const
const contentOf = (output: unknown) =>
  typeof output === 'string' || (Array.isArray(output) && output.some((block) => block?.type === 'image'))
    ? (output as string)
    : JSON.stringify(output)

type Command = { readonly command: string; readonly [member: string]: unknown }
type Handlers = Record<string, (command: never) => unknown>

/** The SDK's local files, and `memoryHandlers` beside them. */
async function newPair() {
  const state = openStore()
  const handlers = memoryHandlers(state)
  const base = newDirectory()
  const model = await BetaLocalFilesystemMemoryTool.init(base)

  /** What the model reads of a command, but for places of the file system and sizes of directories. */
  const answerOf = async (target: object, command: Command): Promise<string> => {
    const handler = (target as Handlers)[command.command]?.bind(target)
    const [outcome] = await Promise.allSettled([(async () => handler?.(command as never))()])
    const answer = outcome.status === 'fulfilled' ? String(outcome.value) : `Error: ${outcome.reason.message}`
    return answer
      .replaceAll(join(base, 'memories'), '/memories')
      .replaceAll(/^\S+\t(?=.*\/$)/gm, 'size\t')
      .replace(/(?<=node_modules:\n)\S+/, 'size')
  }

  return {
    state,
    async expectEqual(command: Command): Promise<void> {
      const old = `${command['old_path']}/`
      if (String(command['new_path']).startsWith(old) && !existsSync(join(base, old))) {
        // On disk the directories for the new path would make what is to be renamed.
        return
      }
      let missing: string | undefined
      let at = dirname(join(base, String(command['new_path'])))
      for (; at.startsWith(join(base, 'memories')) && !existsSync(at); at = dirname(at)) {
        missing = at
      }
      // Below a file nothing is made.
      const isMade = missing !== undefined && statSync(at).isDirectory()
      const [found, expected] = [await answerOf(handlers, command), await answerOf(model, command)]
      expect(found, JSON.stringify(command)).toBe(expected)
      if (missing !== undefined && isMade && command.command === 'rename' && expected.startsWith('Error')) {
        // A rename that fails changes nothing in a store; on disk it leaves the directories that it made.
        rmSync(missing, { recursive: true, force: true })
      }
    },
  }
}

async function expectEqual(commands: readonly Command[]): Promise<void> {
  const { state, expectEqual } = await newPair()
  for (const command of commands) {
    await expectEqual(command)
  }
  await state.close()
}

describe('memoryHandlers', () => {
  test('answers each command as the local files of the SDK do', () =>
    expectEqual([
      { command: 'view', path: '/memories' },
      { command: 'create', path: '/memories/notes/a.md', file_text: 'one\ntwo\nthree\nfour\nfive\n' },
      { command: 'create', path: '/memories/notes/a.md', file_text: 'again' },
      { command: 'create', path: '/memories/notes', file_text: 'a directory' },
      { command: 'create', path: '/memories', file_text: 'the root' },
      { command: 'create', path: '/memories/notes/a.md/b', file_text: 'below a file' },
      { command: 'create', path: '/memories/.hidden', file_text: '' },
      { command: 'create', path: '/memories/node_modules/x', file_text: 'x' },
      { command: 'create', path: '/memories/deep/er/and/deeper.md', file_text: 'ä'.repeat(700) },
      { command: 'view', path: '/memories' },
      { command: 'view', path: '/memories/' },
      { command: 'view', path: '/memories/deep' },
      { command: 'view', path: '/memories/missing' },
      { command: 'view', path: '/memories/notes/a.md/b' },
      { command: 'view', path: '/memories/.hidden' },
      { command: 'view', path: '/memories/notes/a.md' },
      { command: 'view', path: '/memories/notes/a.md', view_range: [2, 3] },
      { command: 'view', path: '/memories/notes/a.md', view_range: [4, -1] },
      { command: 'view', path: '/memories/notes/a.md', view_range: [0, 99] },
      { command: 'view', path: '/memories/notes/a.md', view_range: [9, 2] },
      { command: 'view', path: '/memories/notes/a.md', view_range: [2] },
      { command: 'str_replace', path: '/memories/notes/a.md', old_str: 'three', new_str: '$& 3\n3b' },
      { command: 'str_replace', path: '/memories/notes/a.md', old_str: 'o', new_str: '' },
      { command: 'str_replace', path: '/memories/notes/a.md', old_str: 'none', new_str: '' },
      { command: 'str_replace', path: '/memories/notes/a.md', old_str: 'one\ntwo', new_str: '' },
      { command: 'str_replace', path: '/memories/notes', old_str: 'a', new_str: 'b' },
      { command: 'str_replace', path: '/memories/missing', old_str: 'a', new_str: 'b' },
      { command: 'insert', path: '/memories/notes/a.md', insert_line: 0, insert_text: 'zero\n' },
      { command: 'insert', path: '/memories/notes/a.md', insert_line: 99, insert_text: 'x' },
      { command: 'insert', path: '/memories/notes/a.md', insert_line: -1, insert_text: 'x' },
      { command: 'insert', path: '/memories/notes', insert_line: 0, insert_text: 'x' },
      { command: 'insert', path: '/memories/missing', insert_line: 0, insert_text: 'x' },
      { command: 'view', path: '/memories/notes/a.md' },
      { command: 'rename', old_path: '/memories/notes', new_path: '/memories/notes/within' },
      { command: 'rename', old_path: '/memories/notes', new_path: '/memories/deep' },
      { command: 'rename', old_path: '/memories/notes', new_path: '/memories/notes' },
      { command: 'rename', old_path: '/memories/missing', new_path: '/memories/other' },
      { command: 'rename', old_path: '/memories', new_path: '/memories/other' },
      { command: 'rename', old_path: '/memories/notes', new_path: '/memories' },
      { command: 'rename', old_path: '/memories/notes', new_path: '/memories/node_modules/x/y' },
      { command: 'rename', old_path: '/memories/notes', new_path: '/memories/moved/far/away' },
      { command: 'view', path: '/memories/moved/far' },
      { command: 'view', path: '/memories/moved/far/away/a.md' },
      { command: 'delete', path: '/memories/moved' },
      { command: 'delete', path: '/memories/moved' },
      { command: 'delete', path: '/memories' },
      { command: 'view', path: '/memories' },
    ]))

  test('refuses paths that leave the memory as the local files do, and keeps those that come back', () => {
    const paths = [
      '/memories/../secret',
      '/memories/..',
      '/memories/a/../../secret',
      '/memories/a/../b',
      '/memories/../memories/c',
      '/memories/../../memories/d',
      '/memories/./e//f/',
      '/memoriesg',
      '/memories../h',
      '/memories/..i',
      '/memories/%2e%2e/j',
      '/memories/..%2fk',
      '/memories/..\\..\\l',
      '/memories/~/m',
      '/etc/passwd',
      'memories/n',
      '../memories/o',
      '//memories/p',
      '/MEMORIES/q',
      '',
    ]
    return expectEqual([
      ...paths.flatMap((path): Command[] => [
        { command: 'create', path, file_text: path },
        { command: 'view', path },
        { command: 'insert', path, insert_line: 0, insert_text: 'x' },
        { command: 'str_replace', path, old_str: 'x', new_str: 'y' },
        { command: 'rename', old_path: path, new_path: `${path}-moved` },
        { command: 'rename', old_path: '/memories/b', new_path: path },
        { command: 'delete', path },
      ]),
      { command: 'view', path: '/memories' },
    ])
  })

  test('random commands give what the local files of the SDK give', async () => {
    const { state, expectEqual } = await newPair()
    const random = randomOf(21)
    const pick = <T>(values: readonly T[]): T => values[random(values.length)] as T
    const names = ['a', 'b', 'notes', 'x.md', '.h', '..', 'ä ö']
    const pathOf = () => ['/memories', ...Array.from({ length: random(4) }, () => pick(names))].join('/')
    const textOf = () => Array.from({ length: random(6) }, () => pick(['one', 'two', '', 'ünï'])).join('\n')
    for (let round = 0; round < 2000; round++) {
      const path = pathOf()
      const command = pick<() => Command>([
        () => ({ command: 'create', path, file_text: textOf() }),
        () => ({ command: 'create', path, file_text: textOf() }),
        () => ({ command: 'view', path, ...(random(2) === 0 && { view_range: [random(4), random(5) - 1] }) }),
        () => ({ command: 'str_replace', path, old_str: pick(['one', 'two', 'ü', '']), new_str: textOf() }),
        () => ({ command: 'insert', path, insert_line: random(5) - 1, insert_text: `${textOf()}\n` }),
        () => ({ command: 'rename', old_path: path, new_path: pathOf() }),
        () => ({ command: 'delete', path }),
      ])()
      await expectEqual(command)
    }
    await state.close()
  })

  test('keeps the memories of namespaces apart', async () => {
    const state = openStore()
    const path = '/memories/a.md'
    const memories = [[], ['ann'], ['ann', '/'], ['/']].map((namespace) => memoryHandlers(state, { namespace }))
    for (const [index, memory] of memories.entries()) {
      await memory.create({ path, file_text: `memory ${index}` })
    }
    for (const [index, memory] of memories.entries()) {
      expect(await memory.view({ path })).toContain(`memory ${index}`)
      expect((await memory.view({ path: '/memories' })).split('\n')).toHaveLength(3)
    }
    await memories[0]?.delete({ path })
    expect(await memories[1]?.view({ path })).toContain('memory 1')
    await state.close()
  })

  test('loses no change of many at once, by two stores of one file', async () => {
    const directory = newDirectory()
    const states = [1, 2].map(() => new StateStore({ path: join(directory, 'state.db') }))
    const memories = states.map((state) => memoryHandlers(state))
    const path = '/memories/log.md'
    await memories[0]?.create({ path, file_text: 'start' })
    const insert = (index: number) =>
      memories[index % 2]?.insert({ path, insert_line: 1, insert_text: `change ${index}` })
    const create = (index: number) => memories[index % 2]?.create({ path: `/memories/dir/${index}.md`, file_text: 'x' })
    const numbers = Array.from({ length: 20 }, (_, index) => index)
    await Promise.all(numbers.flatMap((index) => [insert(index), create(index)]))
    const text = await memories[1]?.view({ path })
    expect(numbers.filter((index) => text?.includes(`change ${index}\n`) || text?.endsWith(`change ${index}`))).toEqual(
      numbers,
    )
    expect((await memories[0]?.view({ path: '/memories/dir' }))?.split('\n')).toHaveLength(22)
    await Promise.all(states.map((state) => state.close()))
  })

  test('removes the text of what is deleted or replaced from the store', async () => {
    const state = openStore()
    const memory = memoryHandlers(state)
    await memory.create({ path: '/memories/a/b.md', file_text: 'the number is 4711' })
    await memory.rename({ old_path: '/memories/a', new_path: '/memories/c' })
    expect(await state.search(['anthropic'], '4711')).toHaveLength(1)
    await memory.delete({ path: '/memories/c' })
    expect(await state.search(['anthropic'], '4711')).toEqual([])
    expect((await state.stats()).items).toBe(1)
    await state.close()
  })

  test('has errors with codes, and refuses what is no command', async () => {
    const state = openStore()
    const memory = memoryHandlers(state)
    const codeOf = (call: Promise<unknown>) => call.then(String, ({ code }) => code)
    expect(await codeOf(memory.view({ path: '/memories/none' }))).toBe('ERR_CONTEXT_NOT_FOUND')
    expect(await codeOf(memory.view({ path: '/etc' }))).toBe('ERR_CONTEXT_OUTSIDE_DIRECTORY')
    expect(await codeOf(memory.view({ path: '/memories/a\0b' }))).toBe('ERR_CONTEXT_OUTSIDE_DIRECTORY')
    expect(await codeOf(memory.view({} as never))).toBe('ERR_CONTEXT_INVALID_ARGUMENT')
    const wrong = { path: '/memories/a' } as never
    await expect(memory.create(wrong)).rejects.toThrow('file_text must be a string')
    await memory.create({ path: '/memories/a', file_text: '' })
    await expect(memory.insert(wrong)).rejects.toThrow('insert_text must be a string')
    await expect(memory.str_replace(wrong)).rejects.toThrow('old_str must be a string')
    expect(() => memoryHandlers({} as never)).toThrow('state must be a StateStore')
    expect(() => memoryHandlers(state, { namspace: [] } as never)).toThrow("did you mean 'namespace'")
    expect(() => memoryHandlers(state, { namespace: [''] })).toThrow('namespace must be an array of non-empty strings')
    await state.close()
  })

  test('serves a model through the tool runner, in this conversation and the next', async () => {
    const path = '/memories/customers.md'
    const directory = newDirectory()
    const turn = async (script: Parameters<typeof runRunner>[0], stream: boolean) => {
      const state = new StateStore({ path: join(directory, 'state.db') })
      const ran = await runRunner(script, { tools: [betaMemoryTool(memoryHandlers(state))], stream })
      await state.close()
      return ran
    }
    const call = (input: object) => callOf('memory', input)
    const first = await turn(
      [
        call({ command: 'create', path, file_text: 'Customer 7 pays on time.' }),
        call({ command: 'create', path: '/etc/passwd', file_text: '' }),
        'noted',
      ],
      false,
    )
    expect(first.requests.at(-1)).toContain(`File created successfully at: ${path}`)
    expect(first.requests.at(-1)).toContain('Error: Path must start with /memories, got: /etc/passwd')
    const second = await turn(
      [call({ command: 'view', path }), (request) => /Customer 7 pays on time/.exec(request)?.[0] ?? 'not found'],
      true,
    )
    expect(second.answer).toBe('Customer 7 pays on time')
  })
})

const runOf = ({ tools: given, script, manager, taskId, signal }: Run, stream: boolean) => {
  const plain = Object.entries(given).map(([name, run]) =>
    betaTool({
      name,
      description: 'd',
      inputSchema,
      run: async (input, context) => contentOf(await run(input, context?.signal ?? undefined, () => {})),
    }),
  )
  const tools =
    manager === undefined
      ? plain
      : [...plain.map((one) => wrapRunnable(one, manager, { taskId })), ...contextToolList(manager)]
  return runRunner(script, { tools, stream, signal })
}

adapterSuite({
  name: 'Anthropic',
  async run(given) {
    const { requests, messages, error } = await runOf(given, false)
    return { requests, kept: JSON.stringify(messages), ...(error !== undefined && { error }) }
  },
  // Tools of this SDK report nothing on the way.
  async stream(given) {
    const { requests, messages, pieces, error } = await runOf(given, true)
    const blocks = messages.flatMap(({ content }) => (typeof content === 'string' ? [] : content))
    const outputs = blocks.filter((block) => block?.type === 'tool_result').map((block) => JSON.stringify(block))
    return { requests, pieces, outputs, kept: JSON.stringify(messages), ...(error !== undefined && { error }) }
  },
  withImage: (text, png) => [
    { type: 'text', text },
    { type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } },
  ],
  turn: 'support/anthropic-turn.ts',
  example: 'anthropic',
})

describe('wrapRunnable', () => {
  const lookUp = betaTool({ name: 'lookUp', description: 'd', inputSchema, run: async () => LARGE_TEXT })

  test('works while the reply streams', async () => {
    const manager = newManager()
    const script = [callOf('lookUp'), (request: string) => readBack(request), nameIn]
    const tools = [wrapRunnable(lookUp, manager), ...contextToolList(manager)]
    const { requests, answer } = await runRunner(script, { tools, stream: true })
    expect(answer).toBe('Customer number 7')
    expect(requests.at(-1)?.length).toBeLessThan(5000)
  })

  test('records an error with content of its own, which the model gets', async () => {
    const manager = newManager()
    const run = () => {
      throw new ToolError([{ type: 'text', text: 'no such table' }])
    }
    const fails = betaTool({ name: 'fails', description: 'd', inputSchema, run })
    const { requests } = await runRunner([callOf('fails'), 'sorry'], { tools: [wrapRunnable(fails, manager)] })
    expect(requests.at(-1)).toContain('"content":[{"type":"text","text":"no such table"}],"is_error":true')
    expect(recordsOf(manager)).toMatchObject([{ toolName: 'fails', callId: 'call-1-0', success: false }])
  })

  test('records the commands of the memory tool', async () => {
    const manager = newManager()
    const state = openStore()
    const memory = wrapRunnable(betaMemoryTool(memoryHandlers(state)), manager)
    await runRunner([callOf('memory', { command: 'view', path: '/memories' }), 'empty'], { tools: [memory] })
    expect(recordsOf(manager)).toMatchObject([
      { toolName: 'memory', args: { command: 'view', path: '/memories' }, success: true },
    ])
    await state.close()
  })

  test('says which versions it needs where the tool is run without its call', () => {
    expect(() => wrapRunnable(lookUp, newManager()).run({})).toThrow(
      expect.objectContaining({
        code: 'ERR_CONTEXT_UNSUPPORTED',
        message: expect.stringContaining('@anthropic-ai/sdk ^1.0.0'),
      }),
    )
  })

  test('refuses wrong arguments', () => {
    expect(() => wrapRunnable({ name: 'x' }, newManager())).toThrow('tool must be a runnable tool with a name')
    expect(() => wrapRunnable(lookUp, {} as never)).toThrow('manager must be a ContextManager')
    expect(() => contextToolList({} as never)).toThrow('manager must be a ContextManager')
  })
})

test('the guide runs', () => {
  const modules = {
    'agent.ts': `
import Anthropic from '@anthropic-ai/sdk'
import { betaTool } from '@anthropic-ai/sdk/helpers/beta/json-schema'
import { AnthropicApi } from '../../support/anthropic-api.ts'
import { LARGE } from '../../support/large.ts'
import { callOf, nameIn, readBack } from '../../support/script.ts'
const view = callOf('memory', { command: 'view', path: '/memories' })
const api = new AnthropicApi([view, callOf('search_customers'), (request) => readBack(request), nameIn])
export const client = new Anthropic({ apiKey: 'none', baseURL: await api.start() })
export const searchCustomers = betaTool({
  name: 'search_customers',
  description: 'd',
  inputSchema: { type: 'object', properties: {} },
  run: async () => JSON.stringify(LARGE),
})
`,
  }
  const output = runGuide('anthropic', modules)
  expect(output).toContain('Customer number 7')
})
