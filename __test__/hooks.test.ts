import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { ContextHistory, ContextManager, RepoMemory } from '../dist/index.js'
import {
  agentContext,
  agentContextJson,
  contentsOf,
  environmentIn,
  PROGRAM,
  schemaProblems,
} from './support/command-line.ts'
import { contextsIn, type Ended, holds, inDirectory, PATIENT } from './support/processes.ts'

interface Recorded {
  readonly event: string
  readonly input: Record<string, unknown>
}

const SECRET = ['ghp', '_', '0123456789abcdefghijABCDEFGHIJ012345'].join('')
const LARGE = `token ${SECRET}\n${Array.from({ length: 3000 }, (_, line) => `line ${line} of the log`).join('\n')}`

/** The events of a client, with the workspace and the large output in place. */
function eventsOf(client: string, workspace: string): Record<string, Recorded> {
  const file = new URL(`./hook-events/${client}.json`, import.meta.url)
  const fill = (value: unknown): unknown => {
    if (typeof value === 'string') {
      return value === '@LARGE@' || value === '@WORKSPACE@'
        ? value === '@LARGE@'
          ? LARGE
          : workspace
        : value.replace('"@LARGE@"', JSON.stringify(LARGE))
    }
    if (Array.isArray(value)) {
      return value.map(fill)
    }
    return typeof value === 'object' && value !== null
      ? Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, fill(inner)]))
      : value
  }
  return fill(JSON.parse(readFileSync(file, 'utf8'))) as Record<string, Recorded>
}

/** Without any setting: the directory of the workspace is used. */
const DEFAULTS = {
  AGENT_CONTEXT_DIR: undefined,
  AGENT_CONTEXT_HISTORY: undefined,
  AGENT_CONTEXT_WORKSPACE: undefined,
}

function workspaceIn(directory: string): string {
  const workspace = join(directory, 'shop')
  mkdirSync(workspace, { recursive: true })
  return workspace
}

async function hook(directory: string, client: string, { event, input }: Recorded): Promise<Record<string, unknown>> {
  const ended: Ended = await agentContext(directory, ['hook', client, event], {
    input: JSON.stringify(input),
    environment: DEFAULTS,
  })
  assert.deepEqual([ended.code, ended.stderr], [0, ''])
  return JSON.parse(ended.stdout) as Record<string, unknown>
}

function projectIn(directory: string): string {
  const projects = join(directory, '.agent', 'projects')
  const [name = ''] = readdirSync(projects)
  return join(projects, name)
}

/** What each client takes as an answer, from its published schema. */
const REPLACED: Readonly<Record<string, (answer: Record<string, unknown>) => unknown>> = {
  'claude-code': (answer) => {
    const { hookEventName, updatedToolOutput } = answer['hookSpecificOutput'] as Record<string, unknown>
    assert.equal(hookEventName, 'PostToolUse')
    const { stdout, ...rest } = updatedToolOutput as Record<string, unknown>
    assert.deepEqual(rest, { stderr: '', interrupted: false, isImage: false })
    return stdout
  },
  codex: (answer) => {
    const { updatedMCPToolOutput, ...rest } = answer['hookSpecificOutput'] as Record<string, unknown>
    assert.deepEqual(rest, { hookEventName: 'PostToolUse' })
    const { content, isError } = updatedMCPToolOutput as { content: { text: string }[]; isError: boolean }
    assert.deepEqual([content.length, isError], [1, false])
    return content[0]?.text
  },
  cursor: (answer) => {
    assert.deepEqual(Object.keys(answer), ['updated_mcp_tool_output'])
    return (answer['updated_mcp_tool_output'] as { content: { text: string }[] }).content[0]?.text
  },
  gemini: (answer) => {
    assert.deepEqual([Object.keys(answer), answer['decision']], [['decision', 'reason'], 'deny'])
    return answer['reason']
  },
  opencode: (answer) => {
    assert.deepEqual(Object.keys(answer), ['output'])
    return answer['output']
  },
}

/** The expected answer to the start of a session, with the given text. */
const STARTED: Readonly<Record<string, (text: string) => object>> = {
  'claude-code': (additionalContext) => ({ hookSpecificOutput: { hookEventName: 'SessionStart', additionalContext } }),
  codex: (additionalContext) => ({ hookSpecificOutput: { hookEventName: 'SessionStart', additionalContext } }),
  cursor: (additional_context) => ({ additional_context }),
  gemini: (additionalContext) => ({ hookSpecificOutput: { hookEventName: 'SessionStart', additionalContext } }),
  opencode: (context) => ({ context }),
}

describe('hooks of coding agents', () => {
  for (const [client, replacedText] of Object.entries(REPLACED)) {
    test(
      `${client}: a large output is stored without its secret and replaced in the shape of the client`,
      PATIENT,
      inDirectory(async (directory) => {
        const workspace = workspaceIn(directory)
        const { start, large, end } = eventsOf(client, workspace)
        holds(start !== undefined && large !== undefined)
        assert.deepEqual(await hook(directory, client, start), {})
        const placeholder = String(replacedText(await hook(directory, client, large)))
        const [handle = ''] = /ctx_[0-9a-f]+/.exec(placeholder) ?? []
        holds(placeholder.length < LARGE.length / 4 && handle !== '', placeholder)
        const project = projectIn(directory)
        holds(!Object.values(contentsOf(directory)).some((text) => text.includes(SECRET)), 'the secret is on the disk')
        const manager = new ContextManager({ contextDir: join(project, 'contexts') })
        const { text } = await manager.readContext(handle, { grep: { pattern: 'line 2999 ' } })
        holds(text.includes('of the log'), text)
        const [entry] = await new ContextHistory({ path: join(project, 'history.jsonl') }).read(1)
        const { sizeBytes, shownBytes, ...reference } = (entry?.result ?? {}) as Record<string, number>
        assert.deepEqual(reference, { handle })
        holds(
          Number(sizeBytes) > 30_000 && shownBytes === Buffer.byteLength(placeholder),
          JSON.stringify(entry?.result),
        )
        const savings = await agentContextJson<{ total: Record<string, number>; items: object[] }>(directory, [
          'stats',
          '--savings',
          '--history',
          join(project, 'history.jsonl'),
        ])
        assert.deepEqual(schemaProblems(savings, 'stats'), [])
        const { total, items } = savings
        assert.deepEqual(
          [items.length, total['bytes'], total['shownBytes'], total['savedBytes']],
          [1, sizeBytes, shownBytes, Number(sizeBytes) - Number(shownBytes)],
        )
        const [session] = await manager.sessions()
        assert.deepEqual([session?.state, session?.contexts], ['paused', 1])
        assert.equal(session?.id, entry?.sessionId)
        if (end !== undefined) {
          assert.deepEqual(await hook(directory, client, end), {})
          assert.equal((await manager.sessions())[0]?.state, 'ended')
        }
        assert.deepEqual(readdirSync(workspace), [])
      }),
    )
  }

  test(
    'what a client cannot replace is recorded, and small outputs stay',
    PATIENT,
    inDirectory(async (directory) => {
      const workspace = workspaceIn(directory)
      for (const [client, name] of [
        ['codex', 'observed'],
        ['cursor', 'observed'],
        ['claude-code', 'small'],
      ] as const) {
        const recorded = eventsOf(client, workspace)[name]
        holds(recorded !== undefined)
        assert.deepEqual(await hook(directory, client, recorded), {})
      }
      const project = projectIn(directory)
      assert.equal(contextsIn(join(project, 'contexts')).length, 3)
      assert.equal((await new ContextHistory({ path: join(project, 'history.jsonl') }).read(10)).length, 3)
    }),
  )

  test(
    'files that the model reads and outputs of this package stay',
    PATIENT,
    inDirectory(async (directory) => {
      const { large } = eventsOf('claude-code', workspaceIn(directory))
      holds(large !== undefined)
      for (const tool of ['Read', 'mcp__agent-context__read_context_slice']) {
        assert.deepEqual(
          await hook(directory, 'claude-code', { ...large, input: { ...large.input, tool_name: tool } }),
          {},
        )
      }
      assert.equal(contextsIn(join(projectIn(directory), 'contexts')).length, 1)
    }),
  )

  test(
    'the start of a session gives what is known about the repository',
    PATIENT,
    inDirectory(async (directory) => {
      const workspace = workspaceIn(directory)
      const memory = await RepoMemory.open({ workspace, root: join(directory, 'memory') })
      await memory.upsertNote({ content: 'The tests need a database.' })
      for (const [client, answerWith] of Object.entries(STARTED)) {
        const { start } = eventsOf(client, workspace)
        holds(start !== undefined)
        const answer = await hook(directory, client, start)
        const pack = await memory.buildContextFromMemory(6000, { repoMap: false })
        holds(pack.includes('The tests need a database.'), pack)
        assert.deepEqual(answer, answerWith(pack), client)
      }
    }),
  )

  test(
    'a failed call and its duration are in the history',
    PATIENT,
    inDirectory(async (directory) => {
      const workspace = workspaceIn(directory)
      const claude = eventsOf('claude-code', workspace)['small']
      const gemini = eventsOf('gemini', workspace)['large']
      holds(claude !== undefined && gemini !== undefined)
      await hook(directory, 'claude-code', { ...claude, input: { ...claude.input, duration_ms: 1234 } })
      const tool_response = {
        llmContent: 'no such file',
        error: { type: 'shell_execute_error', message: 'exit code 1' },
      }
      await hook(directory, 'gemini', { ...gemini, input: { ...gemini.input, tool_response } })
      const entries = await new ContextHistory({ path: join(projectIn(directory), 'history.jsonl') }).read(2)
      assert.deepEqual(
        entries.map(({ success, durationMs }) => [success, durationMs]),
        [
          [true, 1234],
          [false, undefined],
        ],
      )
    }),
  )

  test(
    'on a failure the original stays, the exit code is 0, and hook.log says why',
    { ...PATIENT, skip: process.platform === 'win32' },
    inDirectory(async (directory) => {
      const { large } = eventsOf('claude-code', workspaceIn(directory))
      holds(large !== undefined)
      const blocked = join(directory, 'blocked')
      mkdirSync(blocked)
      writeFileSync(join(blocked, 'contexts'), 'a file where the directory would be')
      const run = (input: string, words: string[] = []): Promise<Ended> =>
        agentContext(directory, ['hook', 'claude-code', 'post-tool-use', ...words], { input, environment: DEFAULTS })
      for (const ended of [
        await run('no json'),
        await run(JSON.stringify({ ...large.input, cwd: join(directory, 'absent') })),
        await run(JSON.stringify(large.input), ['--dir', join(blocked, 'contexts')]),
      ]) {
        assert.deepEqual([ended.code, ended.stdout, ended.stderr], [0, '{}\n', ''])
      }
      const log = join(directory, '.agent', 'hook.log')
      assert.equal(readFileSync(log, 'utf8').trimEnd().split('\n').length, 2)
      writeFileSync(log, 'x'.repeat(1024 * 1024))
      await run('no json')
      assert.equal(statSync(`${log}.1`).size, 1024 * 1024)
      holds(statSync(log).size < 1000)
    }),
  )

  test(
    'options that only the parser of all commands reads change nothing, and wrong words are usage errors',
    PATIENT,
    inDirectory(async (directory) => {
      const { small } = eventsOf('claude-code', workspaceIn(directory))
      holds(small !== undefined)
      const run = (words: string[]): Promise<Ended> =>
        agentContext(directory, ['hook', ...words], { input: JSON.stringify(small.input), environment: DEFAULTS })
      const call = ['claude-code', 'post-tool-use']
      const dir = join(directory, 'own')
      for (const words of [
        [...call, '--dir', dir],
        [...call, `--dir=${dir}`, '--color', 'never'],
        [...call, '--threshold', '100000', '--dir', dir],
      ]) {
        const { code, stdout, stderr } = await run(words)
        assert.deepEqual([code, stdout, stderr], [0, '{}\n', ''])
      }
      assert.equal(contextsIn(dir).length, 3)
      for (const words of [
        ['claude-code'],
        ['claude', 'post-tool-use'],
        [...call, '--threshold', 'x'],
        [...call, '--dirr', dir],
      ]) {
        const { code, stdout } = await run(words)
        assert.deepEqual([code, stdout], [2, ''], words.join(' '))
      }
    }),
  )

  test(
    'an event that arrives late in a pipe that does not block is read whole',
    { ...PATIENT, skip: process.platform === 'win32' || 'Deno' in globalThis || 'Bun' in globalThis },
    inDirectory(async (directory) => {
      const { large } = eventsOf('claude-code', workspaceIn(directory))
      holds(large !== undefined)
      // A pipe that the stream reads is non-blocking.
      const child = spawn(process.execPath, [PROGRAM, 'hook', 'claude-code', 'post-tool-use'], {
        env: environmentIn(directory, { ...DEFAULTS, NODE_OPTIONS: '--import data:text/javascript,process.stdin' }),
        stdio: ['pipe', 'pipe', 'inherit'],
      })
      let answer = ''
      child.stdout.setEncoding('utf8').on('data', (part: string) => {
        answer += part
      })
      const closed = once(child, 'close')
      const input = JSON.stringify(large.input)
      await setTimeout(500)
      child.stdin.write(input.slice(0, 10_000))
      await setTimeout(100)
      child.stdin.end(input.slice(10_000))
      await closed
      holds(answer.includes('stored as ctx_'), answer)
    }),
  )

  test(
    'hooks in parallel lose nothing',
    PATIENT,
    inDirectory(async (directory) => {
      const { large } = eventsOf('claude-code', workspaceIn(directory))
      holds(large !== undefined)
      await Promise.all(
        Array.from({ length: 12 }, (_, index) =>
          hook(directory, 'claude-code', { ...large, input: { ...large.input, tool_input: { index } } }),
        ),
      )
      const project = projectIn(directory)
      assert.equal(contextsIn(join(project, 'contexts')).length, 12)
      assert.equal((await new ContextHistory({ path: join(project, 'history.jsonl') }).read(100)).length, 12)
    }),
  )
})
