import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { ContextHistory, RepoMemory } from '../dist/index.js'
import { agentContext, agentContextJson, agentContextOk, placesIn, schemaProblems } from './support/command-line.ts'
import { holds, inDirectory, PATIENT } from './support/processes.ts'

interface Items<Item> {
  items: Item[]
}

async function appendEntries(directory: string, count: number): Promise<void> {
  const history = new ContextHistory({ path: placesIn(directory).history })
  await Promise.all(
    Array.from({ length: count }, (_, number) =>
      history.append({
        toolName: `tool_${number % 2}`,
        params: { number },
        success: number % 5 !== 0,
        sessionId: `s${number % 3}`,
      }),
    ),
  )
  await history.close()
}

describe('commands on the history', () => {
  test(
    'history lists the latest entries, oldest first, and filters them',
    PATIENT,
    inDirectory(async (directory) => {
      await appendEntries(directory, 30)
      const numbers = async (...words: string[]): Promise<number[]> => {
        const listing = await agentContextJson<Items<{ params: { number: number } }>>(directory, ['history', ...words])
        assert.deepEqual(schemaProblems(listing, 'history list'), [])
        return listing.items.map(({ params }) => params.number)
      }
      assert.deepEqual(await numbers('-n', '3'), [27, 28, 29])
      assert.deepEqual(await numbers('--failed', '-n', '2'), [20, 25])
      assert.deepEqual(await numbers('--tool', 'tool_1', '-n', '2'), [27, 29])
      assert.deepEqual(await numbers('--session', 's0', '-n', '2'), [24, 27])
      assert.equal((await numbers('--limit', 'all')).length, 30)
      assert.equal((await agentContext(directory, ['history', '--text', 'absent'])).code, 1)
      const tail = await agentContextJson<Items<unknown>>(directory, ['history', 'tail', '-n', '4'])
      assert.equal(tail.items.length, 4)
      // A place to go on from is one of following.
      assert.equal((await agentContext(directory, ['history', 'tail', '--after-id', 'x'])).code, 2)
    }),
  )

  test(
    'history compact removes what --dry-run counted',
    PATIENT,
    inDirectory(async (directory) => {
      await appendEntries(directory, 30)
      const words = ['history', 'compact', '--keep-last', '10']
      assert.equal((await agentContext(directory, words)).code, 4)
      const preview = await agentContextJson<Record<string, unknown>>(directory, [...words, '--dry-run'])
      const report = await agentContextJson<Record<string, unknown>>(directory, [...words, '--yes'])
      for (const { keptEntries, droppedEntries } of [preview, report]) {
        assert.deepEqual([keptEntries, droppedEntries], [10, 20])
      }
      assert.deepEqual(
        [schemaProblems(preview, 'history compact'), schemaProblems(report, 'history compact')],
        [[], []],
      )
    }),
  )
})

describe('commands on the store', () => {
  test(
    'entries are written, found, changed, superseded, related and verified',
    PATIENT,
    inDirectory(async (directory) => {
      const path = (
        await agentContextOk(directory, ['store', 'write', 'finding', 'slow login', '--tag', 'performance'], {
          input: 'The login takes two seconds.\n',
        })
      ).trim()
      const shown = await agentContextJson<{ content: string; agent: string; revision: string }>(directory, [
        'store',
        'show',
        path,
      ])
      assert.deepEqual(schemaProblems(shown, 'store show'), [])
      assert.deepEqual([shown.content.trim(), shown.agent], ['The login takes two seconds.', 'tester'])
      const found = await agentContextJson<Items<{ path: string }>>(directory, ['store', 'search', 'login'])
      assert.deepEqual(schemaProblems(found, 'store search'), [])
      assert.deepEqual(
        found.items.map((entry) => entry.path),
        [path],
      )
      const change = ['store', 'update', path, '--tag', 'fixed', '--reason', 'measured again']
      const changed = await agentContextJson<{ tags: string[] }>(directory, [
        ...change,
        '--if-revision',
        shown.revision,
      ])
      assert.deepEqual(schemaProblems(changed, 'store update'), [])
      assert.deepEqual(changed.tags, ['performance', 'fixed'])
      const stale = await agentContext(directory, [...change, '--if-revision', shown.revision])
      assert.equal(stale.code, 4)
      const replacement = [
        'store',
        'supersede',
        path,
        'finding',
        'fast-login',
        '--reason',
        'fixed',
        '--content',
        'Fast now.',
      ]
      const next = await agentContextJson<{ path: string }>(directory, replacement)
      assert.deepEqual(schemaProblems(next, 'store supersede'), [])
      const related = await agentContextJson<Items<{ path: string }>>(directory, ['store', 'related', next.path])
      assert.deepEqual(schemaProblems(related, 'store related'), [])
      assert.deepEqual(
        related.items.map((entry) => entry.path),
        [path],
      )
      const list = await agentContextJson<Items<unknown>>(directory, ['store'])
      assert.deepEqual(schemaProblems(list, 'store list'), [])
      assert.equal(list.items.length, 2)
      assert.deepEqual(schemaProblems(await agentContextJson(directory, ['store', 'verify']), 'store verify'), [])
      assert.equal((await agentContext(directory, ['store', 'show', 'tester/absent.md'])).code, 3)
    }),
  )

  test(
    'writing needs an agent and a text',
    PATIENT,
    inDirectory(async (directory) => {
      const words = ['store', 'write', 'finding', 'x']
      const nameless = await agentContext(directory, words, {
        input: 'text',
        environment: { AGENT_CONTEXT_AGENT: undefined },
      })
      assert.equal(nameless.code, 2)
      holds(nameless.stderr.includes('--agent'), nameless.stderr)
      assert.equal((await agentContext(directory, words, { input: ' \n' })).code, 2)
    }),
  )

  test(
    'housekeep removes old entries once it may',
    PATIENT,
    inDirectory(async (directory) => {
      await agentContextOk(directory, ['store', 'write', 'finding', 'old'], { input: 'text' })
      const words = ['store', 'housekeep', '--older-than', '0s']
      await new Promise((resolve) => setTimeout(resolve, 1100)) // entries have times of whole seconds
      assert.equal((await agentContext(directory, words)).code, 4)
      const preview = await agentContextJson<{ removed: unknown[] }>(directory, [...words, '--dry-run'])
      assert.deepEqual(schemaProblems(preview, 'store housekeep'), [])
      assert.equal(preview.removed.length, 1)
      await agentContextOk(directory, [...words, '--yes'])
      assert.deepEqual((await agentContextJson<Items<unknown>>(directory, ['store'])).items, [])
    }),
  )
})

describe('commands on the memory', () => {
  test(
    'records are added, changed, listed, packed and removed',
    PATIENT,
    inDirectory(async (directory) => {
      const words = ['memory', 'add', 'convention', '--title', 'Tests', '--tag', 'testing']
      const added = await agentContextJson<{ id: string }>(directory, [...words, '--content', 'node:test'])
      assert.deepEqual(schemaProblems(added, 'memory add'), [])
      await agentContextOk(directory, words, { input: 'node:test alone' })
      await agentContextOk(directory, ['memory', 'add', 'decision', '--content', 'Cookies', '--path', 'src/a.ts'])
      await agentContextOk(directory, ['memory', 'add', 'note', '--content', 'A note', '--source', 'tool'])
      const list = await agentContextJson<Items<{ kind: string; id: string; content?: string }>>(directory, ['memory'])
      assert.deepEqual(schemaProblems(list, 'memory list'), [])
      assert.deepEqual(
        list.items.map(({ kind }) => kind),
        ['convention', 'decision', 'note'],
      )
      assert.equal(list.items[0]?.content, 'node:test alone')
      assert.equal((await agentContext(directory, ['memory', 'add', 'note', '--title', 'x', '--content', 'y'])).code, 2)
      interface Pack {
        text: string
        included: { kind: string }[]
        leftOut: { kind: string; id: string }[]
      }
      const pack = await agentContextJson<Pack>(directory, ['pack', '--max-chars', '500'])
      assert.deepEqual(schemaProblems(pack, 'pack'), [])
      assert.deepEqual([pack.included.length, pack.leftOut], [3, []])
      const small = await agentContextJson<Pack>(directory, ['pack', '--max-chars', '110', '--query', 'tests'])
      assert.deepEqual(schemaProblems(small, 'pack'), [])
      assert.equal(small.included[0]?.kind, 'convention')
      assert.deepEqual(
        new Set([...small.included, ...small.leftOut].map(({ kind }) => kind)),
        new Set(['convention', 'decision', 'note']),
      )
      holds(small.leftOut.length > 0 && small.leftOut.every(({ id }) => list.items.some((item) => item.id === id)))
      holds(pack.text.includes('node:test alone') && pack.text.length <= 500, pack.text)
      const remove = ['memory', 'remove', 'convention', added.id]
      assert.equal((await agentContext(directory, remove)).code, 4)
      assert.deepEqual(schemaProblems(await agentContextJson(directory, [...remove, '--dry-run']), 'memory remove'), [])
      await agentContextOk(directory, [...remove, '--yes'])
      assert.equal((await agentContext(directory, [...remove, '--yes'])).code, 3)
    }),
  )

  test(
    'summaries, a map and a migration',
    PATIENT,
    inDirectory(async (directory) => {
      const { memory: root } = placesIn(directory)
      const [old, now] = [join(directory, 'old'), join(directory, 'now')]
      for (const folder of [old, now]) {
        mkdirSync(folder)
        writeFileSync(join(folder, 'main.ts'), 'export function login(): void {}\n')
      }
      const memory = await RepoMemory.open({ workspace: old, root })
      await memory.appendSummary('run', 'step', 'Split the parser.')
      await memory.close()
      const summaries = await agentContextJson<Items<{ summary: string }>>(directory, [
        'memory',
        'summaries',
        '--workspace',
        old,
      ])
      assert.deepEqual(schemaProblems(summaries, 'memory summaries'), [])
      assert.deepEqual(
        summaries.items.map(({ summary }) => summary),
        ['Split the parser.'],
      )
      const map = await agentContextJson<{ text: string }>(directory, ['map', '--workspace', old])
      assert.deepEqual(schemaProblems(map, 'map'), [])
      holds(map.text.includes('login'), map.text)
      const report = await agentContextJson<{ moved: unknown[] }>(directory, [
        'memory',
        'migrate',
        '--from',
        old,
        '--workspace',
        now,
      ])
      assert.deepEqual(schemaProblems(report, 'memory migrate'), [])
      assert.equal(report.moved.length, 1)
    }),
  )
})
