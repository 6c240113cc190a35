/** Contexts that outlive their process: handles that redeem anywhere, sessions that pause, resume and end, bounds on what is live. */

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { type ContextManagerOptions, type ContextPointer, contextTools } from '../dist/index.js'
import { debugLog, MemoryFileSystem, only, rejectsWith } from './support/fixtures.ts'
import { ContextManager } from './support/managers.ts'
import {
  contextsIn,
  endLocksIn,
  holds,
  inDirectory,
  leasesIn,
  namesIn,
  PATIENT,
  run,
  start,
  temporariesIn,
} from './support/processes.ts'
import {
  copyFileSync,
  existsSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from './support/stored-files.ts'

const STRICT = { maxAge: '0s', maxFiles: 0 } as const
const GONE = 'ctx_0000000000000000'

const handlesOf = (pointers: readonly ContextPointer[]): string[] => pointers.map(({ handle }) => handle ?? 'none')

/** A process of the session that offloads texts; their handles. */
async function converse(directory: string, session: string, ending: string, ...texts: string[]): Promise<string[]> {
  if (ending !== 'kill') {
    return run('conversation.mjs', [directory, session, ending, ...texts])
  }
  const child = start('conversation.mjs', [directory, session, ending, ...texts])
  const handles: string[] = []
  while (handles.length < texts.length) {
    handles.push(await child.line())
  }
  assert.equal((await child.ended).signal, 'SIGKILL')
  return handles
}

describe('a handle', () => {
  for (const ending of ['close', 'exit', 'kill'] as const) {
    test(
      `redeems in another process after ${ending}, also of another session`,
      PATIENT,
      inDirectory(async (contextDir) => {
        const handles = await converse(contextDir, 'one', ending, 'first', 'second')
        for (const options of [{}, { sessionId: 'one' }, { sessionId: 'two' }]) {
          const manager = new ContextManager({ contextDir, ...options })
          const loaded = await manager.loadContexts(handles)
          assert.deepEqual(
            loaded.map(({ args }) => args['path']),
            ['first', 'second'],
          )
          assert.equal((await manager.readContext(handles[1] ?? '', { bytes: { to: 6 } })).text, 'second')
          await rejectsWith(() => manager.loadContext(GONE), 'ERR_CONTEXT_NOT_FOUND', /not in this directory/)
          await manager.close()
        }
      }),
    )
  }

  test(
    'is on pointers, listings and hits, and means the latest of several outputs',
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir, sessionId: 's' })
      await manager.saveContext('grep', { q: 1 }, 'needle')
      const path = await manager.saveContext('grep', { q: 1 }, 'needle')
      const [first, second] = handlesOf(manager.getAllPointers())
      assert.match(first ?? '', /^ctx_[0-9a-f]{16}$/)
      assert.equal(first, second)
      assert.deepEqual(handlesOf(await manager.listContexts()), [first, first])
      assert.deepEqual(handlesOf(await manager.search('needle')), [first, first])
      assert.deepEqual(handlesOf(await manager.search('needle', { sessions: 'all' })), [first, first])
      await manager.close()
      const other = new ContextManager({ contextDir })
      assert.equal((await other.loadContext(first ?? '')).timestamp, (await other.loadContext(path)).timestamp)
    }),
  )

  test(
    'is of the content: a file that only says so is not redeemable by it',
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir, sessionId: 's' })
      const path = await manager.saveContext('grep', { q: 1 }, 'true')
      const handle = only(handlesOf(manager.getAllPointers()))
      await manager.close()
      const planted = path.replace(/_(\d+)_0_/, (_, time: string) => `_${Number(time) + 1000}_1_`)
      writeFileSync(planted, readFileSync(path, 'utf8').replace('"true"', '"false"'))
      const other = new ContextManager({ contextDir })
      assert.equal((await other.loadContext(handle)).result, 'true')
      rmSync(path)
      const third = new ContextManager({ contextDir })
      await rejectsWith(() => third.loadContext(handle), 'ERR_CONTEXT_NOT_FOUND')
      assert.equal((await third.loadContext(planted)).result, 'false')
    }),
  )

  test(
    'redeems when the table of handles is missing, cut short or damaged, and in a directory of an earlier release',
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir, sessionId: 's' })
      const paths = await Promise.all([1, 2, 3].map((number) => manager.saveContext('t', { number }, `r${number}`)))
      const handles = handlesOf(manager.getAllPointers())
      await manager.close()
      const table = join(contextDir, '.handles')
      const damages: (() => void)[] = [
        () => rmSync(table),
        () => truncateSync(table, statSync(table).size - 100),
        () => writeFileSync(table, 'nonsense\n'.repeat(100)),
        () => {
          rmSync(table)
          for (const path of paths) {
            writeFileSync(path, readFileSync(path, 'utf8').replace(/"handle":"[^"]*",/, ''))
          }
        },
      ]
      // Removing another context makes its process forget what it knew of the table.
      for (const [number, damage] of damages.entries()) {
        damage()
        const [line, reported] = await run('redeem.mjs', [contextDir, ...handles])
        assert.deepEqual(JSON.parse(line ?? ''), ['r1', 'r2', 'r3'], `damage ${number}: ${reported}`)
      }
    }),
  )

  test('redeems through an injected file system, whose directory is listed once', async () => {
    const fileSystem = new MemoryFileSystem()
    const contextDir = '/virtual/contexts'
    const first = new ContextManager({ contextDir, fileSystem, sessionId: 's' })
    await first.saveContext('t', { a: 1 }, 'one')
    await first.saveContext('t', { a: 2 }, 'two')
    const handles = handlesOf(first.getAllPointers())
    first.clearPointers()
    const second = new ContextManager({ contextDir, fileSystem })
    fileSystem.calls.length = 0
    const results = (await second.loadContexts([...handles, ...handles])).map(({ result }) => result)
    assert.deepEqual(results, ['one', 'two', 'one', 'two'])
    assert.equal(fileSystem.calls.filter(([method]) => method === 'readdir').length, 1)
  })

  test(
    'says what is known of a context that went',
    inDirectory(async (contextDir) => {
      const onDebug = debugLog()
      const manager = new ContextManager({ contextDir, retention: { maxLiveFiles: 1 }, onDebug })
      await manager.saveContext('t', { a: 1 }, 'one')
      const [handle = ''] = handlesOf(manager.getAllPointers())
      await manager.saveContext('t', { a: 2 }, 'two')
      // The bounds are enforced in the background.
      while (!onDebug.messages.some((message) => message.startsWith('A context went'))) {
        await setTimeout(5)
      }
      await rejectsWith(() => manager.loadContext(handle), 'ERR_CONTEXT_NOT_FOUND', /deleted by cap/)
      const [kept = ''] = handlesOf(manager.getAllPointers())
      await manager.close()
      const sweeper = new ContextManager({ contextDir, retention: STRICT })
      await sweeper.sweep()
      await rejectsWith(() => sweeper.loadContext(kept), 'ERR_CONTEXT_NOT_FOUND', /deleted by retention/)
    }),
  )
})

describe('a session', () => {
  for (const ending of ['close', 'exit', 'kill'] as const) {
    test(
      `that was named is paused after ${ending}, survives sweeps of others, and is resumed`,
      PATIENT,
      inDirectory(async (contextDir) => {
        const handles = await converse(contextDir, 'chat', ending, 'first', 'second')
        const anonymous = await converse(contextDir, 'left', 'close', 'other')
        endLocksIn(contextDir)
        const other = new ContextManager({ contextDir, retention: STRICT })
        await other.endSession('left')
        const report = await other.sweep()
        assert.deepEqual(
          [report.pausedSessions, report.deletedFiles, report.liveSessions],
          [1, anonymous.length, 0],
          JSON.stringify(report),
        )
        holds(report.pausedBytes > 0)
        const [info] = await other.sessions()
        assert.equal(info?.id, 'chat')
        assert.deepEqual([info?.state, info?.contexts, info?.processes], ['paused', 2, 0])
        const resumed = new ContextManager({ contextDir, sessionId: 'chat', resume: true })
        await resumed.resume()
        assert.equal(resumed.size, 2)
        assert.deepEqual(handlesOf(resumed.getAllPointers()), handles)
        assert.equal(only(await resumed.search('second')).handle, handles[1])
        const pointers = structuredClone(resumed.getAllPointers())
        assert.equal(only(await resumed.selectContexts('second', { pointers })).handle, handles[1])
        assert.equal(resumed.selectRelevantContexts('second', resumed.getAllPointers()).length, 1)
        await resumed.saveContext('read_file', { path: 'third' }, 'third')
        assert.deepEqual(
          resumed.getAllPointers().map(({ args }) => args['path']),
          ['first', 'second', 'third'],
        )
        assert.equal((await other.sessions())[0]?.state, 'live')
        await other.clearContextDir()
        assert.equal(contextsIn(contextDir).length, 3)
        await resumed.clear()
        assert.deepEqual(namesIn(contextDir), [])
      }),
    )
  }

  test(
    'without a name is over when its process is gone',
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir })
      await manager.saveContext('t', {}, 1)
      await manager.close()
      const other = new ContextManager({ contextDir, retention: STRICT })
      assert.equal(only(await other.sessions()).state, 'ended')
      assert.equal((await other.sweep()).deletedFiles, 1)
    }),
  )

  test(
    'is paused for keepPaused, and paused sessions are bounded, least recently used first',
    inDirectory(async (contextDir) => {
      const save = async (sessionId: string, retention: ContextManagerOptions['retention'] = {}) => {
        const manager = new ContextManager({ contextDir, sessionId, retention })
        await manager.saveContext('t', { sessionId }, 'x'.repeat(1000))
        await manager.close()
        await setTimeout(5)
      }
      await save('short', { keepPaused: '1ms' })
      await save('older')
      await save('newer')
      const onDebug = debugLog()
      const sweeper = new ContextManager({
        contextDir,
        retention: { ...STRICT, maxPausedBytes: 2000 },
        onDebug,
      })
      const planned = await sweeper.sweep({ dryRun: true })
      assert.deepEqual(planned.removals?.map(({ sessionId }) => sessionId).sort(), ['older', 'short'])
      holds(planned.removals?.every(({ reason, sizeBytes }) => /retention/.test(reason) && sizeBytes > 1000))
      assert.equal(contextsIn(contextDir).length, 3, 'a dry run removes nothing')
      const report = await sweeper.sweep()
      assert.deepEqual([report.deletedFiles, report.pausedSessions], [2, 1])
      assert.equal(report.removals, undefined)
      holds(onDebug.messages.some((message) => /paused session ended/.test(message)))
      assert.deepEqual(
        (await sweeper.sessions()).map(({ id, state }) => [id, state]),
        [['newer', 'paused']],
      )
    }),
  )

  test(
    'is refused to resume without an id, and begins where its id is unknown',
    inDirectory(async (contextDir) => {
      assert.throws(() => new ContextManager({ contextDir, resume: true }), { code: 'ERR_CONTEXT_INVALID_ARGUMENT' })
      const manager = new ContextManager({ contextDir, sessionId: 'new', resume: true })
      await manager.resume()
      assert.equal(manager.size, 0)
      assert.deepEqual(namesIn(contextDir), [])
      await manager.saveContext('t', {}, 1)
      assert.equal(manager.size, 1)
    }),
  )

  test(
    'shared by 12 processes at once, and by 40 short ones, keeps all contexts and leaves nothing else',
    PATIENT,
    inDirectory(async (contextDir) => {
      const parallel = Array.from({ length: 12 }, (_, number) =>
        converse(contextDir, 'hooks', 'exit', `parallel ${number}`),
      )
      const handles = (await Promise.all(parallel)).flat()
      for (let number = 0; number < 40; number++) {
        handles.push(...(await converse(contextDir, 'hooks', number % 2 === 0 ? 'exit' : 'close', `short ${number}`)))
      }
      endLocksIn(contextDir)
      const manager = new ContextManager({ contextDir, sessionId: 'hooks', resume: true, retention: STRICT })
      await manager.resume()
      assert.deepEqual(handlesOf(manager.getAllPointers()).sort(), handles.sort())
      await manager.sweep()
      assert.deepEqual(temporariesIn(contextDir), [])
      assert.deepEqual(leasesIn(contextDir).length, 1)
      assert.equal(namesIn(contextDir).length, 52 + 3, 'contexts, a lease, the session and the table')
    }),
  )

  test(
    'of another manager in the process is found, and its tools see their own session',
    inDirectory(async (contextDir) => {
      const main = new ContextManager({ contextDir, sessionId: 'main' })
      const sub = new ContextManager({ contextDir, sessionId: 'sub' })
      await main.saveContext('t', { of: 'main' }, 'a result of main')
      const path = await sub.saveContext('t', { of: 'sub' }, 'a result of sub')
      const [handle = ''] = handlesOf(sub.getAllPointers())
      assert.equal((await main.loadContext(handle)).result, 'a result of sub')
      const own = contextTools(main)
      const all = contextTools(main, { sessions: 'all' })
      const chosen = contextTools(main, { sessions: ['sub'] })
      for (const id of [handle, path]) {
        const refused = await own[2].execute({ id })
        assert.equal(refused.success, false)
        for (const tools of [all, chosen]) {
          assert.match((await tools[2].execute({ id })).value ?? '', /a result of sub/)
        }
      }
      const listed = async (tools: typeof own): Promise<boolean[]> => {
        const text = (await tools[0].execute()).value ?? ''
        return ['main', 'sub'].map((name) => text.includes(`t: ${name}`))
      }
      assert.deepEqual(await listed(own), [true, false])
      assert.deepEqual(await listed(all), [true, true])
      assert.deepEqual(await listed(chosen), [false, true])
      assert.match((await all[1].execute({ query: 'result' })).message, /2 stored outputs found/)
      assert.match((await chosen[1].execute({ query: 'result' })).message, /1 stored output found/)
      const selected = async (sessions: 'own' | 'all' | string[]) =>
        (await main.selectContexts('result', { sessions })).map(({ sessionId }) => sessionId).sort()
      assert.deepEqual(await selected('own'), ['main'])
      assert.deepEqual(await selected('all'), ['main', 'sub'])
      assert.deepEqual(await selected(['sub']), ['sub'])
      await rejectsWith(() => main.forget(path), 'ERR_CONTEXT_CONFLICT')
      await sub.close()
      await rejectsWith(() => main.forget(path), 'ERR_CONTEXT_CONFLICT', /paused/)
      assert.equal(await main.endSession('sub'), true)
      assert.equal(await main.endSession('sub'), false)
      assert.equal(await main.forget(handle), true)
      assert.deepEqual(await selected('all'), ['main'])
    }),
  )
})

describe('bounds of a live session', () => {
  test(
    'remove the least recently used, never the pinned and never the latest',
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir, memoryBudget: 0, retention: { maxLiveFiles: 3 } })
      const paths: string[] = []
      for (let number = 0; number < 3; number++) {
        paths.push(await manager.saveContext('t', { number }, number))
      }
      assert.equal(await manager.pin(paths[0] ?? ''), true)
      assert.equal(await manager.pin(GONE), false)
      await manager.loadContext(paths[1] ?? '')
      await manager.saveContext('t', { number: 3 }, 3)
      await manager.saveContext('t', { number: 4 }, 4)
      await manager.sweep()
      const kept = () => manager.getAllPointers().map(({ args }) => args['number'])
      assert.deepEqual(kept(), [0, 3, 4])
      assert.equal(contextsIn(contextDir).length, 3)
      assert.equal(await manager.unpin(paths[0] ?? ''), true)
      await manager.saveContext('t', { number: 5 }, 5)
      await manager.sweep()
      assert.deepEqual(kept(), [3, 4, 5])
    }),
  )

  test(
    'hold by bytes, for a session of short processes as well',
    inDirectory(async (contextDir) => {
      for (let number = 0; number < 6; number++) {
        const retention = { maxLiveBytes: 3000 }
        const manager = new ContextManager({ contextDir, sessionId: 'hooks', retention })
        await manager.saveContext('t', { number }, 'x'.repeat(1000))
        await manager.close()
        // The times of files have no order within a millisecond; no process ends and starts within one.
        await setTimeout(2)
      }
      const manager = new ContextManager({ contextDir, sessionId: 'hooks', resume: true })
      await manager.resume()
      assert.deepEqual(
        manager.getAllPointers().map(({ args }) => args['number']),
        [4, 5],
      )
    }),
  )
})

describe('reuse', () => {
  test(
    'ifAbsent writes nothing where the same output is there, also from another process of the session',
    inDirectory(async (contextDir) => {
      const open = () => new ContextManager({ contextDir, sessionId: 's' })
      const save = (manager: ContextManager, result: unknown) =>
        manager.saveContext('t', { a: 1, b: 2 }, result, undefined, undefined, { ifAbsent: true, callId: 'call_1' })
      const first = open()
      const path = await save(first, 'x')
      assert.equal(await save(first, 'x'), path)
      assert.notEqual(await save(first, 'y'), path)
      assert.equal(first.size, 2)
      await first.close()
      const second = open()
      assert.equal(await save(second, 'x'), path)
      assert.equal(only(second.getAllPointers()).filepath, path)
      assert.equal(only(await second.search('x')).filepath, path)
      assert.equal(contextsIn(contextDir).length, 2)
      rmSync(path)
      assert.notEqual(await save(second, 'x'), path)
    }),
  )

  test(
    'findContext gives the latest equal call',
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir, sessionId: 's' })
      assert.equal(await manager.findContext('t', { a: 1, b: [2] }), undefined)
      await manager.saveContext('t', { a: 1, b: [2] }, 'old')
      const path = await manager.saveContext('t', { b: [2], a: 1 }, 'new', undefined, undefined, {
        callId: 'call_7',
        exitCode: 2,
        durationMs: 12.5,
      })
      await manager.saveContext('t', { a: 1, b: [3] }, 'other')
      const found = await manager.findContext('t', { a: 1, b: [2] }, { maxAge: '1h' })
      assert.equal(found?.filepath, path)
      assert.deepEqual([found?.callId, found?.exitCode, found?.durationMs], ['call_7', 2, 12.5])
      assert.deepEqual(found, (await manager.listContexts())[1])
      assert.equal(await manager.findContext('u', { a: 1, b: [2] }), undefined)
      const other = new ContextManager({ contextDir })
      assert.equal(await other.findContext('t', { a: 1, b: [2] }), undefined)
      assert.equal((await other.findContext('t', { a: 1, b: [2] }, { sessions: 'all' }))?.filepath, path)
      assert.equal((await other.findContext('t', { a: 1, b: [2] }, { sessions: ['s'] }))?.filepath, path)
      await setTimeout(20)
      assert.equal(await manager.findContext('t', { a: 1, b: [2] }, { maxAge: 1 }), undefined)
      assert.equal(only(await manager.search('new', { callId: 'call_7' })).filepath, path)
      assert.deepEqual(await manager.search('new', { callId: 'call_8' }), [])
      const { callId, exitCode, durationMs, handle } = await manager.loadContext(path)
      assert.deepEqual([callId, exitCode, durationMs, handle], ['call_7', 2, 12.5, found?.handle])
    }),
  )
})

describe('forget with a filter', () => {
  test(
    'removes what meets every condition, after a dry run that removes nothing',
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir, sessionId: 's' })
      for (const [toolName, queryId] of [
        ['grep', 'q1'],
        ['grep', 'q2'],
        ['read', 'q1'],
      ] as const) {
        await manager.saveContext(toolName, {}, toolName, undefined, queryId)
      }
      await rejectsWith(() => manager.forget({}), 'ERR_CONTEXT_INVALID_ARGUMENT', /condition/)
      const planned = await manager.forget({ toolName: 'grep', queryId: 'q1' }, { dryRun: true })
      assert.deepEqual([planned.deletedFiles, manager.size], [1, 3])
      const report = await manager.forget({ toolName: 'grep', queryId: 'q1' })
      assert.deepEqual(report, planned)
      assert.equal(only(report.contexts).toolName, 'grep')
      assert.equal(existsSync(only(report.contexts).filepath), false)
      assert.equal(manager.size, 2)
      assert.equal((await manager.forget({ after: Date.now() + 1000 })).deletedFiles, 0)
      assert.equal((await manager.forget({ before: Date.now() + 1000 })).deletedFiles, 2)
      assert.deepEqual(contextsIn(contextDir), [])
    }),
  )

  test(
    'takes those of an ended session, and leaves a paused one alone',
    inDirectory(async (contextDir) => {
      const one = new ContextManager({ contextDir, sessionId: 'one' })
      await one.saveContext('t', {}, 1)
      await one.close()
      const other = new ContextManager({ contextDir })
      await rejectsWith(() => other.forget({ sessionId: 'one' }), 'ERR_CONTEXT_CONFLICT')
      await other.endSession('one')
      assert.equal((await other.forget({ sessionId: 'one' })).deletedFiles, 1)
    }),
  )
})

test(
  'a file of an earlier release counts as one of an ended session',
  inDirectory(async (contextDir) => {
    const manager = new ContextManager({ contextDir, sessionId: 'old' })
    const path = await manager.saveContext('t', {}, 1)
    const kept = `${contextDir}/../${Math.random()}.json`
    copyFileSync(path, kept)
    await manager.clear()
    copyFileSync(kept, path)
    rmSync(kept)
    const other = new ContextManager({ contextDir, retention: STRICT })
    assert.equal(only(await other.sessions()).state, 'ended')
    assert.equal((await other.sweep()).deletedFiles, 1)
  }),
)
