/** A record's notes on how it was stored: the redacted secrets, and the size of the placeholder in the conversation. */

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ContextPointer } from '../dist/index.js'
import { inDirectory, MemoryFileSystem, only } from './support/fixtures.ts'
import { ContextManager } from './support/managers.ts'
import { holds } from './support/processes.ts'
import { readFileSync, writeFileSync } from './support/stored-files.ts'

/** In two parts: hosting services refuse pushes that contain a complete one. */
const secret = ['gh', 'p_', 'Zx81kQpW3nVt7LsYb2MdRf9CuJ5hEoGa6iTq'].join('')
const findings = [
  { rule: 'github-token', count: 2 },
  { rule: 'assignment', count: 1 },
]
const text = `${secret} ${secret}\npassword=hunter2hunter2\n`

async function listed(contextDir: string): Promise<ContextPointer> {
  return only(await new ContextManager({ contextDir }).listContexts())
}

describe('redactions of a record', () => {
  it('are counted by rule, and known to other managers of the directory', () =>
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir, persist: 'all' })
      const path = await manager.saveContext('cat', { file: 'a' }, text)
      for (const pointer of [only(manager.getAllPointers()), await listed(contextDir)]) {
        assert.deepEqual(pointer.redactions, findings)
      }
      assert.deepEqual((await manager.loadContext(path)).redactions, findings)
      assert.deepEqual((await new ContextManager({ contextDir }).loadContext(path)).redactions, findings)
      const [hit] = await manager.search('password')
      assert.deepEqual(hit?.redactions, findings)
      const resaved = await manager.saveContext('cat', { file: 'a' }, text)
      const handles = manager.getAllPointers().map(({ handle }) => handle)
      assert.deepEqual([handles[0], (await manager.loadContext(resaved)).handle], [handles[1], handles[1]])
    }))

  it('count secrets of arguments, bytes and streams, in memory and on an injected file system as well', async () => {
    const fileSystem = new MemoryFileSystem()
    const manager = new ContextManager({ contextDir: '/contexts', fileSystem })
    await manager.saveContext('curl', { header: `Authorization: Bearer ${secret}` }, Buffer.from([0, 255, 1]))
    async function* pieces(): AsyncGenerator<string> {
      yield `a ${secret.slice(0, 10)}`
      yield `${secret.slice(10)} b`
    }
    const stream = manager.recordStream('tail', {}, pieces())
    for await (const _ of stream) {
      // Read to its end.
    }
    await stream.stored
    for (const { redactions = [] } of manager.getAllPointers()) {
      assert.equal(only(redactions).count, 1)
    }
  })

  it('count secrets of streams that are kept in files', () =>
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir })
      async function* lines(): AsyncGenerator<string> {
        for (let line = 0; line < 40; line++) {
          yield `token=${secret}\n${'words of a log\n'.repeat(5000)}`
        }
      }
      const offloaded = await manager.offload('tail', {}, lines())
      const pointer = only(manager.getAllPointers())
      assert.equal(
        pointer.redactions?.reduce((sum, { count }) => sum + count, 0),
        40,
      )
      assert.deepEqual(
        [pointer.outputBytes, pointer.shownBytes],
        [offloaded.sizeBytes, Buffer.byteLength(offloaded.text)],
      )
      const stored = await listed(contextDir)
      assert.deepEqual([stored.redactions, stored.sizeBytes], [pointer.redactions, pointer.sizeBytes])
      const loaded = await new ContextManager({ contextDir }).loadContext<string>(pointer.filepath)
      holds(loaded.result.endsWith('words of a log\n') && !loaded.result.includes(secret))
      await manager.clear()
    }))

  it('are absent where there was nothing to redact, without redaction, and in records of earlier releases', () =>
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir, persist: 'all' })
      const path = await manager.saveContext('cat', {}, 'nothing')
      const unredacted = new ContextManager({ contextDir, persist: 'all', redaction: false })
      await unredacted.saveContext('cat', {}, text)
      for (const pointer of await manager.listContexts()) {
        holds(!('redactions' in pointer) && !('shownBytes' in pointer), JSON.stringify(pointer))
      }
      const record = JSON.parse(readFileSync(path, 'utf8')) as object
      for (const redactions of [1, 'a', [], [{ rule: 1, count: 'x' }], {}]) {
        writeFileSync(path, JSON.stringify({ redactions, outputBytes: 'x', shownBytes: -1, ...record }))
        const pointers = await new ContextManager({ contextDir }).listContexts()
        holds(pointers.every((pointer) => !('redactions' in pointer) && !('shownBytes' in pointer)))
      }
    }))
})

describe('what the conversation got', () => {
  it('is noted with an output that a placeholder replaced', () =>
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir, persist: 'all' })
      const long = 'a line of the log é\n'.repeat(5000)
      const { text: shown, isOffloaded, sizeBytes } = await manager.offload('cat', {}, long)
      holds(isOffloaded)
      for (const pointer of [only(manager.getAllPointers()), await listed(contextDir)]) {
        assert.deepEqual([pointer.outputBytes, pointer.shownBytes], [sizeBytes, Buffer.byteLength(shown)])
      }
      const loaded = await manager.loadContext(only(manager.getAllPointers()).filepath)
      assert.deepEqual([loaded.outputBytes, loaded.shownBytes], [sizeBytes, Buffer.byteLength(shown)])
    }))

  it('is absent where the conversation got the output itself', () =>
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir })
      const short = await manager.offload('cat', {}, 'short')
      const exact = await manager.offload('cat', {}, 'x'.repeat(300), { threshold: 1 })
      assert.deepEqual([short.isOffloaded, exact.isOffloaded], [false, false])
      for (const pointer of manager.getAllPointers()) {
        holds(!('shownBytes' in pointer) && !('outputBytes' in pointer))
      }
    }))
})
