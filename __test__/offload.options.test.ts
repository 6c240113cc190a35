/** Options of `offload`: kinds, outcomes, tokens, prefixes, and answers of the context tools under other names. */

import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { contextTools, type OffloadPolicy, toText } from '../dist/index.js'
import { filesIn, inDirectory, MemoryFileSystem, rejectsWith, throwsWith, wrong } from './support/fixtures.ts'
import { ContextManager } from './support/managers.ts'
import { isLocal } from './support/postgres.ts'
import { holds } from './support/processes.ts'
import { readFileSync, statSync, writeFileSync } from './support/stored-files.ts'

const LARGE = 'a line of text\n'.repeat(1000)
const KEY_FILE = '.answer-key'

const inMemory = (offload: OffloadPolicy = {}): ContextManager =>
  new ContextManager({ contextDir: '/virtual/contexts', fileSystem: new MemoryFileSystem(), offload })

describe('a kind', () => {
  test('of arguments is named in the placeholder, which does not call them data of a tool', async () => {
    const { text, handle } = await inMemory().offload('write_file', {}, LARGE, { kind: 'arguments' })
    holds(text.startsWith(`[Arguments of "write_file" stored as ${handle}: 15000 bytes in 1000 lines of text.`), text)
    holds(!text.includes('not instructions') && !text.includes('data of that tool'), text)
  })

  test('of a message never calls what a user says no instructions', async () => {
    const { text, handle } = await inMemory().offload('user', {}, LARGE, { kind: 'message' })
    holds(text.startsWith(`[Message "user" stored as ${handle}: 15000 bytes in 1000 lines of text.`), text)
    holds(!text.includes('not instructions') && !text.includes('tool,'), text)
  })

  test('is refused when there is none of that name', async () => {
    const call = () => inMemory().offload('user', {}, LARGE, { kind: wrong('prompt') })
    await rejectsWith(call, 'ERR_CONTEXT_INVALID_ARGUMENT', /kind/)
  })
})

describe('what is known of a call', () => {
  test('is stored beside an offloaded output', async () => {
    const manager = inMemory()
    const outcome = { success: false, error: 'exit 2', message: 'make failed', durationMs: 12.5, exitCode: 2 }
    const { filepath = '', text } = await manager.offload('make', {}, LARGE, {
      callId: 'call_1',
      mediaType: 'text/plain',
      outcome,
    })
    const stored = await manager.loadContext(filepath)
    const { success, error, message, durationMs, exitCode, callId, mediaType } = stored
    assert.deepEqual({ success, error, message, durationMs, exitCode }, outcome)
    assert.deepEqual([callId, mediaType], ['call_1', 'text/plain'])
    holds(text.includes('1000 lines of text (text/plain).'), text)
    assert.equal((await manager.search('make failed')).length, 1)
  })

  test('is refused when it is wrong', async () => {
    const manager = inMemory()
    for (const [options, name] of [
      [{ mediaType: 'csv' }, /mediaType/],
      [{ mediaType: 'text/csv\n[Output' }, /mediaType/],
      [{ outcome: [] }, /outcome/],
      [{ prefix: 'my tools ' }, /prefix/],
      [{ signal: {} }, /signal/],
      [{ maxTokens: -1 }, /maxTokens/],
      [{ outcom: {} }, /did you mean 'outcome'/],
    ] as const) {
      await rejectsWith(() => manager.offload('t', {}, 'x', wrong(options)), 'ERR_CONTEXT_INVALID_ARGUMENT', name)
    }
    assert.equal(manager.size, 0)
  })

  test('an aborted signal keeps an output from being stored', async () => {
    const manager = inMemory()
    const reason = new Error('stopped')
    const call = manager.offload('t', {}, LARGE, { signal: AbortSignal.abort(reason) })
    await assert.rejects(call, reason)
    assert.equal(manager.size, 0)
  })
})

describe('bounds in tokens', () => {
  const words = (text: string): number => text.split(/\s+/).filter(Boolean).length

  test('offload by the caller’s count, and by an estimate without one', async () => {
    const counted = inMemory({ maxTokens: 100, countTokens: words })
    assert.equal((await counted.offload('t', {}, 'x '.repeat(99))).isOffloaded, false)
    assert.equal((await counted.offload('t', {}, 'longer-words '.repeat(300))).isOffloaded, true)
    const estimated = inMemory({ maxTokens: 1000 })
    assert.equal((await estimated.offload('t', {}, 'x'.repeat(3996))).isOffloaded, false)
    assert.equal((await estimated.offload('t', {}, 'x'.repeat(3997))).isOffloaded, true)
    assert.equal((await estimated.offload('t', {}, 'x'.repeat(3997), { maxTokens: 1001 })).isOffloaded, false)
  })

  test('a count that is no number rejects the call', async () => {
    const manager = inMemory({ maxTokens: 1, countTokens: () => Number.NaN })
    await rejectsWith(() => manager.offload('t', {}, LARGE), 'ERR_CONTEXT_INVALID_ARGUMENT', /countTokens/)
  })

  test('a turn takes no more than its tokens', async () => {
    const manager = inMemory({ turnTokens: 1500, previewTokens: 25 })
    const outputs = [1, 2, 3].map((n) => ({ toolName: 't', args: { n }, result: `${n}`.repeat(4000) }))
    const offloaded = await manager.offloadAll(outputs)
    assert.equal(offloaded.filter(({ isOffloaded }) => isOffloaded).length, 2)
    const bytes = offloaded.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0)
    holds(bytes <= 6000, `${bytes} bytes`)
  })

  test('nothing is offloaded before the conversation takes its share of the window', async () => {
    const manager = inMemory()
    const outputs = [{ toolName: 't', args: {}, result: LARGE }]
    const offloads = async (contextTokens: number, startAt?: number): Promise<boolean | undefined> =>
      (await manager.offloadAll(outputs, { contextTokens, startAt, window: 20_000 }))[0]?.isOffloaded
    // The output takes 3,750 tokens.
    assert.equal(await offloads(8249), false)
    assert.equal(await offloads(8250), true)
    assert.equal(await offloads(8249, 0.5), true)
    assert.equal(manager.size, 3)
    await rejectsWith(
      () => manager.offloadAll(outputs, { startAt: 0.5 }),
      'ERR_CONTEXT_INVALID_ARGUMENT',
      /contextTokens/,
    )
    const call = () => manager.offloadAll(outputs, { contextTokens: 1, startAt: 60 })
    await rejectsWith(call, 'ERR_CONTEXT_INVALID_ARGUMENT', /startAt/)
  })
})

describe('redactPlaceholders: false', () => {
  const secret = ['ghp', 'x7Kd93mQpLw2Rt8vBn4cYs6fHj1gZa5eUo0T'].join('_')

  test('shows the model the raw preview, while what is stored is redacted', async () => {
    const fileSystem = new MemoryFileSystem()
    const options = { contextDir: '/virtual/contexts', fileSystem }
    const raw = new ContextManager({ ...options, offload: { redactPlaceholders: false } })
    const { text, handle = '' } = await raw.offload('env', {}, `token: ${secret}\n${LARGE}`)
    holds(text.includes(secret), text)
    const redacted = await new ContextManager(options).offload('env', {}, `token: ${secret}\n${LARGE}`)
    holds(!redacted.text.includes(secret), redacted.text)
    const slice = await raw.readContext(handle)
    holds(!slice.text.includes(secret), slice.text.slice(0, 200))
  })
})

describe('the context tools under other names', () => {
  const prefixes = ['', 'mcp__agent-context__', 'context_', 'agent.context/', 'functions.']

  for (const prefix of prefixes) {
    test(`let a model page through an output, with the prefix "${prefix}"`, () =>
      inDirectory(async (contextDir) => {
        const manager = new ContextManager({ contextDir, offload: { prefix } })
        const [, , read] = contextTools(manager, { prefix })
        assert.equal(read.name, `${prefix}read_context_slice`)
        const lines = Array.from({ length: 40_000 }, (_, line) => `line ${line} of the output`)
        const { text } = await manager.offload('grep', {}, lines.join('\n'))
        let call = nextCall(text, read.name)
        const found = new Set<string>()
        let pages = 0
        while (call !== undefined) {
          const answer = await read.execute(call)
          // As a framework does it, which renames the tool and knows nothing of it.
          const shown = await manager.offload(`renamed_${pages}`, call, toText(answer))
          assert.equal(shown.isOffloaded, false)
          assert.equal(shown.handle, undefined)
          holds(Buffer.byteLength(shown.text) <= 16_384, 'a page that is too long')
          for (const [line] of shown.text.matchAll(/^line \d+ of the output$/gm)) {
            found.add(line)
          }
          call = nextCall(shown.text, read.name)
          pages += 1
        }
        assert.equal(manager.size, 1)
        holds(pages > 60 && found.size > 39_900, `${found.size} lines on ${pages} pages`)
      }))
  }

  function nextCall(text: string, name: string): Record<string, unknown> | undefined {
    const start = text.lastIndexOf(`${name}({`)
    return start < 0 || !/(?:More: |Read more with )$/.test(text.slice(0, start))
      ? undefined
      : (JSON.parse(text.slice(start + name.length + 1, text.indexOf('})', start) + 1)) as Record<string, unknown>)
  }

  test('are recognised however a framework wraps their answers, and by another process’s manager', () =>
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir })
      await manager.offload('grep', {}, LARGE)
      const [list, , read] = contextTools(manager)
      const id = /ctx_[0-9a-f]{16}/.exec(toText(await list.execute()))?.[0]
      const answer = await read.execute({ id })
      const text = toText(answer)
      const content = [{ type: 'text', text }]
      const other = new ContextManager({ contextDir })
      for (const wrapped of [
        text,
        answer,
        { content },
        content,
        JSON.stringify(answer),
        { content: [{ type: 'text', text: JSON.stringify(answer) }] },
        { type: 'function_call_output', call_id: 'call_1', output: text },
      ]) {
        for (const one of [manager, other]) {
          const { handle, isOffloaded, error } = await one.offload('renamed', {}, wrapped, { threshold: 0 })
          assert.deepEqual(
            [handle, isOffloaded, error],
            [undefined, false, undefined],
            JSON.stringify(wrapped).slice(0, 80),
          )
        }
      }
      assert.equal(manager.size + other.size, 1)
    }))

  test('are not recognised by a text that was altered, extended or signed elsewhere', () =>
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir: join(contextDir, 'one') })
      const { handle = '' } = await manager.offload('grep', {}, LARGE)
      const text = toText(await contextTools(manager)[2].execute({ id: handle }))
      const signature = text.slice(text.lastIndexOf('\n'))
      const elsewhere = new ContextManager({ contextDir: join(contextDir, 'two') })
      await elsewhere.offload('grep', {}, LARGE)
      await contextTools(elsewhere)[0].execute()
      for (const [one, output] of [
        [manager, text.replace('a line', 'another line')],
        [manager, `${LARGE}${signature}`],
        [manager, `${text}\nmore`],
        [manager, `before\n${text}`],
        [manager, { text, payload: LARGE }],
        [manager, signature.replace(/[0-9a-f]{32}/, '0'.repeat(32))],
        [elsewhere, text],
      ] as const) {
        const stored = await one.offload('web', {}, output, { threshold: 0 })
        assert.match(String(stored.handle), /^ctx_/, JSON.stringify(output).slice(0, 80))
      }
    }))

  test('sign with a key that only the owner can read, and make a new one if it is lost', () =>
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir })
      const { handle = '' } = await manager.offload('grep', {}, LARGE)
      holds(!filesIn(contextDir).includes(KEY_FILE), 'a key that nothing needs')
      const managers = Array.from({ length: 4 }, () => new ContextManager({ contextDir }))
      const answers = await Promise.all(
        managers.map((one) => contextTools(one, { sessions: 'all' })[2].execute({ id: handle })),
      )
      assert.equal(new Set(answers.map(toText)).size, 1)
      const path = join(contextDir, KEY_FILE)
      assert.match(readFileSync(path, 'utf8'), /^[0-9a-f]{64}$/)
      if (process.platform !== 'win32' && isLocal) {
        assert.equal(statSync(path).mode & 0o777, 0o600)
      }
      await manager.sweep()
      holds(filesIn(contextDir).includes(KEY_FILE), 'a key that was swept')
      writeFileSync(path, 'no key')
      const fresh = new ContextManager({ contextDir })
      const answer = await contextTools(fresh, { sessions: 'all' })[2].execute({ id: handle })
      assert.equal((await fresh.offload('x', {}, toText(answer), { threshold: 0 })).handle, undefined)
    }))

  test('name each other with the prefix', async () => {
    const manager = inMemory()
    const tools = contextTools(manager, { prefix: 'ctx__' })
    const texts = [
      ...tools.map(({ description, parameters }) => `${description} ${JSON.stringify(parameters)}`),
      ...(await Promise.all(
        tools.map(async (tool) => (await tool.execute({ query: 'x', id: 'ctx_x', bad: 1 })).message),
      )),
      toText(await tools[0].execute()),
      toText(await tools[1].execute({ query: 'nothing' })),
      toText(await tools[2].execute({ id: 'ctx_0123456789abcdef' })),
    ]
    for (const text of texts) {
      assert.deepEqual(text.match(/(?<!ctx__)\b(?:list_contexts|search_contexts|read_context_slice)/g), null, text)
    }
    throwsWith(() => contextTools(manager, { prefix: 'a b' }), 'ERR_CONTEXT_INVALID_ARGUMENT', /prefix/)
  })
})

describe('a tool definition', () => {
  test('carries its schema as a Standard Schema', async () => {
    for (const tool of contextTools(inMemory())) {
      const { version, vendor, validate, jsonSchema } = tool['~standard']
      assert.deepEqual([version, vendor], [1, 'agent-context'])
      assert.deepEqual(jsonSchema.input({ target: 'draft-07' }), tool.parameters)
      assert.deepEqual(validate({ a: 1 }), { value: { a: 1 } })
      assert.equal(tool.parameters.type, 'object')
      assert.equal(tool.parameters.additionalProperties, false)
      holds(
        tool.parameters.required.every((name) => name in tool.parameters.properties),
        tool.name,
      )
    }
  })

  test('takes a signal, and answers with a failure when it is aborted', async () => {
    for (const tool of contextTools(inMemory())) {
      const answer = await tool.execute({ query: 'x', id: 'x' }, { signal: AbortSignal.abort() })
      assert.deepEqual(answer, { success: false, value: null, message: 'The call was cancelled.' })
      assert.equal(toText(answer), 'The call was cancelled.')
    }
  })

  test('toText gives a value that is no text as JSON', () => {
    assert.equal(toText({ success: true, value: [{ a: 1 }], message: 'm' }), '[{"a":1}]')
  })
})
