/** The program `agent-context` and its MCP server on PostgreSQL, from machines that share nothing else. */

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { databaseName, databaseOfFile, databaseOfOption } from '../lib/cli/database.ts'
import {
  agentContext,
  agentContextJson,
  agentContextOk,
  type RunOptions,
  schemaProblems,
} from './support/command-line.ts'
import { connect } from './support/mcp.ts'
import { hasPostgres, type PostgresServer, startPostgres } from './support/postgres.ts'
import { holds, PATIENT } from './support/processes.ts'

const password = ['pass', 'word', '-of-tests'].join('')
const UNREACHABLE = `postgres://agent:${password}@127.0.0.1:1/db?connect_timeout=1`
/** Without the places that the tests of files set. */
const NO_PLACES = {
  AGENT_CONTEXT_DIR: undefined,
  AGENT_CONTEXT_HISTORY: undefined,
  SFA_CONTEXT_STORE: undefined,
  AGENT_CONTEXT_STATE: undefined,
  AGENT_CONTEXT_MEMORY: undefined,
  AGENT_CONTEXT_WORKSPACE: undefined,
}

interface Machine {
  readonly home: string
  readonly folder: string
}

describe('URLs of databases', () => {
  it('with a password are refused on the command line and in a settings file', () => {
    const withPassword = [
      `postgres://agent:${password}@host/db`,
      `postgres://host/db?user=agent&password=${password}`,
      `postgres://host/db?user=agent&p%61ssword=${password}`,
      `postgres://agent:a/${password}@host/db`,
    ]
    for (const url of withPassword) {
      assert.throws(() => databaseOfOption(url, '--storage'), /AGENT_CONTEXT_STORAGE/)
      assert.throws(() => databaseOfFile(url, '.agent-context.json'), /AGENT_CONTEXT_STORAGE/)
    }
    for (const url of ['postgres://agent@host:5432/db', 'postgres://host:5432/db?sslmode=disable', 'postgres://h/d']) {
      assert.equal(databaseOfOption(url, '--storage').url, url)
    }
  })

  it('are shown without credentials', () => {
    assert.equal(databaseName('postgres://agent@host:5432/db?sslmode=disable'), 'host:5432/db')
    assert.equal(databaseName('postgres://one:1,two:2/db'), 'one:1,two:2/db')
    for (const url of [
      `postgres://a:${password}@host/db`,
      `postgres://a:x@${password}@host/db`,
      `postgres://h/d?password=${password}`,
    ]) {
      holds(!databaseName(url).includes(password), url)
    }
  })
})

describe('the command line on a database', PATIENT, () => {
  let server: PostgresServer | undefined
  let root = ''
  let machines: readonly [Machine, Machine]

  before(async () => {
    server = hasPostgres() ? await startPostgres() : undefined
    root = mkdtempSync(join(tmpdir(), 'agent-context-fleet-'))
    const machine = (name: string): Machine => {
      const [home, folder] = [join(root, name, 'home'), join(root, name, 'shop')]
      mkdirSync(home, { recursive: true })
      mkdirSync(folder)
      // A repository is recognised by its remote, wherever it is.
      execFileSync('git', ['init', '--quiet', '--initial-branch=main', folder])
      execFileSync('git', ['-C', folder, 'remote', 'add', 'origin', 'https://example.com/team/shop.git'])
      return { home, folder }
    }
    machines = [machine('one'), machine('two')]
  })

  after(() => {
    server?.remove()
    rmSync(root, { recursive: true, force: true })
  })

  const on = ({ home, folder }: Machine, { environment, ...options }: RunOptions = {}): RunOptions => ({
    folder,
    ...options,
    environment: { ...NO_PLACES, HOME: home, AGENT_CONTEXT_STORAGE: server?.url, ...environment },
  })
  const onServer = (name: string, body: (one: Machine, two: Machine) => Promise<void>): void => {
    it(name, PATIENT, async (context) => {
      if (server === undefined) {
        context.skip('PostgreSQL is not installed')
        return
      }
      await body(...machines)
    })
  }

  onServer('what one machine stores, another lists, shows, reads, searches and forgets', async (one, two) => {
    const words = ['offload', '--tool', 'npm_test', '--session', 'nightly', '--threshold', '100']
    const log = 'connection refused by 10.0.0.1\n'.repeat(100)
    const stored = await agentContextJson<{ handle: string; filepath: string }>(root, words, on(one, { input: log }))
    holds(stored.filepath.startsWith('/.agent/context/'), stored.filepath)
    const { items } = await agentContextJson<{ items: { handle: string; filename: string }[] }>(root, ['list'], on(two))
    const [item] = items
    assert.equal(item?.handle, stored.handle)
    for (const output of [stored.handle, item.filename, stored.filepath]) {
      assert.equal(await agentContextOk(root, ['read', output, '--whole', '--raw'], on(two)), log)
    }
    assert.match(await agentContextOk(root, ['show', stored.handle], on(two)), /connection refused/)
    assert.match(await agentContextOk(root, ['search', 'refused'], on(two)), /connection refused/)
    assert.match(await agentContextOk(root, ['stats'], on(two)), /^npm_test\t1/m)
    assert.match(await agentContextOk(root, ['sessions'], on(two)), /^nightly\tpaused/m)
    assert.equal((await agentContext(root, ['forget', stored.handle, '--yes'], on(two))).code, 4)
    await agentContextOk(root, ['sessions', 'end', 'nightly'], on(two))
    await agentContextOk(root, ['sweep', '--max-age', '1w', '--yes'], on(two))
    await agentContextOk(root, ['forget', stored.handle, '--yes'], on(two))
    assert.equal(await agentContextOk(root, ['list'], on(one)), '')
  })

  onServer('memory, pack and map are of the repository at the same path', async (one, elsewhere) => {
    const two = { ...elsewhere, folder: one.folder }
    await agentContextOk(root, ['memory', 'add', 'note', '--content', 'Tests need a server'], on(one))
    assert.match(await agentContextOk(root, ['memory'], on(two)), /Tests need a server/)
    assert.match(await agentContextOk(root, ['pack'], on(two)), /Tests need a server/)
    writeFileSync(join(two.folder, 'login.ts'), 'export function login(): void {}\n')
    assert.match(await agentContextOk(root, ['map'], on(two)), /login/)
    const [[id = '']] = (await agentContextOk(root, ['memory'], on(two)))
      .split('\n')
      .map((line) => line.split('\t').slice(1)) as [string[]]
    await agentContextOk(root, ['memory', 'remove', 'note', id, '--yes'], on(two))
    assert.equal(await agentContextOk(root, ['memory'], on(one)), '')
    assert.equal(await agentContextOk(root, ['memory', 'summaries'], on(one)), '')
  })

  onServer('the store: write, show, search, update, supersede, related, verify, housekeep', async (one, two) => {
    const path = (
      await agentContextOk(root, ['store', 'write', 'finding', 'slow', '--content', '# Slow login'], on(one))
    ).trim()
    assert.match(await agentContextOk(root, ['store', 'show', path], on(two)), /Slow login/)
    assert.match(await agentContextOk(root, ['store', 'search', 'slow'], on(two)), /slow\.md/)
    await agentContextOk(root, ['store', 'update', path, '--tag', 'auth', '--reason', 'tagged'], on(two))
    const replacement = ['store', 'supersede', path, 'finding', 'fast', '--reason', 'measured', '--content', '# Fast']
    await agentContextOk(root, replacement, on(one))
    assert.match(await agentContextOk(root, ['store', 'related', path], on(two)), /fast\.md/)
    await agentContextOk(root, ['store', 'verify'], on(two))
    await agentContextOk(root, ['store', 'housekeep', '--older-than', '1d', '--yes'], on(two))
    assert.match(await agentContextOk(root, ['store'], on(two)), /fast\.md/)
  })

  onServer('state: put, get, list, watch, delete', async (one, two) => {
    await agentContextOk(root, ['state', 'put', 'threads/a', 'step', '--content', '{"n":3}'], on(one))
    assert.match(await agentContextOk(root, ['state', 'get', 'threads/a', 'step'], on(two)), /"n": 3/)
    assert.match(await agentContextOk(root, ['state'], on(two)), /^threads\/a\tstep/)
    const watched = agentContextOk(root, ['state', 'watch', '--limit', '1', '--jsonl'], on(two))
    const writing = setInterval(() => {
      agentContextOk(root, ['state', 'put', 'threads/a', 'other', '--content', '1'], on(one)).catch(() => undefined)
    }, 1500)
    assert.match(await watched, /"key":"other"/)
    clearInterval(writing)
    await agentContextOk(root, ['state', 'delete', 'threads/a', 'step', '--yes'], on(two))
    assert.equal((await agentContext(root, ['state', 'get', 'threads/a', 'step'], on(one))).code, 3)
  })

  onServer(
    'hooks store in the database, and the server and the history show it on another machine',
    async (one, two) => {
      const event = {
        session_id: 's1',
        cwd: one.folder,
        tool_name: 'mcp__db__rows',
        tool_input: { table: 'users' },
        tool_response: 'a row of users\n'.repeat(4000),
      }
      const answer = await agentContextOk(
        root,
        ['hook', 'claude-code', 'post-tool-use', '--dir', 'shop'],
        on(one, { input: JSON.stringify(event) }),
      )
      assert.match(answer, /ctx_/)
      // Without --dir, what a workspace has is under its hash, where the server looks for it.
      await agentContextOk(root, ['hook', 'claude-code', 'post-tool-use'], on(one, { input: JSON.stringify(event) }))
      const own = await connect(root, ['--workspace', one.folder], 'auto', on(two).environment)
      assert.match((await own.call('list_contexts')).text, /mcp__db__rows/)
      await own[Symbol.asyncDispose]()
      const connection = await connect(root, ['--dir', 'shop', '--workspace', two.folder], 'auto', on(two).environment)
      try {
        assert.match((await connection.call('list_contexts')).text, /mcp__db__rows/)
        assert.match((await connection.call('search_contexts', { query: 'users' })).text, /row of users/)
        assert.match((await connection.call('read_context')).text, /mcp__db__rows/)
        assert.equal(
          (await connection.call('context_write', { type: 'finding', slug: 'mcp', content: '# From a client' }))
            .isError,
          false,
        )
        assert.match((await connection.call('context_search', { query: 'client' })).text, /From a client/)
      } finally {
        await connection[Symbol.asyncDispose]()
      }
      assert.match(await agentContextOk(root, ['store', 'search', 'client'], on(one)), /mcp\.md/)
      const names = server?.sql('SELECT DISTINCT namespace FROM agent_context.entry ORDER BY 1').trim() ?? ''
      assert.match(names, /^\/\.agent\/projects\/[0-9a-f]{64}\/history\.jsonl\n\/shop\/history\.jsonl$/)
      const history = ['--history', 'shop/history.jsonl']
      assert.match(await agentContextOk(root, ['history', ...history], on(two)), /mcp__db__rows/)
      assert.match(await agentContextOk(root, ['history', 'tail', ...history], on(two)), /mcp__db__rows/)
      await agentContextOk(root, ['history', 'compact', '--keep-last', '0', '--yes', ...history], on(two))
      assert.equal(await agentContextOk(root, ['history', ...history], on(one)), '')
    },
  )

  onServer('verify and doctor check the database', async (one) => {
    const report = await agentContextJson<{ isWhole: boolean }>(root, ['verify'], on(one))
    assert.equal(report.isWhole, true)
    assert.deepEqual(schemaProblems(report, 'verify'), [])
    const checks = await agentContextJson<{ isHealthy: boolean; items: { name: string }[] }>(root, ['doctor'], on(one))
    assert.equal(checks.isHealthy, true)
    holds(checks.items.some(({ name }) => name === 'database'))
    assert.deepEqual(schemaProblems(checks, 'doctor'), [])
    assert.equal(
      server?.sql("SELECT count(*) FROM agent_context.file WHERE directory LIKE '/agent-context-doctor%'").trim(),
      '0',
    )
  })

  onServer('an export of a database is imported into another one', async (one, two) => {
    await agentContextOk(root, ['offload', '--tool', 'echo'], on(one, { input: 'hello' }))
    await agentContextOk(root, ['memory', 'add', 'note', '--content', 'exported'], on(one))
    const file = join(root, 'export.jsonl')
    await agentContextOk(root, ['export', '-o', file], on(one))
    const kinds = new Set(
      readFileSync(file, 'utf8')
        .trim()
        .split('\n')
        .map((line) => (JSON.parse(line) as { kind: string }).kind),
    )
    assert.deepEqual([...kinds].sort(), ['context', 'header', 'memory', 'state', 'storeEntry'])
    server?.sql('CREATE DATABASE other')
    const other = server?.url.replace(/postgres$/, 'other')
    const elsewhere = on(two, { environment: { AGENT_CONTEXT_STORAGE: other } })
    const preview = await agentContextJson(root, ['import', file, '--dry-run'], elsewhere)
    const report = await agentContextJson(root, ['import', file], elsewhere)
    assert.deepEqual({ ...(report as object), dryRun: true }, preview)
    assert.deepEqual(schemaProblems(report, 'import'), [])
    assert.equal(await agentContextOk(root, ['export'], elsewhere), readFileSync(file, 'utf8'))
    const again = await agentContextJson<{ imported: Record<string, number>; skipped: unknown[] }>(
      root,
      ['import', file],
      elsewhere,
    )
    assert.deepEqual([...new Set(Object.values(again.imported))], [0])
    assert.deepEqual(again.skipped, [])
  })

  onServer('nothing was written to the machines', async (one, two) => {
    for (const { home } of [one, two]) {
      const written = readdirSync(home).filter((name) => name !== '.bun' && name !== '.cache')
      assert.deepEqual(written, [])
    }
  })

  onServer('what works on files only is refused', async (one) => {
    const disk = await agentContext(root, ['disk', '--json'], on(one))
    assert.equal(disk.code, 4)
    assert.match(disk.stderr, /ERR_CONTEXT_UNSUPPORTED/)
    const migrate = await agentContext(root, ['memory', 'migrate', '--from', root], on(one))
    assert.match(migrate.stderr, /works on files/)
    assert.equal((await agentContext(root, ['mcp', '--all-projects'], on(one))).code, 2)
  })

  onServer('the database of a settings file is used by commands, and not by what agents start', async (one) => {
    const file = join(one.folder, '.agent-context.json')
    try {
      writeFileSync(file, JSON.stringify({ storage: server?.url, dir: 'team/outputs', workspace: '.' }))
      const own = on(one, { environment: { AGENT_CONTEXT_STORAGE: undefined } })
      const { filepath } = await agentContextJson<{ filepath: string }>(root, ['offload', '--tool', 'echo'], {
        ...own,
        input: 'x',
      })
      assert.match(filepath, /^\/team\/outputs\//)
      assert.match((await agentContext(root, ['mcp'], own)).stderr, /AGENT_CONTEXT_STORAGE/)
      const event = JSON.stringify({
        session_id: 's',
        cwd: one.folder,
        tool_name: 'T',
        tool_input: {},
        tool_response: 'x',
      })
      assert.equal(
        await agentContextOk(root, ['hook', 'claude-code', 'post-tool-use'], { ...own, input: event }),
        '{}\n',
      )
      assert.match(readFileSync(join(one.home, '.agent', 'hook.log'), 'utf8'), /AGENT_CONTEXT_STORAGE/)
      writeFileSync(file, JSON.stringify({ storage: UNREACHABLE }))
      const refused = await agentContext(root, ['list'], own)
      assert.equal(refused.code, 2)
      assert.match(refused.stderr, /AGENT_CONTEXT_STORAGE/)
      holds(!refused.stderr.includes(password))
    } finally {
      rmSync(file, { force: true })
    }
  })

  it('a password is never printed', PATIENT, async () => {
    const missing = server?.url.replace('agent@', `agent:${password}@`).replace(/postgres$/, 'missing')
    const wrong = `mysql://agent:${password}@host/db`
    const commands = [['list', '--verbose'], ['history', '--json'], ['state'], ['copy', '--from', '.']]
    for (const url of [wrong, ...(missing === undefined ? [] : [missing])]) {
      for (const words of commands) {
        const environment = { ...NO_PLACES, AGENT_CONTEXT_STORAGE: url }
        const { stdout, stderr, code } = await agentContext(root, words, { environment })
        assert.notEqual(code, 0, words.join(' '))
        holds(!`${stdout}${stderr}`.includes(password), `${words.join(' ')}\n${stdout}${stderr}`)
      }
    }
    const given = await agentContext(root, ['list', '--storage', UNREACHABLE], { environment: NO_PLACES })
    assert.equal(given.code, 2)
    holds(!given.stderr.includes(password))
  })

  it('doctor reports a database that cannot be reached, once', PATIENT, async () => {
    const environment = { ...NO_PLACES, AGENT_CONTEXT_STORAGE: UNREACHABLE }
    const { stdout, code } = await agentContext(root, ['doctor'], { environment })
    assert.equal(code, 1)
    assert.match(stdout, /✗ database +.*127\.0\.0\.1:1/)
    assert.match(stdout, /1 error/)
    holds(!stdout.includes(password))
  })
})
