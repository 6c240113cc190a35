/** Directories that cannot be used, a full disk, a missing home. */

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { ContextManager } from '../dist/index.js'
import {
  assertNoTemporaryFile,
  filesIn,
  inDirectory,
  isRoot,
  NOBODY,
  rejectsWith,
  runScript,
  storedResult,
} from './support/fixtures.ts'

const LARGE = 'x'.repeat(40_000)

describe('a context directory that is', () => {
  it('a file: saving is refused, the file stays', () =>
    inDirectory(async (directory) => {
      const contextDir = join(directory, 'file')
      writeFileSync(contextDir, 'precious')
      const manager = new ContextManager({ contextDir })
      const error = await rejectsWith(() => manager.saveContext('tool', {}, 1), 'ERR_CONTEXT_IO', /contextDir/)
      assert.ok(error.message.includes(contextDir))
      assert.ok(error.cause instanceof Error)
      assert.match(String((error.cause as NodeJS.ErrnoException).code), /^(EEXIST|ENOTDIR)$/)
      assert.equal(manager.size, 0)
      assert.equal(await manager.forget('x.json').catch(() => false), false)
      await assert.rejects(manager.loadContext(join(contextDir, 'x.json')), isCoded)
      await manager.listContexts().catch(assertCoded)
      await manager.clear().catch(assertCoded)
      await manager.clearContextDir().catch(assertCoded)
      await manager.sweep().catch(assertCoded)
      assert.equal(readFileSync(contextDir, 'utf8'), 'precious')
    }))

  it('below a file', () =>
    inDirectory(async (directory) => {
      writeFileSync(join(directory, 'file'), 'precious')
      const contextDir = join(directory, 'file', 'contexts')
      const manager = new ContextManager({ contextDir })
      const error = await rejectsWith(() => manager.saveContext('tool', {}, 1), 'ERR_CONTEXT_IO', /contextDir/)
      assert.equal((error.cause as NodeJS.ErrnoException).code, 'ENOTDIR')
      await assert.rejects(manager.loadContext(join(contextDir, 'x.json')), isCoded)
      assert.deepEqual(await manager.loadContexts([join(contextDir, 'x.json')]), [])
      assert.deepEqual(readdirSync(directory), ['file'])
    }))

  it('impossible: a name that is too long', () =>
    inDirectory(async (directory) => {
      const manager = new ContextManager({ contextDir: join(directory, 'x'.repeat(300)) })
      const error = await rejectsWith(() => manager.saveContext('tool', {}, 1), 'ERR_CONTEXT_IO')
      assert.equal((error.cause as NodeJS.ErrnoException).code, 'ENAMETOOLONG')
      assert.deepEqual(readdirSync(directory), [])
    }))

  it('fit for small outputs in memory even so', () =>
    inDirectory(async (directory) => {
      const contextDir = join(directory, 'file')
      writeFileSync(contextDir, 'precious')
      const manager = new ContextManager({ contextDir, persist: 'large' })
      const path = await manager.saveContext('tool', {}, 'small')
      assert.equal((await manager.loadContext(path)).result, 'small')
      await rejectsWith(() => manager.saveContext('tool', {}, LARGE), 'ERR_CONTEXT_IO')
      assert.equal(manager.size, 1)
    }))

  const unwritable = async (contextDir: string, mode: number): Promise<void> => {
    mkdirSync(contextDir)
    chmodSync(contextDir, mode)
    const report = (await runScript(
      `
      const manager = new ContextManager({ contextDir: input })
      const save = await manager.saveContext('tool', {}, 1).then(() => ({}), failure)
      const load = await manager.loadContext(input + '/missing.json').then(() => ({}), failure)
      const batch = (await manager.loadContexts([input + '/missing.json'])).length
      report({ save, load, batch, size: manager.size })
      `,
      { input: contextDir, ...(isRoot ? { uid: NOBODY } : {}) },
    )) as { save: Failure; load: Failure; batch: number; size: number }
    assert.equal(report.save.code, 'ERR_CONTEXT_IO')
    assert.equal(report.save.cause, 'EACCES')
    assert.match(report.save.message ?? '', /writable|contextDir/)
    assert.ok(report.save.message?.includes(contextDir))
    assert.match(report.load.code ?? '', /^ERR_CONTEXT_/)
    assert.deepEqual([report.batch, report.size], [0, 0])
    chmodSync(contextDir, 0o700)
    assert.deepEqual(readdirSync(contextDir), [])
  }
  for (const [name, mode] of [
    ['read-only', 0o555],
    ['closed', 0o000],
  ] as const) {
    it(`${name} (as a user who is not root)`, () =>
      inDirectory(async (directory) => {
        chmodSync(directory, 0o755)
        await unwritable(join(directory, 'contexts'), mode)
      }))
  }

  it('below an unwritable one (as a user who is not root)', () =>
    inDirectory(async (directory) => {
      chmodSync(directory, 0o555)
      const contextDir = join(directory, 'contexts')
      const report = (await runScript(
        `
        const manager = new ContextManager({ contextDir: input })
        report(await manager.saveContext('tool', {}, 1).then(() => ({}), failure))
        `,
        { input: contextDir, ...(isRoot ? { uid: NOBODY } : {}) },
      )) as Failure
      assert.deepEqual([report.code, report.cause], ['ERR_CONTEXT_IO', 'EACCES'])
      assert.equal(existsSync(contextDir), false)
      chmodSync(directory, 0o755)
    }))

  it('made read-only later: earlier contexts load, later saves say so (as a user who is not root)', () =>
    inDirectory(async (directory) => {
      const contextDir = join(directory, 'contexts')
      chmodSync(directory, 0o777)
      const report = (await runScript(
        `
        const manager = new ContextManager({ contextDir: input })
        const path = await manager.saveContext('tool', {}, 'x'.repeat(40_000))
        fs.chmodSync(input, 0o555)
        const save = await manager.saveContext('tool', {}, 1).then(() => ({}), failure)
        const length = (await manager.loadContext(path)).result.length
        const clear = await manager.clear().then(() => ({}), failure)
        fs.chmodSync(input, 0o700)
        await manager.clear()
        const files = fs.readdirSync(input).filter((name) => !name.endsWith('.lease'))
        report({ save, length, clear, files })
        `,
        { input: contextDir, ...(isRoot ? { uid: NOBODY } : {}) },
      )) as { save: Failure; length: number; clear: Failure; files: string[] }
      assert.deepEqual([report.save.code, report.save.cause], ['ERR_CONTEXT_IO', 'EACCES'])
      assert.equal(report.length, 40_000)
      assert.equal(report.clear.code, 'ERR_CONTEXT_IO', 'clear could not remove the file')
      assert.deepEqual(report.files, [], 'the second clear removes what the first could not')
    }))
})

describe('a context file', () => {
  it('without permission to read is skipped (as a user who is not root)', () =>
    inDirectory(async (directory) => {
      chmodSync(directory, 0o777)
      const report = (await runScript(
        `
        const messages = []
        const manager = new ContextManager({ contextDir: input, onDebug: (message) => messages.push(message) })
        const closed = await manager.saveContext('closed', {}, 'x'.repeat(40_000))
        const open = await manager.saveContext('open', {}, 1)
        fs.chmodSync(closed, 0o000)
        const load = await manager.loadContext(closed).then(() => ({}), failure)
        const batch = (await manager.loadContexts([closed, open])).map((context) => context.toolName)
        const other = new ContextManager({ contextDir: input })
        const listed = (await other.listContexts()).map((pointer) => pointer.toolName)
        await manager.clear()
        report({ load, batch, listed, said: messages.filter((message) => message.startsWith('Failed to load')).length })
        `,
        { input: join(directory, 'contexts'), ...(isRoot ? { uid: NOBODY } : {}) },
      )) as { load: Failure; batch: string[]; listed: string[]; said: number }
      assert.deepEqual([report.load.code, report.load.cause], ['ERR_CONTEXT_IO', 'EACCES'])
      assert.deepEqual(report.batch, ['open'])
      assert.deepEqual(report.listed, ['open'])
      assert.equal(report.said, 1)
    }))
})

describe('a full disk', () => {
  for (const durability of ['process', 'full'] as const) {
    it(`refuses the save, keeps what is there and leaves no part (durability ${durability})`, async (t) => {
      await inDirectory(async (directory) => {
        const disk = join(directory, 'disk')
        mkdirSync(disk)
        const mounted = isRoot && spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', disk]).status === 0
        if (!mounted) {
          console.error('SKIPPED: a full disk needs root and the right to mount a tmpfs')
          t.skip('needs root and the right to mount a tmpfs')
          return
        }
        try {
          const contextDir = join(disk, 'contexts')
          const manager = new ContextManager({ contextDir, durability })
          const paths: string[] = []
          let error: unknown
          for (let index = 0; index < 100 && error === undefined; index++) {
            await manager.saveContext('tool', { index }, `${index} ${LARGE}`).then(
              (path) => paths.push(path),
              (reason) => {
                error = reason
              },
            )
          }
          assert.ok(paths.length > 10 && paths.length < 30, String(paths.length))
          const { code, message, cause } = error as { code: string; message: string; cause: { code: string } }
          assert.deepEqual([code, cause.code], ['ERR_CONTEXT_IO', 'ENOSPC'])
          assert.match(message, /free some space/)
          await Promise.all(
            Array.from({ length: 20 }, () =>
              rejectsWith(() => manager.saveContext('tool', {}, LARGE), 'ERR_CONTEXT_IO'),
            ),
          )
          assertNoTemporaryFile(contextDir)
          assert.equal(filesIn(contextDir).length, paths.length)
          assert.equal(manager.size, paths.length)
          const loaded = await manager.loadContexts(paths)
          assert.deepEqual(
            loaded.map(({ result }) => result),
            paths.map((_, index) => `${index} ${LARGE}`),
          )
          assert.equal(await manager.forget(paths[0] as string), true)
          assert.equal(storedResult(await manager.saveContext('tool', {}, LARGE)), JSON.stringify(LARGE))
          await manager.clear()
          assert.deepEqual(readdirSync(contextDir), [])
        } finally {
          spawnSync('umount', [disk])
        }
      })
    })
  }

  it('keeps in memory what cannot spill over', async (t) => {
    await inDirectory(async (directory) => {
      const disk = join(directory, 'disk')
      mkdirSync(disk)
      const mounted = isRoot && spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', disk]).status === 0
      if (!mounted) {
        console.error('SKIPPED: a full disk needs root and the right to mount a tmpfs')
        t.skip('needs root and the right to mount a tmpfs')
        return
      }
      try {
        const manager = new ContextManager({
          contextDir: join(disk, 'contexts'),
          persist: 'large',
          memoryBudget: 100_000,
        })
        const paths: string[] = []
        for (let index = 0; index < 100; index++) {
          paths.push(await manager.saveContext('tool', { index }, 'x'.repeat(20_000)))
        }
        const loaded = await manager.loadContexts(paths)
        assert.deepEqual(
          loaded.map(({ args }) => args['index']),
          paths.map((_, index) => index),
        )
        assertNoTemporaryFile(join(disk, 'contexts'))
        await manager.clear()
      } finally {
        spawnSync('umount', [disk])
      }
    })
  })
})

describe('a missing home', () => {
  const constructAndSave = `
    const made = (() => {
      try {
        return { contextDir: new ContextManager().getContextDir() }
      } catch (error) {
        return failure(error)
      }
    })()
    const manager = new ContextManager({ contextDir: input })
    await manager.saveContext('tool', {}, 1)
    const size = manager.size
    await manager.clear()
    report({ made, size })
  `
  const environments: [string, Record<string, string>, number | undefined][] = [
    ['an empty HOME', { HOME: '' }, undefined],
    // No entry in /etc/passwd has this number.
    ...(isRoot ? ([['no HOME and no passwd entry', {}, 54_321]] as [string, Record<string, string>, number][]) : []),
    ...(isRoot
      ? ([['an empty HOME and no passwd entry', { HOME: '' }, 54_321]] as [string, Record<string, string>, number][])
      : []),
  ]
  for (const [name, env, uid] of environments) {
    it(`(${name}) is told by the constructor, and a directory of one's own works`, () =>
      inDirectory(async (directory) => {
        chmodSync(directory, 0o777)
        const { made, size } = (await runScript(constructAndSave, {
          env: { PATH: process.env['PATH'] ?? '', ...env },
          input: join(directory, 'contexts'),
          ...(uid === undefined ? {} : { uid }),
        })) as { made: Failure & { contextDir?: string }; size: number }
        assert.equal(size, 1)
        assert.equal(statSync(join(directory, 'contexts')).isDirectory(), true)
        if (made.contextDir !== undefined) {
          // A runtime that knows a home even so (Bun reads the passwd file).
          assert.match(made.contextDir, /^\/.+\/\.agent\/context$/)
          return
        }
        assert.equal(made.code, 'ERR_CONTEXT_INVALID_ARGUMENT')
        assert.match(made.message ?? '', /HOME.*contextDir|contextDir.*HOME/)
      }))
  }
})

interface Failure {
  code?: string
  message?: string
  cause?: string
}

function isCoded(error: { code?: string }): boolean {
  return /^ERR_CONTEXT_/.test(error.code ?? '')
}

function assertCoded(error: { code?: string }): undefined {
  assert.ok(isCoded(error), String(error))
}
