import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { environmentIn, PROGRAM } from './support/servers.ts'

const INSPECTOR = fileURLToPath(new URL('node_modules/.bin/mcp-inspector', import.meta.url))
const MOST_ANSWER_BYTES = 16 * 1024
const LIMIT = { timeout: 600_000 }

describe("the protocol's inspector", () => {
  let directory = ''
  before(() => {
    directory = mkdtempSync(join(tmpdir(), 'agent-context-inspector-'))
    mkdirSync(join(directory, 'home'))
  })
  after(() => rmSync(directory, { recursive: true, force: true }))

  /** What the inspector prints of one request, by a server process of its own. */
  function inspect<T>(method: string, ...words: string[]): Promise<T> {
    const variables = Object.entries(environmentIn(directory)).flatMap(([name, value]) => ['-e', `${name}=${value}`])
    const parameters = ['--cli', ...variables, process.execPath, PROGRAM, 'mcp', '--method', method, ...words]
    return new Promise((resolve, reject) => {
      const env = { PATH: process.env.PATH, HOME: join(directory, 'home') }
      execFile(process.execPath, [INSPECTOR, ...parameters], { env, maxBuffer: 1 << 26 }, (error, stdout, stderr) => {
        try {
          resolve(JSON.parse(stdout) as T)
        } catch {
          reject(new Error(`${method} ${words.join(' ')}: ${error?.message}\n${stdout}\n${stderr}`))
        }
      })
    })
  }

  interface Answer {
    readonly content: readonly { readonly text: string }[]
    readonly isError?: boolean
  }
  async function call(name: string, args: Readonly<Record<string, string>> = {}): Promise<string> {
    const pairs = Object.entries(args).flatMap(([key, value]) => ['--tool-arg', `${key}=${value}`])
    const answer = await inspect<Answer>('tools/call', '--tool-name', name, ...pairs)
    assert.ok(Buffer.byteLength(JSON.stringify(answer)) <= MOST_ANSWER_BYTES, name)
    assert.notEqual(answer.isError, true, `${name}: ${answer.content[0]?.text}`)
    return answer.content[0]?.text ?? ''
  }

  test('calls every tool, and gets every resource and prompt', LIMIT, async () => {
    const called = new Set<string>()
    const use = (name: string, args?: Readonly<Record<string, string>>): Promise<string> => {
      called.add(name)
      return call(name, args)
    }
    const stored = await use('store_output', { tool: 'npm_test', result: 'a needle in 40 KB\n'.repeat(2400) })
    const id = /ctx_[0-9a-f]+/.exec(stored)?.[0] ?? ''
    assert.match(await use('list_contexts'), new RegExp(id))
    assert.match(await use('search_contexts', { query: 'needle' }), new RegExp(id))
    assert.match(await use('read_context_slice', { id }), /a needle in/)
    const entry = { slug: 'slow-login', type: 'finding', content: 'The login is slow.', tags: '["login"]' }
    const path = /[\w-]+\/[\w/-]+\.md/.exec(await use('context_write', entry))?.[0] ?? ''
    assert.match(await use('context_search', { query: 'login' }), /slow-login/)
    assert.match(await use('context_read', { path }), /The login is slow/)
    await use('context_update', { path, description: 'measured', content: 'The login is very slow.' })
    await use('context_supersede', {
      path,
      reason: 'fixed',
      ...entry,
      slug: 'fast-login',
      content: 'The login is fast.',
    })
    await use('memory_remember', { kind: 'note', content: 'The tests need a database.' })
    assert.match(await use('memory_pack'), /need a database/)
    const { tools } = await inspect<{ tools: { name: string }[] }>('tools/list')
    // Nothing wrote to the history here: that the answer says so is an error for the model.
    const empty = await inspect<Answer>('tools/call', '--tool-name', 'read_context')
    assert.match(empty.content[0]?.text ?? '', /No entry/)
    called.add('read_context')
    assert.deepEqual(
      tools.map(({ name }) => name).filter((name) => !called.has(name)),
      [],
    )

    const { resources } = await inspect<{ resources: { uri: string }[] }>('resources/list')
    assert.deepEqual(
      resources.map(({ uri }) => uri),
      [
        'agent-context://memory',
        'agent-context://history/recent',
        'agent-context://stats',
        `agent-context://context/${id}`,
      ],
    )
    for (const { uri } of resources) {
      const { contents } = await inspect<{ contents: { text: string }[] }>('resources/read', '--uri', uri)
      assert.equal(typeof contents[0]?.text, 'string', uri)
    }
    const { resourceTemplates } = await inspect<{ resourceTemplates: unknown[] }>('resources/templates/list')
    assert.equal(resourceTemplates.length, 2)

    const prompts = await inspect<{ prompts: { name: string }[] }>('prompts/list')
    const given: Record<string, string[]> = { recall: ['--prompt-args', 'question=needle'] }
    for (const { name } of prompts.prompts) {
      const { messages } = await inspect<{ messages: unknown[] }>(
        'prompts/get',
        '--prompt-name',
        name,
        ...(given[name] ?? []),
      )
      assert.equal(messages.length, 1, name)
    }
  })

  test('finds no problem in the schemas of the tools', LIMIT, async () => {
    const { tools } = await inspect<{ tools: unknown[] }>('tools/list', '--strict')
    assert.equal(tools.length, 12)
  })
})
