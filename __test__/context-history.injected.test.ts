import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type ContextEntry, ContextHistory } from '../dist/index.js'
import { MemoryFileSystem } from './support/fixtures.ts'
import { PATIENT, run } from './support/processes.ts'

/** A file system that can add to files, and counts how often it does what. */
class AppendingFileSystem extends MemoryFileSystem {
  appended = 0
  written = 0
  failure: Error | undefined

  appendFile = async (path: string, content: string): Promise<void> => {
    const before = (await this.exists(path)) ? await this.readFile(path) : ''
    this.appended++
    if (this.failure !== undefined) {
      await super.writeFile(path, before + content.slice(0, content.length / 2))
      throw this.failure
    }
    await super.writeFile(path, before + content)
  }

  override async writeFile(path: string, content: string): Promise<void> {
    this.written++
    await super.writeFile(path, content)
  }
}

const toolNames = (entries: readonly ContextEntry[]): string[] => entries.map(({ toolName }) => toolName)

describe('a history in an injected file system', () => {
  test('appends through appendFile, if there is one, and never rewrites the file', async () => {
    const fileSystem = new AppendingFileSystem()
    const history = new ContextHistory({ fileSystem })
    for (const toolName of ['a', 'b', 'c']) {
      await history.append({ toolName })
    }
    assert.deepEqual([fileSystem.appended, fileSystem.written], [3, 0])
    assert.deepEqual(toolNames(await history.read()), ['a', 'b', 'c'])
    await history.compact({ keepLast: 1 })
    await history.append({ toolName: 'd' })
    assert.deepEqual(toolNames(await history.read()), ['c', 'd'])
  })

  test('rejects every append of a failed batch with the reason, and ends an incomplete line', async () => {
    const fileSystem = new AppendingFileSystem()
    const history = new ContextHistory({ fileSystem })
    await history.append({ toolName: 'a' })
    const failure = new Error('the cable was pulled')
    fileSystem.failure = failure
    const outcomes = await Promise.allSettled(['b', 'c', 'd'].map((toolName) => history.append({ toolName })))
    for (const outcome of outcomes) {
      assert.equal(outcome.status, 'rejected')
      assert.equal(outcome.reason.code, 'ERR_CONTEXT_IO')
      assert.match(outcome.reason.message, /the cable was pulled/)
      assert.equal(outcome.reason.cause, failure)
    }
    fileSystem.failure = undefined
    await history.append({ toolName: 'e' })
    const names = toolNames(await history.read())
    assert.deepEqual([names[0], names.at(-1)], ['a', 'e'])
  })

  test('is queued with the others of the same file and file system', async () => {
    const fileSystem = new MemoryFileSystem()
    const histories = Array.from({ length: 4 }, () => new ContextHistory({ fileSystem, path: 'shared.jsonl' }))
    await Promise.all(
      Array.from({ length: 100 }, (_, number) => histories[number % 4]?.append({ toolName: `t${number}` })),
    )
    const names = toolNames((await histories[0]?.read(1000)) ?? [])
    assert.deepEqual(
      names,
      Array.from({ length: 100 }, (_, number) => `t${number}`),
    )
  })

  test('goes on when the one that brought the file system first is gone', {
    ...PATIENT,
    skip: 'Bun' in globalThis || 'Deno' in globalThis ? 'needs --expose-gc of Node' : false,
  }, async () => {
    const lines = await run('shared-file-system.mjs', [], { flags: ['--expose-gc'] })
    assert.deepEqual(JSON.parse(lines[0] ?? ''), { isCollected: true, tools: ['first', 'second'] })
  })
})
