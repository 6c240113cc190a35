/** The end of contexts: `forget`, `clearPointers`, `clearContextDir`, `clear`, disposal. */

import assert from 'node:assert/strict'
import { symlinkSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, it } from 'node:test'
import { debugLog, deletedCounts, filesIn, inDirectory, MemoryFileSystem, rejectsWith } from './support/fixtures.ts'
import { ContextManager } from './support/managers.ts'
import { isOnDisk } from './support/postgres.ts'
import { leasesIn } from './support/processes.ts'
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from './support/stored-files.ts'

const LARGE = 'x'.repeat(40_000)
const RECORD = '{"toolName":"t","toolDescription":"t","timestamp":"2024-01-15T10:30:00.000Z","args":{},"result":1}'

/** Files that are not ours, in a context directory. */
function putForeignFiles(directory: string): string[] {
  const files = {
    'package.json': '{"name":"x"}',
    'notes.tmp': 'x',
    '.hidden': 'x',
    'read_file_a1b2c3.json': RECORD,
    'record.json': RECORD,
    'x_0123456789ab_1_7_0000000000000abc.json': '{"not":"a record"}',
    'x_0123456789ab_1_7_0000000000000abd.json.bak': RECORD,
  }
  for (const [name, content] of Object.entries(files)) {
    writeFileSync(join(directory, name), content)
  }
  if (isOnDisk) {
    mkdirSync(join(directory, 'folder'))
    symlinkSync('/etc/passwd', join(directory, 'link.json'))
  }
  return [...Object.keys(files), ...(isOnDisk ? ['folder', 'link.json'] : [])].sort()
}

describe('forget', () => {
  it('removes pointer, memory, index and file of one context', () =>
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir })
      const small = await manager.saveContext('small', { q: 'login' }, 1, 1, 'q')
      const large = await manager.saveContext('large', { q: 'login' }, LARGE, 1, 'q')
      const kept = await manager.saveContext('kept', { q: 'login' }, LARGE, 1, 'q')
      assert.equal(await manager.forget(small), true)
      assert.equal(await manager.forget(basename(large)), true, 'by its bare name')
      for (const path of [small, large]) {
        assert.equal(existsSync(path), false)
        await rejectsWith(() => manager.loadContext(path), 'ERR_CONTEXT_NOT_FOUND')
        assert.equal(await manager.forget(path), false, 'a second time')
      }
      for (const pointers of [
        manager.getAllPointers(),
        manager.getPointersForQuery('q'),
        manager.getPointersForTask(1),
        await manager.listContexts(),
        await manager.selectContexts('login'),
      ]) {
        assert.deepEqual(
          pointers.map(({ filepath }) => filepath),
          [kept],
        )
      }
      assert.equal(manager.size, 1)
      assert.equal(manager.stats().contexts, 1)
      await manager.clear()
    }))

  it('forgets what only memory holds', () =>
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir, persist: 'large' })
      const path = await manager.saveContext('small', {}, 1)
      assert.equal(await manager.forget(path), true)
      assert.equal(manager.stats().memoryContexts, 0)
      await rejectsWith(() => manager.loadContext(path), 'ERR_CONTEXT_NOT_FOUND')
    }))

  it('is content when the file is gone already', () =>
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir })
      const path = await manager.saveContext('large', {}, LARGE)
      rmSync(path)
      assert.equal(await manager.forget(path), true)
      assert.equal(manager.size, 0)
      await manager.clear()
    }))

  it('removes nothing that is not a context, outside, or of another live session', () =>
    inDirectory(async (directory) => {
      const contextDir = join(directory, 'contexts')
      const manager = new ContextManager({ contextDir })
      const other = new ContextManager({ contextDir })
      await manager.saveContext('mine', {}, 1)
      const theirs = await other.saveContext('theirs', {}, LARGE)
      const foreign = putForeignFiles(contextDir)
      writeFileSync(join(directory, 'x_0123456789ab_1_7_0000000000000abc.json'), RECORD)
      for (const name of ['package.json', 'folder', 'link.json', 'missing.json', 'notes.tmp']) {
        assert.equal(await manager.forget(join(contextDir, name)), false, name)
      }
      await rejectsWith(() => manager.forget(theirs), 'ERR_CONTEXT_CONFLICT')
      for (const path of ['/etc/passwd', '', contextDir, join(directory, 'x_0123456789ab_1_7_0000000000000abc.json')]) {
        await rejectsWith(() => manager.forget(path), 'ERR_CONTEXT_OUTSIDE_DIRECTORY')
      }
      assert.deepEqual(
        foreign.filter((name) => !readdirSync(contextDir).includes(name)),
        [],
      )
      assert.equal(existsSync(join(directory, 'x_0123456789ab_1_7_0000000000000abc.json')), true)
      assert.equal((await other.loadContext(theirs)).toolName, 'theirs')
      await manager.clear()
      await other.clear()
    }))
})

describe('clearPointers', () => {
  it('drops pointers, files stay', () =>
    inDirectory(async (contextDir) => {
      const log = debugLog()
      const manager = new ContextManager({ contextDir, onDebug: log })
      const paths = [await manager.saveContext('a', {}, 1, 1, 'q'), await manager.saveContext('b', {}, LARGE, 1, 'q')]
      const before = log.entries.length
      assert.equal(manager.clearPointers(), undefined)
      assert.equal(log.entries.length, before + 1, 'said synchronously')
      assert.equal(manager.size, 0)
      assert.deepEqual(manager.getAllPointers(), [])
      assert.deepEqual(manager.getPointersForQuery('q'), [])
      assert.deepEqual(manager.getPointersForTask(1), [])
      assert.equal(filesIn(contextDir).length, 2)
      assert.equal((await manager.loadContexts(paths)).length, 2)
      assert.equal((await manager.listContexts()).length, 2)
      await manager.saveContext('c', {}, 1)
      assert.equal(manager.size, 1)
      await manager.clear()
      assert.deepEqual(readdirSync(contextDir), [], 'clear removes the files without pointers, too')
    }))
})

describe('clearContextDir', () => {
  it("removes this session's files, keeps pointers and everything else", () =>
    inDirectory(async (contextDir) => {
      const log = debugLog()
      const manager = new ContextManager({ contextDir, onDebug: log })
      const other = new ContextManager({ contextDir })
      const own = [await manager.saveContext('a', {}, 1), await manager.saveContext('b', {}, LARGE)]
      const theirs = await other.saveContext('c', {}, LARGE)
      const foreign = putForeignFiles(contextDir)
      await manager.clearContextDir()
      assert.deepEqual(deletedCounts(log), [2])
      assert.deepEqual(filesIn(contextDir), [...foreign, basename(theirs)].sort())
      assert.deepEqual(
        manager.getAllPointers().map(({ filepath }) => filepath),
        own,
      )
      assert.deepEqual(await manager.loadContexts(own), [])
      assert.equal((await other.loadContext(theirs)).toolName, 'c')
      await other.clear()
      await manager.clear()
      assert.equal(manager.size, 0)
    }))

  it('leaves nothing to list of what it removed', () =>
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir })
      await manager.saveContext('a', {}, 1)
      await manager.saveContext('b', {}, LARGE)
      await manager.clearContextDir()
      assert.deepEqual(await manager.listContexts(), [])
    }))

  it('removes files whose pointers were cleared before', () =>
    inDirectory(async (contextDir) => {
      const log = debugLog()
      const manager = new ContextManager({ contextDir, onDebug: log })
      await manager.saveContext('a', {}, 1)
      await manager.saveContext('b', {}, LARGE)
      manager.clearPointers()
      await manager.clearContextDir()
      assert.deepEqual(deletedCounts(log), [2])
      assert.deepEqual(readdirSync(contextDir), [])
    }))

  it('does nothing to a directory that does not exist', () =>
    inDirectory(async (directory) => {
      const log = debugLog()
      const manager = new ContextManager({ contextDir: join(directory, 'missing'), onDebug: log })
      await manager.clearContextDir()
      await manager.clear()
      assert.deepEqual(deletedCounts(log), [0, 0])
      assert.deepEqual(readdirSync(directory), [])
    }))
})

for (const name of ['clear', 'clearContexts'] as const) {
  describe(name, () => {
    it('removes memory, pointers and files of only this session, and the manager can be used again', () =>
      inDirectory(async (contextDir) => {
        const log = debugLog()
        const manager = new ContextManager({ contextDir, onDebug: log })
        const other = new ContextManager({ contextDir })
        const session = manager.sessionId
        const paths = [await manager.saveContext('a', { q: 'x' }, 1), await manager.saveContext('b', {}, LARGE)]
        const theirs = await other.saveContext('c', {}, 1)
        const foreign = putForeignFiles(contextDir)
        assert.equal(await manager[name](), undefined)
        assert.deepEqual(deletedCounts(log), [2])
        assert.equal(manager.size, 0)
        assert.deepEqual(manager.getAllPointers(), [])
        assert.deepEqual(await manager.loadContexts(paths), [])
        assert.deepEqual(filesIn(contextDir), [...foreign, basename(theirs)].sort())
        const again = await manager.saveContext('d', {}, 4)
        assert.equal((await manager.loadContext(again)).result, 4)
        assert.equal(manager.size, 1)
        assert.equal(manager.sessionId, session)
        await manager[name]()
        await manager[name]()
        assert.deepEqual(deletedCounts(log), [2, 1, 0])
        await other[name]()
        assert.deepEqual(readdirSync(contextDir).sort(), foreign, 'not even a lease stays')
      }))
  })
}

describe('clear', () => {
  for (const name of ['clear', 'clearContextDir'] as const) {
    it(`covers saves under way and spares those called later: ${name}`, () =>
      inDirectory(async (contextDir) => {
        const manager = new ContextManager({ contextDir })
        const before = Array.from({ length: 30 }, (_, index) => manager.saveContext('before', { index }, LARGE))
        const clearing = manager[name]()
        const after = manager.saveContext('after', {}, LARGE)
        const [later] = await Promise.all([after, clearing, ...before])
        assert.deepEqual(filesIn(contextDir), [basename(later)])
        assert.equal((await manager.loadContext(later)).toolName, 'after')
        assert.equal(manager.size, name === 'clear' ? 1 : 31)
        await manager.clear()
      }))
  }

  it('clears all managers of a session', () =>
    inDirectory(async (contextDir) => {
      const [one, two] = [1, 2].map(() => new ContextManager({ contextDir, sessionId: 'shared' })) as [
        ContextManager,
        ContextManager,
      ]
      const other = new ContextManager({ contextDir, sessionId: 'shared-not' })
      await one.saveContext('a', {}, 1)
      await two.saveContext('b', {}, LARGE)
      await other.saveContext('c', {}, 1)
      await one.clear()
      assert.deepEqual([one.size, two.size, other.size], [0, 0, 1])
      assert.equal(filesIn(contextDir).length, 1)
      await other.clear()
      assert.deepEqual(readdirSync(contextDir), [])
    }))

  it('is content when files or the directory are gone', () =>
    inDirectory(async (directory) => {
      const contextDir = join(directory, 'contexts')
      const manager = new ContextManager({ contextDir })
      rmSync(await manager.saveContext('a', {}, 1))
      await manager.saveContext('b', {}, 1)
      await manager.clear()
      await manager.saveContext('c', {}, 1)
      rmSync(contextDir, { recursive: true })
      await manager.clear()
      assert.equal(manager.size, 0)
      assert.equal(existsSync(contextDir), false)
    }))
})

describe('disposal', () => {
  it('clears at the end of an `await using` block', () =>
    inDirectory(async (contextDir) => {
      {
        await using manager = new ContextManager({ contextDir })
        await manager.saveContext('a', {}, LARGE)
        assert.equal(filesIn(contextDir).length, 1)
      }
      assert.deepEqual(readdirSync(contextDir), [])
    }))

  it('is what Symbol.asyncDispose does', () =>
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir })
      await manager.saveContext('a', {}, LARGE)
      assert.equal(await manager[Symbol.asyncDispose](), undefined)
      assert.deepEqual(readdirSync(contextDir), [])
      assert.equal(manager.size, 0)
      await manager[Symbol.asyncDispose]()
    }))
})

describe('close', () => {
  it('waits for pending saves and leaves the files', () =>
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir })
      const saves = Array.from({ length: 20 }, (_, index) => manager.saveContext('a', { index }, LARGE))
      await manager.close()
      assert.equal(manager.size, 20)
      assert.deepEqual(leasesIn(contextDir), [])
      assert.equal(filesIn(contextDir).length, 20)
      await Promise.all(saves)
      const path = await manager.saveContext('b', {}, 1)
      assert.equal((await manager.loadContext(path)).result, 1)
      await manager.clear()
    }))
})

describe('clearContextDir of a directory that does not exist', () => {
  const messageOf = ({ messages }: { messages: readonly string[] }): readonly string[] =>
    messages.filter((message) => message.startsWith('Context directory'))

  it('reports it through onDebug, and clears nothing', () =>
    inDirectory(async (directory) => {
      const contextDir = join(directory, 'missing')
      const log = debugLog()
      const manager = new ContextManager({ contextDir, onDebug: log })
      await manager.clearContextDir()
      assert.deepEqual(messageOf(log), ['Context directory does not exist'])
      assert.equal(existsSync(contextDir), false, 'it is not created either')
      const path = await manager.saveContext('large', {}, LARGE)
      rmSync(contextDir, { recursive: true })
      await manager.clearContextDir()
      assert.deepEqual(messageOf(log).slice(1), ['Context directory does not exist'])
      await rejectsWith(() => manager.loadContext(path), 'ERR_CONTEXT_NOT_FOUND')
      await manager.saveContext('large', {}, LARGE)
      await manager.clearContextDir()
      assert.deepEqual(messageOf(log).slice(2), ['Context directory cleared'])
      assert.deepEqual(filesIn(contextDir), [])
      await manager.clear()
    }))

  it('reports it in an injected file system', async () => {
    const log = debugLog()
    const manager = new ContextManager({ contextDir: '/contexts', fileSystem: new MemoryFileSystem(), onDebug: log })
    await manager.clearContextDir()
    assert.deepEqual(messageOf(log), ['Context directory does not exist'])
    await manager.clear()
  })
})
