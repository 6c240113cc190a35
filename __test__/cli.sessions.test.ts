import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { describe, test } from 'node:test'
import { ContextManager, type ContextPointer, StateStore } from '../dist/index.js'
import {
  agentContext,
  agentContextJson,
  agentContextOk,
  contentsOf,
  environmentIn,
  PROGRAM,
  placesIn,
  schemaProblems,
} from './support/command-line.ts'
import { contextsIn, holds, inDirectory, PATIENT, runtimeParameters } from './support/processes.ts'

interface Listing {
  items: ContextPointer[]
}
interface SessionRow {
  id: string
  state: string
  contexts: number
}

/** `named` is paused when its manager closes; the session without a name is over. */
async function store(directory: string): Promise<void> {
  const contextDir = placesIn(directory).dir
  const named = new ContextManager({ contextDir, sessionId: 'named' })
  const over = new ContextManager({ contextDir })
  await named.saveContext('grep', { pattern: 'login' }, 'a hit')
  await over.saveContext('grep', { pattern: 'login' }, 'a hit')
  await over.saveContext('npm_test', {}, 'all tests passed')
  await named.close()
  await over.close()
}

describe('commands on sessions', () => {
  test(
    'sessions lists what is live, paused or ended, and sessions end lets one go',
    PATIENT,
    inDirectory(async (directory) => {
      await store(directory)
      const listing = await agentContextJson<{ items: SessionRow[] }>(directory, ['sessions'])
      assert.deepEqual(schemaProblems(listing, 'sessions list'), [])
      const states = (rows: SessionRow[]): unknown => rows.map(({ state, contexts }) => [state, contexts]).sort()
      assert.deepEqual(states(listing.items), [
        ['ended', 2],
        ['paused', 1],
      ])
      const ended = await agentContextJson<{ ended: boolean; before: string }>(directory, ['sessions', 'end', 'named'])
      assert.deepEqual(schemaProblems(ended, 'sessions end'), [])
      assert.deepEqual([ended.ended, ended.before], [true, 'paused'])
      const after = await agentContextJson<{ items: SessionRow[] }>(directory, ['sessions', 'list'])
      holds(
        after.items.every(({ state }) => state === 'ended'),
        JSON.stringify(after),
      )
      assert.equal((await agentContext(directory, ['sessions', 'end', 'absent'])).code, 3)
    }),
  )

  test(
    'sweep previews, refuses without a terminal, and leaves paused sessions',
    PATIENT,
    inDirectory(async (directory) => {
      await store(directory)
      const before = contentsOf(directory)
      const preview = await agentContextJson<{ deletedFiles: number; removals: unknown[] }>(directory, [
        'sweep',
        '--max-files',
        '0',
        '--dry-run',
      ])
      assert.deepEqual(schemaProblems(preview, 'sweep'), [])
      assert.deepEqual([preview.deletedFiles, preview.removals.length], [2, 2])
      const refused = await agentContext(directory, ['sweep', '--max-files', '0'])
      assert.equal(refused.code, 4)
      assert.deepEqual(contextsIn(placesIn(directory).dir).length, 3)
      assert.deepEqual(Object.keys(contentsOf(directory)), Object.keys(before))
      const swept = await agentContextJson(directory, ['sweep', '--max-files', '0', '--yes'])
      assert.deepEqual(schemaProblems(swept, 'sweep'), [])
      assert.equal(contextsIn(placesIn(directory).dir).length, 1)
      // Nothing is left to remove, so that nothing has to be confirmed.
      await agentContextOk(directory, ['sweep', '--max-files', '0'])
    }),
  )

  test(
    'forget with conditions takes ended sessions, and refuses one that may go on',
    PATIENT,
    inDirectory(async (directory) => {
      await store(directory)
      const preview = await agentContextJson<{ removed: unknown[]; keptSessions: string[] }>(directory, [
        'forget',
        '--tool',
        'grep',
        '--dry-run',
      ])
      assert.deepEqual(schemaProblems(preview, 'forget'), [])
      assert.deepEqual([preview.removed.length, preview.keptSessions], [1, ['named']])
      assert.equal(contextsIn(placesIn(directory).dir).length, 3)
      assert.equal((await agentContext(directory, ['forget', '--session', 'named', '--yes'])).code, 4)
      assert.equal((await agentContext(directory, ['forget'])).code, 2)
      assert.equal((await agentContext(directory, ['forget', 'ctx_0123456789abcdef', '--tool', 'grep'])).code, 2)
      const { removed } = await agentContextJson<{ removed: unknown[] }>(directory, [
        'forget',
        '--since',
        '1h',
        '--yes',
      ])
      assert.equal(removed.length, 2)
      assert.equal(contextsIn(placesIn(directory).dir).length, 1)
      await agentContextOk(directory, ['sessions', 'end', 'named'])
      await agentContextOk(directory, ['forget', '--session', 'named', '--yes'])
      assert.equal(contextsIn(placesIn(directory).dir).length, 0)
    }),
  )

  test(
    'a handle is read in every process, and --session says whose output is meant',
    PATIENT,
    inDirectory(async (directory) => {
      await store(directory)
      const { items } = await agentContextJson<Listing>(directory, ['list', '--tool', 'grep'])
      const [handle] = new Set(items.map((item) => item.handle))
      holds(handle !== undefined && /^ctx_[0-9a-f]+$/.test(handle), JSON.stringify(items))
      assert.equal(new Set(items.map((item) => item.handle)).size, 1)
      assert.equal(await agentContextOk(directory, ['read', handle]), 'a hit\n')
      const slice = await agentContextJson<{ filepath: string }>(directory, ['read', handle, '--session', 'named'])
      assert.equal(slice.filepath, items.find(({ sessionId }) => sessionId === 'named')?.filepath)
      assert.equal((await agentContext(directory, ['read', handle, '--session', 'absent'])).code, 3)
    }),
  )
})

describe('commands on state', () => {
  test(
    'put, get, list and delete work on JSON and bytes',
    PATIENT,
    inDirectory(async (directory) => {
      const put = await agentContextJson<{ revision: string }>(directory, [
        'state',
        'put',
        'threads/a1',
        'settings',
        '--content',
        '{"step":3}',
      ])
      assert.deepEqual(schemaProblems(put, 'state put'), [])
      const bytes = Uint8Array.of(0, 255, 10, 128)
      await agentContextOk(directory, ['state', 'put', '["a/b"]', 'blob', '--raw', '--ttl', '1h'], { input: bytes })
      const got = await agentContextJson<{ value: unknown }>(directory, ['state', 'get', 'threads/a1', 'settings'])
      assert.deepEqual(schemaProblems(got, 'state get'), [])
      assert.deepEqual(got.value, { step: 3 })
      const binary = await agentContextJson<{ base64: string; expiresAt?: string }>(directory, [
        'state',
        'get',
        '["a/b"]',
        'blob',
      ])
      assert.equal(binary.base64, Buffer.from(bytes).toString('base64'))
      holds(binary.expiresAt !== undefined)
      const listing = await agentContextJson<{ items: { key: string }[] }>(directory, ['state'])
      assert.deepEqual(schemaProblems(listing, 'state list'), [])
      assert.deepEqual(
        listing.items.map(({ key }) => key),
        ['blob', 'settings'],
      )
      const below = await agentContextJson<{ items: unknown[] }>(directory, ['state', 'list', 'threads', '-n', '1'])
      assert.equal(below.items.length, 1)
      const conflict = await agentContext(directory, [
        'state',
        'put',
        'threads/a1',
        'settings',
        '--content',
        '1',
        '--if-revision',
        'wrong',
      ])
      holds(conflict.code !== 0, conflict.stdout)
      assert.equal((await agentContext(directory, ['state', 'delete', 'threads/a1', 'settings'])).code, 4)
      const removed = await agentContextJson(directory, ['state', 'delete', 'threads/a1', 'settings', '--yes'])
      assert.deepEqual(schemaProblems(removed, 'state delete'), [])
      assert.equal((await agentContext(directory, ['state', 'get', 'threads/a1', 'settings'])).code, 3)
      for (const words of [
        ['state', 'put', 'a', 'b', '--content', 'no json'],
        ['state', 'put', 'a', 'b', '--raw', '--content', '1'],
        ['state', 'list', '[1]'],
      ]) {
        assert.equal((await agentContext(directory, words)).code, 2, words.join(' '))
      }
    }),
  )

  test(
    'state list goes on over pages',
    PATIENT,
    inDirectory(async (directory) => {
      await using state = new StateStore({ path: placesIn(directory).state })
      await state.batch(
        Array.from({ length: 230 }, (_, index) => ({
          type: 'put' as const,
          namespace: ['many'],
          key: `k${String(index).padStart(3, '0')}`,
          value: index,
        })),
      )
      const keys = async (limit: string): Promise<string[]> =>
        (await agentContextOk(directory, ['state', 'list', 'many', '-n', limit])).trimEnd().split('\n')
      assert.equal((await keys('all')).length, 230)
      assert.equal((await keys('150')).length, 150)
    }),
  )

  test(
    'state watch prints what another process writes',
    PATIENT,
    inDirectory(async (directory) => {
      await agentContextOk(directory, ['state', 'put', 'threads/a1', 'first', '--content', '1'])
      const { cursor } = await (async () => {
        await using state = new StateStore({ path: placesIn(directory).state })
        return state.stats()
      })()
      const child = spawn(
        process.execPath,
        [
          ...runtimeParameters(process.execPath),
          PROGRAM,
          ...['state', 'watch', 'threads', '--jsonl', '-n', '2', '--cursor', cursor],
        ],
        { env: environmentIn(directory), stdio: ['ignore', 'pipe', 'inherit'] },
      )
      const lines: string[] = []
      createInterface({ input: child.stdout }).on('line', (line) => lines.push(line))
      await agentContextOk(directory, ['state', 'put', 'threads/a1', 'second', '--content', '2'])
      await agentContextOk(directory, ['state', 'put', 'other', 'third', '--content', '3'])
      await agentContextOk(directory, ['state', 'delete', 'threads/a1', 'first', '--yes'])
      const [code] = (await once(child, 'close')) as [number]
      assert.equal(code, 0)
      const changes = lines.map((line) => JSON.parse(line) as { type: string; key: string })
      for (const change of changes) {
        assert.deepEqual(schemaProblems(change, 'state watch'), [])
      }
      assert.deepEqual(
        changes.map(({ type, key }) => [type, key]),
        [
          ['put', 'second'],
          ['delete', 'first'],
        ],
      )
    }),
  )
})
