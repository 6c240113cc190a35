import assert from 'node:assert/strict'
import { basename } from 'node:path'
import { describe, test } from 'node:test'
import { ContextManager, type ContextPointer } from '../dist/index.js'
import {
  agentContext,
  agentContextJson,
  agentContextOk,
  contentsOf,
  placesIn,
  schemaProblems,
} from './support/command-line.ts'
import { contextsIn, holds, inDirectory, PATIENT } from './support/processes.ts'

interface Listing {
  total: number
  items: ContextPointer[]
}

/** Two sessions with outputs, oldest first. */
async function store(directory: string): Promise<string[]> {
  const contextDir = placesIn(directory).dir
  const first = new ContextManager<string>({ contextDir, sessionId: 'one' })
  const second = new ContextManager<string>({ contextDir, sessionId: 'two' })
  const paths = [
    await first.saveContext('grep', { pattern: 'login' }, { hits: ['a', 'b'] }),
    await second.saveContext('npm_test', {}, 'first line\nconnection refused\nlast line', null, null, {
      success: false,
    }),
    await second.saveContext('read_file', { path: 'x' }, 'plain'),
  ]
  await Promise.all([first.close(), second.close()])
  return paths
}

describe('commands on outputs', () => {
  test(
    'list shows the outputs of all sessions, newest first, and filters them',
    PATIENT,
    inDirectory(async (directory) => {
      await store(directory)
      const listing = await agentContextJson<Listing>(directory, ['list'])
      assert.deepEqual(schemaProblems(listing, 'list'), [])
      assert.deepEqual(
        listing.items.map(({ toolName }) => toolName),
        ['read_file', 'npm_test', 'grep'],
      )
      const tools = async (...words: string[]): Promise<string[]> =>
        (await agentContextJson<Listing>(directory, ['list', ...words])).items.map(({ toolName }) => toolName)
      assert.deepEqual(await tools('--session', 'one'), ['grep'])
      assert.deepEqual(await tools('--tool', 'grep', '--tool', 'npm_test'), ['npm_test', 'grep'])
      assert.deepEqual(await tools('--failed'), ['npm_test'])
      assert.deepEqual(await tools('-n', '1'), ['read_file'])
      assert.deepEqual(await tools('--since', '1h', '--limit', 'all'), ['read_file', 'npm_test', 'grep'])
      assert.deepEqual(await tools('--until', '1h'), [])
      const lines = (await agentContextOk(directory, ['list', '--jsonl'])).trimEnd().split('\n')
      assert.deepEqual(
        lines.map((line) => JSON.parse(line) as unknown),
        listing.items,
      )
      const rows = (await agentContextOk(directory, ['list'])).trimEnd().split('\n')
      assert.deepEqual(
        rows.map((row) => row.split('\t')[4]),
        ['read_file', 'npm_test', 'grep'],
      )
    }),
  )

  test(
    'an empty directory is an empty list and a hint',
    PATIENT,
    inDirectory(async (directory) => {
      const { code, stdout, stderr } = await agentContext(directory, ['list'])
      assert.deepEqual([code, stdout], [0, ''])
      holds(stderr.includes('agent-context offload'), stderr)
      assert.deepEqual(await agentContextJson(directory, ['list']), { total: 0, items: [] })
      assert.deepEqual(contentsOf(directory), {})
    }),
  )

  test(
    'show and read take file names and paths, and read gives parts',
    PATIENT,
    inDirectory(async (directory) => {
      const [, path = ''] = await store(directory)
      const { items } = await agentContextJson<Listing>(directory, ['list', '--tool', 'npm_test'])
      const name = items[0]?.filename ?? ''
      const shown = await agentContextJson<{ head: string; success: boolean }>(directory, ['show', name])
      assert.deepEqual(schemaProblems(shown, 'show'), [])
      assert.deepEqual([shown.head, shown.success], ['first line\nconnection refused\nlast line', false])
      assert.equal(await agentContextOk(directory, ['read', path, '--lines', '2:2']), 'connection refused\n')
      assert.equal(await agentContextOk(directory, ['read', name, '-e', 'REF', '-i']), '2:connection refused\n')
      assert.equal(await agentContextOk(directory, ['read', name, '--bytes', '0:5', '--raw']), 'first')
      const slice = await agentContextJson<object>(directory, ['read', name, '-e', 'line', '-C', '1'])
      assert.deepEqual(schemaProblems(slice, 'read'), [])
      const none = await agentContext(directory, ['read', name, '-e', 'absent'])
      assert.deepEqual([none.code, none.stdout], [1, ''])
      const [grep = ''] = await store(directory)
      assert.equal(await agentContextOk(directory, ['read', grep, '--json-path', '$.hits[*]']), '"a"\n"b"\n')
    }),
  )

  test(
    'failures have the exit codes of the guide',
    PATIENT,
    inDirectory(async (directory) => {
      await store(directory)
      for (const [words, expected] of [
        [['read', 'no_such_file.json'], 3],
        [['read', 'ctx_0123456789abcdef'], 3],
        [['read', '/etc/hostname'], 4],
        [['search', 'nowhere'], 1],
      ] as const) {
        const { code } = await agentContext(directory, words)
        assert.deepEqual([words, code], [words, expected])
      }
    }),
  )

  test(
    'search finds texts in all sessions, or in one',
    PATIENT,
    inDirectory(async (directory) => {
      await store(directory)
      const found = await agentContextJson<{ items: { toolName: string }[] }>(directory, [
        'search',
        'connection',
        'refused',
      ])
      assert.deepEqual(schemaProblems(found, 'search'), [])
      const explained = await agentContextJson<{ items: { explain: { term: string }[] }[] }>(directory, [
        'search',
        '"connection refused"',
        '--explain',
      ])
      assert.deepEqual(schemaProblems(explained, 'search'), [])
      holds(explained.items[0]?.explain.some(({ term }) => term === 'refus') === true, JSON.stringify(explained))
      const lines = await agentContextOk(directory, ['search', 'refused', '--explain'])
      holds(/::score \d\.\d\d: refus 100 % in /.test(lines), lines)
      assert.deepEqual(
        found.items.map(({ toolName }) => toolName),
        ['npm_test'],
      )
      holds(/:2:.*connection refused/.test(await agentContextOk(directory, ['search', '"connection refused"'])))
      assert.equal((await agentContext(directory, ['search', 'refused', '--session', 'one'])).code, 1)
      assert.equal((await agentContext(directory, ['search', 'refused', '--session', 'two'])).code, 0)
    }),
  )

  test(
    'offload stores what it is given and prints a placeholder, or passes small outputs on',
    PATIENT,
    inDirectory(async (directory) => {
      const large = 'a line of a log\n'.repeat(2000)
      const placeholder = await agentContextOk(directory, ['offload', '--tool', 'log'], { input: large })
      holds(placeholder.length < large.length / 4 && /ctx_[0-9a-f]{16}/.test(placeholder), placeholder)
      const small = Uint8Array.of(0, 1, 255, 10)
      const { stdout } = await agentContext(directory, ['offload', '--tool', 'bytes', '--args', '{"a":1}'], {
        input: small,
      })
      assert.equal(stdout, Buffer.from(small).toString('utf8'))
      const { items } = await agentContextJson<Listing>(directory, ['list'])
      assert.deepEqual(items[0]?.args, { a: 1 })
      const stored = await agentContextOk(directory, ['read', items[1]?.filename ?? '', '--whole', '--raw'])
      assert.equal(stored, large)
      const report = await agentContextJson(directory, ['offload', '--tool', 'log'], { input: large })
      assert.deepEqual(schemaProblems(report, 'offload'), [])
    }),
  )

  test(
    'offload takes secrets out before it stores',
    PATIENT,
    inDirectory(async (directory) => {
      const secret = ['ghp', '_', '0123456789abcdefghijABCDEFGHIJ012345'].join('')
      await agentContextOk(directory, ['offload', '--tool', 'env'], { input: `token: ${secret}\n` })
      const [name = ''] = contextsIn(placesIn(directory).dir)
      holds(name !== '')
      holds(!Object.values(contentsOf(directory)).some((text) => text.includes(secret)), 'the secret is on the disk')
    }),
  )

  test(
    'forget refuses without a terminal, shows with --dry-run, removes with --yes',
    PATIENT,
    inDirectory(async (directory) => {
      await store(directory)
      await agentContextOk(directory, ['sessions', 'end', 'two'])
      const before = contentsOf(directory)
      const { items } = await agentContextJson<Listing>(directory, ['list', '-n', '1'])
      const name = items[0]?.filename ?? ''
      const refused = await agentContext(directory, ['forget', name])
      assert.equal(refused.code, 4)
      holds(refused.stderr.includes('--yes'), refused.stderr)
      const preview = await agentContextJson(directory, ['forget', name, '--dry-run'])
      assert.deepEqual(schemaProblems(preview, 'forget'), [])
      assert.deepEqual(contentsOf(directory), before)
      await agentContextOk(directory, ['forget', name, '--yes'])
      assert.deepEqual(
        contextsIn(placesIn(directory).dir),
        Object.keys(before)
          .filter((path) => path.endsWith('.json'))
          .map((path) => basename(path))
          .filter((other) => other !== name),
      )
      assert.equal((await agentContext(directory, ['forget', name, '--yes'])).code, 3)
    }),
  )

  test(
    'stats counts by tool, session and day, and disk says where',
    PATIENT,
    inDirectory(async (directory) => {
      await store(directory)
      for (const by of ['tool', 'session', 'day']) {
        const stats = await agentContextJson<{ total: { outputs: number; failed: number } }>(directory, [
          'stats',
          '--by',
          by,
        ])
        assert.deepEqual(schemaProblems(stats, 'stats'), [])
        assert.deepEqual([stats.total.outputs, stats.total.failed], [3, 1])
      }
      const disk = await agentContextJson<{ items: { place: string; files: number }[] }>(directory, ['disk'])
      assert.deepEqual(schemaProblems(disk, 'disk'), [])
      assert.equal(disk.items.find(({ place }) => place === 'contexts')?.files, 3)
    }),
  )

  test(
    'what was redacted, and what the conversation got, is shown by show and counted by stats',
    PATIENT,
    inDirectory(async (directory) => {
      const manager = new ContextManager({ contextDir: placesIn(directory).dir })
      const secrets = `password=${'hunter2'.repeat(2)}\ntoken=${['gh', 'p_', 'Zx81kQpW3nVt7LsYb2MdRf9CuJ5hEoGa6iTq'].join('')}\n`
      const { text, filepath = '' } = await manager.offload('cat', {}, secrets + 'a line of a log\n'.repeat(5000))
      await manager.saveContext('cat', { file: 'b' }, secrets)
      await manager.saveContext('ls', {}, 'nothing')
      await manager.close()
      type Findings = { rule: string; count: number }[]
      const shown = await agentContextJson<{ redactions: Findings; outputBytes: number; shownBytes: number }>(
        directory,
        ['show', filepath],
      )
      assert.deepEqual(schemaProblems(shown, 'show'), [])
      assert.equal(shown.shownBytes, Buffer.byteLength(text))
      assert.match(await agentContextOk(directory, ['show', filepath]), /^redacted +1 assignment, 1 github-token$/m)
      const stats = await agentContextJson<{ items: { group: string; redactions: Findings }[] }>(directory, ['stats'])
      assert.deepEqual(schemaProblems(stats, 'stats'), [])
      assert.deepEqual(
        stats.items.map(({ group, redactions }) => [group, redactions]),
        [
          ['cat', shown.redactions.map(({ rule, count }) => ({ rule, count: 2 * count }))],
          ['ls', []],
        ],
      )
      const savings = await agentContextJson<{ items: Record<string, unknown>[] }>(directory, ['stats', '--savings'])
      assert.deepEqual(schemaProblems(savings, 'stats'), [])
      assert.deepEqual(
        savings.items.map(({ group, outputs, bytes, shownBytes }) => [group, outputs, bytes, shownBytes]),
        [['cat', 1, shown.outputBytes, shown.shownBytes]],
      )
    }),
  )

  test(
    'what a stored text hides is shown, in text and in JSON',
    PATIENT,
    inDirectory(async (directory) => {
      const hostile = 'a\u001b[2Jb\u202ec\u0085d\re\u200bf\n'
      const manager = new ContextManager({ contextDir: placesIn(directory).dir })
      const path = await manager.saveContext('x\u001b]0;t\u0007', { 'k\u202e': '\u009b31m' }, hostile)
      await manager.close()
      // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
      const dangerous = /[\0-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]/
      for (const words of [
        ['list'],
        ['list', '--json'],
        ['show', path],
        ['read', path],
        ['read', path, '--json'],
        ['stats'],
      ]) {
        const text = await agentContextOk(directory, words)
        holds(!dangerous.test(text), `${words.join(' ')}: ${JSON.stringify(text)}`)
      }
      assert.equal(await agentContextOk(directory, ['read', path]), 'a\\e[2Jb\\u{202e}c\\x85d\\re\\u{200b}f\n')
      const { text } = await agentContextJson<{ text: string }>(directory, ['read', path])
      assert.equal(text, hostile)
      assert.equal(await agentContextOk(directory, ['read', path, '--raw']), hostile)
    }),
  )
})
