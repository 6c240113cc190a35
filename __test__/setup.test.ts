import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import * as fc from 'fast-check'
import { parseJsonc, removeItems, removeMember, setItem, setMember } from '../lib/setup/jsonc.ts'
import { agentContext, agentContextOk, contentsOf, environmentIn, PROGRAM } from './support/command-line.ts'
import { holds, inDirectory, PATIENT } from './support/processes.ts'

/** A file of each client that exists before, with a comment and members of others, and what is there afterwards. */
const CLIENTS = {
  'claude-code': [
    '.claude/settings.json',
    '{\n  // mine\n  "model": "opus",\n  "hooks": { "Stop": [] }\n}\n',
    'PostToolUse',
  ],
  codex: ['.codex/config.toml', '# mine\nmodel = "gpt-5"\n', '[mcp_servers.agent-context]'],
  cursor: ['.cursor/mcp.json', '{\n\t"mcpServers": {\n\t\t"other": { "command": "x" }, // mine\n\t}\n}\n', '"args"'],
  gemini: ['.gemini/settings.json', '{"theme":"dark" /* mine */}', 'AfterTool'],
  opencode: ['.config/opencode/opencode.json', '{\n  "plugin": ["mine"]\n}\n', 'opencode-plugin.js'],
} as const

function write(directory: string, file: string, text: string): string {
  const path = join(directory, file)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
  return path
}

describe('setup', () => {
  for (const [client, [file, text, added]] of Object.entries(CLIENTS)) {
    test(
      `${client}: adds itself once, keeps what is there, and restores the bytes`,
      PATIENT,
      inDirectory(async (directory) => {
        const path = write(directory, file, text)
        const before = contentsOf(directory)
        const printed = await agentContextOk(directory, ['setup', client, '--print'])
        holds(printed.includes(added) && printed.includes(PROGRAM), printed)
        assert.deepEqual(contentsOf(directory), before)
        await agentContextOk(directory, ['setup', client])
        const once = contentsOf(directory)
        const changed = readFileSync(path, 'utf8')
        holds(changed.includes(added) && changed.includes('mine'), changed)
        if (!file.endsWith('.toml')) {
          const kept = parseJsonc(text).value as Record<string, unknown>
          const now = parseJsonc(changed).value as Record<string, unknown>
          for (const key of Object.keys(kept)) {
            holds(key in now, key)
          }
        }
        assert.equal(readFileSync(`${path}.agent-context.bak`, 'utf8'), text)
        await agentContextOk(directory, ['setup', client])
        assert.deepEqual(contentsOf(directory), once)
        await agentContextOk(directory, ['setup', client, '--remove'])
        const files = (contents: Record<string, string>): unknown =>
          Object.fromEntries(Object.entries(contents).filter(([, content]) => content !== ''))
        assert.deepEqual(files(contentsOf(directory)), files(before))
      }),
    )
  }

  test(
    'what was changed meanwhile stays when it is removed',
    PATIENT,
    inDirectory(async (directory) => {
      const path = write(directory, '.gemini/settings.json', '{ "theme": "dark" }\n')
      await agentContextOk(directory, ['setup', 'gemini'])
      writeFileSync(path, readFileSync(path, 'utf8').replace('"dark"', '"light"'))
      await agentContextOk(directory, ['setup', 'gemini', '--remove'])
      assert.deepEqual(parseJsonc(readFileSync(path, 'utf8')).value, { theme: 'light' })
    }),
  )

  test(
    'symbolic links and what is not understood are refused, and no file is changed',
    { ...PATIENT, skip: process.platform === 'win32' },
    inDirectory(async (directory) => {
      const target = write(directory, 'elsewhere.json', '{}')
      mkdirSync(join(directory, '.gemini'))
      symlinkSync(target, join(directory, '.gemini', 'settings.json'))
      const linked = await agentContext(directory, ['setup', 'gemini'])
      holds(linked.code === 4 && linked.stderr.includes('symbolic link'), linked.stderr)
      write(directory, '.cursor/hooks.json', '{ "hooks": ')
      const broken = await agentContext(directory, ['setup', 'cursor'])
      holds(broken.code === 4 && broken.stderr.includes('hooks.json'), broken.stderr)
      // The other file of this client is not written either.
      holds(!existsSync(join(directory, '.cursor', 'mcp.json')))
      write(directory, '.claude/settings.json', '{ "hooks": [] }')
      assert.equal((await agentContext(directory, ['setup', 'claude-code'])).code, 4)
      assert.equal(readFileSync(target, 'utf8'), '{}')
    }),
  )

  test(
    'the project scope leaves files alone that git tracks',
    PATIENT,
    inDirectory(async (directory) => {
      const path = write(directory, '.gemini/settings.json', '{}\n')
      const git = (...words: string[]): unknown => execFileSync('git', words, { cwd: directory, stdio: 'pipe' })
      git('init', '-q')
      git('add', '.gemini/settings.json')
      const refused = await agentContext(directory, ['setup', 'gemini', '--scope', 'project'])
      holds(refused.code === 4 && refused.stderr.includes('tracked'), refused.stderr)
      assert.equal(readFileSync(path, 'utf8'), '{}\n')
      await agentContextOk(directory, ['setup', 'claude-code', '--scope', 'project'])
      holds(existsSync(join(directory, '.claude', 'settings.local.json')))
      holds(!existsSync(join(directory, '.mcp.json')) && !existsSync(join(directory, '.claude', 'settings.json')))
    }),
  )
})

/** The page of each client. */
const PAGES = {
  'claude-code': 'claude-code.md',
  codex: 'codex.md',
  cursor: 'cursor.md',
  gemini: 'gemini-cli.md',
  opencode: 'opencode.md',
} as const
const DOCUMENTED_FOLDER = '/usr/lib/node_modules/agent-context/dist/cli'

describe('the pages of the clients', () => {
  for (const [client, name] of Object.entries(PAGES)) {
    test(
      `${name} shows what setup writes`,
      { ...PATIENT, skip: process.platform === 'win32' },
      inDirectory(async (directory) => {
        const printed = (await agentContextOk(directory, ['setup', client, '--print']))
          .replaceAll(dirname(PROGRAM), DOCUMENTED_FOLDER)
          .replaceAll(directory, '~')
        const files = [...printed.matchAll(/^# (~\S+)\n([\s\S]*?)(?=\n*^# ~|\n*$(?![\s\S]))/gm)]
        assert.equal(files.length, printed.match(/^# ~/gm)?.length, printed)
        const page = readFileSync(fileURLToPath(new URL(`../docs/guides/${name}`, import.meta.url)), 'utf8')
        for (const [, file = '', text = ''] of files) {
          const [, after = ''] = page.split(`\`${file}\`:\n\n`)
          assert.equal(/^```\w+\n([\s\S]*?)\n```\n/.exec(after)?.[1], text.trimEnd(), file)
        }
      }),
    )
  }
})

describe('the plugin folder of Claude Code', () => {
  test(
    'runs the program of the package, and its hooks answer',
    PATIENT,
    inDirectory(async (directory) => {
      const folder = new URL('../plugin/', import.meta.url)
      const script = fileURLToPath(new URL('bin/agent-context.mjs', folder))
      const run = (words: string[], input: string): string =>
        execFileSync(process.execPath, [script, ...words], { input, encoding: 'utf8', env: environmentIn(directory) })
      assert.equal(run(['--version'], '').trim(), versionOf('../package.json'))
      assert.equal(versionOf('../plugin/.claude-plugin/plugin.json'), versionOf('../package.json'))
      const { hooks } = parseJsonc(readFileSync(new URL('hooks/hooks.json', folder), 'utf8')).value as {
        hooks: Record<string, { hooks: { command: string }[] }[]>
      }
      const commands = Object.values(hooks).flatMap((entries) => entries.flatMap((entry) => entry.hooks))
      assert.equal(commands.length, 3)
      for (const { command } of commands) {
        const words = command.split('agent-context.mjs" ')[1]?.split(' ') ?? []
        assert.equal(run(words, JSON.stringify({ session_id: 's', cwd: directory })), '{}\n')
      }
    }),
  )
})

const versionOf = (file: string): string =>
  (JSON.parse(readFileSync(new URL(file, import.meta.url), 'utf8')) as { version: string }).version

describe('JSON with comments', () => {
  const isOwn = (value: unknown): boolean => value === 'own'
  const json = fc.dictionary(fc.string({ maxLength: 6 }), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 4 })

  test('a member that is added and removed leaves every other value', () => {
    fc.assert(
      fc.property(json, fc.constantFrom(0, 2, '\t'), fc.jsonValue(), (value, indent, added) => {
        const plain = JSON.parse(JSON.stringify(value)) as Record<string, unknown>
        fc.pre(!('new' in plain) && !Object.hasOwn(plain, '__proto__'))
        const text = `// first\n${JSON.stringify(plain, undefined, indent)} /* last */\n`
        const more = setMember(text, ['new', 'inner'], added)
        assert.deepEqual(parseJsonc(more).value, {
          ...plain,
          new: { inner: JSON.parse(JSON.stringify(added)) as unknown },
        })
        assert.equal(setMember(more, ['new', 'inner'], added), more)
        const less = removeMember(more, ['new', 'inner'])
        assert.deepEqual(parseJsonc(less).value, plain)
        holds(less.startsWith('// first\n') && less.endsWith(' /* last */\n'), less)
      }),
    )
  })

  test('an item that is added and removed leaves the others', () => {
    fc.assert(
      fc.property(fc.array(fc.integer()), fc.boolean(), (items, hasTrailingComma) => {
        const comma = hasTrailingComma && items.length > 0 ? ', // end\n' : ''
        const text = `{"list": [${items.join(', ')}${comma}]}`
        const more = setItem(text, ['list'], 'own', isOwn)
        assert.deepEqual(parseJsonc(more).value, { list: [...items, 'own'] })
        assert.equal(setItem(more, ['list'], 'own', isOwn), more)
        const { value } = parseJsonc(removeItems(more, ['list'], isOwn))
        assert.deepEqual(value, items.length === 0 ? {} : { list: items })
      }),
    )
  })

  test('what is no JSON is refused', () => {
    for (const text of [
      '',
      '{',
      '{"a" 1}',
      '{"a":1 "b":2}',
      '[1,,2]',
      '{a:1}',
      '{"a":01}',
      '{} x',
      '{"a":"\n"}',
      '[,]',
    ]) {
      assert.throws(() => parseJsonc(text), SyntaxError, text)
    }
  })
})
