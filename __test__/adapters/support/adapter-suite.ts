/** What every adapter of tool calls does, whatever the framework: the same rows for each. */

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ContextManager } from 'agent-context'
import { describe, expect, test } from 'vitest'
import {
  bytesOf,
  handleIn,
  LARGE,
  LARGE_TEXT,
  newDirectory,
  newManager,
  PNG,
  recordsOf,
  runScript,
  SECRET,
} from './fixtures.ts'
import { addedBy, ROUNDS } from './medians.ts'
import { callOf, nameIn, readBack, type Script } from './script.ts'

/** A tool without parameters that are checked. What it throws, it throws; `report` is for what it gives on the way. */
export type Tool = (
  input: { query?: string | undefined },
  signal: AbortSignal | undefined,
  report: (progress: string) => unknown,
) => unknown

/** A run of an agent whose model follows a script. */
export interface Run {
  readonly tools: Readonly<Record<string, Tool>>
  readonly script: Script
  /** Without one, the framework runs without the adapter. */
  readonly manager?: ContextManager
  readonly taskId?: string
  readonly signal?: AbortSignal
}

/** What came of it. */
export interface Ran {
  /** What the model was sent, as JSON. */
  readonly requests: string[]
  /** What the framework keeps of the conversation, as JSON, where it keeps something. */
  readonly kept?: string
  /** What the run was rejected with. */
  readonly error?: unknown
}

/** What came of a run that the caller follows. */
export interface Streamed extends Ran {
  /** What the model said, piece by piece, where the framework streams that. */
  readonly pieces?: readonly string[]
  /** What the tools reported on the way, where the framework has that. */
  readonly reports?: readonly string[]
  /** The outputs of the tools as the caller gets them, as JSON. */
  readonly outputs: readonly string[]
}

/** How a framework runs with its adapter. */
export interface Framework {
  readonly name: string
  run(run: Run): Promise<Ran>
  stream(run: Run): Promise<Streamed>
  /** The output of the tool `shot`: a text and an image, as tools of the framework give them. */
  withImage(text: string, png: string): unknown
  /** A script that has a turn of a conversation in a process of its own: `first`, then `second`. */
  readonly turn: string
  /** What the script of a turn gets before that. */
  readonly turnParameters?: readonly string[]
  /** Without one here, it has a test of its own. */
  readonly example?: string
  /** With a middleware around its tools, the framework ends the run where it would else give the model the error. */
  readonly endsOnError?: boolean
  /** What the framework makes of an error before the adapter sees it. */
  readonly errorText?: string
  /** `false`: calls have no id on this side. */
  readonly hasCallIds?: false
}

const asked = callOf('lookUp', { query: 'customers' })

export function adapterSuite({ name, run, stream, withImage, turn, example, ...framework }: Framework): void {
  const lookUp: Tool = () => LARGE

  describe(`${name}: every adapter`, () => {
    test('gives a placeholder for a large output, in the request and in what is kept, and reads it back', async () => {
      const manager = newManager()
      const tools = { lookUp }
      const plain = await run({ tools, script: [asked, 'done'] })
      const { requests, kept } = await run({ tools, script: [asked, (text) => readBack(text), nameIn], manager })
      const [before, after] = [plain.requests.at(-1) ?? '', requests.at(-1) ?? ''].map((text) =>
        Buffer.byteLength(text),
      )
      console.log(`${name}: bytes in the last request ${before} → ${after}`)
      expect(before).toBeGreaterThan(50_000)
      expect(after).toBeLessThan(5000)
      expect(nameIn(requests.at(-1) ?? '')).toBe('Customer number 7')
      expect(kept?.length ?? 0).toBeLessThan(10_000)
      expect(recordsOf(manager)).toMatchObject([
        { toolName: 'lookUp', args: { query: 'customers' }, success: true, isTimed: true, taskId: undefined },
      ])
    })

    test('sends a small output as without it', async () => {
      const manager = newManager()
      const tools = { add: () => ({ sum: 3 }), say: () => 'three', nothing: () => '' }
      const script = [callOf('add'), callOf('say'), callOf('nothing'), 'done']
      const [plain, wrapped] = await Promise.all([run({ tools, script }), run({ tools, script, manager })])
      expect(wrapped.requests).toEqual(plain.requests)
      expect(recordsOf(manager).map(({ success }) => success)).toEqual([true, true, true])
    })

    test.each<[string, Tool]>([
      [
        'throws',
        () => {
          throw new Error('the database is down')
        },
      ],
      ['rejects', () => Promise.reject(new TypeError('the database is down'))],
    ])('records a tool that %s, and the model or the caller gets its error as without it', async (_, fails) => {
      const manager = newManager()
      const script = [callOf('fails'), 'sorry']
      const plain = await run({ tools: { fails }, script })
      const wrapped = await run({ tools: { fails }, script, manager })
      if (framework.endsOnError === true) {
        expect(String(wrapped.error)).toContain('the database is down')
      } else {
        expect(wrapped).toEqual({ ...plain, kept: wrapped.kept })
      }
      expect(recordsOf(manager)).toMatchObject([{ toolName: 'fails', success: false, isTimed: true }])
      const [pointer] = manager.getAllPointers()
      expect((await manager.loadContext(pointer?.filepath ?? '')).error).toContain(
        framework.errorText ?? 'the database is down',
      )
    })

    test('records a call that is aborted', async () => {
      const manager = newManager()
      const controller = new AbortController()
      const waits: Tool = (_, signal) =>
        new Promise((_, reject) => {
          signal?.addEventListener('abort', () => reject(signal.reason))
          setTimeout(() => controller.abort(), 20)
        })
      await run({ tools: { waits }, script: [callOf('waits'), 'done'], manager, signal: controller.signal })
      await expect.poll(() => manager.size).toBe(1)
      const [pointer] = manager.getAllPointers()
      expect(pointer).toMatchObject({ toolName: 'waits', success: false })
      expect((await manager.loadContext(pointer?.filepath ?? '')).error).toMatch(/abort/i)
    })

    test('distinguishes parallel calls of sub-agents by id and task', async () => {
      const manager = newManager()
      const start = (taskId: string) => {
        const calls = Array.from({ length: 10 }, (_, at) => ({ tool: 'lookUp', input: { query: `${taskId} ${at}` } }))
        return run({ tools: { lookUp }, script: [calls, 'done'], manager, taskId })
      }
      await Promise.all([start('one'), start('two')])
      for (const task of ['one', 'two']) {
        const pointers = manager.getPointersForTask(task)
        expect(pointers).toHaveLength(10)
        expect(pointers.every(({ args }) => String(args['query']).startsWith(task))).toBe(true)
      }
    })

    test('records the calls of a sub-agent under its task, and the agent that called it reads its outputs', async () => {
      const manager = newManager()
      const delegate: Tool = async () => {
        const { requests } = await run({ tools: { lookUp }, script: [asked, 'found'], manager, taskId: 'sub-agent' })
        return `found in ${handleIn(requests.at(-1) ?? '')}`
      }
      const script = [callOf('delegate'), (text: string) => readBack(text), 'done']
      const { requests, error } = await run({ tools: { delegate }, script, manager, taskId: 'agent' })
      expect(error).toBeUndefined()
      expect(requests.at(-2)).not.toContain('Customer number')
      expect(requests.at(-1)).toContain('Customer number 7')
      expect(recordsOf(manager)).toMatchObject([
        { toolName: 'lookUp', taskId: 'sub-agent', success: true },
        { toolName: 'delegate', taskId: 'agent', success: true, isTimed: true },
      ])
    })

    test('keeps images, and replaces large texts beside them', async () => {
      const manager = newManager()
      const shot = () => withImage(LARGE_TEXT, PNG)
      const { requests } = await run({ tools: { shot }, script: [callOf('shot'), 'done'], manager })
      expect(requests.at(-1)).toContain(PNG)
      expect(requests.at(-1)?.length).toBeLessThan(6000)
      expect(requests.at(-1)).toContain('ctx_')
    })

    test('neither stores nor replaces what its own tools answer, however large', async () => {
      const manager = newManager()
      const page = (request: string) => callOf('read_context_slice', { id: handleIn(request) })
      const { requests } = await run({ tools: { lookUp }, script: [asked, page, 'done'], manager })
      expect(requests.at(-1)?.length).toBeGreaterThan(10_000)
      expect(manager.size).toBe(1)
    })

    test('keeps secrets of large outputs out of the disk, the request and what is kept', async () => {
      const manager = newManager()
      const reveals: Tool = () => `token: ${SECRET}\n${LARGE_TEXT}`
      const read = (text: string) => callOf('read_context_slice', { id: handleIn(text), max_bytes: 200 })
      const script = [callOf('reveals'), read, 'done']
      const { requests, kept } = await run({ tools: { reveals }, script, manager })
      expect(requests).toHaveLength(3)
      expect(`${requests.at(-1)} ${kept}`).not.toContain(SECRET)
      const directory = manager.getContextDir()
      const files = readdirSync(directory, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
      const texts = files.map(({ parentPath, name }) => readFileSync(join(parentPath, name), 'utf8'))
      expect(texts.join('')).toContain('Customer number 444')
      expect(texts.join('')).not.toContain(SECRET)
    })

    test('leaves an output that cannot be stored in the conversation', async () => {
      const manager = new ContextManager({ contextDir: '/proc/nowhere' })
      const { requests } = await run({ tools: { lookUp }, script: [asked, 'done'], manager })
      expect(requests.at(-1)?.length).toBeGreaterThan(50_000)
    })

    test('streams what a tool reports and the model says as without it, and a placeholder as the output', async () => {
      const manager = newManager()
      const reports: Tool = async (_, __, report) => {
        await report('loading')
        await report('half')
        return LARGE
      }
      const last = 'Customer 7 pays on time.'
      const plain = await stream({ tools: { reports }, script: [callOf('reports'), last] })
      const script = [callOf('reports'), (text: string) => readBack(text), last]
      const streamed = await stream({ tools: { reports }, script, manager })
      expect(plain.error).toBeUndefined()
      expect(streamed.error).toBeUndefined()
      expect(streamed.pieces).toEqual(plain.pieces)
      expect(plain.pieces?.join('') ?? last).toBe(last)
      expect(plain.pieces?.length ?? 2).toBeGreaterThan(1)
      expect(streamed.reports).toEqual(plain.reports)
      expect(plain.reports ?? ['loading', 'half']).toEqual(['loading', 'half'])
      expect(plain.outputs.map(({ length }) => length > 50_000)).toEqual([true])
      expect(streamed.outputs).toHaveLength(2)
      expect(streamed.outputs[0]?.length).toBeLessThan(5000)
      expect(streamed.outputs[1]).toContain('Customer number 7')
      expect(streamed.requests.at(-1)?.length).toBeLessThan(5000)
      expect(streamed.kept?.length ?? 0).toBeLessThan(10_000)
      expect(recordsOf(manager)).toMatchObject([{ toolName: 'reports', success: true, isTimed: true }])
      const [pointer] = manager.getAllPointers()
      expect(JSON.stringify(await manager.loadContext(pointer?.filepath ?? ''))).toContain('Customer number 444')
    })

    test('records parallel calls of a streamed run, failed ones too, by their ids', async () => {
      const manager = newManager()
      const fails: Tool = async (_, __, report) => {
        await report('half')
        throw new Error('the line is dead')
      }
      const calls = [...['a', 'b'].map((query) => ({ tool: 'lookUp', input: { query } })), { tool: 'fails', input: {} }]
      const tools = { lookUp, fails }
      const plain = await stream({ tools, script: [calls, 'sorry'] })
      const streamed = await stream({ tools, script: [calls, 'sorry'], manager })
      if (framework.endsOnError === true) {
        expect(String(streamed.error)).toContain('the line is dead')
      } else {
        expect(streamed.error).toEqual(plain.error)
        expect(streamed.pieces).toEqual(plain.pieces)
        expect(streamed.requests).toHaveLength(plain.requests.length)
      }
      await expect.poll(() => manager.size).toBe(3)
      const records = recordsOf(manager)
      expect(records.map(({ toolName, success }) => `${toolName} ${success}`).sort()).toEqual([
        'fails false',
        'lookUp true',
        'lookUp true',
      ])
      if (framework.hasCallIds !== false) {
        expect(new Set(records.map(({ callId }) => callId)).size).toBe(3)
        expect(records.every(({ callId }) => callId !== undefined)).toBe(true)
      }
    })

    test('records a call of a streamed run that is aborted', async () => {
      const manager = newManager()
      const controller = new AbortController()
      const waits: Tool = async (_, signal, report) => {
        await report('loading')
        return new Promise((_, reject) => {
          signal?.addEventListener('abort', () => reject(signal.reason))
          setTimeout(() => controller.abort(), 20)
        })
      }
      await stream({ tools: { waits }, script: [callOf('waits'), 'done'], manager, signal: controller.signal })
      await expect.poll(() => manager.size).toBe(1)
      expect(recordsOf(manager)).toMatchObject([{ toolName: 'waits', success: false, isTimed: true }])
    })

    test('says what it costs a call', async () => {
      const manager = newManager()
      const runs: Run[] = [
        { tools: { lookUp }, script: [asked, 'done'] },
        { tools: { lookUp }, script: [asked, 'done'], manager },
      ]
      const added = await addedBy(runs.map((given) => () => run(given)))
      console.log(`${name}: ${added.toFixed(1)} ms more a call of ${bytesOf(LARGE)} bytes`)
      expect(manager.size).toBe(ROUNDS + 1)
    })

    test('redeems placeholders of a stored conversation in another process', () => {
      const home = newDirectory()
      const [stored, resumed] = ['first', 'second'].map((part) =>
        runScript(turn, [part, ...(framework.turnParameters ?? [])], home),
      )
      expect(Number(stored)).toBeLessThan(30_000)
      expect(resumed?.trim()).toBe('Customer number 7')
    })

    if (example !== undefined) {
      test('has an example that runs, and says what is saved', () => {
        const output = runScript(`examples/${example}.ts`)
        expect(output).toMatch(/without: \d{5} bytes/)
        expect(output).toMatch(/with: +\d{4} bytes/)
      })
    }
  })
}
