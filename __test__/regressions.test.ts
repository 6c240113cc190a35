/** What a second reading of the code found. */

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ContextManager, createToolRecorder, type ToolResponse } from '../dist/index.js'
import { inDirectory, MemoryFileSystem } from './support/fixtures.ts'

describe('clear() after a failure', () => {
  it('looks again for files that no pointer names', async () => {
    const fileSystem = new MemoryFileSystem()
    const manager = new ContextManager({ contextDir: '/contexts', fileSystem })
    await manager.saveContext('tool', {}, 1)
    manager.clearPointers()
    const { readdir } = fileSystem
    fileSystem.readdir = async () => {
      throw new Error('too many open files')
    }
    await assert.rejects(manager.clear(), { code: 'ERR_CONTEXT_IO' })
    fileSystem.readdir = readdir
    await manager.clear()
    assert.equal(fileSystem.files.size, 0)
  })

  it('looks for a file that forget() could not remove', async () => {
    const fileSystem = new MemoryFileSystem()
    const manager = new ContextManager({ contextDir: '/contexts', fileSystem })
    const path = await manager.saveContext('tool', {}, 1)
    const { unlink } = fileSystem
    fileSystem.unlink = async () => {
      throw new Error('busy')
    }
    await assert.rejects(manager.forget(path), { code: 'ERR_CONTEXT_IO' })
    fileSystem.unlink = unlink
    await manager.clear()
    assert.equal(fileSystem.files.size, 0)
  })
})

describe('forget() of a context whose save is under way', () => {
  it('waits for the save, so that no path without a file is acknowledged', async () => {
    const fileSystem = new MemoryFileSystem()
    const manager = new ContextManager({ contextDir: '/contexts', fileSystem })
    let release = (): void => {}
    const released = new Promise<void>((resolve) => {
      release = resolve
    })
    let write = (_path: string): void => {}
    const written = new Promise<string>((resolve) => {
      write = resolve
    })
    fileSystem.writeFile = async (path, content) => {
      fileSystem.files.set(path, content)
      write(path)
      await released
    }
    const saving = manager.saveContext('tool', {}, 1)
    const order: string[] = []
    const forgetting = manager.forget(await written).then((forgot) => order.push(`forgot ${forgot}`))
    void saving.then(() => order.push('saved'))
    // Room for a forget() that does not wait.
    await manager.listContexts()
    await manager.listContexts()
    release()
    await Promise.all([saving, forgetting])
    assert.deepEqual(order, ['saved', 'forgot true'])
    assert.deepEqual([manager.size, fileSystem.files.size], [0, 0])
  })
})

describe('clear() with later saves', () => {
  it('takes one group of many contexts at once and keeps what came later', () =>
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir, persist: 'large' })
      const earlier = Array.from({ length: 20_000 }, (_, number) => manager.saveContext('t', {}, number, 1, 'q'))
      const cleared = manager.clear()
      const later = manager.saveContext('t', {}, 'later', 1, 'q')
      await Promise.all(earlier)
      await cleared
      assert.deepEqual(
        manager.getPointersForQuery('q').map(({ filepath }) => filepath),
        [await later],
      )
      assert.equal(manager.getPointersForTask(1).length, 1)
      await manager.clear()
    }))
})

describe('the recorder', () => {
  it('takes a response without a value for one, and null for no options', () =>
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir })
      const recorder = createToolRecorder(manager, null)
      const bare = { success: true, message: 'done' } as ToolResponse
      recorder.onToolEnd({ traceId: 't', spanId: 's' }, 'tool', bare)
      await recorder.flush()
      const [context] = await manager.loadContexts(manager.getAllPointers().map(({ filepath }) => filepath))
      assert.deepEqual([context?.result, context?.success, context?.message], [null, true, 'done'])
      await manager.clear()
    }))
})
