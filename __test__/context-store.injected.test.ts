/** A context store in a file system that the caller brings. */

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ContextStore } from '../dist/index.js'
import { MemoryFileSystem, RenamingFileSystem, rejectsWith } from './support/fixtures.ts'
import { holds } from './support/processes.ts'
import { daysAgo, entry, entryText, storeIn } from './support/stores.ts'

const FILE_SYSTEMS: [name: string, make: () => MemoryFileSystem][] = [
  ['an injected file system', () => new MemoryFileSystem()],
  ['an injected file system that renames', () => new RenamingFileSystem()],
]

/** The paths of the entries' files, without what the store keeps for itself. */
const files = (fileSystem: MemoryFileSystem): string[] =>
  [...fileSystem.files.keys()].filter((path) => !path.split('/').at(-1)?.startsWith('.')).sort()

async function plant(fileSystem: MemoryFileSystem, path: string, text: string): Promise<string> {
  await fileSystem.mkdir(fileSystem.dirname(`/store/${path}`))
  await fileSystem.writeFile(`/store/${path}`, text)
  return path
}

for (const [name, make] of FILE_SYSTEMS) {
  describe(`a context store in ${name}`, () => {
    const at = (fileSystem: MemoryFileSystem, more: object = {}): ContextStore =>
      storeIn('/store', { fileSystem, ...more })

    it('writes, reads, finds and changes', async () => {
      const fileSystem = make()
      const store = at(fileSystem, { sessionId: 's1' })
      assert.equal(store.path, '/store')
      assert.deepEqual([await store.list(), [...fileSystem.files.keys()]], [[], []])
      const first = await store.write(entry({ tags: ['a'] }))
      assert.equal(first.filePath, `/store/${first.path}`)
      assert.match(first.path, /^code-reviewer\/s1\/\d{8}T\d{6}-auth-vulnerability\.md$/)
      assert.deepEqual(files(fileSystem), [first.filePath])
      assert.match(fileSystem.files.get(first.filePath) ?? '', /^---\nagent: code-reviewer\n/)
      assert.deepEqual(await store.read(first.path), first)
      const second = await store.update(first.path, { addTags: ['b'] }, 'more', { ifRevision: first.revision })
      assert.deepEqual(second.tags, ['a', 'b'])
      await rejectsWith(
        () => store.update(first.path, {}, 'stale', { ifRevision: first.revision }),
        'ERR_CONTEXT_CONFLICT',
      )
      const { old, replacement } = await store.supersede(first.path, entry({ slug: 'second' }), 'better')
      assert.equal(old.supersededBy, replacement.path)
      assert.deepEqual(await store.search({ query: 'compared' }), [replacement, old])
      assert.deepEqual(await store.search({ query: 'compared', ranked: true, superseded: false }), [replacement])
      assert.deepEqual(await store.related(old.path, { direction: 'links' }), [replacement])
      assert.equal((await store.list({ tags: ['b'] })).length, 1)
      assert.deepEqual(await store.verify(), { entries: 2, problems: [], danglingLinks: [] })
      assert.deepEqual(store.contextFiles(), [first.path, replacement.path])
      await store.close()
      assert.deepEqual(files(fileSystem), [old.filePath, replacement.filePath].sort())
    })

    it('sees what others put there', async () => {
      const fileSystem = make()
      const path = await plant(fileSystem, 'code-fixer/s2/notes.md', entryText({ content: 'zebra' }))
      await plant(fileSystem, 'code-fixer/notes.txt', 'no entry')
      await plant(fileSystem, 'README.md', 'no entry')
      const store = at(fileSystem)
      assert.deepEqual(
        (await store.search({ query: 'zebra' })).map((found) => found.path),
        [path],
      )
      assert.equal((await store.read(path)).filePath, `/store/${path}`)
    })

    it('loses no change when many come at once', async () => {
      const fileSystem = make()
      const { path } = await at(fileSystem).write(entry())
      const stores = [at(fileSystem), at(fileSystem, { agent: 'code-fixer' })]
      const numbers = Array.from({ length: 20 }, (_, number) => number)
      await Promise.all(
        numbers.map((number) => stores[number % 2]?.update(path, { addTags: [`t${number}`] }, `tag ${number}`)),
      )
      const { tags, changelog } = await at(fileSystem).read(path)
      assert.deepEqual([tags.length, changelog.length], [20, 20])
    })

    it('removes what is old', async () => {
      const fileSystem = make()
      const old = await plant(fileSystem, 'a/20250101T000000-old.md', entryText({ agent: 'a', timestamp: daysAgo(31) }))
      const young = await plant(
        fileSystem,
        'a/20250101T000000-young.md',
        entryText({ agent: 'a', timestamp: daysAgo(1) }),
      )
      const foreign = await plant(fileSystem, 'a/20250101T000000-foreign.md', 'no entry')
      const report = await at(fileSystem).housekeep()
      assert.deepEqual(
        report.removed.map(({ path, agent }) => [path, agent]),
        [[old, 'a']],
      )
      assert.deepEqual(files(fileSystem), [`/store/${foreign}`, `/store/${young}`])
    })

    it('removes the entries that it can, and reports the others', async () => {
      const fileSystem = make()
      const text = entryText({ agent: 'a', timestamp: daysAgo(31) })
      const stuck = await plant(fileSystem, 'a/20250101T000000-stuck.md', text)
      const gone = await plant(fileSystem, 'a/20250101T000001-gone.md', text)
      const { unlink } = fileSystem
      fileSystem.unlink = async (path) => {
        if (path.includes('stuck')) {
          throw new Error('it is nailed down')
        }
        return unlink.call(fileSystem, path)
      }
      const { removed, keptChanged, problems, removedBytes } = await at(fileSystem).housekeep()
      assert.deepEqual([removed.map(({ path }) => path), keptChanged], [[gone], []])
      assert.deepEqual(
        problems.map(({ path }) => path),
        [stuck],
      )
      assert.match(problems[0]?.reason ?? '', /nailed down/)
      assert.equal(removedBytes, text.length)
      assert.deepEqual(files(fileSystem), [`/store/${stuck}`])
    })

    it('leads no path out', async () => {
      const fileSystem = make()
      await fileSystem.mkdir('/outside')
      await fileSystem.writeFile('/outside/x.md', entryText())
      const store = at(fileSystem)
      for (const path of ['../outside/x.md', 'a/../../outside/x.md', '/outside/x.md', 'a\\..\\x.md']) {
        await rejectsWith(() => store.read(path), 'ERR_CONTEXT_OUTSIDE_DIRECTORY')
        await rejectsWith(() => store.update(path, {}, 'why'), 'ERR_CONTEXT_OUTSIDE_DIRECTORY')
      }
    })

    it('takes the paths as the file system spells them', async () => {
      const fileSystem = make()
      const store = storeIn('~/notes', { fileSystem })
      assert.equal(store.path, '/virtual-home/notes')
      const { filePath, path } = await store.write(entry())
      assert.equal(filePath, `/virtual-home/notes/${path}`)
      assert.equal(storeIn('notes', { fileSystem }).path, '/virtual-cwd/notes')
    })

    it('is one with others in the same file system, and none with those in others', async () => {
      const [one, other] = [make(), make()]
      const { path } = await at(one, { sessionId: 's1' }).write(entry())
      assert.equal((await at(one, { agent: 'b' }).list()).length, 1)
      assert.deepEqual([at(one).contextFiles('s1'), at(other).contextFiles('s1')], [[path], []])
      assert.deepEqual(await at(other).list(), [])
      await rejectsWith(() => at(other).read(path), 'ERR_CONTEXT_NOT_FOUND')
    })

    it('rejects with the reason, and the thrown value as cause', async () => {
      const fileSystem = make()
      const failure = new Error('the cable was pulled')
      fileSystem.writeFile = async () => {
        throw failure
      }
      const store = at(fileSystem)
      const error = await rejectsWith(() => store.write(entry()), 'ERR_CONTEXT_IO', /the cable was pulled/)
      holds(error.cause === failure, 'the cause')
      assert.deepEqual(files(fileSystem), [])
      assert.deepEqual(store.contextFiles(), [])
    })
  })
}

describe('a file system that joins paths as it likes', () => {
  it('has every entry where its filePath says', async () => {
    class Backslashes extends MemoryFileSystem {
      override joinPath(...segments: string[]): string {
        return segments.join('\\')
      }
    }
    const fileSystem = new Backslashes()
    const store = storeIn('/store', { fileSystem, sessionId: 's1' })
    const written = await store.write(entry())
    assert.deepEqual(files(fileSystem), [written.filePath])
    assert.deepEqual(await store.search({}), [written])
    assert.deepEqual(await store.read(written.path), written)
  })
})

describe('contextFiles()', () => {
  it('knows the 1000 sessions that wrote last', { timeout: 120_000 }, async () => {
    const fileSystem = new MemoryFileSystem()
    // Each has a session of its own.
    const made = (): ContextStore => storeIn('/store', { fileSystem })
    const write = (store: ContextStore, number: number): Promise<unknown> =>
      store.write(entry({ slug: `number-${number}` }))
    const [first, second] = [made(), made()]
    await write(first, 0)
    await write(second, 1)
    for (let number = 2; number < 1000; number++) {
      await write(made(), number)
    }
    assert.equal(first.contextFiles().length, 1)
    await write(first, 1000)
    const last = made()
    await write(last, 1001)
    assert.deepEqual([first.contextFiles().length, second.contextFiles().length], [2, 0])
    assert.equal(second.contextFiles(last.sessionId).length, 1)
  })
})
