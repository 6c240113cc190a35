import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { basename } from 'node:path'
import { describe, test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { ContextManager } from '../dist/index.js'
import {
  contextsIn,
  holds,
  inDirectory,
  leasesIn,
  namesIn,
  PATIENT,
  recordIn,
  run,
  temporariesIn,
} from './support/processes.ts'

const skip = typeof Worker === 'function' ? false : 'this runtime has no node:worker_threads'
if (skip !== false) {
  console.warn(`workers.test.ts is SKIPPED: ${skip}`)
}

/** The messages of a worker. */
interface Told {
  paths: string[]
  pointers: string[]
  sessionId: string
  size: number
  path: string
  cleared: boolean
}

function startWorker(workerData: Record<string, unknown>): Worker {
  return new Worker(new URL('./children/worker.mjs', import.meta.url), { workerData })
}

/** The worker's next message. */
function told(worker: Worker, question?: string): Promise<Told> {
  return new Promise((resolve, reject) => {
    worker.once('message', resolve)
    worker.once('error', reject)
    if (question !== undefined) {
      worker.postMessage(question)
    }
  })
}

/** Lets a worker end by itself. */
async function end(worker: Worker): Promise<void> {
  const exited = new Promise<number>((resolve) => worker.once('exit', resolve))
  worker.postMessage('end')
  assert.equal(await exited, 0)
}

describe('worker threads', { skip }, () => {
  test(
    '4 workers with 100 saves of the same call each: all files distinct and whole, pointers separate',
    PATIENT,
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir })
      const own = await manager.saveContext('main', {}, 'own')
      const workers = [0, 1, 2, 3].map((name) => startWorker({ contextDir, name, count: 100 }))
      const answers = await Promise.all(workers.map((worker) => told(worker)))
      const paths = answers.flatMap((answer) => answer.paths)
      assert.equal(new Set(paths).size, 400)
      assert.deepEqual(contextsIn(contextDir), [...paths, own].map((path) => basename(path)).sort())
      assert.equal(new Set(answers.map(({ sessionId }) => sessionId)).size, 4)
      for (const [name, answer] of answers.entries()) {
        assert.deepEqual(answer.pointers, answer.paths)
        for (const [number, path] of answer.paths.entries()) {
          assert.deepEqual(recordIn(path).result, { name, number })
        }
      }
      assert.equal(manager.size, 1)
      assert.equal(leasesIn(contextDir).length, 1, 'one lease for the threads of a process')
      assert.equal((await manager.listContexts()).length, 401)
      await manager.clear()
      assert.equal(contextsIn(contextDir).length, 400)
      for (const worker of workers) {
        assert.equal((await told(worker, 'size')).size, 100)
        assert.equal((await told(worker, 'clear')).cleared, true)
        await end(worker)
      }
      assert.deepEqual(namesIn(contextDir), [])
    }),
  )

  test(
    'the main thread and a worker can share a session',
    PATIENT,
    inDirectory(async (contextDir) => {
      const manager = new ContextManager({ contextDir, sessionId: 'across threads' })
      const stranger = new ContextManager({ contextDir, sessionId: 'another' })
      await manager.saveContext('main', {}, 1)
      const strange = await stranger.saveContext('main', {}, 1)
      const worker = startWorker({ contextDir, sessionId: 'across threads', name: 'w', count: 10 })
      const { paths } = await told(worker)
      assert.equal((await manager.listContexts('across threads')).length, 11)
      await manager.clear()
      holds(paths.every((path) => !existsSync(path)))
      assert.deepEqual(contextsIn(contextDir), [basename(strange)])
      assert.equal((await told(worker, 'size')).size, 0)

      const { path } = await told(worker, 'save')
      holds(existsSync(path))
      const own = await manager.saveContext('main', {}, 2)
      assert.equal((await told(worker, 'clear')).cleared, true)
      holds(!existsSync(own))
      assert.equal(manager.size, 0)
      assert.equal(stranger.size, 1)
      await stranger.clear()
      assert.deepEqual(namesIn(contextDir), [])
      await end(worker)
    }),
  )

  test(
    "a worker's session is over when the worker has ended, however it did",
    PATIENT,
    inDirectory(async (contextDir) => {
      const workers = [0, 1].map((name) => startWorker({ contextDir, name, count: 3 }))
      await Promise.all(workers.map((worker) => told(worker)))
      const manager = new ContextManager({ contextDir, retention: { maxFiles: 0 } })
      const liveSessions = async (): Promise<number> => (await manager.sweep()).liveSessions
      assert.equal(await liveSessions(), 2)
      assert.equal(contextsIn(contextDir).length, 6)
      await workers[0]?.terminate()
      await end(workers[1] as Worker)
      // Their managers are let go on the thread pool.
      let live = await liveSessions()
      for (let attempt = 0; live > 0 && attempt < 500; attempt++) {
        await new Promise((resolve) => setTimeout(resolve, 10))
        live = await liveSessions()
      }
      assert.equal(live, 0, 'both sessions are over')
      await manager.sweep()
      assert.deepEqual(namesIn(contextDir), ['.handles'])
    }),
  )

  test(
    'terminate() in the middle of saves, ten times, harms neither the process nor its other saves',
    PATIENT,
    inDirectory(async (contextDir) => {
      assert.deepEqual(await run('terminate.mjs', [contextDir]), ['200'])
      const results = contextsIn(contextDir).map((name) => recordIn(`${contextDir}/${name}`))
      assert.equal(results.filter(({ toolName }) => toolName === 'main_tool').length, 200)
      holds(results.every(({ toolName }) => toolName === 'main_tool' || toolName === 'worker_tool'))
      const manager = new ContextManager({ contextDir })
      await manager.sweep()
      assert.deepEqual(temporariesIn(contextDir), [])
    }),
  )
})
