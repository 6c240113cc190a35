/** `offloadValue`: values keep their shape, long texts become placeholders, and each is read back by its JSON path. */

import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { ContextManager, contextTools, type OffloadPolicy, toText } from '../dist/index.js'
import { MemoryFileSystem, rejectsWith, wrong } from './support/fixtures.ts'
import { holds } from './support/processes.ts'

const LARGE = 'a line of text, some words in it\n'.repeat(1000)
/** The signature and the header of a PNG of 640 by 480 pixels. */
const PNG = Buffer.concat([
  Buffer.from('89504e470d0a1a0a0000000d494844520000028000000 1e0'.replaceAll(' ', ''), 'hex'),
  Buffer.alloc(20_000, 7),
]).toString('base64')

const inMemory = (offload: OffloadPolicy = {}): ContextManager =>
  new ContextManager({
    contextDir: '/virtual/contexts',
    fileSystem: new MemoryFileSystem(),
    persist: 'large',
    persistThreshold: Number.POSITIVE_INFINITY,
    offload,
  })

/** Values as frameworks hand them over, with the JSON paths of their long texts. */
const shapes: Record<string, { value: unknown; paths: string[] }> = {
  'a result of MCP': {
    value: {
      content: [
        { type: 'text', text: LARGE },
        { type: 'image', data: PNG, mimeType: 'image/png' },
        { type: 'resource', resource: { uri: 'file:///a.log', mimeType: 'text/plain', text: LARGE } },
      ],
      isError: false,
    },
    paths: ['$.content[0].text', '$.content[2].resource.text'],
  },
  'a tool result of Anthropic': {
    value: {
      type: 'tool_result',
      tool_use_id: 'toolu_1',
      content: [
        { type: 'text', text: LARGE },
        { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } },
      ],
    },
    paths: ['$.content[0].text'],
  },
  'blocks of LangChain': {
    value: [
      { type: 'text', text: LARGE },
      { type: 'image_url', image_url: { url: `data:image/png;base64,${PNG}` } },
      { type: 'image', source_type: 'base64', mime_type: 'image/png', data: PNG },
    ],
    paths: ['$[0].text'],
  },
  'an output of the AI SDK': {
    value: {
      type: 'content',
      value: [
        { type: 'text', text: LARGE },
        { type: 'media', data: PNG, mediaType: 'image/png' },
      ],
    },
    paths: ['$.value[0].text'],
  },
  'an item of OpenAI': {
    value: {
      type: 'function_call_output',
      call_id: 'call_1',
      output: [
        { type: 'input_text', text: LARGE },
        { type: 'input_image', image_url: `data:image/png;base64,${PNG}`, detail: 'auto' },
      ],
    },
    paths: ['$.output[0].text'],
  },
  'the response of a shell tool': {
    value: { stdout: LARGE, stderr: 'short', interrupted: false, isImage: false },
    paths: ['$.stdout'],
  },
  'nested objects': {
    value: { files: { 'src/a b.ts': { lines: [1, 2], body: LARGE } }, note: null },
    paths: ["$.files['src/a b.ts'].body"],
  },
  'a string': { value: LARGE, paths: ['$'] },
}

/** The value of a JSON path as this package writes them. */
function at(value: unknown, path: string): unknown {
  return [...path.matchAll(/\.(\w+)|\[(\d+)\]|\['([^']+)'\]/g)].reduce<unknown>(
    (holder, [, name, index, quoted]) => (holder as Record<string, unknown>)[name ?? index ?? quoted ?? ''],
    value,
  )
}

function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.map(shapeOf)
  }
  return typeof value === 'object' && value !== null
    ? Object.fromEntries(Object.entries(value).map(([key, member]) => [key, shapeOf(member)]))
    : typeof value
}

function textsOf(value: unknown): string[] {
  if (typeof value === 'string') {
    return [value]
  }
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsOf) : []
}

/** Reads a text as a model does: from the call in the placeholder on, page after page. */
async function readWhole(manager: ContextManager, handle: string, path: string): Promise<string> {
  let text = ''
  for (let from = 0; ; ) {
    const slice = await manager.readContext(handle, { jsonPath: path, bytes: { from } })
    text += slice.text
    if (slice.next?.bytes?.from === undefined || slice.next.bytes.from === null) {
      return text
    }
    from = slice.next.bytes.from
  }
}

describe('the shape is kept of', () => {
  for (const [name, { value, paths }] of Object.entries(shapes)) {
    test(name, async () => {
      const manager = inMemory()
      const before = structuredClone(value)
      const offloaded = await manager.offloadValue('tool', {}, value, { callId: 'call_1' })
      const { value: shown, handle = '', isOffloaded, sizeBytes, shownBytes } = offloaded
      assert.deepEqual(value, before)
      assert.equal(isOffloaded, true)
      assert.deepEqual(shapeOf(shown), shapeOf(value))
      assert.equal(sizeBytes, Buffer.byteLength(JSON.stringify(value)))
      assert.equal(shownBytes, Buffer.byteLength(JSON.stringify(shown)))
      const expected = textsOf(value).map((text) => (text === LARGE ? 'placeholder' : text))
      assert.deepEqual(
        textsOf(shown).map((text) => (text.includes(handle) ? 'placeholder' : text)),
        expected,
      )
      for (const path of paths) {
        const placeholder = String(at(shown, path))
        holds(
          placeholder.startsWith(`[Text at ${path} in the output of "tool", stored as ${handle}: 33000 bytes`),
          placeholder,
        )
        const call = JSON.parse(/read_context_slice\((\{.*?\})\)/.exec(placeholder)?.[1] ?? '') as Record<
          string,
          unknown
        >
        assert.deepEqual([call['id'], call['json_path']], [handle, path])
        const answer = await contextTools(manager)[2].execute(call)
        holds(toText(answer).includes('a line of text, some words in it'), toText(answer))
        assert.equal(await readWhole(manager, handle, path), LARGE)
      }
      assert.deepEqual((await manager.loadContext(handle)).result, value)
    })
  }
})

describe('blocks of images, audio and files', () => {
  for (const [name, { value }] of Object.entries(shapes).filter(([, shape]) => JSON.stringify(shape).includes(PNG))) {
    test(`become references in ${name}`, async () => {
      const manager = inMemory()
      const { value: shown, handle = '' } = await manager.offloadValue('tool', {}, value, { blocks: 'reference' })
      const text = JSON.stringify(shown)
      holds(!text.includes(PNG.slice(0, 100)), 'the data is in it')
      holds(text.includes(`[20024 bytes of image/png, 640 x 480 pixels, stored as ${handle} at $`), text)
      const path = /json_path\\":\\"([^"\\]+)\\"\}\)\]"/.exec(text)?.[1] ?? ''
      holds((await readWhole(manager, handle, path)).endsWith(PNG), path)
    })
  }

  test('become references where they hold bytes, and bytes in no block do', async () => {
    const manager = inMemory()
    const image = Uint8Array.from(Buffer.from(PNG, 'base64'))
    const file = { type: 'file', mediaType: 'image/png', data: image }
    const value = { content: [{ type: 'text', text: 'Taken.' }, file], raw: image, few: Uint8Array.of(1, 2, 3) }
    const { value: shown, handle = '' } = await manager.offloadValue('tool', {}, value, { blocks: 'reference' })
    const { content, raw, few } = shown as unknown as { content: unknown[]; raw: string; few: unknown }
    const said = (path: string): string =>
      `[20024 bytes of image/png, 640 x 480 pixels, stored as ${handle} at ${path}. Read its base64 with read_context_slice({"id":"${handle}","json_path":"${path}"})]`
    assert.deepEqual(content, [
      { type: 'text', text: 'Taken.' },
      { type: 'text', text: said('$.content[1].data') },
    ])
    assert.equal(raw, said('$.raw'))
    assert.equal(few, value.few)
    assert.equal(await readWhole(manager, handle, '$.raw'), PNG)
    assert.deepEqual((await manager.loadContext(handle)).result, value)
    const { value: kept } = await manager.offloadValue('tool', {}, value)
    assert.equal(kept, value)
  })

  test('are refused as anything else than kept or referenced', async () => {
    const call = (): Promise<unknown> => inMemory().offloadValue('t', {}, {}, { blocks: wrong('drop') })
    await rejectsWith(call, 'ERR_CONTEXT_INVALID_ARGUMENT', /blocks/)
  })
})

describe('a value stays unchanged', () => {
  test('when it is short, exempt, or has no long text, and is stored', async () => {
    const manager = inMemory({ exemptTools: ['exempt'] })
    const numbers = { rows: Array.from({ length: 5000 }, (_, id) => ({ id })) }
    for (const [tool, value] of [
      ['tool', { text: 'short' }],
      ['exempt', { text: LARGE }],
      ['tool', numbers],
    ] as const) {
      const {
        value: shown,
        isOffloaded,
        handle = '',
        shownBytes,
        sizeBytes,
      } = await manager.offloadValue(tool, {}, value)
      assert.equal(shown, value)
      assert.deepEqual([isOffloaded, shownBytes], [false, sizeBytes])
      assert.deepEqual((await manager.loadContext(handle)).result, value)
    }
  })

  test('when it is an answer of the context tools, and is not stored', async () => {
    const manager = inMemory()
    const { handle } = await manager.offload('grep', {}, LARGE)
    const text = toText(await contextTools(manager)[2].execute({ id: handle }))
    const value = { content: [{ type: 'text', text }] }
    const offloaded = await manager.offloadValue('renamed', {}, value)
    assert.equal(offloaded.value, value)
    assert.equal(offloaded.handle, undefined)
    const mixed = { answer: text, more: LARGE }
    const shown = (await manager.offloadValue('renamed', {}, mixed)).value
    assert.equal(shown.answer, text)
    holds(shown.more.startsWith('[Text at $.more in'), shown.more)
  })

  test('when it cannot be stored', async () => {
    const manager = new ContextManager({
      contextDir: '/virtual',
      fileSystem: new MemoryFileSystem(),
      retention: { maxResultBytes: 10 },
    })
    const value = { text: LARGE }
    const { value: shown, error } = await manager.offloadValue('tool', {}, value)
    assert.equal(shown, value)
    assert.equal((error as { code?: string }).code, 'ERR_CONTEXT_TOO_LARGE')
  })
})

test('a secret within a long text is in no placeholder, whose key names it or not', async () => {
  const secret = ['ghp', 'x7Kd93mQpLw2Rt8vBn4cYs6fHj1gZa5eUo0T'].join('_')
  const value = { log: `token ${secret}\n${LARGE}`, other: LARGE }
  const { value: shown } = await inMemory().offloadValue('tool', {}, value)
  holds(!JSON.stringify(shown).includes(secret), JSON.stringify(shown))
  const raw = await inMemory({ redactPlaceholders: false }).offloadValue('tool', {}, value)
  holds(raw.value.log.includes(secret), raw.value.log)
})

test('any value keeps its shape, and every text is in it or can be read back', () =>
  fc.assert(
    fc.asyncProperty(
      fc.object({
        maxDepth: 4,
        withNullPrototype: false,
        key: fc.oneof(fc.constantFrom('text', 'content', 'a b', '__proto__', 'x"]'), fc.string({ maxLength: 6 })),
        values: [
          fc.integer(),
          fc.boolean(),
          fc.constant(null),
          fc.string({ maxLength: 10 }),
          fc
            .tuple(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 8 }), fc.integer({ min: 1, max: 400 }))
            .map(([text, times]) => `${text} `.repeat(times)),
        ],
      }),
      fc.nat(3000),
      async (given, threshold) => {
        const value = JSON.parse(JSON.stringify(given)) as unknown
        const manager = new ContextManager({
          contextDir: '/virtual/contexts',
          fileSystem: new MemoryFileSystem(),
          persist: 'large',
          persistThreshold: Number.POSITIVE_INFINITY,
          redaction: false,
        })
        const { value: shown, handle = '' } = await manager.offloadValue('tool', {}, value, { threshold })
        assert.deepEqual(shapeOf(shown), shapeOf(value))
        const [texts, replaced] = [textsOf(value), textsOf(shown)]
        for (const [index, text] of texts.entries()) {
          const placeholder = replaced[index] ?? ''
          if (placeholder !== text) {
            const path = /^\[Text at (.*?) in the output of "tool"/.exec(placeholder)?.[1] ?? ''
            assert.equal(await readWhole(manager, handle, path), text)
            holds(
              Buffer.byteLength(placeholder) < Buffer.byteLength(text),
              'a placeholder that is longer than its text',
            )
          }
        }
      },
    ),
    { numRuns: 150 },
  ))
