import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { describe, test } from 'node:test'
import { ContextHistory, ContextManager } from '../dist/index.js'
import { agentContext, environmentIn, placesIn } from './support/command-line.ts'
import { connect, programWords } from './support/mcp.ts'
import { holds, inDirectory, PATIENT } from './support/processes.ts'

const MOST_ANSWER_BYTES = 16 * 1024
const ALL_TOOLS = [
  'list_contexts',
  'search_contexts',
  'read_context_slice',
  'store_output',
  'read_context',
  'context_write',
  'context_search',
  'context_read',
  'context_update',
  'context_supersede',
  'memory_pack',
  'memory_remember',
]

async function store(directory: string, count = 1): Promise<string> {
  const manager = new ContextManager({ contextDir: placesIn(directory).dir, sessionId: 'hooked' })
  const lines = Array.from({ length: 20_000 }, (_, line) => `line ${line} "quoted" \\ and a needle${line}`).join('\n')
  const { handle } = await manager.offload('npm_test', { run: 'all' }, lines)
  for (let index = 1; index < count; index++) {
    await manager.saveContext('grep', { index }, `hit ${index}`)
  }
  await manager.close()
  return handle ?? ''
}

describe('the MCP server', () => {
  for (const mode of ['auto', 'legacy'] as const) {
    test(
      `serves tools, resources and prompts (${mode === 'auto' ? '2026-07-28' : 'older revisions'})`,
      PATIENT,
      inDirectory(async (directory) => {
        const handle = await store(directory)
        await using connection = await connect(directory, [], mode)
        const { client, call } = connection
        const { tools } = await client.listTools()
        assert.deepEqual(
          tools.map(({ name }) => name),
          ALL_TOOLS,
        )
        holds(Buffer.byteLength(JSON.stringify(tools)) <= 12_000, `${JSON.stringify(tools).length} bytes of tools`)
        for (const { name, title, annotations } of tools) {
          holds(title !== undefined && annotations?.openWorldHint === false, name)
        }
        holds((await call('list_contexts')).text.includes(handle))
        holds((await call('search_contexts', { query: 'needle777' })).text.includes(handle))
        const slice = await call('read_context_slice', { id: handle, from_line: 778, to_line: 778 })
        holds(slice.text.includes('a needle777'), slice.text)
        const { resources } = await client.listResources()
        holds(
          resources.some(({ uri }) => uri === `agent-context://context/${handle}`),
          JSON.stringify(resources),
        )
        const { contents } = await client.readResource({ uri: `agent-context://context/${handle}?lines=3-4` })
        holds(JSON.stringify(contents).includes('a needle2'), JSON.stringify(contents))
        const { prompts } = await client.listPrompts()
        assert.equal(prompts.length, 3)
        const { messages } = await client.getPrompt({ name: 'recall', arguments: { question: 'needle9' } })
        holds(JSON.stringify(messages).includes(handle), JSON.stringify(messages))
        await assert.rejects(client.readResource({ uri: 'agent-context://context/ctx_0123456789abcdef' }))
        await assert.rejects(client.readResource({ uri: 'file:///etc/passwd' }))
      }),
    )
  }

  test(
    'answers are never over 16 KB, and errors are results that say what to do instead',
    PATIENT,
    inDirectory(async (directory) => {
      const handle = await store(directory)
      await using connection = await connect(directory)
      for (const [name, args] of [
        ['read_context_slice', { id: handle }],
        ['read_context_slice', { id: handle, grep: 'quoted' }],
        ['search_contexts', { query: 'quoted', limit: 20 }],
        ['list_contexts', { limit: 200 }],
      ] as const) {
        const result = await connection.client.callTool({ name, arguments: args })
        const { length } = Buffer.from(JSON.stringify(result))
        holds(length <= MOST_ANSWER_BYTES && result.isError !== true, `${name}: ${length} bytes`)
      }
      for (const [name, args, hint] of [
        ['read_context_slice', { id: 'ctx_0123456789abcdef' }, 'list_contexts'],
        ['read_context_slice', { identifier: handle }, 'takes'],
        ['search_contexts', { query: '' }, 'query'],
        ['memory_remember', { kind: 'opinion', content: 'x' }, 'kind'],
        ['read_context', { limit: 0 }, 'limit'],
        ['memory_pack', {}, 'memory_remember'],
      ] as const) {
        const answer = await connection.call(name, args)
        holds(answer.isError && answer.text.includes(hint), `${name}: ${answer.text}`)
      }
    }),
  )

  test(
    'what tools write is redacted and comes back',
    PATIENT,
    inDirectory(async (directory) => {
      const secret = ['ghp', '_', '0123456789abcdefghijABCDEFGHIJ012345'].join('')
      const history = new ContextHistory({ path: placesIn(directory).history })
      await history.append({ toolName: 'grep', params: { pattern: 'login' }, result: 'two hits' })
      await using connection = await connect(directory)
      const { call } = connection
      const stored = await call('store_output', { tool: 'env', result: `token ${secret}\n`.repeat(2000) })
      const [handle = ''] = /ctx_[0-9a-f]+/.exec(stored.text) ?? []
      const read = await call('read_context_slice', { id: handle })
      holds(read.text.includes('token ') && !read.text.includes(secret), read.text)
      await call('memory_remember', { kind: 'note', content: 'The tests need a database.' })
      holds((await call('memory_pack')).text.includes('need a database'))
      const written = await call('context_write', {
        slug: 'slow-login',
        type: 'finding',
        content: 'The login is slow.',
        tags: ['login'],
      })
      assert.equal(written.isError, false, written.text)
      holds((await call('context_search', { query: 'login' })).text.includes('slow-login'))
      holds((await call('read_context', { text: 'login' })).text.includes('two hits'))
    }),
  )

  test(
    '--read-only and --tools leave tools out',
    PATIENT,
    inDirectory(async (directory) => {
      await using connection = await connect(directory, ['--read-only', '--tools', 'contexts,history'])
      const { tools } = await connection.client.listTools()
      assert.deepEqual(
        tools.map(({ name }) => name),
        ['list_contexts', 'search_contexts', 'read_context_slice', 'read_context'],
      )
      await assert.rejects(connection.call('store_output', { tool: 'x', result: 'y' }))
    }),
  )

  test(
    'a workspace sees its own outputs, and --all-projects those of every workspace',
    PATIENT,
    inDirectory(async (directory) => {
      const own = { AGENT_CONTEXT_DIR: undefined, AGENT_CONTEXT_HISTORY: undefined, AGENT_CONTEXT_WORKSPACE: undefined }
      const handles: string[] = []
      for (const name of ['one', 'two']) {
        const cwd = join(directory, name)
        mkdirSync(cwd)
        const event = {
          session_id: name,
          cwd,
          tool_name: 'Bash',
          tool_input: {},
          tool_response: { stdout: `${name} said so\n`.repeat(2000), stderr: '' },
        }
        const { stdout } = await agentContext(directory, ['hook', 'claude-code', 'post-tool-use'], {
          input: JSON.stringify(event),
          environment: own,
        })
        handles.push(/ctx_[0-9a-f]+/.exec(stdout)?.[0] ?? '')
      }
      const [one = '', two = ''] = handles
      for (const [words, seesOther] of [
        [[], false],
        [['--all-projects'], true],
      ] as const) {
        await using connection = await connect(
          directory,
          ['--workspace', join(directory, 'one'), ...words],
          'auto',
          own,
        )
        const { text } = await connection.call('list_contexts')
        assert.deepEqual([text.includes(one), text.includes(two)], [true, seesOther])
        assert.equal((await connection.call('read_context_slice', { id: two })).isError, !seesOther)
        assert.equal((await connection.call('search_contexts', { query: 'two' })).isError, !seesOther)
        holds((await connection.call('read_context')).text.includes('Bash'))
      }
    }),
  )

  test(
    'resources are paged, each output once',
    PATIENT,
    inDirectory(async (directory) => {
      await store(directory, 230)
      await using connection = await connect(directory)
      const seen: string[] = []
      let cursor: string | undefined
      let pages = 0
      do {
        const page = await connection.client.request({ method: 'resources/list', params: cursor ? { cursor } : {} })
        seen.push(...page.resources.map(({ uri }) => uri).filter((uri) => uri.includes('/context/')))
        cursor = page.nextCursor
        pages += 1
      } while (cursor !== undefined)
      assert.deepEqual([seen.length, new Set(seen).size, pages], [230, 230, 3])
    }),
  )

  test(
    'malformed lines get errors and nothing else on standard output, and it ends with its input',
    PATIENT,
    inDirectory(async (directory) => {
      const child = spawn(process.execPath, programWords(['mcp']), {
        env: environmentIn(directory),
        stdio: ['pipe', 'pipe', 'inherit'],
      })
      const lines: string[] = []
      createInterface({ input: child.stdout }).on('line', (line) => lines.push(line))
      for (let index = 0; index < 2000; index++) {
        const broken = [
          '{',
          'null',
          '[]',
          '{"jsonrpc":"2.0"}',
          '\u0000\u0001',
          `{"jsonrpc":"2.0","id":${index},"method":"${'x'.repeat(index % 50)}"}`,
          `{"jsonrpc":"2.0","id":${index},"method":"tools/call","params":${index}}`,
        ]
        child.stdin.write(`${broken[index % broken.length]}\n`)
      }
      const hello = {
        jsonrpc: '2.0',
        id: 'hello',
        method: 'initialize',
        params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 't', version: '1' } },
      }
      child.stdin.write(`${JSON.stringify(hello)}\n`)
      while (!lines.some((line) => line.includes('"hello"'))) {
        await once(child.stdout, 'data')
      }
      child.stdin.end()
      assert.deepEqual(await once(child, 'close'), [0, null])
      for (const line of lines) {
        assert.equal((JSON.parse(line) as { jsonrpc: string }).jsonrpc, '2.0')
      }
    }),
  )
})

describe('the end of the MCP server', () => {
  test(
    'it goes when its parent is killed, even where its input stays open',
    { ...PATIENT, skip: process.platform === 'win32' },
    inDirectory(async (directory) => {
      const words = programWords(['mcp'])
      const script = `const { spawn } = require('node:child_process')
        const server = spawn(process.execPath, ${JSON.stringify(words)}, { stdio: 'inherit' })
        process.stderr.write(server.pid + '\\n')`
      const file = join(directory, 'parent.cjs')
      writeFileSync(file, script)
      const parent = spawn(process.execPath, [...words.slice(0, -2), file], {
        env: environmentIn(directory),
        stdio: ['pipe', 'pipe', 'pipe'],
      })
      const [pid] = (await once(createInterface({ input: parent.stderr }), 'line')) as [string]
      const ended = once(parent.stdout, 'end')
      parent.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })}\n`)
      await once(parent.stdout, 'data')
      parent.stdout.resume()
      parent.kill('SIGKILL')
      // Its end of the pipe closes with it, or this test takes too long.
      await ended
      holds(Number(pid) > 0)
      parent.stdin.destroy()
    }),
  )
})

interface Reply {
  readonly status: number
  readonly body: string
}

function post(address: URL, headers: Record<string, string>, body: string): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const sent = request(address, { method: 'POST', headers, agent: false }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (part: string) => {
        text += part
      })
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body: text }))
    })
    sent.on('error', reject)
    sent.end(body)
  })
}

describe('the MCP server over HTTP', () => {
  test(
    'needs the token of the file, and refuses other hosts and origins',
    { ...PATIENT, skip: process.platform === 'win32' },
    inDirectory(async (directory) => {
      const tokenFile = join(directory, 'keys', 'token')
      const words = programWords(['mcp', '--http', '--token-file', tokenFile])
      const child = spawn(process.execPath, words, {
        env: environmentIn(directory),
        stdio: ['ignore', 'ignore', 'pipe'],
      })
      try {
        const [line] = (await once(createInterface({ input: child.stderr }), 'line')) as [string]
        const address = new URL(/http:\S+?(?=;)/.exec(line)?.[0] ?? '')
        const token = readFileSync(tokenFile, 'utf8').trim()
        holds(/^[0-9a-f]{64}$/.test(token) && !line.includes(token), line)
        assert.equal(statSync(tokenFile).mode & 0o777, 0o600)
        const right = {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          authorization: `Bearer ${token}`,
        }
        const list = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' })
        const answered = await post(address, right, list)
        assert.equal(answered.status, 200)
        holds(answered.body.includes('search_contexts'), answered.body)
        for (const [headers, status] of [
          [{ ...right, authorization: 'Bearer wrong' }, 401],
          [{ ...right, authorization: '' }, 401],
          [{ ...right, host: 'evil.example' }, 403],
          [{ ...right, host: `evil.example:${address.port}` }, 403],
          [{ ...right, origin: 'http://evil.example' }, 403],
          [{ ...right, origin: 'null' }, 403],
        ] as const) {
          assert.deepEqual([headers, (await post(address, headers, list)).status], [headers, status])
        }
        assert.equal((await post(new URL('/other', address), right, list)).status, 404)
        for (const body of ['{', '[]', 'null', '{"jsonrpc":"2.0","id":1}', 'x'.repeat(70_000)]) {
          const { status } = await post(address, right, body)
          holds(status >= 400 && status < 500, `${body.slice(0, 20)}: ${status}`)
        }
        assert.equal((await post(address, right, list)).status, 200)
      } finally {
        child.kill('SIGINT')
        await once(child, 'close')
      }
      chmodSync(tokenFile, 0o644)
      const refused = spawn(process.execPath, words, {
        env: environmentIn(directory),
        stdio: ['ignore', 'ignore', 'pipe'],
      })
      const [code] = (await once(refused, 'close')) as [number]
      holds(code !== 0)
    }),
  )
})
