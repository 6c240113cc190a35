/** Which repository a folder belongs to, seen from outside, and memories of clones that moved. */

import assert from 'node:assert/strict'
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { describe, it } from 'node:test'
import { RepoMemory, type RepoMemoryMigration } from '../dist/index.js'
import { inDirectory, only, rejectsWith } from './support/fixtures.ts'
import { memoryFile, memoryOf, plant, plantRepository, plantStored, summariesFile, textOf } from './support/memories.ts'
import { inTestPlace, onDisk } from './support/postgres.ts'
import { holds, namesIn } from './support/processes.ts'
import { existsSync } from './support/stored-files.ts'

const REMOTE = 'https://github.com/owner/name.git'
const SHARED = { branchScope: 'sharedRepo' } as const

/** Checks another branch out, as far as it can be told by that. */
const checkout = (workspace: string, branch: string): void =>
  writeFileSync(join(workspace, '.git', 'HEAD'), `ref: refs/heads/${branch}\n`)

const setRemote = (workspace: string, remote: string): string => plantRepository(workspace, { remote })

describe('RepoMemory.repoHash()', () => {
  it('is the same for the same folder, however it is spelt, and from wherever in it', () =>
    inDirectory(async (directory) => {
      const workspace = plantRepository(join(directory, 'clone'), { remote: REMOTE })
      const hash = await RepoMemory.repoHash(workspace)
      assert.match(hash, /^[0-9a-f]{64}$/)
      mkdirSync(join(workspace, 'src', 'deep'), { recursive: true })
      symlinkSync(workspace, join(directory, 'link'), 'dir')
      const before = process.cwd()
      try {
        process.chdir(join(workspace, 'src'))
        for (const spelt of [
          `${workspace}/`,
          join(workspace, 'src', 'deep'),
          `${workspace}/src/../src/deep/`,
          join(directory, 'link'),
          join(directory, 'link', 'src'),
          '.',
          '..',
          'deep',
          './deep/',
        ]) {
          assert.equal(await RepoMemory.repoHash(spelt), hash, spelt)
        }
        // The folder is that of the call, wherever the process goes then.
        const asked = RepoMemory.repoHash('.')
        process.chdir(directory)
        assert.equal(await asked, hash)
      } finally {
        process.chdir(before)
      }
      assert.equal((await memoryOf(workspace, directory)).repoHash, hash)
    }))

  it('changes with the folder, the remote and the branch', () =>
    inDirectory(async (directory) => {
      const [one, other] = ['one', 'other'].map((name) => plantRepository(join(directory, name), { remote: REMOTE }))
      const hashes = new Set<string>()
      const see = async (expected: number): Promise<void> => {
        hashes.add(await RepoMemory.repoHash(one ?? ''))
        assert.equal(hashes.size, expected)
      }
      await see(1)
      assert.notEqual(await RepoMemory.repoHash(other ?? ''), [...hashes][0])
      checkout(one ?? '', 'feature/login')
      await see(2)
      setRemote(one ?? '', 'https://github.com/owner/another.git')
      await see(3)
      rmSync(join(one ?? '', '.git'), { recursive: true })
      await see(4)
      plantRepository(one ?? '')
      // Without a remote, the hash depends only on the path.
      await see(4)
      checkout(one ?? '', 'another')
      await see(4)
      setRemote(one ?? '', REMOTE)
      await see(4)
    }))

  it('does not change with the protocol, credentials, port or spelling of a remote', () =>
    inDirectory(async (directory) => {
      const workspace = join(directory, 'clone')
      const hashes = new Set<string>()
      for (const remote of [
        REMOTE,
        'https://github.com/owner/name',
        'https://github.com/owner/name/',
        'https://somebody@github.com/owner/name.git',
        'https://github.com:443/owner/name.git',
        'ssh://git@github.com/owner/name.git',
        'ssh://git@github.com:22/owner/name.git',
        'git@github.com:owner/name.git',
        'git://github.com/owner/name.git',
        'https://GitHub.com/owner/name.git',
      ]) {
        hashes.add(await RepoMemory.repoHash(setRemote(workspace, remote)))
        assert.equal(hashes.size, 1, remote)
      }
    }))

  it('leaves the branch out where branches share a memory', () =>
    inDirectory(async (directory) => {
      const workspace = plantRepository(join(directory, 'clone'), { remote: REMOTE })
      const shared = await RepoMemory.repoHash(workspace, SHARED)
      assert.notEqual(await RepoMemory.repoHash(workspace), shared)
      checkout(workspace, 'feature')
      assert.equal(await RepoMemory.repoHash(workspace, SHARED), shared)
      assert.equal((await memoryOf(workspace, directory, SHARED)).repoHash, shared)
    }))
})

describe('RepoMemory.open()', () => {
  it('keeps branches apart, unless they share a memory', () =>
    inDirectory(async (directory) => {
      const workspace = plantRepository(join(directory, 'clone'), { remote: REMOTE })
      const root = join(directory, 'root')
      const notes = async (options = {}): Promise<string[]> =>
        (await (await memoryOf(workspace, root, options)).getRepoMemory()).notes.map(({ content }) => content)
      await (await memoryOf(workspace, root)).upsertNote({ content: 'of main' })
      await (await memoryOf(workspace, root, SHARED)).upsertNote({ content: 'of all' })
      checkout(workspace, 'feature')
      assert.deepEqual(await notes(), [])
      assert.deepEqual(await notes(SHARED), ['of all'])
      checkout(workspace, 'main')
      assert.deepEqual(await notes(), ['of main'])
    }))

  it('is where its folder says, and writes nothing', () =>
    inDirectory(async (directory) => {
      const workspace = plantRepository(join(directory, 'clone'), { remote: REMOTE })
      mkdirSync(join(workspace, 'src'))
      const root = join(directory, 'root')
      const memory = await memoryOf(join(workspace, 'src'), root)
      assert.deepEqual([memory.workspace, memory.directory], [workspace, join(root, 'repos', memory.repoHash)])
      assert.deepEqual(await memory.getRepoMemory(), { conventions: [], decisions: [], notes: [], summaries: [] })
      assert.equal(existsSync(root), false)
    }))

  it('says in memory.json which repository it is about, once something is stored', () =>
    inDirectory(async (directory) => {
      const workspace = plantRepository(join(directory, 'clone'), { remote: REMOTE, branch: 'feature/login' })
      for (const [number, store] of [
        (memory: RepoMemory) => memory.upsertNote({ content: 'c' }),
        (memory: RepoMemory) => memory.appendSummary('r', 's', 't'),
      ].entries()) {
        const memory = await memoryOf(workspace, join(directory, `root-${number}`))
        await store(memory)
        const { repository } = JSON.parse(textOf(memoryFile(memory))) as { repository: object }
        assert.deepEqual(repository, { workspace, remote: 'github.com/owner/name', branch: 'feature/login' })
      }
    }))

  it('finds by its hash what was stored by its folder', () =>
    inDirectory(async (directory) => {
      const workspace = plantRepository(join(directory, 'clone'), { remote: REMOTE })
      const memory = await memoryOf(workspace, directory)
      await memory.upsertNote({ content: 'something' })
      const again = await RepoMemory.open({ repoHash: memory.repoHash, root: directory, ...inTestPlace({}) })
      assert.deepEqual(await again.getRepoMemory(), await memory.getRepoMemory())
      assert.equal(again.workspace, undefined)
      for (const call of [() => again.repoMap(), () => again.symbols('a.ts')]) {
        await rejectsWith(call, 'ERR_CONTEXT_UNSUPPORTED', /open it with workspace/)
      }
      assert.match(await again.buildContextFromMemory(1000), /- something/)
    }))

  it('rejects what is no folder', () =>
    inDirectory(async (directory) => {
      const file = plant(join(directory, 'file'), 'x')
      for (const call of [() => RepoMemory.open({ workspace: file }), () => RepoMemory.repoHash(file)]) {
        await rejectsWith(call, 'ERR_CONTEXT_INVALID_ARGUMENT', /^workspace/)
      }
    }))

  it('appends no summary beside a memory.json that is not understood', () =>
    inDirectory(async (directory) => {
      const memory = await memoryOf(plantRepository(join(directory, 'clone'), { remote: REMOTE }), directory)
      plantStored(memoryFile(memory), 'not JSON')
      await rejectsWith(() => memory.appendSummary('r', 's', 't'), 'ERR_CONTEXT_CORRUPT')
      assert.equal(existsSync(summariesFile(memory)), false)
    }))
})

describe('RepoMemory.migrate()', onDisk('memories that move'), () => {
  /** A clone with something in its memory, which then moves. */
  async function moved(directory: string): Promise<{ from: string; old: RepoMemory; workspace: string; root: string }> {
    const from = plantRepository(join(directory, 'before'), { remote: REMOTE })
    const root = join(directory, 'root')
    const old = await memoryOf(from, root)
    await old.upsertConvention({ title: 'Tests', content: 'node:test' })
    await old.upsertDecision({ summary: 'Rust' })
    await old.upsertNote({ content: 'one' })
    await old.upsertNote({ content: 'two' })
    await old.appendSummary('r', 's', 't')
    const workspace = join(directory, 'after')
    renameSync(from, workspace)
    return { from, old, workspace, root }
  }

  const counts = { conventions: 1, decisions: 1, notes: 2, summaries: 1 }

  it('moves what is remembered of a folder that moved', () =>
    inDirectory(async (directory) => {
      const { from, old, workspace, root } = await moved(directory)
      const before = await old.getRepoMemory()
      const to = await RepoMemory.repoHash(workspace)
      const request: RepoMemoryMigration = { fromWorkspace: from, workspace, root, durability: 'process' }
      assert.deepEqual(await RepoMemory.migrate(request), { moved: [{ from: old.repoHash, to, ...counts }] })
      const memory = await memoryOf(workspace, root)
      assert.deepEqual(await memory.getRepoMemory(), before)
      const left = await RepoMemory.open({ repoHash: old.repoHash, root })
      assert.deepEqual(await left.getRepoMemory(), { conventions: [], decisions: [], notes: [], summaries: [] })
      assert.deepEqual(namesIn(old.directory).includes('memory.json'), false)
      await rejectsWith(() => RepoMemory.migrate(request), 'ERR_CONTEXT_NOT_FOUND', /fromWorkspace/)
    }))

  it('moves all branches of it', () =>
    inDirectory(async (directory) => {
      const from = plantRepository(join(directory, 'before'), { remote: REMOTE })
      const root = join(directory, 'root')
      for (const branch of ['main', 'feature']) {
        checkout(from, branch)
        await (await memoryOf(from, root)).upsertNote({ content: `of ${branch}` })
      }
      const workspace = join(directory, 'after')
      renameSync(from, workspace)
      const { moved } = await RepoMemory.migrate({ fromWorkspace: from, workspace, root })
      assert.equal(moved.length, 2)
      for (const branch of ['main', 'feature']) {
        checkout(workspace, branch)
        const { notes } = await (await memoryOf(workspace, root)).getRepoMemory()
        assert.equal(only(notes).content, `of ${branch}`)
      }
    }))

  it('adds one memory to another', () =>
    inDirectory(async (directory) => {
      const { old, workspace, root } = await moved(directory)
      const memory = await memoryOf(workspace, root)
      await memory.upsertConvention({ title: 'Names', content: 'say what things are' })
      const to = memory.repoHash
      const report = await RepoMemory.migrate({ fromRepoHash: old.repoHash, workspace, root, durability: 'process' })
      assert.deepEqual(report, { moved: [{ from: old.repoHash, to, ...counts }] })
      const { conventions, notes } = await memory.getRepoMemory()
      assert.deepEqual(conventions.map(({ title }) => title).sort(), ['Names', 'Tests'])
      assert.equal(notes.length, 2)
    }))

  it('moves nothing that is there already, and says when there is nothing', () =>
    inDirectory(async (directory) => {
      const { old, workspace, root } = await moved(directory)
      const here = await memoryOf(workspace, root)
      await here.upsertNote({ content: 'c' })
      assert.deepEqual(await RepoMemory.migrate({ fromRepoHash: here.repoHash, workspace, root }), { moved: [] })
      const missing = old.repoHash.split('').reverse().join('')
      await rejectsWith(
        () => RepoMemory.migrate({ fromRepoHash: missing, workspace, root }),
        'ERR_CONTEXT_NOT_FOUND',
        /fromRepoHash/,
      )
      await rejectsWith(
        () => RepoMemory.migrate({ fromRepoHash: old.repoHash, workspace: join(directory, 'missing'), root }),
        'ERR_CONTEXT_NOT_FOUND',
        /missing/,
      )
      holds((await old.getRepoMemory()).notes.length === 2, 'what was not moved is where it was')
    }))

  it('takes secrets out on the way', () =>
    inDirectory(async (directory) => {
      const { old, workspace, root } = await moved(directory)
      const codename = { redaction: { patterns: [{ name: 'codename', literals: ['bluebird'] }] } }
      await old.upsertNote({ content: 'about bluebird' })
      await RepoMemory.migrate({ fromRepoHash: old.repoHash, workspace, root, durability: 'process', ...codename })
      const { notes } = await (await memoryOf(workspace, root)).getRepoMemory()
      assert.equal(notes.at(-1)?.content, 'about [REDACTED:codename]')
    }))
})
