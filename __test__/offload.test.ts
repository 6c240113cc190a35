/** `offload` and `offloadAll`: the text in the conversation, the stored output, and the behaviour when storing fails. */

import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import type { ContextManagerOptions, IFileSystem, OffloadedContext, OffloadPolicy } from '../dist/index.js'
import {
  debugLog,
  filesIn,
  inDirectory,
  MemoryFileSystem,
  nested,
  only,
  rejectsWith,
  throwsWith,
  wrong,
} from './support/fixtures.ts'
import { ContextManager } from './support/managers.ts'
import { placeholderCases } from './support/placeholder-cases.ts'
import { holds, PATIENT, run } from './support/processes.ts'

const golden = fileURLToPath(new URL('golden', import.meta.url))
const HANDLE = /^ctx_[0-9a-f]{16}$/
const GONE = 'ctx_0123456789abcdef'
const LARGE = 'a line of text\n'.repeat(1000)

const inMemory = (offload: OffloadPolicy = {}, options: ContextManagerOptions = {}): ContextManager =>
  new ContextManager({ contextDir: '/virtual/contexts', fileSystem: new MemoryFileSystem(), offload, ...options })

const bytesOf = (text: string): number => Buffer.byteLength(text)
const handleOf = ({ handle }: OffloadedContext): string => handle ?? assert.fail('no handle')

describe('the placeholder', () => {
  test('is that of the golden files, whatever the output is', async () => {
    const manager = inMemory()
    assert.deepEqual(
      readdirSync(golden).sort(),
      Object.keys(placeholderCases)
        .map((name) => `${name}.txt`)
        .sort(),
    )
    for (const [name, { toolName, args, result }] of Object.entries(placeholderCases)) {
      const { text, isOffloaded } = await manager.offload(toolName, args, result)
      assert.equal(text, readFileSync(join(golden, `${name}.txt`), 'utf8'), name)
      holds(isOffloaded, `${name} was not offloaded`)
    }
  })

  test('is the same in another process, and for arguments in another order', PATIENT, () =>
    inDirectory(async (directory) => {
      const outputs = join(directory, 'outputs.json')
      writeFileSync(outputs, JSON.stringify(Object.values(placeholderCases)))
      const lines = await run('offload.mjs', [join(directory, 'contexts'), outputs])
      const expected = Object.keys(placeholderCases).map((name) => readFileSync(join(golden, `${name}.txt`), 'utf8'))
      assert.deepEqual(
        lines.map((line) => JSON.parse(line) as string),
        expected,
      )
    }),
  )

  test('names the handle, the size, and where reading goes on', async () => {
    const { text, handle, sizeBytes, isOffloaded, filepath, result } = await inMemory().offload('grep', {}, LARGE)
    assert.match(String(handle), HANDLE)
    assert.equal(sizeBytes, 15_000)
    assert.equal(isOffloaded, true)
    assert.match(String(filepath), /^\/virtual\/contexts\/grep_/)
    assert.equal(result, undefined)
    holds(text.startsWith(`[Output of "grep" stored as ${handle}: 15000 bytes in 1000 lines of text.`), text)
    holds(text.includes(`read_context_slice({"id":"${handle}","from_line":46})`), text)
    // The path holds the time and chance.
    holds(!text.includes(String(filepath)) && !text.includes('/virtual'), text)
  })

  const hostile = inMemory({}, { persist: 'large', persistThreshold: Number.POSITIVE_INFINITY })

  test('cannot be left by what is stored, and holds nothing that steers a terminal or hides', () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.constantFrom(
            '</stored-output',
            '<stored-output-',
            'stored',
            '-',
            'output',
            '>',
            '\u001b[2J',
            '\u202e',
            '\n',
            '\u{e0041}',
            'ö',
          ),
          { maxLength: 60 },
        ),
        fc.string({ unit: 'binary' }),
        async (pieces, tail) => {
          const stored = `${pieces.join('')}${tail}${'.\n'.repeat(2000)}${pieces.join('')}`
          const { text, handle } = await hostile.offload(pieces.join(''), {}, stored, { threshold: 0 })
          const mark = handle?.slice('ctx_'.length)
          assert.deepEqual(text.match(/<\/?stored-output[^>]*>/gi), [
            `<stored-output-${mark}>`,
            `</stored-output-${mark}>`,
          ])
          const hidden = [...text].filter(
            (one) =>
              one !== '\n' && one !== '\t' && /[\p{Cc}\p{Bidi_C}\u2028\u2029\ufeff\u{e0000}-\u{e0fff}]/u.test(one),
          )
          assert.deepEqual(hidden, [])
          const [first = '', ...rest] = text.split('\n')
          assert.match(first, /^\[Output of "[\p{Alphabetic}\p{N}_./:…-]*" stored as /u)
          assert.match(
            rest.at(-1) ?? '',
            /^\[Read more with read_context_slice\(\{"id":"ctx_[0-9a-f]{16}","from_\w+":\d+\}\)/,
          )
        },
      ),
      { numRuns: 200 },
    ))

  test('is bounded by the preview, and takes less than what it replaces', () =>
    fc.assert(
      fc.asyncProperty(
        fc.oneof(fc.string({ unit: 'binary', maxLength: 3000 }), fc.json({ maxDepth: 5 }), fc.jsonValue()),
        fc.nat(2000),
        async (result, previewBytes) => {
          const manager = inMemory({ threshold: 0, previewBytes }, { persist: 'large', redaction: false })
          const offloaded = await manager.offload('tool', {}, result)
          const text = typeof result === 'string' ? result : JSON.stringify(result)
          assert.equal(offloaded.sizeBytes, bytesOf(text))
          if (offloaded.isOffloaded) {
            holds(bytesOf(offloaded.text) < bytesOf(text), 'a placeholder that is longer than the output')
            holds(bytesOf(offloaded.text) <= previewBytes + 1024 + 500, `${bytesOf(offloaded.text)} of ${previewBytes}`)
          } else {
            assert.equal(offloaded.text, text)
            assert.equal(offloaded.result, result)
          }
        },
      ),
      { numRuns: 100 },
    ))
})

describe('the policy', () => {
  test('offloads from 8 KB of text on; smaller outputs are stored and stay', () =>
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir })
      const below = 'é'.repeat(4095)
      const small = await manager.offload('tool', { a: 1 }, below, { taskId: 7, queryId: 'q' })
      assert.deepEqual([small.text, small.isOffloaded, small.sizeBytes, small.result], [below, false, 8190, below])
      const pointer = only(manager.getPointersForTask(7))
      assert.deepEqual([pointer.filepath, pointer.handle, pointer.queryId], [small.filepath, small.handle, 'q'])
      assert.equal((await manager.loadContext(String(small.filepath))).result, below)
      const large = await manager.offload('tool', { a: 1 }, `${below}é`)
      assert.deepEqual([large.isOffloaded, large.sizeBytes], [true, 8192])
      const value = { a: [1, 'ü'] }
      const object = await manager.offload('tool', {}, value)
      assert.equal(object.text, '{"a":[1,"ü"]}')
      assert.equal(object.result, value)
      for (const [nothing, text] of [
        [undefined, 'null'],
        [null, 'null'],
        ['', ''],
      ] as const) {
        assert.equal((await manager.offload('tool', {}, nothing)).text, text)
      }
      await manager.clear()
    }))

  test('has thresholds: of the call, of the tool, of all', async () => {
    const manager = inMemory({ threshold: 5000, toolThresholds: { eager: 1500, never: Number.POSITIVE_INFINITY } })
    const isOffloaded = async (toolName: string, bytes: number, threshold?: number): Promise<boolean> =>
      (await manager.offload(toolName, {}, 'x'.repeat(bytes), threshold === undefined ? {} : { threshold })).isOffloaded
    assert.equal(await isOffloaded('tool', 4999), false)
    assert.equal(await isOffloaded('tool', 5000), true)
    assert.equal(await isOffloaded('eager', 1499), false)
    assert.equal(await isOffloaded('eager', 1500), true)
    assert.equal(await isOffloaded('never', 1_000_000), false)
    assert.equal(await isOffloaded('never', 2000, 2000), true)
    assert.equal(await isOffloaded('constructor', 4999), false)
    // Never a placeholder that takes more than the output.
    assert.equal(await isOffloaded('tool', 100, 0), false)
  })

  test('leaves exempt tools; what retrieval tools give back is not even stored', async () => {
    const manager = inMemory({ threshold: 0, exemptTools: ['ask_user'], turnBudget: 10 })
    const exempt = only(await manager.offloadAll([{ toolName: 'ask_user', args: {}, result: LARGE }]))
    assert.deepEqual([exempt.isOffloaded, exempt.text], [false, LARGE])
    assert.equal((await manager.loadContext(handleOf(exempt))).result, LARGE)
    for (const toolName of ['list_contexts', 'search_contexts', 'read_context_slice', 'read_context']) {
      const retrieved = only(
        await manager.offloadAll([{ toolName, args: {}, result: LARGE, options: { threshold: 0 } }]),
      )
      assert.deepEqual(retrieved, { text: LARGE, isOffloaded: false, sizeBytes: LARGE.length, result: LARGE })
    }
    assert.equal(manager.size, 1)
  })

  test('copies the value when it is called, and does not modify it', async () => {
    const manager = inMemory()
    const args = Object.freeze({ path: 'a' })
    const result = { list: Array.from({ length: 2000 }, (_, id) => ({ id })) }
    const copy = structuredClone(result)
    const offloading = manager.offload('tool', args, result)
    assert.deepEqual(result, copy)
    result.list.length = 0
    assert.deepEqual((await manager.loadContext(handleOf(await offloading))).result, copy)
  })

  test('stores what JSON cannot hold with markers, and nesting of any depth', async () => {
    const manager = inMemory({ threshold: 100 })
    const cyclic: Record<string, unknown> = { text: 'x'.repeat(2000) }
    cyclic['self'] = cyclic
    const { text, isOffloaded } = await manager.offload('tool', {}, cyclic)
    assert.equal(isOffloaded, true)
    assert.match(text, /\[Circular\]/)
    const deep = await manager.offload(
      'tool',
      {},
      nested(5000, (inner) => [inner]),
    )
    assert.match(deep.text, /array of 1 array; the first array is an array of 1 array/)
  })

  test('rejects wrong arguments and options', async () => {
    for (const [offload, message] of [
      [{ threshold: -1 }, /^offload\.threshold must be/],
      [{ turnBudget: '8' }, /^offload\.turnBudget must be/],
      [{ previewBytes: 1.5 }, /^offload\.previewBytes must be/],
      [{ toolThresholds: { a: Number.NaN } }, /^offload\.toolThresholds\.a must be/],
      [{ toolThresholds: 5 }, /^offload\.toolThresholds must be an object/],
      [{ exemptTools: 'a' }, /^offload\.exemptTools must be/],
      [{ exemptTools: [1] }, /^offload\.exemptTools must be/],
      [8, /^offload must be an object/],
    ] as const) {
      throwsWith(() => inMemory(wrong(offload)), 'ERR_CONTEXT_INVALID_ARGUMENT', message)
    }
    const manager = inMemory()
    const code = 'ERR_CONTEXT_INVALID_ARGUMENT'
    await rejectsWith(() => manager.offload(wrong(1), {}, 1), code, /^toolName must be/)
    await rejectsWith(() => manager.offload('t', wrong([]), 1), code, /^args must be an object/)
    await rejectsWith(() => manager.offload('t', {}, 1, wrong(5)), code, /^options must be/)
    await rejectsWith(() => manager.offload('t', {}, 1, wrong({ taskId: {} })), code, /^taskId must be/)
    await rejectsWith(() => manager.offload('t', {}, 1, wrong({ queryId: 1 })), code, /^queryId must be/)
    await rejectsWith(() => manager.offload('t', {}, 1, { threshold: -1 }), code, /^threshold must be/)
    await rejectsWith(() => manager.offloadAll(wrong({})), code, /^outputs must be an array/)
    const outputs = [
      { toolName: 'fine', args: {}, result: 1 },
      { toolName: 't', args: null, result: 1 },
    ]
    await rejectsWith(() => manager.offloadAll(wrong(outputs)), code, /^outputs\[1\]\.args must be/)
    await rejectsWith(() => manager.offloadAll(wrong([null])), code, /^outputs\[0\] must be/)
    await rejectsWith(() => manager.offloadAll(new Array(1)), code, /^outputs\[0\] must be/)
    const withOptions = [{ toolName: 't', args: {}, result: 1, options: { threshold: 'x' } }]
    await rejectsWith(() => manager.offloadAll(wrong(withOptions)), code, /^outputs\[0\]\.options\.threshold must be/)
    assert.equal(manager.size, 0, 'the outputs beside a wrong one are not stored either')
  })
})

describe('the budget of a turn', () => {
  test('is kept by the largest, after the thresholds, in the order of the outputs', async () => {
    const manager = inMemory({ turnBudget: 9000, previewBytes: 200 })
    const sizes = [3000, 100, 5000, 20_000, 4000]
    const outputs = sizes.map((size, index) => ({ toolName: `t${index}`, args: {}, result: 'x'.repeat(size) }))
    const offloaded = await manager.offloadAll(outputs)
    assert.deepEqual(
      offloaded.map(({ isOffloaded }) => isOffloaded),
      [false, false, true, true, false],
    )
    assert.deepEqual(
      offloaded.map(({ sizeBytes }) => sizeBytes),
      sizes,
    )
    assert.equal(manager.size, sizes.length)
    assert.deepEqual(await manager.offloadAll([]), [])
    // Without a bound only the threshold counts.
    const unbound = await inMemory().offloadAll(outputs)
    assert.deepEqual(
      unbound.map(({ isOffloaded }) => isOffloaded),
      [false, false, false, true, false],
    )
  })

  test('is never exceeded by what can be replaced, and nothing is replaced without need', () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.record({ size: fc.nat(12_000), kind: fc.constantFrom('tool', 'other', 'exempt'), isText: fc.boolean() }),
          { maxLength: 8 },
        ),
        fc.nat(40_000),
        async (given, turnBudget) => {
          const policy = { turnBudget, previewBytes: 100, exemptTools: ['exempt'], toolThresholds: { other: 2000 } }
          const manager = inMemory(policy, { persist: 'large' })
          const outputs = given.map(({ size, kind, isText }, id) => ({
            toolName: kind,
            args: { id },
            result: isText ? 'x'.repeat(size) : ['x'.repeat(size)],
          }))
          const offloaded = await manager.offloadAll(outputs)
          const single = await Promise.all(
            outputs.map(({ toolName, args, result }) => manager.offload(toolName, args, result, { threshold: 0 })),
          )
          const least = offloaded.map(({ text, isOffloaded, sizeBytes }, index) => {
            const { toolName, result } = outputs[index] as (typeof outputs)[number]
            const plain = typeof result === 'string' ? result : JSON.stringify(result)
            assert.equal(sizeBytes, plain.length)
            assert.equal(text, isOffloaded ? single[index]?.text : plain)
            const placeholder = bytesOf(single[index]?.text ?? '')
            return toolName === 'exempt' ? plain.length : Math.min(plain.length, placeholder)
          })
          const total = offloaded.reduce((sum, { text }) => sum + bytesOf(text), 0)
          const leastTotal = least.reduce((sum, bytes) => sum + bytes, 0)
          holds(total <= Math.max(turnBudget, leastTotal), `${total} bytes of ${turnBudget}, ${leastTotal} at least`)
          const thresholdOf = (name: string): number => (name === 'other' ? 2000 : 8192)
          const byBudget = offloaded.filter(
            ({ isOffloaded, sizeBytes }, index) => isOffloaded && sizeBytes < thresholdOf(given[index]?.kind ?? ''),
          )
          const smallest = byBudget.sort((one, other) => one.sizeBytes - other.sizeBytes)[0]
          if (smallest !== undefined) {
            const without = total - bytesOf(smallest.text) + smallest.sizeBytes
            holds(without > turnBudget, 'the last one was replaced without need')
          }
        },
      ),
      { numRuns: 150 },
    ))
})

describe('handles', () => {
  test('are taken wherever a path is, until the context is gone', () =>
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir, persist: 'large' })
      const small = handleOf(await manager.offload('tool', {}, 'small'))
      const large = handleOf(await manager.offload('tool', {}, LARGE.repeat(10)))
      assert.equal((await manager.loadContext(small)).result, 'small')
      assert.equal((await manager.loadContext(large)).result, LARGE.repeat(10))
      const loaded = await manager.loadContexts([large, GONE, small])
      assert.deepEqual(
        loaded.map(({ result }) => String(result).length),
        [150_000, 5],
      )
      assert.equal(await manager.forget(large), true)
      assert.equal(await manager.forget(large), false)
      assert.deepEqual(filesIn(contextDir), [])
      await rejectsWith(
        () => manager.loadContext(large),
        'ERR_CONTEXT_NOT_FOUND',
        /is not in this directory.*run the tool again/,
      )
      await manager.clear()
      await rejectsWith(() => manager.loadContext(small), 'ERR_CONTEXT_NOT_FOUND', new RegExp(`^${small} `))
      const again = await manager.offload('tool', {}, 'small')
      assert.equal(again.handle, small)
      assert.equal((await manager.loadContext(small)).result, 'small')
      manager.clearPointers()
      await rejectsWith(() => manager.loadContext(small), 'ERR_CONTEXT_NOT_FOUND')
      await manager.clear()
    }))

  test('mean the latest of the same outputs that is still there', async () => {
    const manager = inMemory()
    const first = await manager.offload('tool', { a: 1, b: 2 }, LARGE, { taskId: 1 })
    const second = await manager.offload('tool', { b: 2, a: 1 }, LARGE, { taskId: 2 })
    assert.equal(first.handle, second.handle)
    assert.equal(first.text, second.text)
    assert.notEqual(first.filepath, second.filepath)
    const taskOf = async (): Promise<unknown> => (await manager.loadContext(handleOf(first))).taskId
    assert.equal(await taskOf(), 2)
    await manager.forget(String(second.filepath))
    assert.equal(await taskOf(), 1)
    await manager.forget(handleOf(first))
    await rejectsWith(taskOf, 'ERR_CONTEXT_NOT_FOUND')
  })

  test('differ with the tool, the arguments and the result', async () => {
    const manager = inMemory()
    const handles = await Promise.all([
      manager.offload('tool', {}, 'x'),
      manager.offload('tool2', {}, 'x'),
      manager.offload('tool', { x: 1 }, 'x'),
      manager.offload('tool', {}, 'y'),
      manager.offload('tool', {}, ['x']),
    ])
    assert.equal(new Set(handles.map(handleOf)).size, 5)
  })

  test('survive what a mixed clearing leaves', async () => {
    const manager = inMemory()
    await manager.offload('tool', {}, 'first')
    const clearing = manager.clear()
    const second = await manager.offload('tool', {}, 'second')
    await clearing
    assert.equal((await manager.loadContext(handleOf(second))).result, 'second')
  })
})

describe('a failure to store', () => {
  class BrokenFileSystem extends MemoryFileSystem {
    override async writeFile(): Promise<void> {
      throw Object.assign(new Error('no space left'), { code: 'ENOSPC' })
    }
  }

  test('keeps the output unchanged, and is reported', async () => {
    for (const fileSystem of [new BrokenFileSystem(), throwing('mkdir')]) {
      const log = debugLog()
      const manager = inMemory({ turnBudget: 10 }, { fileSystem, onDebug: log })
      const result = { rows: Array.from({ length: 5000 }, (_, id) => id) }
      const copy = structuredClone(result)
      const [failed, other] = await manager.offloadAll([
        { toolName: 'tool', args: { a: 1 }, result },
        { toolName: 'read_context', args: {}, result: 'x' },
      ])
      holds(failed?.result === result, 'the result is not the one that was given')
      assert.deepEqual(result, copy)
      assert.equal(failed.text, JSON.stringify(result))
      assert.deepEqual([failed.isOffloaded, failed.filepath, failed.handle], [false, undefined, undefined])
      assert.equal(wrong<{ code: string }>(failed.error).code, 'ERR_CONTEXT_IO')
      assert.equal(other?.text, 'x')
      const told = log.entries.filter(({ message }) => message.startsWith('Failed to store an output'))
      assert.deepEqual(only(told).data, { toolName: 'tool', error: failed.error })
    }
  })

  test('is also to be too large', async () => {
    const log = debugLog()
    const manager = inMemory({}, { retention: { maxResultBytes: 10_000 }, onDebug: log })
    for (const result of ['x'.repeat(20_000), 'é'.repeat(9000), ['x'.repeat(20_000)], ['é'.repeat(9000)]]) {
      const failed = await manager.offload('tool', {}, result)
      holds(failed.result === result && !failed.isOffloaded, 'the output was harmed')
      assert.equal(failed.text, typeof result === 'string' ? result : JSON.stringify(result))
      assert.equal(wrong<{ code: string }>(failed.error).code, 'ERR_CONTEXT_TOO_LARGE')
    }
    assert.equal(log.messages.filter((message) => message.startsWith('Failed to store')).length, 4)
    assert.equal(manager.size, 0)
  })

  test('of a callback is none', async () => {
    const options = {
      describe: () => assert.fail('describe'),
      shouldPersist: () => assert.fail('shouldPersist'),
      onDebug: () => assert.fail('onDebug'),
    }
    const manager = inMemory({}, wrong(options))
    assert.equal((await manager.offload('tool', {}, LARGE)).isOffloaded, true)
    assert.equal((await manager.offload('tool', {}, ['small'])).error, undefined)
  })
})

function throwing(method: keyof IFileSystem): IFileSystem {
  const fileSystem = new MemoryFileSystem()
  return Object.assign(fileSystem, {
    [method]: () => {
      throw new Error(`${method} is broken`)
    },
  })
}
