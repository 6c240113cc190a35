import assert from 'node:assert/strict'
import { chmodSync, lstatSync, readlinkSync, symlinkSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, test } from 'node:test'
import type { ContextManagerOptions, ContextPointer, IFileSystem } from '../dist/index.js'
import { ContextManager } from './support/managers.ts'
import { isOnDisk, onDisk } from './support/postgres.ts'
import {
  contextsIn,
  endLocksIn,
  holds,
  inDirectory,
  leasesIn,
  namesIn,
  PATIENT,
  recordIn,
  run,
  start,
  temporariesIn,
} from './support/processes.ts'
import {
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  writeFiles,
} from './support/stored-files.ts'

const isPosix = process.platform !== 'win32'
const OWNER = '0123456789abcdef'
/** Fewer in a database, where a round takes a second. */
const ROUNDS = isOnDisk ? 60 : 6

/** Saves the numbers from 0 up, all at once. */
function saveMany(manager: ContextManager, count: number, tool = 'tool', text = ''): Promise<string[]> {
  return Promise.all(
    Array.from({ length: count }, (_, number) => manager.saveContext(tool, { number }, { number, text })),
  )
}

const pathsOf = (pointers: readonly ContextPointer[]): string[] => pointers.map(({ filepath }) => filepath)

/** The name of a context that no process here made. */
function strangeName(number: number, tool = 'read_file', timestamp = 1_700_000_000_000): string {
  return `${tool}_0123456789ab_${timestamp + number}_${number}_${number.toString(16).padStart(16, '0')}.json`
}

/** What a dead session leaves: records on disk without a lease. Returns their paths, oldest first. */
function leaveContexts(directory: string, count: number, sessionId = 'long dead', firstNumber = 0): string[] {
  mkdirSync(directory, { recursive: true })
  const files = Array.from({ length: count }, (_, index): [string, string] => {
    const number = firstNumber + index
    const timestamp = new Date(1_700_000_000_000 + number).toISOString()
    const head = { toolName: 'read_file', toolDescription: 'read_file', timestamp, sessionId }
    const path = join(directory, strangeName(number))
    return [path, JSON.stringify({ ...head, args: { number }, result: number })]
  })
  writeFiles(Object.fromEntries(files))
  return files.map(([path]) => path)
}

/** Creates files that do not belong to this package; returns a check that all are unchanged. */
function placeForeignFiles(directory: string): () => void {
  mkdirSync(directory, { recursive: true })
  const record = JSON.stringify({ toolName: 'read_file', args: {}, result: 1, sessionId: 'of somebody' })
  const outside = `${directory}-outside.json`
  writeFileSync(outside, record)
  const files: Record<string, string> = {
    'package.json': '{"name":"precious"}',
    '.env': 'SECRET=1',
    'notes.tmp': 'temporary, but mine',
    '.0123456789abcdef-x.tmp': 'not a name of ours',
    '.0123456789ABCDEF-1.tmp': 'nor this one',
    'my.lease': '+session\n',
    '.lease': '',
    'read_file_a1b2c3.json': record, // specification 2's own names: no name of ours
    [strangeName(1)]: '{"name":"a record of somebody else"}',
    [strangeName(2)]: '[1, 2, 3]',
    [strangeName(3)]: 'no JSON at all',
    [strangeName(4)]: '',
    [strangeName(5)]: JSON.stringify({ toolName: 'read_file', args: {}, result: 'no session in it' }),
    [`${strangeName(6)}.bak`]: record,
  }
  for (const [name, content] of Object.entries(files)) {
    writeFileSync(join(directory, name), content)
  }
  const folders = ['src', strangeName(7)]
  for (const folder of folders) {
    mkdirSync(join(directory, folder))
    writeFileSync(join(directory, folder, strangeName(8)), record)
  }
  const links: Record<string, string> =
    isPosix && isOnDisk ? { [strangeName(9)]: outside, [strangeName(10)]: '/nowhere/at/all' } : {}
  for (const [name, target] of Object.entries(links)) {
    symlinkSync(target, join(directory, name))
  }
  return () => {
    for (const [name, content] of Object.entries(files)) {
      assert.equal(readFileSync(join(directory, name), 'utf8'), content, name)
    }
    for (const folder of folders) {
      assert.equal(readFileSync(join(directory, folder, strangeName(8)), 'utf8'), record, folder)
    }
    for (const [name, target] of Object.entries(links)) {
      assert.equal(readlinkSync(join(directory, name)), target, name)
    }
    assert.equal(readFileSync(outside, 'utf8'), record)
    rmSync(outside)
  }
}

describe('session ids', () => {
  test(
    'a named session shows in file names, a fresh id does not',
    inDirectory(async (contextDir) => {
      const named = new ContextManager({ contextDir, sessionId: 'session-abc123' })
      const fresh = new ContextManager({ contextDir })
      const other = new ContextManager({ contextDir })
      assert.equal(named.sessionId, 'session-abc123')
      assert.notEqual(fresh.sessionId, other.sessionId)
      assert.match(basename(await named.saveContext('read_file', {}, 1)), /^session-abc123-read_file_/)
      assert.match(basename(await fresh.saveContext('read_file', {}, 1)), /^read_file_/)
      const [pointer] = named.getAllPointers()
      assert.equal(pointer?.sessionId, 'session-abc123')
      assert.equal((await fresh.loadContext(fresh.getAllPointers()[0]?.filepath ?? '')).sessionId, fresh.sessionId)
      await Promise.all([named.clear(), fresh.clear()])
    }),
  )

  test(
    'a session ends with its files of either spelling, and no other session loses any',
    inDirectory(async (contextDir) => {
      const ids = ['a-b', 'a_b', 'a', 'a-b-c', '-b', '_b']
      const managers = ids.map((sessionId) => new ContextManager({ contextDir, sessionId }))
      const paths = await Promise.all(managers.map((manager) => manager.saveContext('tool', {}, manager.sessionId)))
      assert.deepEqual(
        paths.map((path) => basename(path).split('tool')[0]),
        ['a-b-', 'a_b-', 'a-', 'a-b-c-', '_b-', '_b-'],
      )
      // As files were called when `-` in a session was written as `_`.
      const former = join(
        contextDir,
        basename(paths[0] ?? '')
          .replace(/^a-b-/, 'a_b-')
          .replace(/_[0-9a-f]{16}/, `_${'f'.repeat(16)}`),
      )
      writeFileSync(former, readFileSync(paths[0] ?? ''))
      const stranger = join(contextDir, basename(former).replace('f'.repeat(16), 'e'.repeat(16)))
      writeFileSync(stranger, readFileSync(paths[1] ?? ''))
      const resumed = new ContextManager({ contextDir, sessionId: 'a-b' })
      assert.deepEqual(
        (await resumed.listContexts('a-b')).map(({ filepath }) => filepath).sort(),
        [former, paths[0]].sort(),
      )
      await resumed.clear()
      assert.deepEqual([existsSync(paths[0] ?? ''), existsSync(former)], [false, false])
      for (const path of [...paths.slice(1), stranger]) {
        holds(existsSync(path), path)
      }
      await Promise.all(managers.map((manager) => manager.clear()))
      assert.deepEqual(contextsIn(contextDir), [])
    }),
  )

  for (const sessionId of [
    '../../escape',
    'a/b\\c',
    '..',
    'CON',
    '-',
    '🙂🙂',
    'ü'.repeat(200),
    'with space',
    '+',
    '.lease',
  ]) {
    test(
      `${JSON.stringify(sessionId.slice(0, 20))} is a session like any other`,
      inDirectory(async (directory) => {
        const contextDir = join(directory, 'contexts')
        const manager = new ContextManager({ contextDir, sessionId })
        const path = await manager.saveContext('tool', {}, 'result')
        assert.equal(join(contextDir, basename(path)), path)
        holds(basename(path).length < 200)
        assert.deepEqual(contextsIn(contextDir), [basename(path)])
        assert.deepEqual(pathsOf(await manager.listContexts(sessionId)), [path])
        assert.equal((await new ContextManager({ contextDir }).sweep()).liveSessions, 1)
        await manager.clear()
        assert.deepEqual(namesIn(contextDir), [])
        assert.deepEqual(namesIn(directory), isOnDisk ? ['contexts'] : [])
      }),
    )
  }

  test(
    'managers that share an id are one session: clearing one removes files and pointers of all',
    inDirectory(async (contextDir) => {
      const managers = [1, 2, 3].map(() => new ContextManager({ contextDir, sessionId: 'shared' }))
      const large = new ContextManager({ contextDir, sessionId: 'shared', persist: 'large' })
      const paths = (await Promise.all([...managers, large].map((manager) => saveMany(manager, 5)))).flat()
      assert.equal(contextsIn(contextDir).length, 15)
      await managers[1]?.clear()
      assert.deepEqual(
        [...managers, large].map(({ size }) => size),
        [0, 0, 0, 0],
      )
      assert.deepEqual(namesIn(contextDir), [])
      for (const manager of [...managers, large]) {
        assert.deepEqual(await manager.loadContexts(paths), [])
        assert.deepEqual(manager.getAllPointers(), [])
      }
      const path = await managers[0]?.saveContext('again', {}, 1)
      assert.deepEqual(contextsIn(contextDir), [basename(path ?? '')])
      await managers[2]?.clear()
      assert.deepEqual(namesIn(contextDir), [])
    }),
  )

  test(
    'managers that share an id and reach the directory by different ways are one session',
    { skip: !isPosix || onDisk('links').skip },
    inDirectory(async (directory) => {
      const real = join(directory, 'real')
      mkdirSync(real)
      symlinkSync(real, join(directory, 'link'))
      const first = new ContextManager({ contextDir: real, sessionId: 'shared' })
      const second = new ContextManager({ contextDir: join(directory, 'link'), sessionId: 'shared' })
      const small = new ContextManager({ contextDir: real, sessionId: 'shared', persist: 'large' })
      await Promise.all([saveMany(first, 3), saveMany(second, 3), saveMany(small, 3)])
      assert.equal((await second.listContexts('shared')).length, 9, 'what only memory holds is listed')
      await second.clear()
      assert.deepEqual([first.size, second.size, small.size], [0, 0, 0])
      assert.deepEqual(namesIn(real), [])
    }),
  )

  test(
    'managers with different ids do not touch each other, however alike the ids are',
    inDirectory(async (contextDir) => {
      const ids = ['a', 'a-b', 'a_b', 'a.b', 'A', 'a b', 'ab']
      const managers = ids.map((sessionId) => new ContextManager({ contextDir, sessionId }))
      managers.push(new ContextManager({ contextDir }), new ContextManager({ contextDir }))
      await Promise.all(managers.map((manager) => saveMany(manager, 3, 'b-tool')))
      let files = 3 * managers.length
      for (const manager of managers) {
        assert.equal(contextsIn(contextDir).length, files)
        await manager.clear()
        files -= 3
        assert.equal(contextsIn(contextDir).length, files)
        assert.equal(manager.size, 0)
        const rest = managers.slice(managers.indexOf(manager) + 1)
        for (const other of rest) {
          assert.equal(other.size, 3)
          assert.equal((await other.loadContexts(pathsOf(other.getAllPointers()))).length, 3)
        }
      }
      assert.deepEqual(namesIn(contextDir), [])
    }),
  )

  test(
    'a session that is resumed starts without pointers; its old files can be read and go with clear()',
    inDirectory(async (contextDir) => {
      const first = new ContextManager({ contextDir, sessionId: 'resumed' })
      const paths = await saveMany(first, 4)
      await first.close()
      first.clearPointers()
      const second = new ContextManager({ contextDir, sessionId: 'resumed' })
      assert.deepEqual(second.getAllPointers(), [])
      assert.equal(second.size, 0)
      assert.equal((await second.loadContexts(paths)).length, 4)
      assert.equal((await second.listContexts('resumed')).length, 4)
      assert.equal(second.size, 0, 'listing restores nothing')
      await second.saveContext('new', {}, 1)
      assert.equal(second.size, 1)
      await second.clear()
      assert.deepEqual(namesIn(contextDir), [])
    }),
  )

  test(
    'a session resumed in another process starts without pointers, and clear() takes what the first left',
    PATIENT,
    inDirectory(async (contextDir) => {
      const lines = await run('session.mjs', [contextDir, 'resumed', 3, 0, 'exit'])
      const manager = new ContextManager({ contextDir, sessionId: 'resumed' })
      assert.deepEqual(manager.getAllPointers(), [])
      assert.equal((await manager.loadContexts(lines.slice(0, 3))).length, 3)
      await manager.clear()
      assert.deepEqual(contextsIn(contextDir), [])
    }),
  )
})

describe('clear()', () => {
  const policies: [string, (manager: ContextManager) => Promise<unknown>][] = [
    ['clear', (manager) => manager.clear()],
    ['clearContextDir', (manager) => manager.clearContextDir()],
    ['clearContexts', (manager) => manager.clearContexts()],
    ['asyncDispose', (manager) => manager[Symbol.asyncDispose]()],
    ['sweep', (manager) => manager.sweep()],
  ]
  for (const [name, end] of policies) {
    for (const sessionId of ['named', undefined]) {
      test(
        `${name} leaves foreign files in place (${sessionId ?? 'fresh'} session)`,
        inDirectory(async (directory) => {
          const contextDir = join(directory, 'home')
          const checkForeignFiles = placeForeignFiles(contextDir)
          const before = namesIn(contextDir)
          const manager = new ContextManager({
            contextDir,
            ...(sessionId === undefined ? {} : { sessionId }),
            retention: { maxAge: '0ms', maxFiles: 0, maxBytes: 0 },
          })
          await saveMany(manager, 3)
          // The table of handles, and what says that a named session is not over.
          const kept = sessionId === undefined ? 1 : 2
          assert.equal(namesIn(contextDir).length, before.length + 4 + kept)
          await end(manager)
          await manager.clear()
          assert.deepEqual(namesIn(contextDir), before)
          checkForeignFiles()
        }),
      )
    }
  }

  test(
    'takes every save called before it and none called after',
    PATIENT,
    inDirectory(async (directory) => {
      for (let round = 0; round < ROUNDS; round++) {
        const contextDir = join(directory, String(round))
        const options: ContextManagerOptions = round % 2 === 0 ? { contextDir } : { contextDir, sessionId: 'named' }
        const manager = new ContextManager(options)
        const before = saveMany(manager, 10, 'before')
        const cleared = manager.clear()
        const after = saveMany(manager, 10, 'after')
        await cleared
        for (const path of await before) {
          holds(!existsSync(path), 'a save called before clear() is gone')
        }
        for (const path of await after) {
          holds(existsSync(path), `round ${round}: a save called after clear() stays`)
        }
        const pointers = manager.getAllPointers()
        assert.deepEqual(pathsOf(pointers), await after)
        holds(pointers.every(({ toolName }) => toolName === 'after'))
        assert.equal((await manager.loadContexts(await after)).length, 10)
        assert.equal(leasesIn(contextDir).length, 1, 'the session is alive')
        await manager.clear()
        assert.deepEqual(namesIn(contextDir), [])
      }
    }),
  )

  test('takes what an earlier run of the session left while a later save is under way', async () => {
    // An injected file system holds the later save up for as long as the clearing takes.
    const head = { toolName: 'tool', toolDescription: 'tool', timestamp: new Date(0).toISOString(), sessionId: 'named' }
    const left = [0, 1, 2].map((number) => `/contexts/named-${strangeName(number, 'tool')}`)
    const files = new Map(left.map((path) => [path, JSON.stringify({ ...head, args: {}, result: 'left' })]))
    let release = (): void => {}
    const released = new Promise<void>((resolve) => {
      release = resolve
    })
    const fileSystem: IFileSystem = {
      readFile: async (path) => files.get(path) ?? '',
      writeFile: async (path, content) => {
        await released
        files.set(path, content)
      },
      exists: async (path) => path === '/contexts' || files.has(path),
      mkdir: async () => {},
      chmod: async () => {},
      resolvePath: (path) => path,
      joinPath: (...parts) => parts.join('/'),
      getHomeDir: () => '/',
      getCwd: () => '/',
      dirname: () => '/contexts',
      unlink: async (path) => void files.delete(path),
      readdir: async () => [...files.keys()].map((path) => path.slice('/contexts/'.length)),
    }
    const manager = new ContextManager({ contextDir: '/contexts', sessionId: 'named', fileSystem })
    const cleared = manager.clear()
    const later = manager.saveContext('tool', {}, 'later')
    await cleared
    const remaining = [...files.keys()]
    release() // before the check: a save that never ends would keep the process alive
    await later
    assert.deepEqual(remaining, [])
    assert.deepEqual([...files.keys()], [await later])
  })

  test(
    'called while 200 saves are under way waits for them and takes them all',
    PATIENT,
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir })
      const sibling = new ContextManager({ contextDir, sessionId: manager.sessionId })
      const saves = saveMany(manager, 200, 'tool', 'x'.repeat(40_000))
      const more = saveMany(sibling, 50)
      await manager.clear()
      const paths = await saves
      assert.equal(new Set(paths).size, 200)
      await more
      assert.deepEqual([manager.size, sibling.size], [0, 0])
      assert.deepEqual(namesIn(contextDir), [])
      const { contexts, memoryBytes, diskContexts, diskBytes } = manager.stats()
      assert.deepEqual(
        { contexts, memoryBytes, diskContexts, diskBytes },
        { contexts: 0, memoryBytes: 0, diskContexts: 0, diskBytes: 0 },
      )
    }),
  )

  test(
    'many at once, between saves, leave nothing and reject nothing',
    PATIENT,
    inDirectory(async (contextDir) => {
      const managers = [1, 2, 3].map(() => new ContextManager({ contextDir, sessionId: 'shared' }))
      const work: Promise<unknown>[] = []
      for (let round = 0; round < 30; round++) {
        for (const manager of managers) {
          work.push(manager.saveContext('tool', { round }, 'x'.repeat(2000)), manager.clear())
        }
        work.push(managers[0]?.clearContextDir() ?? Promise.resolve())
      }
      await Promise.all(work)
      await managers[0]?.clear()
      assert.deepEqual(
        managers.map(({ size }) => size),
        [0, 0, 0],
      )
      assert.deepEqual(namesIn(contextDir), [])
    }),
  )

  test(
    'also takes files whose pointers were cleared',
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir })
      await saveMany(manager, 3)
      manager.clearPointers()
      assert.equal(manager.size, 0)
      assert.equal(contextsIn(contextDir).length, 3)
      await manager.clear()
      assert.deepEqual(namesIn(contextDir), [])
    }),
  )

  test(
    'takes the files of a process that shares the session, not its later ones',
    PATIENT,
    inDirectory(async (contextDir) => {
      const child = start('session.mjs', [contextDir, 'shared', 3, 0, 'stay'])
      while (!(await child.line()).startsWith('ready')) {}
      const manager = new ContextManager({ contextDir, sessionId: 'shared' })
      await saveMany(manager, 2)
      assert.equal(contextsIn(contextDir).length, 5)
      await manager.clear()
      assert.deepEqual(contextsIn(contextDir), [])
      child.send('save')
      const path = await child.line()
      holds(existsSync(path))
      child.send('clear')
      assert.equal(await child.line(), 'cleared')
      assert.deepEqual(namesIn(contextDir), [])
      child.send('end')
      assert.equal((await child.ended).code, 0)
    }),
  )

  test(
    'of a session that never saved creates nothing',
    inDirectory(async (directory) => {
      const contextDir = join(directory, 'never')
      for (const sessionId of ['named', undefined]) {
        const manager = new ContextManager({ contextDir, ...(sessionId === undefined ? {} : { sessionId }) })
        await manager.clear()
        await manager.clearContextDir()
        await manager.close()
        assert.deepEqual(await manager.listContexts(), [])
        assert.equal((await manager.sweep()).deletedFiles, 0)
      }
      holds(!existsSync(contextDir))
    }),
  )

  test(
    'tells through onDebug how many files went',
    inDirectory(async (contextDir) => {
      const counts: unknown[] = []
      const manager = new ContextManager({
        contextDir,
        onDebug: (_, data) => {
          const { deletedCount } = (data ?? {}) as { deletedCount?: unknown }
          if (deletedCount !== undefined) {
            counts.push(deletedCount)
          }
        },
      })
      await saveMany(manager, 7)
      await manager.clear()
      await manager.clear()
      assert.deepEqual(counts, [7, 0])
    }),
  )
})

describe('clearContextDir()', () => {
  test(
    'removes own files and those of dead sessions, keeps those of sessions alive',
    PATIENT,
    inDirectory(async (contextDir) => {
      const alive = start('session.mjs', [contextDir, '', 3, 0, 'stay'])
      const alivePaths = [await alive.line(), await alive.line(), await alive.line()]
      await alive.line()
      await run('session.mjs', [contextDir, '', 4, 0, 'exit'])
      leaveContexts(contextDir, 5)
      const neighbour = new ContextManager({ contextDir })
      const [neighbourPath] = await saveMany(neighbour, 1)
      const manager = new ContextManager({ contextDir })
      await saveMany(manager, 6)
      assert.equal(contextsIn(contextDir).length, 19)
      await manager.clearContextDir()
      assert.deepEqual(
        contextsIn(contextDir),
        [...alivePaths, neighbourPath ?? ''].map((path) => basename(path)).sort(),
      )
      alive.send('end')
      assert.equal((await alive.ended).code, 0)
      await neighbour.clear()
      await manager.clearContextDir()
      assert.deepEqual(namesIn(contextDir), [], 'the session of the child is over')
    }),
  )

  test(
    'keeps pointers, whose contexts are then not found, and leaves the manager usable',
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir })
      const paths = await saveMany(manager, 3)
      await manager.clearContextDir()
      assert.equal(manager.size, 3)
      assert.deepEqual(await manager.loadContexts(paths), [])
      await assert.rejects(manager.loadContext(paths[0] ?? ''), { code: 'ERR_CONTEXT_NOT_FOUND' })
      await manager.saveContext('again', {}, 1)
      assert.equal(contextsIn(contextDir).length, 1)
      assert.equal(leasesIn(contextDir).length, 1)
      await manager.clear()
      assert.deepEqual(namesIn(contextDir), [])
    }),
  )

  test(
    'takes every save called before it and none called after',
    PATIENT,
    inDirectory(async (directory) => {
      for (let round = 0; round < (isOnDisk ? 40 : 6); round++) {
        const contextDir = join(directory, String(round))
        const options: ContextManagerOptions = round % 2 === 0 ? { contextDir } : { contextDir, sessionId: 'named' }
        const manager = new ContextManager(options)
        const sibling = new ContextManager({ ...options, sessionId: manager.sessionId })
        await sibling.saveContext('sibling', {}, 0)
        const before = saveMany(manager, 20, 'before')
        const cleared = manager.clearContextDir()
        const after = saveMany(manager, 5, 'after')
        const fromSibling = saveMany(sibling, 5, 'sibling')
        await cleared
        for (const path of await before) {
          holds(!existsSync(path), 'a save called before is gone')
        }
        for (const path of [...(await after), ...(await fromSibling)]) {
          holds(existsSync(path), `round ${round}: a save called after clearContextDir() stays`)
        }
        await Promise.all([manager.clear(), sibling.clear()])
      }
    }),
  )
})

describe('the lease', () => {
  test(
    'is there from the first save until clear()',
    inDirectory(async (directory) => {
      const contextDir = join(directory, 'contexts')
      const manager = new ContextManager({ contextDir })
      await manager.listContexts()
      await manager.sweep()
      holds(!existsSync(contextDir), 'nothing is made before the first save')
      await manager.saveContext('tool', {}, 1)
      const [lease] = leasesIn(contextDir)
      holds(lease !== undefined)
      if (isPosix && isOnDisk) {
        assert.equal(statSync(join(contextDir, lease)).mode & 0o777, 0o600)
        assert.equal(statSync(contextDir).mode & 0o777, 0o700)
      }
      await manager.saveContext('tool', {}, 2)
      assert.deepEqual(leasesIn(contextDir), [lease])
      await manager.clear()
      assert.deepEqual(namesIn(contextDir), [])
    }),
  )

  test(
    'goes with close(), while the files stay',
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir })
      const paths = await saveMany(manager, 3)
      await manager.close()
      assert.deepEqual(namesIn(contextDir), ['.handles', ...paths.map((path) => basename(path)).sort()])
    }),
  )

  test(
    'is not needed while only memory holds the session',
    inDirectory(async (directory) => {
      const contextDir = join(directory, 'contexts')
      const manager = new ContextManager({ contextDir, persist: 'large' })
      await manager.saveContext('tool', {}, 'small')
      holds(!existsSync(contextDir))
      await manager.saveContext('tool', {}, 'x'.repeat(40_000))
      assert.equal(leasesIn(contextDir).length, 1)
      await manager.clear()
      assert.deepEqual(namesIn(contextDir), [])
    }),
  )

  test(
    'is one for 300 managers of a process in a directory',
    PATIENT,
    inDirectory(async (contextDir) => {
      const managers = Array.from({ length: 300 }, () => new ContextManager({ contextDir }))
      await Promise.all(managers.map((manager, number) => manager.saveContext('tool', { number }, number)))
      const leases = leasesIn(contextDir)
      assert.equal(leases.length, 1)
      const onlooker = new ContextManager({ contextDir, retention: { maxFiles: 0 } })
      assert.deepEqual(
        await onlooker.sweep().then(({ liveSessions, deletedFiles }) => [liveSessions, deletedFiles]),
        [300, 0],
      )
      await Promise.all(managers.slice(0, 150).map((manager) => manager.clear()))
      assert.equal(leasesIn(contextDir).length, 1)
      await Promise.all(managers.slice(150, 250).map((manager) => manager.close()))
      assert.equal((await onlooker.sweep()).liveSessions, 50)
      assert.equal(contextsIn(contextDir).length, 50, 'those of closed sessions were swept, those of live ones not')
      await Promise.all(managers.slice(250).map((manager) => manager.clear()))
      assert.deepEqual(namesIn(contextDir), [])
    }),
  )

  test(
    'of a directory that was removed (rm -rf) comes back with the next save',
    { ...PATIENT, ...onDisk('files that other programs remove') },
    inDirectory(async (directory) => {
      const contextDir = join(directory, 'deep', 'contexts')
      const manager = new ContextManager({ contextDir })
      const neighbour = new ContextManager({ contextDir })
      await Promise.all([saveMany(manager, 3), saveMany(neighbour, 3)])
      rmSync(join(directory, 'deep'), { recursive: true })
      assert.equal((await manager.loadContexts(pathsOf(manager.getAllPointers()))).length, 3, 'memory still has them')
      const [path] = await saveMany(manager, 200)
      holds(existsSync(path ?? ''))
      assert.equal(contextsIn(contextDir).length, 200)
      assert.equal(leasesIn(contextDir).length, 1)
      const swept = await new ContextManager({ contextDir, retention: { maxFiles: 0 } }).sweep()
      assert.equal(swept.deletedFiles, 0)
      await neighbour.saveContext('tool', {}, 1)
      assert.equal((await manager.sweep()).liveSessions, 2)
      await Promise.all([manager.clear(), neighbour.clear()])
      assert.deepEqual(namesIn(contextDir), [])
    }),
  )

  const removals: [string, (contextDir: string) => void][] = [
    [
      'of a directory that was removed and made again',
      (contextDir) => {
        rmSync(contextDir, { recursive: true })
        mkdirSync(contextDir)
      },
    ],
    [
      'that somebody deleted',
      (contextDir) => {
        for (const name of leasesIn(contextDir)) {
          rmSync(join(contextDir, name))
        }
      },
    ],
  ]
  for (const [what, remove] of removals) {
    test(
      `${what} comes back with the next save, so that no other process sweeps the session`,
      { ...PATIENT, ...onDisk('files that other programs remove') },
      inDirectory(async (directory) => {
        const contextDir = join(directory, 'contexts')
        const manager = new ContextManager({ contextDir })
        await saveMany(manager, 3)
        remove(contextDir)
        const path = await manager.saveContext('tool', {}, 'later')
        const swept = await new ContextManager({ contextDir, retention: { maxFiles: 0 } }).sweep()
        holds(existsSync(path), 'the context of a live session stays')
        assert.equal(swept.liveSessions, 1)
        await manager.clear()
        assert.deepEqual(namesIn(contextDir), [])
      }),
    )
  }
})

describe('close()', () => {
  test(
    'waits for the saves called before, and leaves files and pointers',
    PATIENT,
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir })
      let finished = 0
      const saves = Array.from({ length: 100 }, (_, number) =>
        manager.saveContext('tool', { number }, 'x'.repeat(40_000)).then((path) => {
          finished++
          return path
        }),
      )
      await manager.close()
      assert.equal(finished, 100)
      assert.equal(contextsIn(contextDir).length, 100)
      assert.deepEqual(leasesIn(contextDir), [])
      assert.deepEqual(temporariesIn(contextDir), [])
      assert.equal((await manager.loadContexts(await Promise.all(saves))).length, 100)
      assert.equal(manager.size, 100)
    }),
  )

  test(
    'leaves the manager usable; so does clear()',
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir, sessionId: 'again' })
      for (let round = 0; round < 5; round++) {
        const path = await manager.saveContext('tool', { round }, round)
        assert.equal(leasesIn(contextDir).length, 1)
        assert.equal(recordIn(path).result, round)
        await (round % 2 === 0 ? manager.close() : manager.clear())
        assert.equal(leasesIn(contextDir).length, 0)
        assert.equal(contextsIn(contextDir).length, round % 2 === 0 ? 1 : 0)
      }
      await manager.close()
      await manager.clear()
      await manager.clear()
      assert.deepEqual(namesIn(contextDir), [])
    }),
  )

  test(
    'ends the session only for the manager that closed',
    inDirectory(async (contextDir) => {
      const first = new ContextManager({ contextDir, sessionId: 'shared' })
      const second = new ContextManager({ contextDir, sessionId: 'shared' })
      await Promise.all([saveMany(first, 2), saveMany(second, 2)])
      await first.close()
      assert.equal((await new ContextManager({ contextDir, retention: { maxFiles: 0 } }).sweep()).liveSessions, 1)
      assert.equal(contextsIn(contextDir).length, 4)
      await second.close()
      assert.deepEqual(leasesIn(contextDir), [])
    }),
  )

  test(
    'a save called after it begins the session again',
    PATIENT,
    inDirectory(async (directory) => {
      for (let round = 0; round < 30; round++) {
        const contextDir = join(directory, String(round))
        const manager = new ContextManager({ contextDir })
        const before = saveMany(manager, 5)
        const closed = manager.close()
        const after = saveMany(manager, 5)
        await Promise.all([before, closed, after])
        assert.equal(contextsIn(contextDir).length, 10)
        assert.equal(leasesIn(contextDir).length, 1, `round ${round}: the session is alive`)
        await manager.clear()
        assert.deepEqual(namesIn(contextDir), [])
      }
    }),
  )
})

describe('listContexts()', () => {
  test(
    'lists all sessions or one, from disk and from the memory of this process, oldest first',
    PATIENT,
    inDirectory(async (contextDir) => {
      const left = leaveContexts(contextDir, 3)
      const child = start('session.mjs', [contextDir, 'child', 2, 0, 'stay'])
      const fromChild = [await child.line(), await child.line()]
      await child.line()
      const disk = new ContextManager({ contextDir, sessionId: 'disk' })
      const memory = new ContextManager({ contextDir, sessionId: 'memory', persist: 'large' })
      const onDisk = await saveMany(disk, 2)
      const inMemory = await saveMany(memory, 2)
      const large = await memory.saveContext('large', {}, 'x'.repeat(40_000))
      holds(inMemory.every((path) => !existsSync(path)))

      for (const manager of [disk, memory, new ContextManager({ contextDir })]) {
        const all = await manager.listContexts()
        assert.deepEqual(pathsOf(all).sort(), [...left, ...fromChild, ...onDisk, ...inMemory, large].sort())
        const times = all.map(({ timestamp }) => timestamp)
        assert.deepEqual(
          times,
          times.toSorted((a, b) => a - b),
        )
        assert.deepEqual(pathsOf(all).slice(0, 3), left)
        assert.deepEqual(pathsOf(await manager.listContexts('long dead')), left)
        assert.deepEqual(pathsOf(await manager.listContexts('child')), fromChild)
        assert.deepEqual(pathsOf(await manager.listContexts('disk')), onDisk)
        assert.deepEqual(pathsOf(await manager.listContexts('memory')), [...inMemory, large])
        assert.deepEqual(await manager.listContexts('nobody'), [])
        assert.deepEqual(await manager.listContexts(''), [])
        assert.deepEqual(pathsOf(await manager.listContexts(null)), pathsOf(all))
      }
      child.send('end')
      assert.equal((await child.ended).code, 0)
      await Promise.all([disk.clear(), memory.clear()])
    }),
  )

  test(
    'gives the pointers that the session itself has',
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir, sessionId: 'own' })
      const args = { path: 'src/login.ts', options: { deep: [1, null, 'é'] } }
      const result = { text: 'x', sourceUrls: ['https://example.org/a'] }
      await manager.saveContext('read_file', args, result, 7, 'q_1')
      await manager.saveContext('fetch', {}, null, undefined, undefined, { success: false, error: 'e', message: 'm' })
      const own = manager.getAllPointers()
      assert.deepEqual(await manager.listContexts('own'), own)
      assert.deepEqual(await new ContextManager({ contextDir }).listContexts(), own)
      await manager.clear()
    }),
  )

  test(
    'cuts long arguments',
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir })
      const args = {
        path: 'a.ts',
        text: 'é"\\'.repeat(20_000),
        list: Array.from({ length: 5000 }, (_, index) => index),
      }
      const path = await manager.saveContext('write_file', args, 'done')
      for (const onlooker of [manager, new ContextManager({ contextDir })]) {
        const [pointer] = await onlooker.listContexts()
        assert.equal(pointer?.argsTruncated, true)
        assert.equal(pointer.args['path'], 'a.ts')
        holds(Buffer.byteLength(JSON.stringify(pointer.args)) <= 4096 + 64)
        assert.deepEqual((await onlooker.loadContext(path)).args, args)
      }
      await manager.clear()
    }),
  )

  test(
    'skips what is no context and tells which file; a record of any name counts',
    inDirectory(async (directory) => {
      const contextDir = join(directory, 'home')
      const checkForeignFiles = placeForeignFiles(contextDir)
      const told: string[] = []
      const manager = new ContextManager({
        contextDir,
        onDebug: (message, data) => told.push(message + JSON.stringify(data)),
      })
      const path = await manager.saveContext('tool', {}, 1)
      const listed = pathsOf(await manager.listContexts()).map((name) => basename(name))
      assert.deepEqual(listed.sort(), [basename(path), strangeName(5), 'read_file_a1b2c3.json'].sort())
      for (const skipped of [strangeName(1), strangeName(2), strangeName(3), strangeName(4), 'package.json']) {
        holds(
          told.some((message) => message.includes(skipped)),
          skipped,
        )
      }
      await manager.clear()
      checkForeignFiles()
    }),
  )

  test(
    'names every acknowledged context exactly once while memory spills to disk',
    PATIENT,
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir, persist: 'large', memoryBudget: 20_000 })
      const onlooker = new ContextManager({ contextDir })
      const acknowledged = new Set<string>()
      let isOver = false
      const saving = (async () => {
        for (let round = 0; round < ROUNDS; round++) {
          const batch = Array.from({ length: 20 }, async (_, number) => {
            acknowledged.add(await manager.saveContext('tool', { round, number }, 'x'.repeat(1000)))
          })
          await Promise.all(batch)
        }
        isOver = true
      })()
      const problems: string[] = []
      for (let round = 0; !isOver; round++) {
        const known = [...acknowledged]
        const listed = pathsOf(await (round % 2 === 0 ? manager : onlooker).listContexts())
        const distinct = new Set(listed)
        if (distinct.size < listed.length) {
          problems.push(`${listed.length - distinct.size} of ${listed.length} listed twice`)
        }
        const missing = known.filter((path) => !distinct.has(path))
        if (missing.length > 0) {
          problems.push(`${missing.length} of ${known.length} not listed`)
        }
      }
      await saving
      assert.deepEqual(problems, [])
      assert.equal((await onlooker.listContexts()).length, ROUNDS * 20)
      await manager.clear()
      assert.deepEqual(namesIn(contextDir), [])
    }),
  )

  test(
    'what it lists can be loaded, also what only the memory of another manager of this process holds',
    inDirectory(async (contextDir) => {
      const memory = new ContextManager({ contextDir, persist: 'large' })
      const [path = ''] = await saveMany(memory, 1)
      const onlooker = new ContextManager({ contextDir })
      const listed = pathsOf(await onlooker.listContexts())
      assert.deepEqual(listed, [path])
      assert.equal((await onlooker.loadContexts(listed)).length, 1)
      await memory.clear()
    }),
  )

  test(
    'of thousands is whole',
    PATIENT,
    inDirectory(async (contextDir) => {
      const left = leaveContexts(contextDir, 3000)
      const listed = await new ContextManager({ contextDir }).listContexts()
      assert.deepEqual(pathsOf(listed), left)
      assert.deepEqual(
        listed.map(({ args }) => args['number']),
        left.map((_, number) => number),
      )
    }),
  )
})

describe('sweep()', () => {
  const sum = (numbers: readonly number[]): number => numbers.reduce((total, size) => total + size, 0)
  /** What, the bounds for contexts of these sizes (oldest first), and how many of the ten stay. */
  const bounds: [string, (sizes: number[]) => NonNullable<ContextManagerOptions['retention']>, number][] = [
    ['keeps what is within the default retention', () => ({}), 10],
    ['removes what is older than maxAge', () => ({ maxAge: '0ms' }), 0],
    ['keeps what is younger than maxAge', () => ({ maxAge: '1h' }), 10],
    ['removes the oldest beyond maxFiles', () => ({ maxFiles: 3 }), 3],
    ['removes all with maxFiles 0', () => ({ maxFiles: 0 }), 0],
    ['removes the oldest beyond maxBytes', (sizes) => ({ maxBytes: sum(sizes.slice(-4)) + 1 }), 4],
    ['removes all with maxBytes 0', () => ({ maxBytes: 0 }), 0],
    [
      'knows no bound of Infinity',
      () => ({ maxFiles: Number.POSITIVE_INFINITY, maxBytes: Number.POSITIVE_INFINITY }),
      10,
    ],
  ]
  for (const end of ['exit', 'SIGKILL'] as const) {
    for (const [what, retention, kept] of bounds) {
      test(
        `${what} (a session ended by ${end})`,
        PATIENT,
        inDirectory(async (contextDir) => {
          const child = start('session.mjs', [contextDir, '', 10, 12, end === 'exit' ? 'exit' : 'stay'])
          const paths: string[] = []
          for (let line = await child.line(); !line.startsWith('ready'); line = await child.line()) {
            paths.push(line)
          }
          if (end === 'SIGKILL') {
            child.process.kill('SIGKILL')
          }
          const { signal } = await child.ended
          assert.equal(signal, end === 'SIGKILL' ? 'SIGKILL' : null)
          assert.equal(contextsIn(contextDir).length, 10)
          holds(end === 'exit' || leasesIn(contextDir).length === 1, 'the lease file of the dead is there still')
          endLocksIn(contextDir)
          const sizes = paths.map((path) => statSync(path).size)
          const manager = new ContextManager({ contextDir, retention: retention(sizes) })
          const report = await manager.sweep()
          assert.deepEqual(
            contextsIn(contextDir),
            paths
              .slice(10 - kept)
              .map((path) => basename(path))
              .sort(),
          )
          assert.deepEqual(report, {
            deletedFiles: 10 - kept,
            deletedBytes: sum(sizes.slice(0, 10 - kept)),
            deletedTemporaries: 0,
            keptFiles: kept,
            keptBytes: sum(sizes.slice(10 - kept)),
            liveSessions: 0,
            pausedSessions: 0,
            pausedBytes: 0,
          })
          assert.deepEqual(leasesIn(contextDir), [])
        }),
      )
    }
  }

  test(
    'removes temporary files of dead owners, and leaves those of living ones and foreign ones',
    PATIENT,
    inDirectory(async (contextDir) => {
      const child = start('session.mjs', [contextDir, '', 1, 0, 'stay'])
      await child.line()
      await child.line()
      const [lease = ''] = leasesIn(contextDir)
      const owner = lease.slice(1, 17)
      const place = (name: string): string => {
        writeFileSync(join(contextDir, name), '{"toolName":"cut o')
        return name
      }
      const dead = [place(`.${OWNER}-0.tmp`), place(`.${OWNER}-123456.tmp`)]
      const alive = [place(`.${owner}-999999.tmp`)]
      const foreign = [
        place('notes.tmp'),
        place(`.${OWNER}.tmp`),
        place(`.${OWNER}-1.tmp.bak`),
        place(`${OWNER}-1.tmp`),
      ]
      const manager = new ContextManager({ contextDir })
      await manager.sweep()
      const after = namesIn(contextDir)
      assert.deepEqual(
        dead.filter((name) => after.includes(name)),
        [],
      )
      assert.deepEqual(
        [...alive, ...foreign].filter((name) => !after.includes(name)),
        [],
      )
      child.process.kill('SIGKILL')
      await child.ended
      endLocksIn(contextDir)
      const { deletedTemporaries } = await manager.sweep()
      assert.equal(deletedTemporaries, 1)
      assert.deepEqual(temporariesIn(contextDir), [])
      assert.deepEqual(
        foreign.filter((name) => !namesIn(contextDir).includes(name)),
        [],
      )
    }),
  )

  test(
    'removes only the lease files of dead owners',
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir })
      await manager.saveContext('tool', {}, 1)
      const own = leasesIn(contextDir)
      writeFileSync(join(contextDir, `.${OWNER}.lease`), '+somebody\n')
      writeFileSync(join(contextDir, 'mine.lease'), '+somebody\n')
      assert.equal((await manager.sweep()).liveSessions, 1)
      assert.deepEqual(leasesIn(contextDir), own)
      holds(existsSync(join(contextDir, 'mine.lease')))
      await manager.clear()
    }),
  )

  test(
    'never touches a live session of another process',
    PATIENT,
    inDirectory(async (contextDir) => {
      const children = ['', 'named'].map((sessionId) => start('session.mjs', [contextDir, sessionId, 5, 0, 'stay']))
      const paths: string[] = []
      for (const child of children) {
        for (let line = await child.line(); !line.startsWith('ready'); line = await child.line()) {
          paths.push(line)
        }
      }
      const left = leaveContexts(contextDir, 4)
      const retention = { maxAge: '0ms', maxFiles: 0, maxBytes: 0 }
      const manager = new ContextManager({ contextDir, retention })
      const report = await manager.sweep()
      assert.deepEqual([report.liveSessions, report.deletedFiles], [2, 4])
      holds(left.every((path) => !existsSync(path)))
      holds(paths.every((path) => existsSync(path)))
      for (const child of children) {
        child.send('size')
        assert.equal(await child.line(), '5')
        child.send('save')
        paths.push(await child.line())
      }
      await manager.sweep()
      holds(paths.every((path) => existsSync(path)))
      for (const child of children) {
        child.process.kill('SIGKILL')
        await child.ended
      }
      endLocksIn(contextDir)
      assert.equal((await manager.sweep()).deletedFiles, 6, 'the named one is paused')
      assert.equal(await manager.endSession('named'), true)
      assert.equal((await manager.sweep()).deletedFiles, 6)
      assert.deepEqual(namesIn(contextDir), ['.handles'])
    }),
  )

  test(
    'does not touch a session whose first save is on its way, in many rounds',
    PATIENT,
    inDirectory(async (directory) => {
      for (let round = 0; round < 30; round++) {
        const contextDir = join(directory, String(round))
        const retention = { maxAge: '0ms', maxFiles: 0 }
        const sweeper = new ContextManager({ contextDir, retention })
        const managers = Array.from({ length: 5 }, () => new ContextManager({ contextDir }))
        const saves = managers.map((manager) => manager.saveContext('tool', {}, round))
        await Promise.all([sweeper.sweep(), sweeper.sweep(), ...saves, sweeper.sweep()])
        await sweeper.sweep()
        for (const save of saves) {
          holds(existsSync(await save), `round ${round}`)
        }
        await Promise.all(managers.map((manager) => manager.clear()))
        assert.deepEqual(namesIn(contextDir), [])
      }
    }),
  )

  test(
    'leaves subfolders and links alone, even where the record in them would be over',
    { skip: !isPosix || onDisk('links').skip },
    inDirectory(async (directory) => {
      const contextDir = join(directory, 'contexts')
      const [elsewhere = ''] = leaveContexts(join(directory, 'elsewhere'), 1)
      const [inFolder = ''] = leaveContexts(join(contextDir, 'sub'), 1)
      const link = join(contextDir, strangeName(20))
      symlinkSync(elsewhere, link)
      const manager = new ContextManager({ contextDir, retention: { maxFiles: 0 } })
      assert.equal((await manager.sweep()).deletedFiles, 0)
      await manager.clearContextDir()
      holds(existsSync(elsewhere) && existsSync(inFolder) && lstatSync(link).isSymbolicLink())
    }),
  )

  test(
    'of a directory that cannot be listed rejects with a code',
    onDisk('modes'),
    inDirectory(async (directory) => {
      const contextDir = join(directory, 'a-file')
      writeFileSync(contextDir, 'no directory')
      chmodSync(contextDir, 0o600)
      await assert.rejects(new ContextManager({ contextDir }).sweep(), { code: 'ERR_CONTEXT_IO' })
      await assert.rejects(new ContextManager({ contextDir }).listContexts(), { code: 'ERR_CONTEXT_IO' })
      assert.equal(readFileSync(contextDir, 'utf8'), 'no directory')
    }),
  )
})

describe('forget()', () => {
  test(
    "of a live session's context is a conflict, of a dead one's works",
    PATIENT,
    inDirectory(async (contextDir) => {
      const child = start('session.mjs', [contextDir, '', 1, 0, 'stay'])
      const path = await child.line()
      await child.line()
      const [lease] = leasesIn(contextDir)
      const manager = new ContextManager({ contextDir })
      const neighbour = new ContextManager({ contextDir })
      const [neighbourPath = ''] = await saveMany(neighbour, 1)
      for (const foreign of [path, neighbourPath]) {
        await assert.rejects(manager.forget(foreign), (error: Error & { code?: string }) => {
          assert.equal(error.code, 'ERR_CONTEXT_CONFLICT')
          holds(error.message.includes(foreign))
          return true
        })
        holds(existsSync(foreign))
      }
      child.process.kill('SIGKILL')
      await child.ended
      endLocksIn(contextDir, lease)
      assert.equal(await manager.forget(path), true)
      holds(!existsSync(path))
      assert.equal(await manager.forget(path), false)
      await neighbour.close()
      assert.equal(await manager.forget(neighbourPath), true)
      holds(!existsSync(neighbourPath))
    }),
  )

  test(
    'by a manager that shares the session removes the context for all of them',
    inDirectory(async (contextDir) => {
      const first = new ContextManager({ contextDir, sessionId: 'shared' })
      const second = new ContextManager({ contextDir, sessionId: 'shared' })
      const [path = '', other = ''] = await saveMany(first, 2)
      assert.equal(await second.forget(path), true)
      holds(!existsSync(path))
      assert.deepEqual(pathsOf(first.getAllPointers()), [other])
      await assert.rejects(first.loadContext(path), { code: 'ERR_CONTEXT_NOT_FOUND' })
      await first.clear()
    }),
  )

  test(
    'leaves foreign files in place',
    inDirectory(async (directory) => {
      const contextDir = join(directory, 'home')
      const checkForeignFiles = placeForeignFiles(contextDir)
      const manager = new ContextManager({ contextDir })
      await manager.saveContext('tool', {}, 1)
      for (const name of namesIn(contextDir).filter((name) => !contextsIn(contextDir).includes(name))) {
        assert.equal(await manager.forget(join(contextDir, name)), false, name)
      }
      for (const number of [1, 2, 3, 4, 7, 9, 10]) {
        assert.equal(await manager.forget(join(contextDir, strangeName(number))), false, strangeName(number))
      }
      await manager.clear()
      checkForeignFiles()
    }),
  )
})

describe('AbortSignal', () => {
  const calls: [string, (manager: ContextManager, signal: AbortSignal) => Promise<unknown>][] = [
    ['sweep', (manager, signal) => manager.sweep({ signal })],
    ['listContexts', (manager, signal) => manager.listContexts(undefined, { signal })],
    ['selectContexts', (manager, signal) => manager.selectContexts('file', { signal })],
  ]
  for (const [name, call] of calls) {
    test(
      `${name} with an aborted signal rejects with its reason and does nothing`,
      inDirectory(async (contextDir) => {
        leaveContexts(contextDir, 5)
        const manager = new ContextManager({ contextDir, retention: { maxFiles: 0 } })
        const reason = new Error('no longer wanted')
        await assert.rejects(call(manager, AbortSignal.abort(reason)), (error) => error === reason)
        await assert.rejects(call(manager, AbortSignal.abort()), { name: 'AbortError' })
        assert.equal(contextsIn(contextDir).length, 5)
      }),
    )

    test(
      `${name} aborted on its way rejects with the reason; the manager goes on`,
      PATIENT,
      inDirectory(async (contextDir) => {
        leaveContexts(contextDir, isOnDisk ? 2000 : 300)
        const manager = new ContextManager({ contextDir, retention: { maxFiles: 0 } })
        for (let round = 0; round < 10; round++) {
          const controller = new AbortController()
          const reason = { round }
          const promise = call(manager, controller.signal)
          if (round % 2 === 1) {
            await new Promise((resolve) => setImmediate(resolve))
          }
          controller.abort(reason)
          const outcome = await promise.then(
            () => 'done before',
            (error: unknown) => error,
          )
          holds(outcome === reason || (round % 2 === 1 && outcome === 'done before'))
        }
        await manager.sweep()
        assert.deepEqual(await manager.listContexts(), [])
        assert.deepEqual(contextsIn(contextDir), [])
        await manager.saveContext('tool', {}, 1)
        await manager.clear()
        assert.deepEqual(namesIn(contextDir), [])
      }),
    )

    test(
      `${name} takes a signal that is aborted after the end, many times over`,
      inDirectory(async (contextDir) => {
        const manager = new ContextManager({ contextDir })
        await manager.saveContext('read_file', {}, 1)
        const controller = new AbortController()
        for (let round = 0; round < 20; round++) {
          await call(manager, controller.signal)
        }
        controller.abort()
        await assert.rejects(call(manager, controller.signal), { name: 'AbortError' })
        await manager.clear()
      }),
    )

    test(
      `${name} rejects what is no signal as an invalid argument`,
      inDirectory(async (contextDir) => {
        const manager = new ContextManager({ contextDir })
        for (const signal of [5, 'now', {}, true] as unknown as AbortSignal[]) {
          await assert.rejects(call(manager, signal), (error: Error & { code?: string }) => {
            assert.equal(error.code, 'ERR_CONTEXT_INVALID_ARGUMENT')
            assert.match(error.message, /signal/)
            return true
          })
        }
        await call(manager, null as unknown as AbortSignal)
      }),
    )
  }
})
