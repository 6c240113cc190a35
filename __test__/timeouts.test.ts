/** Callers' functions that never settle: what waits for them goes on after a while. */

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import {
  type ContextEntry,
  ContextHistory,
  ContextManager,
  ContextStore,
  type Embed,
  type IFileSystem,
  RepoMemory,
} from '../dist/index.js'
import { debugLog, inDirectory, MemoryFileSystem, rejectsWith, throwsWith, wrong } from './support/fixtures.ts'
import { run } from './support/processes.ts'

/** Longer than any test: what it bounds must not be waited for. */
const NEVER = 3_600_000
const SHORT = 20

const pending = <T>(): Promise<T> => new Promise<T>(() => {})
const vectorsOf = (texts: readonly string[]): number[][] =>
  texts.map((text) => [/car|automobile/.test(text) ? 1 : 0, 0.1])

/** A manager with one output that means what `car` means. */
async function managerWith(count = 1): Promise<{ manager: ContextManager; log: ReturnType<typeof debugLog> }> {
  const log = debugLog()
  const manager = new ContextManager({ contextDir: '/tmp/agent-context-never-written', persist: 'large', onDebug: log })
  for (let index = 1; index < count; index++) {
    await manager.saveContext('tool', { q: `tree ${index}` }, 'a tree')
  }
  await manager.saveContext('tool', { q: 'the automobile' }, 'of Ada')
  return { manager, log }
}

/** A file system in memory, some of whose calls wait for the test. */
class HangingFileSystem extends MemoryFileSystem {
  hangs: (method: keyof IFileSystem, path: string) => boolean = () => false
  readonly #waiting: (() => void)[] = []

  override async writeFile(path: string, content: string): Promise<void> {
    await this.#wait('writeFile', path)
    return super.writeFile(path, content)
  }

  override async readFile(path: string): Promise<string> {
    await this.#wait('readFile', path)
    return super.readFile(path)
  }

  /** Lets every waiting call go on. */
  release(): void {
    for (const go of this.#waiting.splice(0)) {
      go()
    }
  }

  async #wait(method: keyof IFileSystem, path: string): Promise<void> {
    if (this.hangs(method, path)) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    }
  }
}

describe('embed', () => {
  test('that takes too long leaves the choice to the ranker', async () => {
    const { manager, log } = await managerWith(3)
    const found = await manager.selectContexts('tree', { embed: () => pending(), embedTimeout: SHORT })
    assert.deepEqual(found, await manager.selectContexts('tree'))
    const told = log.entries.find(({ message }) => /embed failed/.test(message))
    assert.match(String((told?.data as { error?: Error } | undefined)?.error), /embed did not settle within 20 ms/)
  })

  test('of another call is not waited for', async () => {
    const { manager } = await managerWith(200)
    const controller = new AbortController()
    const { signal } = controller
    const hanging = manager.selectContexts('car', { embed: () => pending(), embedTimeout: NEVER, signal })
    let texts: string[] = []
    const embed: Embed = (given) => {
      texts = [...texts, ...given]
      return vectorsOf(given)
    }
    const [found] = await manager.selectContexts('car', { embed })
    assert.equal(found?.args['q'], 'the automobile')
    assert.equal(texts.length, 201, 'every context and the query')
    controller.abort()
    await assert.rejects(hanging, { name: 'AbortError' })
  })

  test('may use its manager, with embed as well', async () => {
    const { manager, log } = await managerWith(3)
    let isInside = false
    const embed: Embed = async (texts) => {
      if (!isInside) {
        isInside = true
        const [found] = await manager.selectContexts('car', { embed, embedTimeout: NEVER })
        assert.equal(found?.args['q'], 'the automobile')
      }
      return vectorsOf(texts)
    }
    const [found] = await manager.selectContexts('car', { embed, embedTimeout: NEVER })
    assert.equal(found?.args['q'], 'the automobile')
    assert.ok(!log.messages.some((message) => /embed failed/.test(message)))
  })

  test('is shared by calls at the same time: each embeds other contexts', async () => {
    const { manager } = await managerWith(640)
    const seen: string[] = []
    const embed: Embed = async (texts) => {
      seen.push(...texts)
      // Every call has its batch before the first answer.
      await new Promise((resolve) => setImmediate(resolve))
      return vectorsOf(texts)
    }
    const all = await Promise.all(Array.from({ length: 3 }, () => manager.selectContexts('car', { embed })))
    for (const [found] of all) {
      assert.equal(found?.args['q'], 'the automobile')
    }
    const contexts = seen.filter((text) => text !== 'car')
    assert.equal(new Set(contexts).size, 640)
    assert.ok(contexts.length <= 640 + 3 * 2 * 64, `no more than the last batches twice: ${contexts.length}`)
  })

  test('is tried again for contexts that a failed call had claimed', async () => {
    const { manager } = await managerWith(4)
    await manager.selectContexts('car', { embed: () => pending(), embedTimeout: SHORT })
    const found = await manager.selectContexts('car', { embed: vectorsOf })
    assert.deepEqual(
      found.map(({ args }) => args['q']),
      ['the automobile'],
    )
  })
})

test('a selector that takes too long leaves the choice to the ranker', async () => {
  const { manager, log } = await managerWith(3)
  const found = await manager.selectContexts('tree', { selector: () => pending(), selectorTimeout: SHORT })
  assert.deepEqual(found, await manager.selectContexts('tree'))
  assert.ok(log.messages.some((message) => /selector failed/.test(message)))
})

describe('summarise', () => {
  test('of a compaction that takes too long removes nothing', () =>
    inDirectory(async (directory) => {
      const history = new ContextHistory({ path: join(directory, 'a.jsonl') })
      for (const index of [1, 2, 3]) {
        await history.append({ toolName: 'tool', result: index })
      }
      const before = readFileSync(history.path, 'utf8')
      const error = await rejectsWith(
        () => history.compact({ keepLast: 1, summarise: () => pending(), summariseTimeout: SHORT }),
        'ERR_CONTEXT_INVALID_ARGUMENT',
        /summarise failed; nothing was removed/,
      )
      assert.match(String(error.cause), /policy.summarise did not settle within 20 ms/)
      assert.equal(readFileSync(history.path, 'utf8'), before)
    }))

  test('of a step that takes too long: the result is shown', () =>
    inDirectory(async (root) => {
      const log = debugLog()
      await using memory = await RepoMemory.open({ repoHash: 'a'.repeat(64), root, onDebug: log })
      const options = { summarise: () => pending<string>(), summariseTimeout: SHORT }
      assert.equal(await memory.workflow('run').step('plan', () => 'the plan', options), 'the plan')
      assert.deepEqual(
        (await memory.getRepoMemory()).summaries.map(({ summary }) => summary),
        ['the plan'],
      )
      assert.ok(log.messages.some((message) => /summary of a step was not made/.test(message)))
    }))
})

describe('fileSystem', () => {
  test('that takes too long fails the call, and no other', async () => {
    const fileSystem = new HangingFileSystem()
    fileSystem.hangs = (method) => method === 'writeFile'
    const manager = new ContextManager({ contextDir: '/c', fileSystem, fileSystemTimeout: SHORT })
    const error = await rejectsWith(() => manager.saveContext('tool', {}, 1), 'ERR_CONTEXT_IO')
    assert.match(String(error.cause), /fileSystem.writeFile did not settle within 20 ms/)
    assert.equal((error.cause as { code?: string }).code, 'ETIMEDOUT')
    fileSystem.hangs = () => false
    const path = await manager.saveContext('tool', {}, 2)
    fileSystem.hangs = (method) => method === 'readFile'
    const reader = new ContextManager({ contextDir: '/c', fileSystem, fileSystemTimeout: SHORT })
    await rejectsWith(() => reader.loadContext(path), 'ERR_CONTEXT_IO', /./)
    fileSystem.hangs = () => false
    assert.equal((await reader.loadContext(path)).result, 2)
  })

  test('loses no entry when a write that took too long comes late', async () => {
    const fileSystem = new HangingFileSystem()
    const history = new ContextHistory({ path: '/h/a.jsonl', fileSystem, fileSystemTimeout: SHORT })
    await history.append({ toolName: 'one' })
    fileSystem.hangs = (method) => method === 'writeFile'
    await rejectsWith(() => history.append({ toolName: 'late' }), 'ERR_CONTEXT_IO')
    fileSystem.hangs = () => false
    const refused = await rejectsWith(() => history.append({ toolName: 'two' }), 'ERR_CONTEXT_IO')
    assert.match(String(refused.cause), /did not settle in time and may still come/)
    fileSystem.release()
    await new Promise((resolve) => setImmediate(resolve))
    await history.append({ toolName: 'three' })
    const names = (await history.read()).map(({ toolName }) => toolName)
    assert.deepEqual([names[0], names.at(-1)], ['one', 'three'], names.join())
  })

  const closing: [
    string,
    (fileSystem: IFileSystem, log: ReturnType<typeof debugLog>) => Promise<() => Promise<void>>,
  ][] = [
    [
      'ContextManager',
      async (fileSystem, onDebug) => {
        const options = { contextDir: '/c', fileSystem, onDebug, fileSystemTimeout: NEVER, closeTimeout: SHORT }
        const manager = new ContextManager(options)
        void manager.saveContext('tool', {}, 1)
        return () => manager.close()
      },
    ],
    [
      'ContextHistory',
      async (fileSystem, onDebug) => {
        const options = { path: '/h/a.jsonl', fileSystem, onDebug, fileSystemTimeout: NEVER, closeTimeout: SHORT }
        const history = new ContextHistory(options)
        void history.append({ toolName: 'tool' })
        return () => history.close()
      },
    ],
    [
      'ContextStore',
      async (fileSystem, onDebug) => {
        const options = { agent: 'a', path: '/s', fileSystem, onDebug, fileSystemTimeout: NEVER, closeTimeout: SHORT }
        const store = new ContextStore(options)
        void store.write({ type: 'finding', slug: 's', content: 'c' })
        return () => store.close()
      },
    ],
  ]
  for (const [name, begin] of closing) {
    test(`is given up by close() of ${name}, which says so`, async () => {
      const fileSystem = new HangingFileSystem()
      fileSystem.hangs = (method) => method === 'writeFile'
      const log = debugLog()
      const close = await begin(fileSystem, log)
      await close()
      assert.ok(
        log.messages.some((message) => /close gave up: calls of the fileSystem/.test(message)),
        log.messages.join('\n'),
      )
      fileSystem.hangs = () => false
      fileSystem.release()
    })
  }

  test('is waited for by close() while it has time', async () => {
    const fileSystem = new HangingFileSystem()
    fileSystem.hangs = (method) => method === 'writeFile'
    const log = debugLog()
    const manager = new ContextManager({ contextDir: '/c', fileSystem, onDebug: log, closeTimeout: NEVER })
    let isSaved = false
    void manager.saveContext('tool', {}, 1).then(() => {
      isSaved = true
    })
    const closed = manager.close()
    await new Promise((resolve) => setTimeout(resolve, SHORT))
    fileSystem.hangs = () => false
    fileSystem.release()
    await closed
    assert.ok(isSaved)
    assert.ok(!log.messages.some((message) => /gave up/.test(message)))
  })

  test('of the local disk is always waited for by close()', () =>
    inDirectory(async (contextDir) => {
      const log = debugLog()
      const manager = new ContextManager({ contextDir, durability: 'full', closeTimeout: 0, onDebug: log })
      let saved = 0
      for (let index = 0; index < 50; index++) {
        void manager.saveContext('tool', { index }, 'x'.repeat(10_000)).then(() => {
          saved++
        })
      }
      await manager.close()
      assert.equal(saved, 50)
      assert.ok(!log.messages.some((message) => /gave up/.test(message)))
    }))
})

test('a process ends at once when its calls are over, whatever their timeouts', async () => {
  const [line] = await run('timeouts.mjs')
  assert.equal(line, 'done')
})

test('wrong timeouts are refused', async () => {
  const { manager } = await managerWith()
  const history = new ContextHistory({ path: '/never/a.jsonl' })
  const entries: ContextEntry[] = []
  for (const timeout of [-1, 1.5, Number.NaN, '10', {}]) {
    const given = wrong<number>(timeout)
    const options = { embedTimeout: given }
    await rejectsWith(() => manager.selectContexts('q', options), 'ERR_CONTEXT_INVALID_ARGUMENT', /embedTimeout/)
    const selecting = { selectorTimeout: given }
    await rejectsWith(() => manager.selectContexts('q', selecting), 'ERR_CONTEXT_INVALID_ARGUMENT', /selectorTimeout/)
    const policy = { keepLast: 1, summarise: () => String(entries), summariseTimeout: given }
    await rejectsWith(() => history.compact(policy), 'ERR_CONTEXT_INVALID_ARGUMENT', /summariseTimeout/)
    for (const name of ['fileSystemTimeout', 'closeTimeout']) {
      const timeouts = { [name]: given }
      for (const create of [
        () => new ContextManager(timeouts),
        () => new ContextHistory(timeouts),
        () => new ContextStore({ agent: 'a', ...timeouts }),
      ]) {
        throwsWith(create, 'ERR_CONTEXT_INVALID_ARGUMENT', new RegExp(name))
      }
    }
  }
})
