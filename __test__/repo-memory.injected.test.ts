/** A memory of a repository in a file system that the caller brings. */

import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import type { IFileSystem, RepoMemory, RepoMemoryOptions } from '../dist/index.js'
import { debugLog, inDirectory, MemoryFileSystem, RenamingFileSystem, rejectsWith } from './support/fixtures.ts'
import { HASH, memoryIn, memoryOf, plant } from './support/memories.ts'
import { holds } from './support/processes.ts'

const FILE_SYSTEMS: [name: string, make: () => MemoryFileSystem][] = [
  ['an injected file system', () => new MemoryFileSystem()],
  ['an injected file system that renames', () => new RenamingFileSystem()],
]

const DIRECTORY = `/root/repos/${HASH}`
const convention = { title: 'Tests', content: 'node:test, no mocks', tags: ['testing'] }

for (const [name, make] of FILE_SYSTEMS) {
  describe(`a repository memory in ${name}`, () => {
    const at = (fileSystem: IFileSystem, more: RepoMemoryOptions = {}): Promise<RepoMemory> =>
      memoryIn('/root', { fileSystem, ...more })

    it('adds, changes and removes records', async () => {
      const fileSystem = make()
      const memory = await at(fileSystem, { durability: 'full' })
      assert.deepEqual([memory.directory, fileSystem.files.size], [DIRECTORY, 0])
      const added = await memory.upsertConvention(convention)
      assert.deepEqual([...fileSystem.files.keys()], [`${DIRECTORY}/memory.json`])
      const changed = await memory.upsertConvention({ id: added.id, content: 'node:test' })
      assert.equal(changed.content, 'node:test')
      const decision = await memory.upsertDecision({ summary: 'Rust' })
      const note = await memory.upsertNote({ content: 'CI is slow.', source: 'agent' })
      assert.equal(await memory.remove('note', note.id), true)
      const { conventions, decisions, notes } = await (await at(fileSystem)).getRepoMemory()
      assert.deepEqual([conventions, decisions, notes], [[changed], [decision], []])
      await memory.close()
      assert.deepEqual([...fileSystem.files.keys()], [`${DIRECTORY}/memory.json`])
    })

    it('loses no change when many come at once', async () => {
      const fileSystem = make()
      const memories = [await at(fileSystem), await at(fileSystem)]
      const numbers = Array.from({ length: 20 }, (_, number) => number)
      await Promise.all(
        numbers.map((number) => memories[number % 2]?.upsertNote({ content: `note ${number}`, source: 'tool' })),
      )
      assert.equal((await (await at(fileSystem)).getRepoMemory()).notes.length, 20)
    })

    it('keeps the latest summaries', async () => {
      const fileSystem = make()
      const memory = await at(fileSystem, { maxSummaries: 2 })
      for (const step of ['plan', 'build', 'check']) {
        await memory.appendSummary('run', step, `Did ${step}.`)
      }
      const { summaries } = await (await at(fileSystem)).getRepoMemory()
      assert.deepEqual(
        summaries.map(({ stepId }) => stepId),
        ['build', 'check'],
      )
      assert.equal(fileSystem.files.get(`${DIRECTORY}/summaries.jsonl`)?.split('\n').length, 3)
    })

    it('packs what is remembered, and the map of a workspace on the disk', () =>
      inDirectory(async (workspace) => {
        plant(join(workspace, 'src/login.ts'), 'export function logIn(name: string): void {}\n')
        const fileSystem = make()
        const memory = await memoryOf(workspace, '/root', { fileSystem })
        await memory.upsertConvention(convention)
        await memory.appendSummary('run', 'plan', 'Split the parser.')
        const pack = await memory.buildContextFromMemory(8000)
        for (const part of ['node:test, no mocks', 'Split the parser.', 'src/login.ts', 'logIn']) {
          assert.ok(pack.includes(part), `${part}: ${pack}`)
        }
        const { text } = await memory.repoMap()
        assert.match(text, /logIn/)
        const [symbol] = await memory.symbols('src/login.ts')
        assert.equal(symbol?.name, 'logIn')
        const files = ['memory.json', 'summaries.jsonl'].map((file) => `${memory.directory}/${file}`)
        assert.deepEqual([...fileSystem.files.keys()].sort(), files)
        assert.equal(existsSync(memory.directory), false)
      }))

    it('is one with others in the same file system, and none with those in others', async () => {
      const [one, other] = [make(), make()]
      await (await at(one)).upsertConvention(convention)
      assert.equal((await (await at(one)).getRepoMemory()).conventions.length, 1)
      assert.equal((await (await at(other)).getRepoMemory()).conventions.length, 0)
    })

    it('rejects with the reason, and the thrown value as cause', async () => {
      const fileSystem = make()
      const failure = new Error('the cable was pulled')
      fileSystem.writeFile = async () => {
        throw failure
      }
      const memory = await at(fileSystem)
      const error = await rejectsWith(
        () => memory.upsertConvention(convention),
        'ERR_CONTEXT_IO',
        /the cable was pulled/,
      )
      holds(error.cause === failure, 'the cause')
      assert.equal(fileSystem.files.size, 0)
    })

    it('takes the root as the file system spells it', async () => {
      const fileSystem = make()
      const memory = await memoryIn('~/memories', { fileSystem })
      assert.equal(memory.directory, `/virtual-home/memories/repos/${HASH}`)
      await memory.upsertConvention(convention)
      assert.deepEqual([...fileSystem.files.keys()], [`${memory.directory}/memory.json`])
    })
  })
}

describe('the fileSystem of a repository memory', () => {
  it('has the methods that are needed', async () => {
    const fileSystem = new MemoryFileSystem()
    Object.assign(fileSystem, { readFile: undefined })
    await rejectsWith(() => memoryIn('/root', { fileSystem }), 'ERR_CONTEXT_INVALID_ARGUMENT', /fileSystem\.readFile/)
    const wrong = { fileSystem: 'disk' } as unknown as RepoMemoryOptions
    await rejectsWith(() => memoryIn('/root', wrong), 'ERR_CONTEXT_INVALID_ARGUMENT', /fileSystem/)
    for (const option of ['fileSystemTimeout', 'closeTimeout']) {
      const options = { fileSystem: new MemoryFileSystem(), [option]: -1 }
      await rejectsWith(() => memoryIn('/root', options), 'ERR_CONTEXT_INVALID_ARGUMENT', new RegExp(option))
    }
  })

  it('gives paths, or the memory is not opened', async () => {
    const fileSystem = new MemoryFileSystem()
    fileSystem.joinPath = () => ''
    await rejectsWith(() => memoryIn('/root', { fileSystem }), 'ERR_CONTEXT_INVALID_ARGUMENT', /joinPath/)
  })

  it('is waited for as long as its timeouts say', async () => {
    const fileSystem = new MemoryFileSystem()
    fileSystem.exists = () => new Promise(() => {})
    fileSystem.readFile = () => new Promise(() => {})
    const log = debugLog()
    const quick = await memoryIn('/root', { fileSystem, fileSystemTimeout: 10 })
    await rejectsWith(() => quick.getRepoMemory(), 'ERR_CONTEXT_IO')
    const memory = await memoryIn('/root', { fileSystem, fileSystemTimeout: 500, closeTimeout: 1, onDebug: log })
    const reading = rejectsWith(() => memory.getRepoMemory(), 'ERR_CONTEXT_IO')
    await memory.close()
    assert.ok(log.messages.some((message) => message.startsWith('close gave up')))
    await reading
  })
})
