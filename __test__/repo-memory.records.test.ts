/** Conventions, decisions and notes: added, changed and removed, and the other members of `memory.json`. */

import assert from 'node:assert/strict'
import { join } from 'node:path'
import process from 'node:process'
import { describe, it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import type { RecordKind, RepoMemory } from '../dist/index.js'
import { debugLog, inDirectory, only, rejectsWith } from './support/fixtures.ts'
import { HASH, memoryFile, memoryIn, plant, plantMemory, textOf } from './support/memories.ts'
import { isLocal, onDisk } from './support/postgres.ts'
import { holds, namesIn } from './support/processes.ts'
import { existsSync, statSync } from './support/stored-files.ts'

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
const ID = '8b0f5e0c-6f0f-4d0c-9d53-0d2f5c3e7a11'
const OTHER = '2f1a7c7e-8d7b-4b53-9a3a-2b1c0d9e8f70'
const NOTHING = { conventions: [], decisions: [], notes: [], summaries: [] }

/** Every method that adds or changes, as one. */
interface Kind {
  kind: RecordKind
  list: 'conventions' | 'decisions' | 'notes'
  add(memory: RepoMemory, more?: { id?: string }): Promise<Stored>
  change(memory: RepoMemory, id: string): Promise<Stored>
  changed: object
}
type Stored = { id: string; createdAt: string; updatedAt: string }

const KINDS: Kind[] = [
  {
    kind: 'convention',
    list: 'conventions',
    add: (memory, more) => memory.upsertConvention({ title: 'Tests', content: 'node:test', tags: ['a', 'b'], ...more }),
    change: (memory, id) => memory.upsertConvention({ id, content: 'vitest' }),
    changed: { title: 'Tests', content: 'vitest', tags: ['a', 'b'] },
  },
  {
    kind: 'decision',
    list: 'decisions',
    add: (memory, more) =>
      memory.upsertDecision({ summary: 'Rust', rationale: 'It is fast.', impactedPaths: ['src/'], ...more }),
    change: (memory, id) => memory.upsertDecision({ id, impactedPaths: ['src/', 'lib/'] }),
    changed: { summary: 'Rust', rationale: 'It is fast.', impactedPaths: ['src/', 'lib/'] },
  },
  {
    kind: 'note',
    list: 'notes',
    add: (memory, more) => memory.upsertNote({ content: 'CI is slow.', source: 'agent', ...more }),
    change: (memory, id) => memory.upsertNote({ id, content: 'CI is fast now.' }),
    changed: { content: 'CI is fast now.', source: 'agent' },
  },
]

/** Times have milliseconds: a change is later than what it changes. */
const later = (): Promise<void> => setTimeout(5)

describe('a repository memory', () => {
  it('of which nothing is stored is empty, and nothing is written', () =>
    inDirectory(async (root) => {
      const memory = await memoryIn(join(root, 'not', 'there'))
      assert.deepEqual(await memory.getRepoMemory(), NOTHING)
      assert.equal(await memory.buildContextFromMemory(1000), '')
      assert.equal(await memory.remove('note', ID), false)
      holds(!existsSync(memoryFile(memory)), 'a file was written')
      await memory.close()
    }))

  it('has the paths of its directory', () =>
    inDirectory(async (root) => {
      const log = debugLog()
      const memory = await memoryIn(root, { onDebug: log })
      assert.deepEqual(
        [memory.repoHash, memory.directory, memory.workspace],
        [HASH, join(root, 'repos', HASH), undefined],
      )
      assert.deepEqual(only(log.entries), {
        message: 'RepoMemory opened',
        data: { directory: memory.directory, workspace: undefined },
      })
      assert.throws(() => {
        ;(memory as { repoHash: string }).repoHash = 'another'
      }, TypeError)
    }))

  for (const { kind, list, add, change, changed } of KINDS) {
    it(`keeps a ${kind}, changes it by its id, and removes it`, () =>
      inDirectory(async (root) => {
        const memory = await memoryIn(root)
        const added = await add(memory)
        assert.match(added.id, UUID)
        assert.match(added.createdAt, TIME)
        assert.equal(added.updatedAt, added.createdAt)
        await later()
        const after = await change(memory, added.id)
        const { updatedAt, ...rest } = after
        assert.deepEqual(rest, { id: added.id, createdAt: added.createdAt, ...changed })
        holds(updatedAt > added.updatedAt, updatedAt)
        // Another object that opens the memory sees the same records.
        const another = await memoryIn(root)
        assert.deepEqual(await another.getRepoMemory(), { ...NOTHING, [list]: [after] })
        for (const other of KINDS.filter((one) => one.kind !== kind)) {
          assert.equal(await another.remove(other.kind, added.id), false, 'of another kind')
        }
        assert.equal(await another.remove(kind, added.id), true)
        assert.equal(await memory.remove(kind, added.id), false)
        assert.deepEqual(await memory.getRepoMemory(), NOTHING)
      }))

    it(`takes the id that a new ${kind} is given, in any case of its letters`, () =>
      inDirectory(async (root) => {
        const memory = await memoryIn(root)
        assert.equal((await add(memory, { id: ID.toUpperCase() })).id, ID)
        await later()
        assert.equal((await change(memory, ID.toUpperCase())).id, ID)
        assert.equal((await memory.getRepoMemory())[list].length, 1)
        assert.equal(await memory.remove(kind, ID.toUpperCase()), true)
      }))

    it(`leaves a ${kind} and its file alone when a change changes nothing`, () =>
      inDirectory(async (root) => {
        const memory = await memoryIn(root)
        const added = await add(memory)
        const before = statSync(memoryFile(memory))
        await later()
        assert.deepEqual(await add(memory, { id: added.id }), added)
        const { ino, mtimeMs } = statSync(memoryFile(memory))
        assert.deepEqual([ino, mtimeMs], [before.ino, before.mtimeMs])
      }))
  }

  it('changes a convention by its title, and does not have it twice', () =>
    inDirectory(async (root) => {
      const memory = await memoryIn(root)
      const first = await memory.upsertConvention({ title: ' Tests ', content: 'node:test', tags: ['a'] })
      assert.equal(first.title, 'Tests')
      const again = await memory.upsertConvention({ title: 'Tests', content: 'vitest' })
      assert.deepEqual([again.id, again.content, again.tags], [first.id, 'vitest', ['a']])
      const tagged = await memory.upsertConvention({ title: 'Tests', tags: [] })
      assert.deepEqual([tagged.content, tagged.tags], ['vitest', []])
      const second = await memory.upsertConvention({ title: 'tests', content: 'Another title: the case counts.' })
      assert.notEqual(second.id, first.id)
      assert.equal((await memory.getRepoMemory()).conventions.length, 2)
    }))

  it('refuses two conventions with one title', () =>
    inDirectory(async (root) => {
      const memory = await memoryIn(root)
      const tests = await memory.upsertConvention({ title: 'Tests', content: 'node:test' })
      const names = await memory.upsertConvention({ title: 'Names', content: 'say what things are' })
      const before = textOf(memoryFile(memory))
      const message = /another convention has the title "Tests"/
      for (const call of [
        () => memory.upsertConvention({ id: names.id, title: 'Tests' }),
        () => memory.upsertConvention({ id: ID, title: 'Tests', content: 'a new one' }),
      ]) {
        await rejectsWith(call, 'ERR_CONTEXT_CONFLICT', message)
      }
      assert.equal(textOf(memoryFile(memory)), before)
      assert.equal((await memory.upsertConvention({ id: tests.id, title: 'Testing' })).title, 'Testing')
      assert.equal((await memory.upsertConvention({ id: names.id, title: 'Tests' })).title, 'Tests')
    }))

  it('keeps the order in which records were added, and repetitions in lists out', () =>
    inDirectory(async (root) => {
      const memory = await memoryIn(root)
      for (const content of ['one', 'two', 'three']) {
        await memory.upsertNote({ content })
      }
      const [first] = (await memory.getRepoMemory()).notes
      await memory.upsertNote({ id: first?.id ?? '', content: 'ONE' })
      const { notes } = await memory.getRepoMemory()
      assert.deepEqual(
        notes.map(({ content }) => content),
        ['ONE', 'two', 'three'],
      )
      const { tags } = await memory.upsertConvention({ title: 't', content: 'c', tags: ['a', ' a', 'b', 'a'] })
      assert.deepEqual(tags, ['a', 'b'])
      const { impactedPaths } = await memory.upsertDecision({ summary: 's', impactedPaths: ['x', 'y', 'x'] })
      assert.deepEqual(impactedPaths, ['x', 'y'])
    }))

  it('keeps texts as they are, up to 64 KiB, without halves of characters', () =>
    inDirectory(async (root) => {
      const memory = await memoryIn(root)
      const content = `\ufeff line\r\n\ttab "quoted" \\ \u0000 \u2028 é 🦀 ${'x'.repeat(65_000)}`
      assert.equal((await memory.upsertNote({ content })).content, content)
      assert.equal((await memory.getRepoMemory()).notes[0]?.content, content)
      assert.equal((await memory.upsertNote({ content: 'a\ud800b' })).content, 'a\ufffdb')
      assert.equal((await memory.upsertNote({ content: 'é'.repeat(32_768) })).content.length, 32_768)
    }))

  it('makes all changes that are under way at the same time', () =>
    inDirectory(async (root) => {
      const [one, other] = [await memoryIn(root), await memoryIn(root)]
      await Promise.all(
        Array.from({ length: 300 }, (_, number) =>
          (number % 2 === 0 ? one : other).upsertNote({ content: `note ${number}` }),
        ),
      )
      const { notes } = await one.getRepoMemory()
      assert.equal(new Set(notes.map(({ content }) => content)).size, 300)
      assert.deepEqual(
        namesIn(one.directory).filter((name) => name.endsWith('.tmp')),
        [],
      )
    }))

  it('waits in close() and await using for what was called before', () =>
    inDirectory(async (root) => {
      const adding: Promise<unknown>[] = []
      {
        await using memory = await memoryIn(root)
        adding.push(memory.upsertNote({ content: 'one' }), memory.appendSummary('r', 's', 'two'))
      }
      const after = await memoryIn(root)
      const { notes, summaries } = await after.getRepoMemory()
      assert.deepEqual([notes.length, summaries.length], [1, 1])
      await Promise.all(adding)
      await after.close()
      assert.equal((await after.upsertNote({ content: 'it can be used again' })).source, 'manual')
    }))
})

describe('memory.json', () => {
  it('can be read and edited by people', () =>
    inDirectory(async (root) => {
      const memory = await memoryIn(root)
      await memory.upsertConvention({
        id: ID,
        title: 'Tests',
        content: 'Use "node:test".\nNo mocks.',
        tags: ['a', 'b'],
      })
      await memory.upsertConvention({ id: OTHER, title: 'Names', content: 'é 🦀' })
      await memory.upsertDecision({ id: ID, summary: 'Rust', impactedPaths: ['src/'] })
      await memory.upsertNote({ id: ID, content: 'CI is slow.', source: 'tool' })
      const text = textOf(memoryFile(memory)).replace(/"\d{4}-\d\d-\d\dT[\d:.]+Z"/g, '"TIME"')
      assert.equal(
        text,
        `{
  "version": 1,
  "conventions": [
    {
      "id": "${ID}",
      "title": "Tests",
      "content": "Use \\"node:test\\".\\nNo mocks.",
      "tags": ["a","b"],
      "createdAt": "TIME",
      "updatedAt": "TIME"
    },
    {
      "id": "${OTHER}",
      "title": "Names",
      "content": "é 🦀",
      "tags": [],
      "createdAt": "TIME",
      "updatedAt": "TIME"
    }
  ],
  "decisions": [
    {
      "id": "${ID}",
      "summary": "Rust",
      "rationale": "",
      "impactedPaths": ["src/"],
      "createdAt": "TIME",
      "updatedAt": "TIME"
    }
  ],
  "notes": [
    {
      "id": "${ID}",
      "content": "CI is slow.",
      "source": "tool",
      "createdAt": "TIME",
      "updatedAt": "TIME"
    }
  ]
}
`,
      )
      if (process.platform !== 'win32' && isLocal) {
        assert.deepEqual(
          [statSync(memoryFile(memory)).mode & 0o777, statSync(memory.directory).mode & 0o777],
          [0o600, 0o700],
        )
      }
    }))

  it('keeps what others wrote into it, and the version that it has', () =>
    inDirectory(async (root) => {
      const path = plantMemory(
        root,
        `\ufeff{
          "owner": { "team": "tools", "big": 12345678901234567890, "x": 1.0 },
          "version": 7,
          "notes": [
            { "priority": 1e3, "content": "by hand", "id": "hand-made", "reviewed": [true, null] },
            { "id": "${ID}", "content": "ours", "pinned": true, "createdAt": "2026-01-01T00:00:00Z" }
          ],
          "conventions": []
        }`,
      )
      const memory = await memoryIn(root)
      const { notes } = await memory.getRepoMemory()
      assert.deepEqual(notes[0], {
        id: 'hand-made',
        content: 'by hand',
        source: 'manual',
        createdAt: '1970-01-01T00:00:00.000Z',
        updatedAt: '1970-01-01T00:00:00.000Z',
      })
      const changed = await memory.upsertNote({ id: ID, content: 'ours, changed' })
      assert.equal(changed.createdAt, '2026-01-01T00:00:00Z')
      assert.deepEqual(Object.keys(changed).sort(), ['content', 'createdAt', 'id', 'source', 'updatedAt'])
      await memory.upsertDecision({ summary: 'added' })
      const text = textOf(path)
      const stored = JSON.parse(text) as Record<string, unknown> & { notes: Record<string, unknown>[] }
      assert.deepEqual(Object.keys(stored), ['owner', 'version', 'notes', 'conventions', 'decisions'])
      assert.equal(stored['version'], 7)
      // To the byte: no number passes through a float.
      holds(text.includes('{ "team": "tools", "big": 12345678901234567890, "x": 1.0 }'), text)
      holds(text.includes('"priority": 1e3'), text)
      assert.deepEqual(stored.notes[0]?.['reviewed'], [true, null])
      assert.equal(stored.notes[1]?.['pinned'], true)
      assert.equal(stored.notes[1]?.['content'], 'ours, changed')
      assert.equal(await memory.remove('note', 'hand-made'), true)
      assert.equal((await memory.getRepoMemory()).notes.length, 1)
    }))

  it('that is invalid is kept unchanged and reported', () =>
    inDirectory(async (root) => {
      for (const broken of [
        '',
        '{',
        '[]',
        'null',
        '{"notes":{}}',
        '{"conventions":[}',
        'notes: []',
        '{"notes":[]} x',
      ]) {
        const path = plantMemory(root, broken)
        const memory = await memoryIn(root)
        for (const call of [
          () => memory.getRepoMemory(),
          () => memory.upsertConvention({ title: 't', content: 'c' }),
          () => memory.upsertDecision({ summary: 's' }),
          () => memory.upsertNote({ content: 'c' }),
          () => memory.remove('note', ID),
          () => memory.buildContextFromMemory(100),
        ]) {
          await rejectsWith(call, 'ERR_CONTEXT_CORRUPT', /memory\.json is no memory of a repository .*move it away/)
        }
        assert.equal(textOf(path), broken)
      }
    }))

  it('in which something is no record is read, and keeps that', () =>
    inDirectory(async (root) => {
      const strangers = ['5', '"text"', '{"id":"x"}', '{"id":5,"content":"c"}', '["y",null,null,null,[],"c"]']
      const path = plantMemory(root, `{"notes":[${strangers.join(',')},{"id":"${ID}","content":"whole"}]}`)
      const log = debugLog()
      const memory = await memoryIn(root, { onDebug: log })
      assert.equal(only((await memory.getRepoMemory()).notes).content, 'whole')
      const told = only(log.entries.filter(({ message }) => message.includes('are no records')))
      assert.deepEqual(told.data, { path, entries: strangers.length })
      await memory.upsertNote({ content: 'added' })
      const { notes } = JSON.parse(textOf(path)) as { notes: unknown[] }
      assert.deepEqual(
        notes.slice(0, strangers.length),
        strangers.map((text) => JSON.parse(text) as unknown),
      )
      assert.equal(notes.length, strangers.length + 2)
    }))

  it('that a person edits in the meantime is read again', () =>
    inDirectory(async (root) => {
      const memory = await memoryIn(root)
      const { id } = await memory.upsertNote({ content: 'before' })
      const path = plantMemory(root, textOf(memoryFile(memory)).replace('before', 'by hand'))
      assert.equal(only((await memory.getRepoMemory()).notes).content, 'by hand')
      await memory.upsertNote({ id, source: 'tool' })
      const { content, source } = only((await memory.getRepoMemory()).notes)
      assert.deepEqual([content, source], ['by hand', 'tool'])
      holds(textOf(path).includes('by hand'))
    }))

  it('cannot be written when something else is in its place', onDisk('directories'), () =>
    inDirectory(async (root) => {
      for (const place of [join(root, 'file'), join(root, 'repos', HASH, 'file')]) {
        plant(place, 'in the way')
        const memory = await memoryIn(place)
        for (const call of [() => memory.upsertNote({ content: 'c' }), () => memory.appendSummary('r', 's', 't')]) {
          const { message, cause } = await rejectsWith(call, 'ERR_CONTEXT_IO')
          holds(message.includes(place) && message.includes('root'), message)
          holds(cause instanceof Error, 'the system’s error')
        }
      }
    }),
  )
})
