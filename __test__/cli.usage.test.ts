import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { COMMANDS, GROUPS } from '../lib/cli/command-table.ts'
import { optionsOf } from '../lib/cli/option-uses.ts'
import { OPTIONS } from '../lib/cli/options.ts'
import {
  agentContext,
  agentContextOk,
  contentsOf,
  documentedSchemas,
  environmentIn,
  PROGRAM,
  schemaProblems,
} from './support/command-line.ts'
import { holds, inDirectory, PATIENT, runtimeParameters } from './support/processes.ts'

/** Words that a command's required arguments accept. */
function argumentsOf(row: (typeof COMMANDS)[number]): string[] {
  return (row.arguments ?? []).filter(({ isOptional }) => isOptional !== true).map(({ choices }) => choices?.[0] ?? 'x')
}

describe('the command line', () => {
  for (const row of COMMANDS) {
    test(
      `${row.name} refuses an unknown option, suggests the nearest, and touches nothing`,
      PATIENT,
      inDirectory(async (directory) => {
        const [option] = optionsOf(row).filter(({ long }) => long.length > 6)
        const long = option?.long ?? '--verbose'
        const misspelt = `${long.slice(0, -2)}${long.at(-1)}${long.at(-2)}x`
        const words = [...row.name.split(' '), ...argumentsOf(row), misspelt]
        const { code, stdout, stderr } = await agentContext(directory, words, { input: 'text' })
        assert.deepEqual([code, stdout], [2, ''])
        holds(stderr.includes(`unknown option '${misspelt}'`), stderr)
        holds(stderr.includes('Did you mean'), stderr)
        assert.deepEqual(contentsOf(directory), {})
      }),
    )

    test(`${row.name} has help with its examples`, PATIENT, async () => {
      const help = await agentContextOk('/', ['help', ...row.name.split(' ')])
      holds(help.includes(row.summary.slice(0, 30)), help)
      for (const { long } of optionsOf(row)) {
        holds(help.includes(long), `${long} is not in the help`)
      }
    })
  }

  test('every command with JSON output has a documented schema', () => {
    const schemas = documentedSchemas()
    for (const { name, output } of COMMANDS) {
      assert.equal(schemas.has(name), output !== 'text', name)
    }
  })

  test('option names are their spellings in camel case', () => {
    for (const [name, { flags }] of Object.entries(OPTIONS)) {
      const long = /--([\w-]+)/.exec(flags)?.[1] ?? ''
      assert.equal(
        name,
        long.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase()),
      )
    }
  })

  test(
    'an unknown command is refused with the nearest one',
    PATIENT,
    inDirectory(async (directory) => {
      for (const [words, nearest] of [
        [['lst'], 'list'],
        [['history', 'tial'], 'history tail'],
        [['store', 'serch', 'x'], 'store search'],
      ] as const) {
        const { code, stderr } = await agentContext(directory, words)
        assert.equal(code, 2)
        holds(stderr.includes(`Did you mean '${nearest}'?`), stderr)
      }
      assert.deepEqual(contentsOf(directory), {})
    }),
  )

  test(
    'values of options are checked before anything is done',
    PATIENT,
    inDirectory(async (directory) => {
      for (const words of [
        ['list', '--limit', '-1'],
        ['list', '--limit', '1.5'],
        ['list', '--since', 'yesterday'],
        ['read', 'x', '--lines', 'a:b'],
        ['read', 'x', '--lines', '1:2', '--bytes', '1:2'],
        ['read', 'x', '-C', '2'],
        ['stats', '--by', 'colour'],
        ['offload', '--tool', 'x', '--args', '[1]'],
        ['offload'],
        ['history', 'compact'],
        ['store', 'write', 'opinion', 'x'],
        ['list', 'surplus'],
        ['show'],
      ]) {
        const { code, stdout, stderr } = await agentContext(directory, words)
        assert.deepEqual([words, code, stdout], [words, 2, ''])
        holds(stderr.startsWith('agent-context: '), stderr)
      }
      assert.deepEqual(contentsOf(directory), {})
    }),
  )

  test(
    'errors are JSON with --json',
    PATIENT,
    inDirectory(async (directory) => {
      for (const [words, code] of [
        [['list', '--json', '--surplus'], 'ERR_CLI_USAGE'],
        [['list', '--json', '--jsonl'], 'ERR_CLI_USAGE'],
        [['read', 'ctx_0123456789abcdef', '--json'], 'ERR_CONTEXT_NOT_FOUND'],
      ] as const) {
        const { stderr } = await agentContext(directory, words)
        const error = JSON.parse(stderr) as { error: { code: string } }
        assert.deepEqual(schemaProblems(error, 'error'), [])
        assert.equal(error.error.code, code)
      }
    }),
  )

  test('without a command it says what it is and how to start', PATIENT, async () => {
    const text = await agentContextOk('/', [])
    for (const command of ['doctor', 'offload', 'list']) {
      holds(text.includes(`agent-context ${command}`) || text.includes(`| agent-context ${command}`), text)
    }
  })

  test('a group without a second word runs its standard command', PATIENT, async () => {
    for (const { name, standard } of GROUPS) {
      holds(
        COMMANDS.some((row) => row.name === `${name} ${standard}`),
        name,
      )
    }
  })

  test(
    'the end of a reader is no failure',
    { ...PATIENT, skip: process.platform === 'win32' },
    inDirectory(async (directory) => {
      await agentContextOk(directory, ['offload', '--tool', 'seq', '--threshold', '1'], {
        input: Array.from({ length: 500_000 }, (_, line) => `line ${line}\n`).join(''),
      })
      const [item] = (
        JSON.parse(await agentContextOk(directory, ['list', '--json'])) as { items: { filename: string }[] }
      ).items
      const reader = spawn(
        process.execPath,
        [...runtimeParameters(process.execPath), PROGRAM, 'read', item?.filename ?? '', '--whole'],
        { env: environmentIn(directory), stdio: ['ignore', 'pipe', 'pipe'] },
      )
      let stderr = ''
      reader.stderr.on('data', (text) => {
        stderr += String(text)
      })
      reader.stdout.once('data', () => reader.stdout.destroy())
      assert.equal(await new Promise((resolve) => reader.on('close', resolve)), 0)
      assert.equal(stderr, '')
    }),
  )

  test(
    'an interrupted command ends with 130',
    { ...PATIENT, skip: process.platform === 'win32' },
    inDirectory(async (directory) => {
      const child = spawn(process.execPath, [...runtimeParameters(process.execPath), PROGRAM, 'redact'], {
        env: environmentIn(directory),
        stdio: ['pipe', 'pipe', 'pipe'],
      })
      const ended = new Promise((resolve) => child.on('close', resolve))
      // What comes out shows that it runs.
      child.stdin.write('x'.repeat(5 * 1024 * 1024))
      await new Promise((resolve) => child.stdout.once('data', resolve))
      child.stdout.resume()
      child.kill('SIGINT')
      assert.equal(await ended, 130)
    }),
  )

  test(
    'settings come from the nearest file, variables win, options win over both',
    PATIENT,
    inDirectory(async (directory) => {
      const folder = join(directory, 'project', 'src')
      mkdirSync(folder, { recursive: true })
      writeFileSync(join(directory, 'project', '.agent-context.json'), '{"dir":"outputs"}')
      const places = async (words: readonly string[], value: string | undefined): Promise<string | undefined> => {
        const environment = { AGENT_CONTEXT_DIR: value }
        const text = await agentContextOk(directory, ['disk', '--json', ...words], { folder, environment })
        return (JSON.parse(text) as { items: { path: string }[] }).items[0]?.path
      }
      assert.equal(await places([], undefined), join(directory, 'project', 'outputs'))
      assert.equal(await places([], '/variable'), '/variable')
      assert.equal(await places(['--dir', '/option'], '/variable'), '/option')
      writeFileSync(join(directory, 'project', '.agent-context.json'), '{"dri":"outputs"}')
      const { code, stderr } = await agentContext(directory, ['list'], { folder })
      assert.equal(code, 2)
      holds(stderr.includes("did you mean 'dir'?"), stderr)
    }),
  )
})
