import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, test } from 'node:test'
import { ContextManager } from '../dist/index.js'
import {
  contextsIn,
  holds,
  inDirectory,
  leasesIn,
  linesOf,
  namesIn,
  PATIENT,
  recordIn,
  run,
  start,
  temporariesIn,
} from './support/processes.ts'

interface StormResult {
  name: string
  number: number
  text: string
}

/** A path that a storm acknowledged holds what it saved, whole. */
function checkStorm(path: string, bytes: number): string {
  const { toolName, args, result } = recordIn(path)
  const { name, number, text } = result as StormResult
  assert.equal(toolName, 'storm')
  assert.deepEqual(args, { same: 'arguments' })
  assert.equal(text, 'é'.repeat(bytes / 2))
  return `${name} ${number}`
}

describe('several processes in one directory', () => {
  test(
    '6 processes with 300 saves of the same call each: every file is there, distinct and whole',
    PATIENT,
    inDirectory(async (contextDir) => {
      const storms = Array.from({ length: 6 }, (_, number) => run('storm.mjs', [contextDir, 300, `p${number}`, 2000]))
      const paths = (await Promise.all(storms)).flat()
      assert.equal(paths.length, 1800)
      assert.equal(new Set(paths).size, 1800)
      assert.deepEqual(contextsIn(contextDir), paths.map((path) => basename(path)).sort())
      assert.equal(new Set(paths.map((path) => checkStorm(path, 2000))).size, 1800)
      assert.deepEqual(temporariesIn(contextDir), [])
      const manager = new ContextManager({ contextDir })
      assert.equal((await manager.listContexts()).length, 1800)
      await manager.clearContextDir()
      assert.deepEqual(namesIn(contextDir), [])
    }),
  )

  test(
    'a process that lists and reads meanwhile sees whole records only',
    PATIENT,
    inDirectory(async (contextDir) => {
      const reader = start('reader.mjs', [contextDir])
      assert.equal(await reader.line(), 'ready')
      await Promise.all([1, 2, 3].map((number) => run('storm.mjs', [contextDir, 150, `p${number}`, 10_000])))
      reader.process.stdin?.end()
      const { code, stdout, stderr } = await reader.ended
      assert.equal(code, 0, stderr)
      const { rounds, seen } = JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as { rounds: number; seen: number }
      holds(rounds > 1)
      assert.equal(seen, 450)
    }),
  )

  test(
    'a process killed in the middle of a storm, 20 times: what it acknowledged is there and whole',
    PATIENT,
    inDirectory(async (contextDir) => {
      const acknowledged: string[] = []
      for (let round = 0; round < 20; round++) {
        const storm = start('storm.mjs', [contextDir, 100_000, `round ${round}`, 20_000])
        for (let line = 0; line < 1 + ((round * 7) % 40); line++) {
          await storm.line()
        }
        storm.process.kill('SIGKILL')
        const ended = await storm.ended
        assert.equal(ended.signal, 'SIGKILL', ended.stderr)
        acknowledged.push(...linesOf(ended))
      }
      assert.equal(new Set(acknowledged).size, acknowledged.length)
      assert.equal(new Set(acknowledged.map((path) => checkStorm(path, 20_000))).size, acknowledged.length)
      for (const name of contextsIn(contextDir)) {
        checkStorm(join(contextDir, name), 20_000) // the others are whole as well
      }
      const manager = new ContextManager({ contextDir })
      const { deletedFiles, keptFiles, liveSessions } = await manager.sweep()
      assert.deepEqual([deletedFiles, liveSessions], [0, 0])
      assert.equal(keptFiles, contextsIn(contextDir).length)
      assert.deepEqual(temporariesIn(contextDir), [])
      assert.deepEqual(leasesIn(contextDir), [])
      holds(acknowledged.every((path) => existsSync(path)))
      await manager.clearContextDir()
      assert.deepEqual(namesIn(contextDir), [])
    }),
  )

  test(
    'storms, a sweeper without mercy and killed processes at once: no live session loses anything',
    PATIENT,
    inDirectory(async (contextDir) => {
      const sweeper = new ContextManager({ contextDir, retention: { maxAge: '0ms', maxFiles: 0, maxBytes: 0 } })
      const neighbour = new ContextManager({ contextDir })
      const own = await neighbour.saveContext('neighbour', {}, 1)
      const alive = start('session.mjs', [contextDir, 'alive', 20, 5, 'stay'])
      let isOver = false
      const sweeping = (async () => {
        while (!isOver) {
          await sweeper.sweep()
        }
      })()
      for (let round = 0; round < 5; round++) {
        const storm = start('storm.mjs', [contextDir, 100_000, 'dies', 2000])
        await storm.line()
        storm.process.kill('SIGKILL')
        await storm.ended
      }
      const paths: string[] = []
      for (let line = await alive.line(); !line.startsWith('ready'); line = await alive.line()) {
        paths.push(line)
      }
      isOver = true
      await sweeping
      await sweeper.sweep()
      assert.deepEqual(contextsIn(contextDir), [...paths, own].map((path) => basename(path)).sort())
      alive.send('end')
      assert.equal((await alive.ended).code, 0)
      await neighbour.clear()
      holds(await sweeper.endSession('alive'), 'it was paused')
      await sweeper.sweep()
      assert.deepEqual(namesIn(contextDir), ['.handles'])
    }),
  )
})

describe('the end of a process', () => {
  for (const count of [1, 50]) {
    test(
      `comes naturally only after ${count} pending saves`,
      PATIENT,
      inDirectory(async (contextDir) => {
        await run('pending.mjs', [contextDir, count, 'natural', 'disk'])
        const numbers = contextsIn(contextDir).map((name) => recordIn(join(contextDir, name)).args['number'])
        assert.deepEqual(
          numbers.toSorted((a, b) => Number(a) - Number(b)),
          Array.from({ length: count }, (_, number) => number),
        )
        assert.deepEqual(temporariesIn(contextDir), [])
      }),
    )
  }

  test(
    'waits for pending saves to a slow injected file system as well',
    PATIENT,
    inDirectory(async (contextDir) => {
      assert.deepEqual(await run('pending.mjs', [contextDir, 50, 'natural', 'slow']), ['50'])
    }),
  )

  for (const kind of ['disk', 'slow']) {
    test(
      `by process.exit() in the middle of saves (${kind}) keeps the exit code and leaves whole files`,
      PATIENT,
      inDirectory(async (contextDir) => {
        for (let round = 0; round < 5; round++) {
          const child = start('pending.mjs', [contextDir, 200, 7, kind])
          const { code, signal, stderr } = await child.ended
          assert.deepEqual({ code, signal, stderr }, { code: 7, signal: null, stderr: '' })
        }
        for (const name of contextsIn(contextDir)) {
          assert.equal((recordIn(join(contextDir, name)).result as { text: string }).text.length, 20_000)
        }
        const manager = new ContextManager({ contextDir })
        await manager.sweep()
        assert.deepEqual(temporariesIn(contextDir), [])
        assert.deepEqual(leasesIn(contextDir), [])
      }),
    )
  }

  for (const kind of ['untouched', 'saves', 'debug', 'file-system', 'large', 'recorder', 'signal']) {
    test(
      `is not kept off by an idle manager (${kind})`,
      PATIENT,
      inDirectory(async (contextDir) => {
        assert.deepEqual(await run('idle.mjs', [contextDir, kind]), [])
      }),
    )
  }
})
