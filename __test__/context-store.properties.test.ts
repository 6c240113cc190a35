/** Properties that hold for any entry. */

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { inDirectory, MemoryFileSystem } from './support/fixtures.ts'
import { storeIn } from './support/stores.ts'

const types = fc.constantFrom('finding', 'decision', 'artifact', 'reference', 'summary')
const lines = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom(
    'yes',
    'null',
    '~',
    '2026-01-01',
    '0x10',
    'a, b',
    '[x]',
    '{y: z}',
    '- a',
    '#c',
    ': d',
    '"e"',
    "'f'",
    '\\',
    '|',
    '&a',
    '*b',
    '!!c',
  ),
)
const tag = lines.map((text) => text.trim()).filter((text) => text !== '' && !/[\n\r\u0085\u2028\u2029]/.test(text))
const content = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc
    .array(
      fc.constantFrom(
        'text',
        '',
        '---',
        '...',
        '## Changelog',
        '- 2026-02-21T15:10:00Z [code-fixer]: not a change',
        '# Title',
        '```',
        '~~~',
        '    code',
        'type: finding',
        'Setext',
        '======',
        '<!-- a comment -->',
        '\\## Changelog',
        '> ## Changelog',
      ),
      { maxLength: 8 },
    )
    .chain((chosen) => fc.constantFrom('\n', '\r\n', '\n\n').map((ending) => chosen.join(ending))),
)
const link = fc
  .tuple(
    fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9 #'&!%@,[\]{}é-]{0,20}[a-z]$/),
    fc.stringMatching(/^[a-z0-9-]{1,20}$/),
  )
  .map(([agent, name]) => `${agent}/${name}.md`)
const slug = fc.stringMatching(/^[a-zA-Z0-9][a-zA-Z0-9 _-]{0,20}$/)
const newEntry = fc.record({
  type: types,
  slug,
  content,
  tags: fc.uniqueArray(tag, { maxLength: 5 }),
  links: fc.uniqueArray(link, { maxLength: 4 }),
})

describe('any entry', () => {
  it('is read as it was written', () =>
    inDirectory(async (path) => {
      const store = storeIn(path, { redaction: false })
      await fc.assert(
        fc.asyncProperty(newEntry, async (given) => {
          const written = await store.write(given)
          const read = await store.read(written.path)
          assert.deepEqual(read, written)
          const { type, content, tags, links, changelog } = read
          assert.deepEqual(
            { type, content, tags, links, changelog },
            { type: given.type, content: given.content, tags: given.tags, links: given.links, changelog: [] },
          )
        }),
        { numRuns: 300 },
      )
    }))

  it('is what it was changed to', async () => {
    const store = storeIn('/store', { fileSystem: new MemoryFileSystem(), redaction: false })
    const change = fc.record(
      {
        content,
        type: types,
        tags: fc.uniqueArray(tag, { maxLength: 3 }),
        links: fc.uniqueArray(link, { maxLength: 3 }),
      },
      { requiredKeys: [] },
    )
    const description = lines.filter((text) => text.trim() !== '')
    await fc.assert(
      fc.asyncProperty(newEntry, fc.array(fc.tuple(change, description), { maxLength: 3 }), async (given, changes) => {
        const written = await store.write(given)
        let expected = { type: given.type, content: given.content, tags: given.tags, links: given.links }
        for (const [change, description] of changes) {
          const { links = [], ...rest } = change
          expected = { ...expected, ...rest, links: [...new Set([...expected.links, ...links])] }
          const updated = await store.update(written.path, change, description)
          assert.deepEqual(await store.read(written.path), updated)
          const { type, content, tags, links: updatedLinks } = updated
          assert.deepEqual({ type, content, tags, links: updatedLinks }, expected)
        }
        assert.equal((await store.read(written.path)).changelog.length, changes.length)
      }),
      { numRuns: 150 },
    )
  })
})
