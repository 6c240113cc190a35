/** Properties that hold for any value, any name, any question. */

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { ContextManager, type ContextManagerOptions, redact } from '../dist/index.js'
import { bytesAsText, MemoryFileSystem, pointerOf, resultText, wrong } from './support/fixtures.ts'

const DIRECTORY = '/virtual-agent-context/contexts'
const NAME = /^[A-Za-z0-9_-]+_[0-9a-f]{12}_\d+_\d+_[0-9a-f]{16}\.json$/

/** Any 16-bit units, lone surrogates included. */
const anyText = fc.string({ unit: fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)) })
const texts = fc.oneof(fc.string(), fc.string({ unit: 'binary' }), anyText)
const json = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 5 },
    texts,
    fc.double(),
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie('value'), { maxLength: 8 }),
    fc.dictionary(
      fc.oneof(texts, fc.constantFrom('__proto__', 'result', 'toolName', '0', '10', 'sourceUrls')),
      tie('value'),
      {
        maxKeys: 8,
      },
    ),
  ),
})).value

/** Without redaction, unless told: random text now and then looks like a secret. */
function memory(options: ContextManagerOptions = {}): { manager: ContextManager; fileSystem: MemoryFileSystem } {
  const fileSystem = new MemoryFileSystem()
  return {
    fileSystem,
    manager: new ContextManager({ contextDir: DIRECTORY, redaction: false, ...options, fileSystem }),
  }
}

describe('saveContext', () => {
  it('stores the text of any JSON value, and gives it back', async () => {
    const { manager, fileSystem } = memory({ memoryBudget: 0 })
    await fc.assert(
      fc.asyncProperty(json, async (value) => {
        const text = JSON.stringify(value)
        const path = await manager.saveContext('tool', {}, value)
        assert.equal(resultText(fileSystem.files.get(path) ?? ''), text)
        const { result } = await manager.loadContext(path)
        assert.equal(JSON.stringify(result), JSON.stringify(JSON.parse(text)))
        assert.deepEqual(result, JSON.parse(text))
      }),
      { numRuns: 500 },
    )
  })

  it('keeps any arguments, task and query, and finds by them', async () => {
    const { manager } = memory()
    const wellFormed = texts.map((text) => text.toWellFormed())
    await fc.assert(
      fc.asyncProperty(
        fc.dictionary(texts, json, { maxKeys: 5 }),
        fc.oneof(texts, fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true })),
        wellFormed,
        async (args, task, query) => {
          const path = await manager.saveContext('tool', args, null, task, query)
          const stored = await manager.loadContext(path)
          assert.equal(JSON.stringify(stored.args), JSON.stringify(JSON.parse(JSON.stringify(args))))
          assert.equal(stored.taskId, Object.is(task, -0) ? 0 : task)
          assert.equal(stored.queryId, query)
          const has = (pointers: { filepath: string }[]): boolean => pointers.some(({ filepath }) => filepath === path)
          assert.ok(has(manager.getPointersForQuery(query)))
          assert.ok(has(manager.getPointersForTask(wrong(task))))
          await manager.forget(path)
        },
      ),
      { numRuns: 300 },
    )
  })

  it('gives any call a safe name in the directory', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(texts, fc.string({ minLength: 100, maxLength: 5000 }), fc.constantFrom('', '.', '..', '../..', 'CON')),
        fc.dictionary(texts, fc.anything(), { maxKeys: 4 }),
        fc.option(fc.string({ minLength: 1, maxLength: 200, unit: 'grapheme' }).filter(isSession)),
        fc.constantFrom(false as const, {}),
        async (tool, args, sessionId, redaction) => {
          const { manager, fileSystem } = memory({ sessionId: wrong(sessionId), redaction })
          const path = await manager.saveContext(tool, args, 1)
          assert.ok(path.startsWith(`${DIRECTORY}/`))
          const name = path.slice(DIRECTORY.length + 1)
          assert.match(name, NAME)
          assert.ok(Buffer.byteLength(name) < 200)
          assert.deepEqual([...fileSystem.files.keys()], [path])
          const given = tool.toWellFormed()
          assert.equal((await manager.loadContext(path)).toolName, redaction === false ? given : redact(given).text)
        },
      ),
      { numRuns: 300 },
    )
  })

  it('names equal arguments equally, whatever the order of their keys', async () => {
    const { manager } = memory()
    const hashOf = async (args: unknown): Promise<string | undefined> =>
      /_([0-9a-f]{12})_\d+_\d+_[0-9a-f]{16}\.json$/.exec(await manager.saveContext('t', wrong(args), 1))?.[1]
    await fc.assert(
      fc.asyncProperty(fc.dictionary(texts, json, { maxKeys: 6 }), json, async (args, more) => {
        const own = await hashOf(args)
        assert.equal(await hashOf(reversed(args)), own)
        const other = { ...args, 'one more key': more }
        if (JSON.stringify(other) !== JSON.stringify(args)) {
          assert.notEqual(await hashOf(other), own)
        }
      }),
      { numRuns: 300 },
    )
  })

  it('never loses the record of anything', async () => {
    const anything = fc.anything({
      withBigInt: true,
      withBoxedValues: true,
      withDate: true,
      // What becomes of maps, sets and bytes is tested where they are converted.
      withNullPrototype: true,
      withObjectString: true,
      withSparseArray: true,
    })
    const { manager, fileSystem } = memory({ memoryBudget: 0 })
    await fc.assert(
      fc.asyncProperty(anything, fc.dictionary(texts, anything, { maxKeys: 3 }), async (result, args) => {
        const path = await manager.saveContext('tool', args, result, 1, 'q')
        const text = fileSystem.files.get(path) ?? ''
        const stored = await manager.loadContext(path)
        assert.equal(JSON.stringify(stored), JSON.stringify(JSON.parse(text)))
        assert.equal(pointerOf(manager, path).sizeBytes, Buffer.byteLength(text))
        const expected = plainText(result)
        if (expected !== undefined) {
          assert.equal(resultText(text), expected)
        }
        await manager.forget(path)
      }),
      { numRuns: 500 },
    )
  })
})

describe('selectRelevantContexts', () => {
  const words = fc.constantFrom('login', 'Form', 'weather', 'user_name', 'parseTree', 'the', '東京', 'sha256', '', '?')
  const phrase = fc.oneof(
    texts,
    fc.array(words, { maxLength: 4 }).map((list) => list.join(' ')),
  )

  it('gives a part of what it is given, without repetition, the same for copies', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ tool: phrase, args: fc.dictionary(phrase, phrase, { maxKeys: 3 }) }), { maxLength: 12 }),
        fc.uniqueArray(fc.record({ filepath: texts, toolName: phrase, toolDescription: phrase }), {
          maxLength: 6,
          selector: ({ filepath }) => filepath,
        }),
        fc.array(phrase, { minLength: 1, maxLength: 4 }),
        fc.integer(),
        async (calls, foreign, queries, seed) => {
          const manager = new ContextManager({ contextDir: DIRECTORY, persist: 'large' })
          for (const { tool, args } of calls) {
            await manager.saveContext(tool, args, 1)
          }
          const own = manager.getAllPointers()
          const pointers = [...own, ...foreign].sort((left, right) => order(left, seed) - order(right, seed))
          const paths = pointers.map(({ filepath }) => filepath)
          for (const query of queries) {
            const selected = manager.selectRelevantContexts(query, pointers)
            assert.equal(new Set(selected).size, selected.length)
            assert.ok(selected.every((path) => paths.includes(path)))
            assert.equal(selected.length > 0, paths.length > 0)
            const copies = pointers.map((pointer) => ({ ...pointer }))
            assert.deepEqual(manager.selectRelevantContexts(query, copies), selected)
            const chosen = await manager.selectContexts(query)
            assert.deepEqual(
              chosen.map(({ filepath }) => filepath),
              manager.selectRelevantContexts(query, own),
            )
          }
        },
      ),
      { numRuns: 150 },
    )
  })
})

describe('hashQuery', () => {
  it('depends only on the trimmed, lower-cased text', () => {
    fc.assert(
      fc.property(texts, fc.constantFrom('', ' ', '\n\t'), (query, space) => {
        const text = query.toWellFormed()
        const expected = createHash('sha256').update(text.trim().toLowerCase()).digest('hex').slice(0, 16)
        assert.equal(ContextManager.hashQuery(space + text + space), `q_${expected}`)
      }),
    )
  })
})

function isSession(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is refused
  return text.length > 0 && text.length <= 200 && redact(text).text === text && !/[\0-\x1f\x7f]/.test(text)
}

/** The same value with all keys the other way round. */
function reversed(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.map(reversed)
  }
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(
      Object.entries(value)
        .reverse()
        .map(([key, entry]) => [key, reversed(entry)]),
    )
  }
  return value
}

/** What JSON.stringify says, where it says anything. */
function plainText(value: unknown): string | undefined {
  try {
    return JSON.stringify(value, bytesAsText) ?? 'null'
  } catch {
    return undefined
  }
}

/** Some order that depends on the path and the seed. */
function order({ filepath }: { filepath: string }, seed: number): number {
  let hash = seed
  for (let index = 0; index < filepath.length; index++) {
    hash = Math.imul(hash ^ filepath.charCodeAt(index), 0x01000193)
  }
  return hash
}
