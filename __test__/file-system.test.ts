/** An injected file system: every path and every byte goes through it. */

import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { describe, it } from 'node:test'
import { ContextManager, type ContextManagerOptions, type IFileSystem } from '../dist/index.js'
import {
  debugLog,
  deletedCounts,
  MemoryFileSystem,
  only,
  RenamingFileSystem,
  rejectsWith,
  resultText,
  throwsWith,
  wrong,
} from './support/fixtures.ts'

const DIRECTORY = '/virtual-agent-context/contexts'
const LARGE = 'x'.repeat(40_000)

const managerOn = (fileSystem: IFileSystem, options: ContextManagerOptions = {}): ContextManager =>
  new ContextManager({ contextDir: DIRECTORY, ...options, fileSystem })

/** Saves, loads, lists, forgets and clears. */
async function runThrough(manager: ContextManager): Promise<void> {
  const small = await manager.saveContext('small', { q: 'login' }, { a: 'ä東😀\ud800' }, 1, 'q')
  const large = await manager.saveContext('large', { q: 'weather' }, LARGE, 2, 'q')
  const loaded = await manager.loadContexts([large, 'missing.json', small])
  assert.deepEqual(
    loaded.map(({ toolName }) => toolName),
    ['large', 'small'],
  )
  assert.deepEqual(loaded[1]?.result, { a: 'ä東😀\ud800' })
  await rejectsWith(() => manager.loadContext('missing.json'), 'ERR_CONTEXT_NOT_FOUND')
  assert.deepEqual(await manager.listContexts(), manager.getAllPointers())
  assert.deepEqual(manager.selectRelevantContexts('login', manager.getAllPointers()), [small])
  assert.equal(await manager.forget(small), true)
  assert.equal(await manager.forget(small), false)
  await manager.saveContext('more', {}, 1)
  await manager.clearContextDir()
  await manager.saveContext('last', {}, 1)
  await manager.clear()
  assert.equal(manager.size, 0)
}

describe('an injected file system', () => {
  it('takes everything; nothing reaches the real disk', async () => {
    for (const fileSystem of [new MemoryFileSystem(), new RenamingFileSystem()]) {
      const manager = managerOn(fileSystem)
      const path = await manager.saveContext('tool', { q: 'x' }, LARGE)
      assert.deepEqual([...fileSystem.files.keys()], [path])
      assert.equal(resultText(fileSystem.files.get(path) ?? ''), JSON.stringify(LARGE))
      assert.equal(path, `${DIRECTORY}/${only(manager.getAllPointers()).filename}`)
      await runThrough(manager)
      assert.deepEqual([...fileSystem.files.keys()], [])
      const strays = fileSystem.calls.filter(
        ([method, path]) => method !== 'joinPath' && path !== DIRECTORY && !String(path).startsWith(`${DIRECTORY}/`),
      )
      assert.deepEqual(strays, [], 'paths outside')
      assert.equal(existsSync('/virtual-agent-context'), false)
    }
  })

  it('resolves the directory once, in the constructor', async () => {
    const fileSystem = new MemoryFileSystem()
    const manager = new ContextManager({ fileSystem })
    assert.deepEqual(fileSystem.argumentsOf('resolvePath'), [['~/.agent/context']])
    assert.equal(manager.getContextDir(), '/virtual-home/.agent/context')
    const path = await manager.saveContext('tool', {}, 1)
    assert.ok(path.startsWith('/virtual-home/.agent/context/'))
    await manager.clear()
    assert.equal(fileSystem.argumentsOf('resolvePath').length, 1)
    const other = new MemoryFileSystem()
    assert.equal(managerOn(other, { contextDir: 'relative' }).getContextDir(), '/virtual-cwd/relative')
    assert.deepEqual(other.argumentsOf('resolvePath'), [['relative']])
    assert.deepEqual(
      other.calls.filter(([method]) => method !== 'resolvePath' && method !== 'joinPath'),
      [],
      'the constructor does nothing else',
    )
  })

  it('is asked with exactly the documented arguments', async () => {
    const fileSystem = new RenamingFileSystem()
    const manager = managerOn(fileSystem)
    await runThrough(manager)
    const counts: Partial<Record<string, number>> = {
      readFile: 1,
      writeFile: 2,
      exists: 1,
      mkdir: 1,
      chmod: 2,
      unlink: 1,
      readdir: 1,
      rename: 2,
    }
    for (const [method, ...parameters] of fileSystem.calls) {
      if (method !== 'joinPath' && method !== 'resolvePath') {
        assert.equal(parameters.length, counts[method], method)
        assert.equal(typeof parameters[0], 'string')
      }
    }
    assert.deepEqual(fileSystem.argumentsOf('mkdir'), [[DIRECTORY]])
    for (const [path, mode] of fileSystem.argumentsOf('chmod')) {
      assert.equal(mode, path === DIRECTORY ? 0o700 : 0o600)
    }
    for (const method of ['readFile', 'writeFile', 'exists', 'unlink', 'readdir'] as const) {
      assert.ok(fileSystem.argumentsOf(method).length > 0, `${method} was never called`)
    }
  })

  it('joins paths as it likes', async () => {
    class Backslashes extends MemoryFileSystem {
      override joinPath(...segments: string[]): string {
        return segments.join('\\')
      }
      override dirname(path: string): string {
        const end = Math.max(path.lastIndexOf('\\'), path.lastIndexOf('/'))
        return path.slice(0, end) || '/'
      }
    }
    const fileSystem = new Backslashes()
    const manager = managerOn(fileSystem)
    const path = await manager.saveContext('tool', {}, LARGE)
    assert.equal(path, `${DIRECTORY}\\${only(manager.getAllPointers()).filename}`)
    assert.deepEqual([...fileSystem.files.keys()], [path])
    assert.equal((await manager.loadContext(path)).result, LARGE)
    await runThrough(manager)
  })

  it('that has `rename` gets a temporary name first', async () => {
    const fileSystem = new RenamingFileSystem()
    const manager = managerOn(fileSystem)
    const paths = await Promise.all([1, 2, 3].map((n) => manager.saveContext('tool', { n }, n)))
    const temporaries = fileSystem.argumentsOf('writeFile').map(([path]) => String(path))
    assert.equal(new Set(temporaries).size, 3)
    for (const temporary of temporaries) {
      assert.match(temporary, /\.tmp$/)
      assert.ok(temporary.startsWith(`${DIRECTORY}/`))
    }
    const renamed = new Map(fileSystem.argumentsOf('rename').map(([from, to]) => [to, from]))
    assert.deepEqual([...renamed.keys()].map(String).sort(), [...paths].sort())
    assert.deepEqual([...renamed.values()].map(String).sort(), [...temporaries].sort())
    assert.deepEqual([...fileSystem.files.keys()].sort(), [...paths].sort())
  })

  it('that has no `rename` gets the final name at once', async () => {
    const fileSystem = new MemoryFileSystem()
    const path = await managerOn(fileSystem).saveContext('tool', {}, 1)
    assert.deepEqual(
      fileSystem.argumentsOf('writeFile').map(([written]) => written),
      [path],
    )
  })

  it('may lack `chmod`, `rename`, `getHomeDir`, `getCwd` and `dirname`', async () => {
    const memory = new MemoryFileSystem()
    const bare = {
      readFile: (path: string) => memory.readFile(path),
      writeFile: (path: string, content: string) => memory.writeFile(path, content),
      exists: (path: string) => memory.exists(path),
      mkdir: (path: string) => memory.mkdir(path),
      unlink: (path: string) => memory.unlink(path),
      readdir: (path: string) => memory.readdir(path),
      resolvePath: (path: string) => path,
      joinPath: (...segments: string[]) => segments.join('/'),
    }
    await runThrough(managerOn(wrong(bare)))
    await runThrough(managerOn(wrong({ ...bare, chmod: null, rename: undefined })))
  })

  for (const method of ['readFile', 'writeFile', 'exists', 'mkdir', 'readdir', 'unlink', 'resolvePath', 'joinPath']) {
    it(`must have ${method}`, () => {
      for (const value of [undefined, null, 5, {}]) {
        const fileSystem = Object.assign(new MemoryFileSystem(), { [method]: value })
        throwsWith(() => managerOn(fileSystem), 'ERR_CONTEXT_INVALID_ARGUMENT', new RegExp(`fileSystem\\.${method}`))
      }
    })
  }

  it('must resolve the directory to a path', () => {
    for (const answer of [undefined, null, 5, '', Promise.resolve('/x')]) {
      const fileSystem = Object.assign(new MemoryFileSystem(), { resolvePath: () => answer })
      throwsWith(() => managerOn(wrong(fileSystem)), 'ERR_CONTEXT_INVALID_ARGUMENT', /resolvePath/)
    }
  })

  it('tiers, threshold and budget work as on disk', async () => {
    const fileSystem = new RenamingFileSystem()
    const manager = managerOn(fileSystem, { persist: 'large', memoryBudget: 5000 })
    const paths: string[] = []
    for (let index = 0; index < 20; index++) {
      paths.push(await manager.saveContext('tool', { index }, 'y'.repeat(500)))
    }
    const { memoryContexts, diskContexts, memoryBytes } = manager.stats()
    assert.ok(memoryBytes <= 5000)
    assert.equal(memoryContexts + diskContexts, 20)
    assert.deepEqual([...fileSystem.files.keys()], paths.slice(0, diskContexts))
    assert.equal((await manager.loadContexts(paths)).length, 20)
    await manager.clear()
    assert.equal(fileSystem.files.size, 0)
  })

  it('serves from memory without being asked', async () => {
    const fileSystem = new MemoryFileSystem()
    const manager = managerOn(fileSystem)
    const path = await manager.saveContext('tool', {}, 'small')
    const before = fileSystem.calls.length
    assert.equal((await manager.loadContext(path)).result, 'small')
    manager.getAllPointers()
    manager.selectRelevantContexts('tool', manager.getAllPointers())
    assert.equal(fileSystem.calls.length, before)
  })
})

describe('clearing an injected file system', () => {
  /** A directory with files of others, and the manager's own context. */
  async function crowd(): Promise<{ fileSystem: MemoryFileSystem; manager: ContextManager; others: string[] }> {
    const fileSystem = new MemoryFileSystem()
    const others = [
      await managerOn(fileSystem).saveContext('dead', {}, LARGE),
      await managerOn(fileSystem, { sessionId: 'other' }).saveContext('other', {}, 1),
    ]
    for (const name of ['package.json', 'notes.tmp', 'x_0123456789ab_1_7_0000000000000abc.json', '.x.lease']) {
      fileSystem.files.set(`${DIRECTORY}/${name}`, '{}')
      others.push(`${DIRECTORY}/${name}`)
    }
    fileSystem.files.set('/virtual-agent-context/x_0123456789ab_1_7_0000000000000abc.json', '{}')
    others.push('/virtual-agent-context/x_0123456789ab_1_7_0000000000000abc.json')
    return { fileSystem, manager: managerOn(fileSystem), others }
  }

  for (const name of ['clear', 'clearContextDir', 'clearContexts'] as const) {
    it(`${name} removes only the session's own files`, async () => {
      const { fileSystem, manager, others } = await crowd()
      const log = debugLog()
      const session = managerOn(fileSystem, { onDebug: log })
      await session.saveContext('own', {}, 1)
      await session.saveContext('own', {}, LARGE)
      await manager[name]()
      assert.equal(fileSystem.files.size, others.length + 2)
      await session[name]()
      assert.deepEqual([...fileSystem.files.keys()].sort(), others.sort())
      assert.deepEqual(deletedCounts(log), [2])
    })
  }

  it('sweep and forget spare the others, too', async () => {
    const { fileSystem, manager, others } = await crowd()
    const own = await manager.saveContext('own', {}, LARGE)
    const report = await manager.sweep()
    assert.equal(report.deletedFiles, 0)
    await rejectsWith(() => manager.forget(others[1] as string), 'ERR_CONTEXT_CONFLICT')
    assert.equal(await manager.forget(own), true)
    assert.deepEqual([...fileSystem.files.keys()].sort(), others.sort())
  })

  it('lists what every session left, and one session on demand', async () => {
    const { manager } = await crowd()
    await manager.saveContext('own', {}, 1)
    const toolsOf = async (session?: string): Promise<string[]> =>
      (await manager.listContexts(session)).map(({ toolName }) => toolName).sort()
    assert.deepEqual(await toolsOf(), ['dead', 'other', 'own'])
    assert.deepEqual(await toolsOf('other'), ['other'])
    assert.deepEqual(await toolsOf(manager.sessionId), ['own'])
    assert.deepEqual(await toolsOf('nobody'), [])
  })

  it('does not touch another file system with the same directory and session', async () => {
    const [one, two] = [new MemoryFileSystem(), new MemoryFileSystem()]
    const first = managerOn(one, { sessionId: 'same', persist: 'large' })
    const second = managerOn(two, { sessionId: 'same', persist: 'large' })
    const small = await first.saveContext('small', {}, 1)
    const large = await first.saveContext('large', {}, LARGE)
    assert.deepEqual(await second.listContexts(), [])
    assert.deepEqual(await second.loadContexts([small, large]), [])
    await second.clear()
    await second.clearContextDir()
    assert.equal(first.size, 2)
    assert.equal((await first.loadContexts([small, large])).length, 2)
  })
})
