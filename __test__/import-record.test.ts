/** `importRecord`: outputs of another directory. */

import assert from 'node:assert/strict'
import { basename, join } from 'node:path'
import { describe, it } from 'node:test'
import type { ContextFiles, RedactionReport } from '../dist/index.js'
import { inDirectory, MemoryFileSystem, rejectsWith, wrong } from './support/fixtures.ts'
import { ContextManager } from './support/managers.ts'
import { holds } from './support/processes.ts'
import { existsSync, readdirSync, readFileSync } from './support/stored-files.ts'

/** In two parts: hosting services refuse pushes that contain a complete one. */
const secret = ['gh', 'p_', 'Zx81kQpW3nVt7LsYb2MdRf9CuJ5hEoGa6iTq'].join('')
const HANDLE = /ctx_[0-9a-f]{16}/

/** The files of an output in another directory. */
async function stored(directory: string, result: unknown, redaction?: false): Promise<ContextFiles> {
  const contextDir = join(directory, 'source')
  const manager = new ContextManager({ contextDir, persist: 'all', ...(redaction === false ? { redaction } : {}) })
  const path = await manager.saveContext('fetch', { url: 'https://example.com/a', n: 1.0 }, result)
  await manager.close()
  const beside = path.replace(/\.json$/, '.bin')
  return {
    filename: basename(path),
    record: readFileSync(path, 'utf8'),
    bytes: existsSync(beside) ? readFileSync(beside) : null,
  }
}

describe('importRecord', () => {
  it('stores the same files, once, which every process finds by path and handle', () =>
    inDirectory(async (directory) => {
      const contextDir = join(directory, 'target')
      for (const result of ['a text', { list: [1.0, 'é\ud800'] }, Buffer.from([0, 255, 254, 1])]) {
        const files = await stored(directory, result)
        const manager = new ContextManager({ contextDir })
        const preview = await manager.importRecord(files, { dryRun: true })
        holds(!existsSync(preview.filepath))
        const imported = await manager.importRecord(files)
        assert.deepEqual(imported, preview)
        const { filepath, handle, isNew, redactions } = imported
        assert.deepEqual(
          [filepath, isNew, redactions, handle],
          [join(contextDir, files.filename), true, [], HANDLE.exec(files.record)?.[0]],
        )
        assert.equal(readFileSync(filepath, 'utf8'), files.record)
        if (files.bytes) {
          assert.deepEqual(readFileSync(filepath.replace(/\.json$/, '.bin')), files.bytes)
        }
        assert.deepEqual(await manager.importRecord(files), { ...imported, isNew: false })
        const other = new ContextManager({ contextDir })
        const [byPath, byHandle] = await Promise.all([other.loadContext(filepath), other.loadContext(handle)])
        assert.deepEqual(byPath, byHandle)
        holds((await other.listContexts()).some((pointer) => pointer.handle === handle))
      }
    }))

  it('takes secrets out, and gives the handle of what is stored', () =>
    inDirectory(async (directory) => {
      const files = await stored(directory, `token=${secret}`, false)
      const reports: RedactionReport[] = []
      const manager = new ContextManager({
        contextDir: join(directory, 'target'),
        redaction: { onRedaction: (report) => reports.push(report) },
      })
      const { filepath, handle, redactions } = await manager.importRecord(files)
      assert.equal(
        redactions.reduce((sum, { count }) => sum + count, 0),
        1,
      )
      assert.deepEqual(reports, [{ kind: 'context', filepath, findings: redactions }])
      const text = readFileSync(filepath, 'utf8')
      holds(!text.includes(secret) && text.includes(`"handle":"${handle}"`), text)
      const former = HANDLE.exec(files.record)?.[0] ?? ''
      holds(former !== handle)
      assert.equal((await manager.loadContext(handle)).handle, handle)
      await rejectsWith(() => manager.loadContext(former), 'ERR_CONTEXT_NOT_FOUND')
    }))

  it('makes handles again that do not match their content', () =>
    inDirectory(async (directory) => {
      const files = await stored(directory, 'a text')
      const manager = new ContextManager({ contextDir: join(directory, 'target') })
      for (const [index, forged] of ['"ctx_0123456789abcdef"', '"x"', '1'].entries()) {
        const filename = files.filename.replace(/_\d+_([0-9a-f]{16}\.json)$/, `_${index}_$1`)
        const record = files.record.replace(/"ctx_[0-9a-f]{16}"/, forged)
        const { filepath, handle } = await manager.importRecord({ filename, record })
        assert.equal(handle, HANDLE.exec(files.record)?.[0])
        assert.equal(readFileSync(filepath, 'utf8'), files.record)
      }
      await rejectsWith(() => manager.loadContext('ctx_0123456789abcdef'), 'ERR_CONTEXT_NOT_FOUND')
      const { handle: _, ...early } = JSON.parse(files.record) as Record<string, unknown>
      const filename = files.filename.replace(/_\d+_([0-9a-f]{16}\.json)$/, '_9_$1')
      const { handle } = await manager.importRecord({ filename, record: JSON.stringify(early) })
      assert.equal((await manager.loadContext(handle)).result, 'a text')
    }))

  it('replaces nothing, and stores nothing that is no whole record', () =>
    inDirectory(async (directory) => {
      const contextDir = join(directory, 'target')
      const manager = new ContextManager({ contextDir })
      const files = await stored(directory, 'a text')
      const withBytes = await stored(directory, Buffer.from([0, 255, 254, 1]))
      const { filepath } = await manager.importRecord(files)
      const before = readdirSync(contextDir).length
      await rejectsWith(
        () => manager.importRecord({ ...files, record: files.record.replace('a text', 'another') }),
        'ERR_CONTEXT_CONFLICT',
      )
      assert.equal(readFileSync(filepath, 'utf8'), files.record)
      const name = withBytes.filename
      for (const filename of ['', 'a.json', `../${name}`, `x/${name}`, name.replace('.json', '.bin')]) {
        await rejectsWith(() => manager.importRecord({ ...withBytes, filename }), 'ERR_CONTEXT_INVALID_ARGUMENT')
      }
      for (const record of ['', '{}', '[]', 'x', files.record.slice(0, -1)]) {
        await rejectsWith(() => manager.importRecord({ filename: name, record }), 'ERR_CONTEXT_INVALID_ARGUMENT')
      }
      const bytes = Buffer.from(withBytes.bytes ?? [])
      for (const damaged of [null, bytes.subarray(0, -1), Buffer.concat([bytes, bytes]), Buffer.alloc(4)]) {
        await rejectsWith(() => manager.importRecord({ ...withBytes, bytes: damaged }), 'ERR_CONTEXT_CORRUPT')
      }
      await rejectsWith(
        () => manager.importRecord({ filename: name, record: files.record, bytes }),
        'ERR_CONTEXT_INVALID_ARGUMENT',
      )
      assert.equal(readdirSync(contextDir).length, before)
    }))

  it('stores bytes as text on an injected file system', () =>
    inDirectory(async (directory) => {
      const files = await stored(directory, Buffer.from([0, 255, 254, 1]))
      const manager = new ContextManager({ contextDir: '/contexts', fileSystem: new MemoryFileSystem() })
      const { filepath } = await manager.importRecord(files)
      assert.deepEqual([...((await manager.loadContext<Uint8Array>(filepath)).result ?? [])], [0, 255, 254, 1])
      assert.equal((await manager.importRecord(files)).isNew, false)
    }))

  it('refuses wrong arguments, and stops by a signal', () =>
    inDirectory(async (directory) => {
      const manager = new ContextManager({ contextDir: join(directory, 'target') })
      const files = await stored(directory, 'a text')
      for (const given of [null, 1, { ...files, filename: 1 }, { ...files, record: {} }, { ...files, bytes: 'x' }]) {
        await rejectsWith(() => manager.importRecord(wrong(given)), 'ERR_CONTEXT_INVALID_ARGUMENT')
      }
      await rejectsWith(() => manager.importRecord(files, wrong({ dry: true })), 'ERR_CONTEXT_INVALID_ARGUMENT')
      const reason = new Error('enough')
      await assert.rejects(manager.importRecord(files, { signal: AbortSignal.abort(reason) }), reason)
      holds(!existsSync(join(directory, 'target')))
    }))
})
