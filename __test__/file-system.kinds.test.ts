/** The kinds of injected file systems that users write: synchronous, slow, failing, re-entrant, replaced. */

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type ContextError, ContextManager, type ContextManagerOptions, type IFileSystem } from '../dist/index.js'
import { debugLog, MemoryFileSystem, only, RenamingFileSystem, rejectsWith, wrong } from './support/fixtures.ts'

const DIRECTORY = '/virtual-agent-context/contexts'
const LARGE = 'x'.repeat(40_000)

const managerOn = (fileSystem: IFileSystem, options: ContextManagerOptions = {}): ContextManager =>
  new ContextManager({ contextDir: DIRECTORY, ...options, fileSystem })

async function saveAndLoad(manager: ContextManager): Promise<void> {
  const paths = await Promise.all([1, LARGE, { a: 1 }].map((result) => manager.saveContext('tool', {}, result)))
  assert.equal((await manager.loadContexts([...paths, 'missing.json'])).length, 3)
  assert.equal((await manager.listContexts()).length, 3)
  await rejectsWith(() => manager.loadContext('missing.json'), 'ERR_CONTEXT_NOT_FOUND')
  assert.equal(await manager.forget(paths[1] as string), true)
  await manager.clearContextDir()
  await manager.clear()
}

describe('an injected file system may be', () => {
  it('a plain object with synchronous methods', async () => {
    const files = new Map<string, string>()
    const directories = new Set<string>()
    const fileSystem = {
      readFile: (path: string): string => {
        const content = files.get(path)
        if (content === undefined) {
          throw Object.assign(new Error('missing'), { code: 'ENOENT' })
        }
        return content
      },
      writeFile: (path: string, content: string) => void files.set(path, content),
      exists: (path: string) => files.has(path) || directories.has(path),
      mkdir: (path: string) => void directories.add(path),
      chmod: () => {},
      resolvePath: (path: string) => path,
      joinPath: (...segments: string[]) => segments.join('/'),
      getHomeDir: () => '/',
      getCwd: () => '/',
      dirname: (path: string) => path,
      unlink: (path: string) => void files.delete(path),
      readdir: () => [...files.keys()].map((path) => path.slice(DIRECTORY.length + 1)),
    }
    await saveAndLoad(managerOn(wrong(fileSystem)))
    assert.equal(files.size, 0)
  })

  it('one that answers with thenables', async () => {
    const memory = new RenamingFileSystem()
    const thenables = new Proxy(memory, {
      get(target, name) {
        const method = Reflect.get(target, name) as (...parameters: unknown[]) => unknown
        if (['resolvePath', 'joinPath'].includes(String(name)) || typeof method !== 'function') {
          return method
        }
        return (...parameters: unknown[]) => ({
          // biome-ignore lint/suspicious/noThenProperty: a thenable is what is tested
          then: (resolve: (value: unknown) => void, reject: (reason: unknown) => void) => {
            Promise.resolve(method.apply(target, parameters)).then(resolve, reject)
          },
        })
      },
    })
    await saveAndLoad(managerOn(thenables))
    assert.equal(memory.files.size, 0)
  })

  it('a subclass with private fields', async () => {
    class Private extends MemoryFileSystem {
      #reads = 0
      override async readFile(path: string): Promise<string> {
        this.#reads++
        return super.readFile(path)
      }
      get reads(): number {
        return this.#reads
      }
    }
    const fileSystem = new Private()
    await saveAndLoad(managerOn(fileSystem))
    assert.ok(fileSystem.reads > 0)
  })

  it('slow', async () => {
    class Slow extends RenamingFileSystem {
      override async writeFile(path: string, content: string): Promise<void> {
        await sleep(5 + (content.length % 7))
        await super.writeFile(path, content)
      }
      override async readFile(path: string): Promise<string> {
        await sleep(5)
        return super.readFile(path)
      }
      override async exists(path: string): Promise<boolean> {
        await sleep(3)
        return super.exists(path)
      }
      override async rename(from: string, to: string): Promise<void> {
        await sleep(5)
        await super.rename(from, to)
      }
    }
    await saveAndLoad(managerOn(new Slow()))
    const fileSystem = new Slow()
    const manager = managerOn(fileSystem)
    const saves = Array.from({ length: 50 }, (_, index) => manager.saveContext('tool', { index }, LARGE))
    await manager.clear()
    await Promise.all(saves)
    assert.equal(fileSystem.files.size, 0, 'clear waits for what is under way')
  })

  it('re-entrant: writeFile awaits another save of the same manager', async () => {
    const fileSystem = new RenamingFileSystem()
    const write = fileSystem.writeFile.bind(fileSystem)
    let depth = 0
    const manager: ContextManager = managerOn(fileSystem)
    fileSystem.writeFile = async (path, content) => {
      if (depth < 20) {
        depth++
        await manager.saveContext('inner', { depth }, LARGE)
      }
      await write(path, content)
    }
    await manager.saveContext('outer', {}, 1)
    assert.equal(manager.size, 21)
    assert.equal(fileSystem.files.size, 21)
    assert.equal(manager.getAllPointers()[0]?.toolName, 'outer')
    await manager.clear()
  })

  it('re-entrant: every method uses the synchronous members', async () => {
    const fileSystem = new RenamingFileSystem()
    let calls = 0
    const spied = new Proxy(fileSystem, {
      get(target, name, receiver) {
        const value = Reflect.get(target, name, receiver) as unknown
        if (typeof value === 'function' && manager !== undefined) {
          calls++
          manager.selectRelevantContexts('tool', manager.getAllPointers())
          manager.stats()
          manager.getPointersForQuery('q')
        }
        return value
      },
    })
    let manager: ContextManager | undefined
    const made = managerOn(spied)
    manager = made
    await saveAndLoad(made)
    assert.ok(calls > 10)
  })

  it('re-entrant: a spilling save saves', async () => {
    const fileSystem = new MemoryFileSystem()
    const write = fileSystem.writeFile.bind(fileSystem)
    const manager: ContextManager = managerOn(fileSystem, { persist: 'large', memoryBudget: 2000 })
    let extra = 0
    fileSystem.writeFile = async (path, content) => {
      if (extra < 10) {
        await manager.saveContext('extra', { extra: extra++ }, 'z'.repeat(300))
      }
      await write(path, content)
    }
    for (let index = 0; index < 20; index++) {
      await manager.saveContext('tool', { index }, 'y'.repeat(300))
    }
    const paths = manager.getAllPointers().map(({ filepath }) => filepath)
    assert.equal(paths.length, 30)
    assert.equal((await manager.loadContexts(paths)).length, 30)
    assert.ok(manager.stats().memoryBytes <= 2000)
  })

  it('changed after the construction, as mocks are', async () => {
    const fileSystem = new RenamingFileSystem()
    const manager = managerOn(fileSystem)
    await manager.saveContext('tool', {}, LARGE)
    const seen: string[] = []
    for (const method of ['writeFile', 'rename', 'readFile', 'exists', 'readdir', 'unlink', 'chmod'] as const) {
      const original = fileSystem[method] as (...parameters: unknown[]) => unknown
      Object.assign(fileSystem, {
        [method](this: unknown, ...parameters: unknown[]) {
          assert.equal(this, fileSystem)
          seen.push(method)
          return original.apply(this, parameters)
        },
      })
    }
    const path = await manager.saveContext('tool', {}, LARGE)
    await manager.loadContext(path)
    await manager.listContexts()
    await manager.clear()
    for (const method of ['writeFile', 'rename', 'readFile', 'readdir', 'unlink']) {
      assert.ok(seen.includes(method), method)
    }
  })

  const robberies: ['writeFile' | 'rename', new () => MemoryFileSystem][] = [
    ['writeFile', MemoryFileSystem],
    ['writeFile', RenamingFileSystem],
    ['rename', RenamingFileSystem],
  ]
  for (const [method, Kind] of robberies) {
    it(`a ${Kind.name} robbed of ${method} later: a save says so or keeps its promise`, async () => {
      const fileSystem = new Kind()
      const manager = managerOn(fileSystem)
      await manager.saveContext('tool', {}, 1)
      Object.assign(fileSystem, { [method]: undefined })
      const path = await manager.saveContext('tool', {}, LARGE).catch((error: ContextError) => {
        assert.equal(error.code, 'ERR_CONTEXT_IO')
        return undefined
      })
      if (path !== undefined) {
        assert.ok(fileSystem.files.has(path), 'acknowledged, but there is no file')
      }
    })
  }
})

describe('an injected file system may fail', () => {
  const thrown: [string, unknown][] = [
    ['an Error', new Error('the cloud is down')],
    ['an error with a code', Object.assign(new Error('full'), { code: 'ENOSPC' })],
    ['a text', 'just text'],
    ['an object', { reason: 1 }],
    ['a number', 7],
    ['a symbol', Symbol('s')],
    ['a function', () => {}],
    ['an object without a prototype', Object.create(null)],
    [
      'an error whose message throws',
      Object.defineProperty(new Error('x'), 'message', {
        get: () => {
          throw new Error('no message')
        },
      }),
    ],
  ]
  for (const [name, value] of thrown) {
    it(`with ${name}: it is the cause, rejected or thrown`, async () => {
      for (const isThrown of [true, false]) {
        const fileSystem = new RenamingFileSystem()
        const manager = managerOn(fileSystem)
        const kept = await manager.saveContext('kept', {}, LARGE)
        fileSystem.writeFile = () => {
          if (isThrown) {
            throw value
          }
          return Promise.reject(value)
        }
        const error = await rejectsWith(() => manager.saveContext('tool', {}, 1), 'ERR_CONTEXT_IO')
        assert.equal(error.cause, value)
        assert.equal((await manager.loadContext(kept)).toolName, 'kept')
        assert.equal(manager.size, 1)
        assert.deepEqual([...fileSystem.files.keys()], [kept])
      }
    })
  }

  it('with nothing at all as the reason', async () => {
    for (const value of [undefined, null]) {
      const fileSystem = new MemoryFileSystem()
      fileSystem.writeFile = () => Promise.reject(value)
      await rejectsWith(() => managerOn(fileSystem).saveContext('tool', {}, 1), 'ERR_CONTEXT_IO')
    }
  })

  it('keeps the identity of each cause when many fail at once', async () => {
    const fileSystem = new MemoryFileSystem()
    const causes = new Map<string, Error>()
    fileSystem.writeFile = async (path) => {
      await sleep(1)
      const error = new Error(path)
      causes.set(path, error)
      throw error
    }
    const manager = managerOn(fileSystem)
    const errors = await Promise.all(
      Array.from({ length: 200 }, (_, index) => manager.saveContext('tool', { index }, 1).catch((error) => error)),
    )
    assert.equal(causes.size, 200)
    assert.deepEqual(new Set(errors.map((error: ContextError) => error.cause)), new Set(causes.values()))
  })

  it('in the middle of a write, and nothing of it stays', async () => {
    for (const fileSystem of [new MemoryFileSystem(), new RenamingFileSystem()]) {
      const manager = managerOn(fileSystem)
      const cause = Object.assign(new Error('no space left'), { code: 'ENOSPC' })
      fileSystem.writeFile = async (path, content) => {
        fileSystem.files.set(path, content.slice(0, content.length / 2))
        throw cause
      }
      const error = await rejectsWith(() => manager.saveContext('tool', {}, LARGE), 'ERR_CONTEXT_IO')
      assert.equal(error.cause, cause)
      assert.deepEqual([...fileSystem.files.keys()], [], fileSystem.constructor.name)
    }
  })

  it('to rename, and no temporary file stays', async () => {
    const fileSystem = new RenamingFileSystem()
    const cause = new Error('no renaming today')
    fileSystem.rename = async () => {
      throw cause
    }
    const error = await rejectsWith(() => managerOn(fileSystem).saveContext('tool', {}, 1), 'ERR_CONTEXT_IO')
    assert.equal(error.cause, cause)
    assert.equal(fileSystem.files.size, 0)
  })

  it('to make the directory', async () => {
    const fileSystem = new MemoryFileSystem()
    const cause = Object.assign(new Error('not allowed'), { code: 'EACCES' })
    fileSystem.mkdir = async () => {
      throw cause
    }
    const error = await rejectsWith(() => managerOn(fileSystem).saveContext('tool', {}, 1), 'ERR_CONTEXT_IO')
    assert.equal(error.cause, cause)
  })

  it('to read: the batch skips and reports, the single load rejects with the cause', async () => {
    const fileSystem = new MemoryFileSystem()
    const log = debugLog()
    const manager = managerOn(fileSystem, { onDebug: log })
    const path = await manager.saveContext('tool', {}, LARGE)
    const cause = Object.assign(new Error('bad sector'), { code: 'EIO' })
    fileSystem.readFile = async () => {
      throw cause
    }
    const error = await rejectsWith(() => manager.loadContext(path), 'ERR_CONTEXT_IO', /bad sector/)
    assert.equal(error.cause, cause)
    assert.deepEqual(await manager.loadContexts([path]), [])
    assert.match(log.messages.at(-1) ?? '', /Failed to load/)
  })

  it('to read with anything but a text', async () => {
    const fileSystem = new MemoryFileSystem()
    const manager = managerOn(fileSystem)
    const path = await manager.saveContext('tool', {}, LARGE)
    for (const answer of [undefined, null, 5, Buffer.from('{}'), {}]) {
      fileSystem.readFile = () => wrong(Promise.resolve(answer))
      await rejectsWith(() => manager.loadContext(path), 'ERR_CONTEXT_IO', /readFile/)
    }
    fileSystem.readFile = async () => ''
    await rejectsWith(() => manager.loadContext(path), 'ERR_CONTEXT_CORRUPT')
    fileSystem.readFile = async () => '{"toolName":"x"'
    await rejectsWith(() => manager.loadContext(path), 'ERR_CONTEXT_CORRUPT')
  })

  it('without a code for missing files: `exists` decides', async () => {
    const fileSystem = new MemoryFileSystem()
    const manager = managerOn(fileSystem)
    const path = await manager.saveContext('tool', {}, LARGE)
    const codeless = async (missing: string): Promise<never> => {
      throw new Error(`File not found: ${missing}`)
    }
    const { readFile, unlink } = fileSystem
    fileSystem.readFile = async (wanted) =>
      fileSystem.files.has(wanted) ? readFile.call(fileSystem, wanted) : codeless(wanted)
    fileSystem.unlink = async (wanted) =>
      fileSystem.files.has(wanted) ? unlink.call(fileSystem, wanted) : codeless(wanted)
    await rejectsWith(() => manager.loadContext('missing.json'), 'ERR_CONTEXT_NOT_FOUND')
    assert.equal((await manager.loadContext(path)).result, LARGE)
    fileSystem.files.clear()
    await rejectsWith(() => manager.loadContext(path), 'ERR_CONTEXT_NOT_FOUND')
    await manager.clear()
    assert.equal(manager.size, 0)
  })

  it('to unlink: clearing says so, removes the rest and can be repeated', async () => {
    const fileSystem = new MemoryFileSystem()
    const manager = managerOn(fileSystem)
    const paths = [await manager.saveContext('a', {}, 1), await manager.saveContext('b', {}, LARGE)]
    const unlink = fileSystem.unlink.bind(fileSystem)
    const cause = Object.assign(new Error('stubborn'), { code: 'EPERM' })
    fileSystem.unlink = async (path) => {
      if (path === paths[0]) {
        throw cause
      }
      await unlink(path)
    }
    const error = await rejectsWith(() => manager.clear(), 'ERR_CONTEXT_IO', /stubborn/)
    assert.equal(error.cause, cause)
    assert.deepEqual([...fileSystem.files.keys()], [paths[0]])
    fileSystem.unlink = unlink
    await manager.clear()
    assert.equal(fileSystem.files.size, 0, 'the second clear removes what the first could not')
  })

  it('to list', async () => {
    const fileSystem = new MemoryFileSystem()
    const manager = managerOn(fileSystem)
    await manager.saveContext('a', {}, 1)
    const cause = new Error('unreadable')
    fileSystem.readdir = async () => {
      throw cause
    }
    const error = await rejectsWith(() => manager.listContexts(), 'ERR_CONTEXT_IO')
    assert.equal(error.cause, cause)
    fileSystem.readdir = () => wrong(Promise.resolve('x'))
    await rejectsWith(() => manager.listContexts(), 'ERR_CONTEXT_IO', /readdir/)
    assert.equal(only(manager.getAllPointers()).toolName, 'a')
  })

  it('and recover', async () => {
    const fileSystem = new RenamingFileSystem()
    const manager = managerOn(fileSystem)
    const write = fileSystem.writeFile
    fileSystem.writeFile = async () => {
      throw new Error('for a while')
    }
    await rejectsWith(() => manager.saveContext('tool', {}, 1), 'ERR_CONTEXT_IO')
    fileSystem.writeFile = write
    assert.ok(fileSystem.files.has(await manager.saveContext('tool', {}, 1)))
  })

  it('while memory spills over: the output stays in memory', async () => {
    const fileSystem = new MemoryFileSystem()
    const log = debugLog()
    const manager = managerOn(fileSystem, { persist: 'large', memoryBudget: 1000, onDebug: log })
    const write = fileSystem.writeFile
    fileSystem.writeFile = async () => {
      throw new Error('disk away')
    }
    const paths: string[] = []
    for (let index = 0; index < 10; index++) {
      paths.push(await manager.saveContext('tool', { index }, 'y'.repeat(300)))
    }
    assert.equal((await manager.loadContexts(paths)).length, 10)
    assert.match(log.messages.join('\n'), /Failed to move/)
    fileSystem.writeFile = write
    paths.push(await manager.saveContext('tool', {}, 'y'))
    assert.ok(manager.stats().memoryBytes <= 1000)
    assert.equal((await manager.loadContexts(paths)).length, 11)
  })
})
