/** Locks that bind the processes of one mount only: what is lost, refused, reported and kept there. */

import assert from 'node:assert/strict'
import { appendFileSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { ContextHistory, ContextManager, ContextStore, RepoMemory } from '../dist/index.js'
import { inDirectory, only, rejectsWith } from './support/fixtures.ts'
import { onTwoMounts, skipMounts } from './support/mounts.ts'
import { leasesIn, linesOf, PATIENT, start } from './support/processes.ts'

const HASH = 'a'.repeat(64)
const WRITERS = ['w0', 'w1']
const RECORDS = 400
const IN_FLIGHT = 8
const BETWEEN_COMPACTIONS = 20
const UNTRUSTED = /^The locks of the .* may bind one host or mount only/
const DAY = 24 * 60 * 60 * 1000

/** Collects debug messages. */
function listener(): { messages: string[]; onDebug: (message: string) => void } {
  const messages: string[] = []
  return { messages, onDebug: (message) => void messages.push(message) }
}

describe('two mounts of one directory', { skip: skipMounts, ...PATIENT }, () => {
  it('lose no entry that two writers append while a third process compacts', () =>
    onTwoMounts(async (back, first, second) => {
      const writers = [first, second].map((mount, index) =>
        start('history-writer.mjs', [join(mount, 'h.jsonl'), WRITERS[index] ?? '', RECORDS, 200, IN_FLIGHT, 0]),
      )
      for (const writer of writers) {
        assert.equal(await writer.line(), 'ready')
      }
      let isOver = false
      const compactor = new ContextHistory({ path: join(second, 'h.jsonl') })
      const outcomes = new Set<string>()
      const compacting = (async () => {
        while (!isOver) {
          const outcome = await compactor.compact({ keepLast: 1 }).then(
            ({ droppedEntries }) => (droppedEntries === 0 ? 'nothing to drop' : 'compacted'),
            ({ code }) => String(code),
          )
          outcomes.add(outcome)
          await pause(BETWEEN_COMPACTIONS)
        }
      })()
      for (const writer of writers) {
        writer.send('go')
      }
      for (const writer of writers) {
        const { code, stderr, ...ended } = await writer.ended
        assert.deepEqual({ code, stderr }, { code: 0, stderr: '' })
        assert.equal((JSON.parse(linesOf({ code, stderr, ...ended }).at(-1) ?? '') as { count: number }).count, RECORDS)
      }
      isOver = true
      await compacting
      assert.ok(!outcomes.has('compacted'))
      const entries = await new ContextHistory({ path: join(back, 'h.jsonl') }).read(10 * RECORDS)
      const ids = new Set(entries.map(({ id }) => id))
      assert.deepEqual([entries.length, ids.size], [WRITERS.length * RECORDS, WRITERS.length * RECORDS])
    }))

  it('refuse to compact a history and report it once, unless its locks are trusted', () =>
    onTwoMounts(async (_, first) => {
      const path = join(first, 'h.jsonl')
      const { messages, onDebug } = listener()
      const history = new ContextHistory({ path, onDebug })
      for (let number = 0; number < 3; number++) {
        await history.append({ toolName: 't', params: {}, result: number, success: true })
      }
      assert.equal(messages.filter((message) => UNTRUSTED.test(message)).length, 1)
      await rejectsWith(() => history.compact({ keepLast: 1 }), 'ERR_CONTEXT_UNSUPPORTED', /fuse.*trustLocks/)
      assert.equal((await history.read()).length, 3)
      const trusted = listener()
      const trusting = new ContextHistory({ path, trustLocks: true, onDebug: trusted.onDebug })
      await trusting.append({ toolName: 't', params: {}, result: 3, success: true })
      assert.equal((await trusting.compact({ keepLast: 1 })).droppedEntries, 3)
      assert.ok(!trusted.messages.some((message) => UNTRUSTED.test(message)))
    }))

  it('do not remove the live sessions of each other', () =>
    onTwoMounts(async (back, first, second) => {
      const living = new ContextManager({ contextDir: first })
      const paths: string[] = []
      for (let number = 0; number < 20; number++) {
        paths.push(await living.saveContext('t', { number }, number))
      }
      const { messages, onDebug } = listener()
      const retention = { maxFiles: 0, maxBytes: 0 }
      for (const contextDir of [second, back]) {
        const sweeper = new ContextManager({ contextDir, retention, onDebug })
        const report = await sweeper.sweep()
        assert.deepEqual([report.deletedFiles, report.liveSessions], [0, 1])
        await sweeper.clearContextDir()
      }
      assert.equal(messages.filter((message) => message.startsWith('Sessions may be alive')).length, 2)
      assert.equal((await living.loadContexts(paths)).length, paths.length)
      assert.equal(readdirSync(back).filter((name) => name.endsWith('.json')).length, paths.length)
      await living.close()
      const after = await new ContextManager({ contextDir: second, retention }).sweep()
      assert.deepEqual([after.deletedFiles, after.liveSessions], [20, 0], 'it has ended')
    }))

  it('sweep sessions that died on the same mount, whatever the file system', () =>
    onTwoMounts(async (_, first) => {
      const child = start('session.mjs', [first, '', 3, 0, 'stay'])
      for (let line = ''; !line.startsWith('ready'); line = await child.line()) {}
      const sweeper = new ContextManager({ contextDir: first, retention: { maxFiles: 0 } })
      assert.equal((await sweeper.sweep()).deletedFiles, 0)
      child.process.kill('SIGKILL')
      await child.ended
      assert.equal((await sweeper.sweep()).deletedFiles, 3)
    }))

  it('report once that changes of a store and of a memory are not exclusive, and remove no summary', () =>
    onTwoMounts(async (_, first) => {
      const told = listener()
      const store = new ContextStore({ agent: 'a', path: join(first, 'store'), onDebug: told.onDebug })
      const { path } = await store.write({ type: 'finding', slug: 's', content: 'c' })
      for (const tag of ['d', 'e']) {
        await store.update(path, { addTags: [tag] }, 'tagged')
      }
      assert.equal(told.messages.filter((message) => UNTRUSTED.test(message)).length, 1)
      const { messages, onDebug } = listener()
      const options = { repoHash: HASH, root: join(first, 'root'), maxSummaries: 1, onDebug }
      const memory = await RepoMemory.open(options)
      await memory.upsertNote({ content: 'n' })
      for (const summary of ['one', 'two', 'three']) {
        await memory.appendSummary('run', 'step', summary)
      }
      assert.equal(messages.filter((message) => UNTRUSTED.test(message)).length, 1)
      const file = join(memory.directory, 'summaries.jsonl')
      assert.equal(readFileSync(file, 'utf8').trim().split('\n').length, 3)
      const trusting = await RepoMemory.open({ ...options, trustLocks: true })
      await trusting.appendSummary('run', 'step', 'four')
      assert.equal(readFileSync(file, 'utf8').trim().split('\n').length, 1)
    }))
})

describe('a lease', () => {
  /** A session that died, with its lease's text changed by `edit`. */
  const died = async (contextDir: string, edit: (text: string) => string): Promise<string> => {
    const child = start('session.mjs', [contextDir, '', 3, 0, 'stay'])
    for (let line = ''; !line.startsWith('ready'); line = await child.line()) {}
    child.process.kill('SIGKILL')
    await child.ended
    const lease = join(contextDir, only(leasesIn(contextDir)))
    writeFileSync(lease, edit(readFileSync(lease, 'utf8')))
    return lease
  }
  const sweep = (contextDir: string, options: { maxAge?: string; trustLocks?: boolean } = {}) => {
    const { maxAge = '7d', trustLocks = false } = options
    const manager = new ContextManager({ contextDir, trustLocks, retention: { maxFiles: 0, maxAge } })
    return manager.sweep()
  }

  it(
    'of another host keeps its sessions alive until retention.maxAge',
    { ...PATIENT, skip: process.platform === 'linux' ? false : 'leases name their host on Linux' },
    () =>
      inDirectory(async (directory) => {
        const lease = await died(directory, (text) => {
          assert.match(text, /^@[\w-]+$/m)
          return text.replace(/^@.*$/m, '@other-boot-1')
        })
        const kept = await sweep(directory)
        assert.deepEqual([kept.deletedFiles, kept.liveSessions], [0, 1])
        // The files are as old as their names say, or as the system does, whichever is younger.
        await pause(20)
        appendFileSync(lease, '\n')
        assert.equal((await sweep(directory, { maxAge: '1h' })).deletedFiles, 0)
        await pause(20)
        utimesSync(lease, new Date(), new Date(Date.now() - DAY))
        assert.equal((await sweep(directory, { maxAge: '10ms' })).deletedFiles, 3)
        assert.deepEqual(leasesIn(directory), [])
      }),
  )

  it('of another host is over where the caller trusts the locks', PATIENT, () =>
    inDirectory(async (directory) => {
      await died(directory, (text) => text.replace(/^@.*$/m, '@other-boot-1'))
      assert.equal((await sweep(directory, { trustLocks: true })).deletedFiles, 3)
      assert.deepEqual(leasesIn(directory), [])
    }),
  )

  it('of an earlier version, without a host, is understood', PATIENT, () =>
    inDirectory(async (directory) => {
      await died(directory, (text) => text.replace(/^@.*\n/m, ''))
      assert.equal((await sweep(directory)).deletedFiles, 3)
    }),
  )
})

describe('trustLocks and allowShared', () => {
  for (const name of ['trustLocks', 'allowShared'] as const) {
    it(`${name} must be a boolean`, async () => {
      const bad = { [name]: 'yes' }
      for (const make of [
        () => new ContextManager(bad as object),
        () => new ContextHistory(bad as object),
        () => new ContextStore({ agent: 'a', ...bad } as { agent: string }),
      ]) {
        assert.throws(make, { code: 'ERR_CONTEXT_INVALID_ARGUMENT', message: new RegExp(name) })
      }
      await rejectsWith(
        () => RepoMemory.open({ repoHash: HASH, ...bad }),
        'ERR_CONTEXT_INVALID_ARGUMENT',
        /must be true/,
      )
    })
  }
})
