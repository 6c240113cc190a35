/**
 * Checks the recorded events of coding agents and the answers of `agent-context hook` against the types that the clients publish. The
 * compiler gets both as literals, so that unknown members are errors. Codex and Cursor do not publish their types on npm: their answers
 * are checked in `__test__/hooks.test.ts`.
 */

import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { RepoMemory } from 'agent-context'
import ts from 'typescript'
import { describe, expect, test } from 'vitest'
import { newDirectory } from './support/fixtures.ts'

const here = fileURLToPath(new URL('.', import.meta.url))
const PROGRAM = join(here, '..', '..', 'dist', 'cli', 'agent-context.js')
/** Only the package's archive is fetched: its 70 dependencies are not needed for the types of its hooks. */
const GEMINI = '@google/gemini-cli-core@0.61.0'
const LARGE = Array.from({ length: 3000 }, (_, line) => `line ${line} of the log`).join('\n')

interface Recorded {
  readonly event: string
  readonly input: Readonly<Record<string, unknown>>
}
interface Answered {
  readonly input: Recorded['input']
  readonly answer: Readonly<Record<string, unknown>>
}

/** The answers of the hook to recorded events, in a workspace whose memory has a note. */
async function answersOf<Name extends string>(client: string, names: readonly Name[]): Promise<Record<Name, Answered>> {
  const home = newDirectory()
  const workspace = join(home, 'shop')
  mkdirSync(workspace)
  const memory = await RepoMemory.open({ workspace, root: join(home, 'memory') })
  await memory.upsertNote({ content: 'The tests need a database.' })
  const text = readFileSync(join(here, '..', 'hook-events', `${client}.json`), 'utf8')
  const recorded = JSON.parse(text, (_, value) =>
    value === '@LARGE@' ? LARGE : value === '@WORKSPACE@' ? workspace : value,
  ) as Record<Name, Recorded>
  const answers = names.map((name): [Name, Answered] => {
    const { event, input } = recorded[name]
    const { stdout, stderr } = spawnSync(process.execPath, [PROGRAM, 'hook', client, event], {
      input: JSON.stringify(input),
      encoding: 'utf8',
      env: { PATH: process.env['PATH'], HOME: home, AGENT_CONTEXT_MEMORY: join(home, 'memory') },
    })
    expect(stderr).toBe('')
    return [name, { input, answer: JSON.parse(stdout) as Record<string, unknown> }]
  })
  return Object.fromEntries(answers) as Record<Name, Answered>
}

/** The compiler's errors for a module in this directory. */
function problemsOf(source: string): string[] {
  const file = join(here, 'answers-of-hooks.ts')
  const options: ts.CompilerOptions = {
    strict: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: true,
    noEmit: true,
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    allowImportingTsExtensions: true,
    types: ['node'],
    typeRoots: [join(here, '..', '..', 'node_modules', '@types')],
  }
  const host = ts.createCompilerHost(options)
  const { fileExists, getSourceFile } = host
  host.fileExists = (name) => name === file || fileExists(name)
  host.getSourceFile = (name, ...rest) =>
    name === file ? ts.createSourceFile(name, source, ts.ScriptTarget.ES2022) : getSourceFile(name, ...rest)
  const program = ts.createProgram([file], options, host)
  const found = program.getSemanticDiagnostics(program.getSourceFile(file))
  return [...found, ...program.getSyntacticDiagnostics(), ...program.getGlobalDiagnostics()].map(({ messageText }) =>
    ts.flattenDiagnosticMessageText(messageText, '\n'),
  )
}

const literal = (name: string, type: string, value: unknown): string =>
  `export const ${name}: ${type} = ${JSON.stringify(value)}\n`

describe('answers of hooks in the types of their clients', () => {
  test('the compiler refuses members that a type does not have', () => {
    const types = "import type { SyncHookJSONOutput } from '@anthropic-ai/claude-agent-sdk'\n"
    expect(problemsOf(types + literal('right', 'SyncHookJSONOutput', { decision: 'block' }))).toEqual([])
    expect(problemsOf(types + literal('wrong', 'SyncHookJSONOutput', { decisions: 'block' }))).toHaveLength(1)
  })

  test('Claude Code', async () => {
    const { start, large, small } = await answersOf('claude-code', ['start', 'large', 'small'])
    const { updatedToolOutput } = large.answer['hookSpecificOutput'] as { updatedToolOutput: { stdout: string } }
    expect(updatedToolOutput.stdout).toContain('stored as ctx_')
    expect(JSON.stringify(start.answer)).toContain('The tests need a database.')
    const problems = problemsOf(
      [
        "import type { PostToolUseHookInput, SessionStartHookInput, SyncHookJSONOutput } from '@anthropic-ai/claude-agent-sdk'\n",
        "import type { BashOutput } from '@anthropic-ai/claude-agent-sdk/sdk-tools'\n",
        literal('startInput', 'SessionStartHookInput', start.input),
        literal('largeInput', 'PostToolUseHookInput', large.input),
        literal('startAnswer', 'SyncHookJSONOutput', start.answer),
        literal('largeAnswer', 'SyncHookJSONOutput', large.answer),
        literal('smallAnswer', 'SyncHookJSONOutput', small.answer),
        literal('given', 'BashOutput', large.input['tool_response']),
        literal('replaced', 'BashOutput', updatedToolOutput),
      ].join(''),
    )
    expect(problems).toEqual([])
  })

  test('Gemini CLI', async () => {
    const { start, large } = await answersOf('gemini', ['start', 'large'])
    expect(large.answer['reason']).toContain('stored as ctx_')
    expect(JSON.stringify(start.answer)).toContain('The tests need a database.')
    const folder = newDirectory()
    const npm = { cwd: folder, encoding: 'utf8', shell: process.platform === 'win32' } as const
    const [archive = ''] = execFileSync('npm', ['pack', '--silent', GEMINI], npm).trim().split('\n').slice(-1)
    execFileSync('tar', ['-xzf', archive, 'package/dist/src/hooks', 'package/package.json'], { cwd: folder })
    const types = join(folder, 'package', 'dist', 'src', 'hooks', 'types.js')
    const problems = problemsOf(
      [
        `import type { AfterToolInput, AfterToolOutput, SessionStartInput, SessionStartOutput } from ${JSON.stringify(types)}\n`,
        literal('startAnswer', 'SessionStartOutput', start.answer),
        literal('largeAnswer', 'AfterToolOutput', large.answer),
        // Its enumerations do not accept literals.
        literal('startInput', "Omit<SessionStartInput, 'source'> & { source: string }", start.input),
        literal('largeInput', 'AfterToolInput', large.input),
      ].join(''),
    )
    expect(problems).toEqual([])
  })

  test('opencode', async () => {
    const { large } = await answersOf('opencode', ['large'])
    expect(large.answer).toEqual({ output: expect.stringContaining('stored as ctx_') })
    const problems = problemsOf(
      [
        "import type { Plugin } from '@opencode-ai/plugin'\n",
        "import { AgentContextPlugin } from '../../lib/opencode/plugin.ts'\n",
        'export const plugin: Plugin = AgentContextPlugin\n',
        "type Call = Parameters<NonNullable<Awaited<ReturnType<Plugin>>['tool.execute.after']>>\n",
        'export const known: keyof Awaited<ReturnType<typeof AgentContextPlugin>> extends keyof Awaited<ReturnType<Plugin>> ? true : false = true\n',
        literal('output', 'Call[1]', large.input['output']),
      ].join(''),
    )
    expect(problems).toEqual([])
  })
})
