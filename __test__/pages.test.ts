// The README and every page below docs/: their code runs, their commands exist, their links lead somewhere.
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, delimiter, join } from 'node:path'
import { describe, test } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'
import ts from 'typescript'
import { environmentIn, PROGRAM } from './support/command-line.ts'
import {
  type Block,
  blocksOf,
  deadLinksOf,
  documents,
  isInRepository,
  pages,
  ROOT,
  textOf,
} from './support/documents.ts'
import { removeDirectory } from './support/fixtures.ts'
import { holds, PATIENT, runtimeParameters } from './support/processes.ts'

/** Modules that the code of pages takes for granted: an agent, its model, its event bus. */
const YOURS = fileURLToPath(new URL('./pages', import.meta.url))
/** What a block of each language is for. Anything else is code that no test runs, and fails. */
const LANGUAGES: Readonly<Record<string, string>> = {
  ts: 'all blocks of a page run as one module; blocks "text output" hold what it prints',
  js: 'each block is a module, and is loaded',
  console: 'commands behind "$ ", which run, with what they print',
  sh: 'commands for the reader: their syntax, and that what they name exists',
  json: 'one document, or a document on each line',
  sql: 'statements for the reader of a page on databases',
  text: 'data',
  markdown: 'data',
  toml: 'data',
  yaml: 'data',
  dockerfile: 'needs a container engine',
}
/** Labels of TypeScript that does not run: declarations and fragments, which the reference takes from doc comments. */
const OF_REFERENCE = ['signature', 'example']
const isWindows = process.platform === 'win32'
const isNode = process.versions['bun'] === undefined && !('Deno' in globalThis)

/** The pages whose code needs frameworks, and is run by the suite of the adapters. */
const RUN_BY_ADAPTERS = new Set(
  readdirSync(join(ROOT, '__test__/adapters'))
    .filter((name) => name.endsWith('.spec.ts'))
    .flatMap((name) => [...textOf(`__test__/adapters/${name}`).matchAll(/\brunGuide\('([^']+)'/g)])
    .map(([, guide]) => `docs/guides/${guide}.md`),
)

/** A pattern for what a page says is printed: `…` matches any part of a line. */
function expected(text: string): RegExp {
  const literal = text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
  return new RegExp(`^${literal.replaceAll('…', '.*')}$`)
}

/** Compares an output with what a page says of it. */
function assertPrints(output: string, documented: string): void {
  if (!expected(documented).test(output)) {
    assert.equal(output, documented)
  }
}

interface Ran {
  code: number | null
  stdout: string
  stderr: string
}

function runProcess(command: string, parameters: readonly string[], cwd: string, env: NodeJS.ProcessEnv): Promise<Ran> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, parameters, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] })
    let stdout = ''
    let stderr = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text
    })
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text
    })
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, stdout, stderr }))
  })
}

/** What this runtime wants before the path of a script in TypeScript. */
function forTypeScript(): string[] {
  if ('Deno' in globalThis) {
    return ['run', '-A', '--no-check']
  }
  return process.versions['bun'] === undefined ? ['--import', import.meta.resolve('tsx')] : []
}

/** Runs the TypeScript of a page, as one module of an application with the package installed. */
async function runCode(page: string, code: string): Promise<Ran> {
  // Below the root the package finds itself by its name.
  const folder = mkdtempSync(join(ROOT, '__test__', '.page-'))
  const home = realpathSync(mkdtempSync(join(tmpdir(), 'agent-context-page-')))
  try {
    cpSync(YOURS, folder, { recursive: true })
    const script = join(folder, `${basename(page, '.md')}.ts`)
    writeFileSync(script, code)
    return await runProcess(process.execPath, [...forTypeScript(), script], home, {
      ...process.env,
      HOME: home,
      USERPROFILE: home,
      NO_COLOR: '1',
      NODE_NO_WARNINGS: '1',
    })
  } finally {
    removeDirectory(folder)
    removeDirectory(home)
  }
}

/** Runs the commands of a block in a shell, and compares what they print with what follows each. */
async function runConsole(code: string): Promise<void> {
  const home = realpathSync(mkdtempSync(join(tmpdir(), 'agent-context-page-')))
  try {
    const programs = join(home, '.programs')
    mkdirSync(programs)
    const parameters = runtimeParameters(process.execPath).join(' ')
    writeFileSync(
      join(programs, 'agent-context'),
      `#!/bin/sh\nexec "${process.execPath}" ${parameters} "${PROGRAM}" "$@"\n`,
    )
    chmodSync(join(programs, 'agent-context'), 0o755)
    const environment = environmentIn(home)
    environment['PATH'] = `${programs}${delimiter}${environment['PATH']}`
    for (const [, command = '', documented = ''] of code.matchAll(/^\$ (.*(?:\\\n.*)*)\n((?:(?!\$ ).*\n)*)/gm)) {
      const { stdout, stderr } = await runProcess('/bin/sh', ['-c', command], home, environment)
      assertPrints(stdout + stderr, documented)
    }
  } finally {
    removeDirectory(home)
  }
}

const helpTexts = new Map<string, Promise<Ran>>()
function helpOf(words: readonly string[]): Promise<Ran> {
  const name = words.join(' ')
  const known = helpTexts.get(name)
  if (known !== undefined) {
    return known
  }
  const parameters = runtimeParameters(process.execPath)
  const help = runProcess(process.execPath, [...parameters, PROGRAM, ...words, '--help'], ROOT, {
    ...process.env,
    NO_COLOR: '1',
  })
  helpTexts.set(name, help)
  return help
}

/** Checks that the commands and options of `agent-context`, the scripts and the recipes in a shell's text exist. */
async function checkCommands(code: string): Promise<void> {
  const { scripts } = JSON.parse(textOf('package.json')) as { scripts: Record<string, string> }
  const plain = code
    .replace(/^\s*#.*$/gm, '')
    .replace(/ # .*$/gm, '')
    .replaceAll('\\\n', ' ')
  // Behind `cd` it is another package's.
  for (const [, script = ''] of plain.replace(/\bcd .*$/gm, '').matchAll(/\bnpm run ([\w:-]+)/g)) {
    holds(script in scripts, `npm run ${script} is no script`)
  }
  for (const [, words = ''] of plain.matchAll(/(?:^|[|&;]|npx|time) *agent-context ([^|&;<>\n]*)/gm)) {
    const [command = '', next = ''] = words.trim().split(/\s+/)
    if (command.startsWith('-') || command === 'help' || command === '') {
      continue
    }
    const whole = await helpOf([command])
    holds(whole.stdout.includes(`agent-context ${command}`), `there is no command agent-context ${command}`)
    const ofSubcommand = new RegExp(`^  ${next}\\b`, 'm').test(whole.stdout) && /^[a-z]+$/.test(next)
    const help = ofSubcommand ? whole.stdout + (await helpOf([command, next])).stdout : whole.stdout
    for (const [, option = ''] of words.matchAll(/(?<=^|\s)(--?[a-z][\w-]*)/gi)) {
      holds(new RegExp(`(?:^|[\\s,])${option}\\b`).test(help), `agent-context ${words.trim()}: no option ${option}`)
    }
  }
}

/** JSON, or JSON on each line. */
function checkJson(code: string): void {
  try {
    JSON.parse(code)
  } catch {
    for (const line of code.trimEnd().split('\n')) {
      JSON.parse(line)
    }
  }
}

async function checkBlock({ language, code, line }: Block): Promise<void> {
  try {
    if (language === 'json') {
      checkJson(code)
    } else if (language === 'sh' && !isWindows) {
      const { status, stderr } = spawnSync('/bin/sh', ['-n'], { input: code, encoding: 'utf8' })
      assert.equal(status, 0, stderr)
      await checkCommands(code)
    } else if (language === 'console' && !isWindows) {
      await runConsole(code)
    } else if (language === 'js') {
      const directory = mkdtempSync(join(ROOT, '__test__', '.page-'))
      try {
        const path = join(directory, 'block.mjs')
        writeFileSync(path, code)
        await import(pathToFileURL(path).href)
      } finally {
        removeDirectory(directory)
      }
    }
  } catch (error) {
    throw new Error(`in the block at line ${line}: ${error instanceof Error ? error.message : error}`, { cause: error })
  }
}

/** The TypeScript of a page that runs, a text for each block. */
const codeOf = (page: string): string[] =>
  blocksOf(textOf(page))
    .filter(({ language, label }) => language === 'ts' && !isOfReference(page, label))
    .map(({ code }) => code)

const isOfReference = (page: string, label: string): boolean =>
  page.startsWith('docs/reference/') && OF_REFERENCE.includes(label)

for (const page of pages()) {
  const blocks = blocksOf(textOf(page))
  const code = codeOf(page)
  const outputs = blocks.filter(({ label }) => label === 'output').map((block) => block.code)
  const others = blocks.filter(({ language }) => language !== 'ts')

  if (blocks.length > 0) {
    describe(page, () => {
      test('has blocks of known languages', () => {
        const unknown = blocks.filter(({ language }) => !Object.hasOwn(LANGUAGES, language))
        const runsNot = blocks.filter(
          ({ language, label }) => language === 'ts' && label !== '' && !isOfReference(page, label),
        )
        assert.deepEqual(runsNot, [], 'a block that does not run is no `ts`')
        assert.deepEqual(
          unknown.map(({ language, line }) => `line ${line}: ${language}`),
          [],
        )
      })
      if (code.length > 0 && !RUN_BY_ADAPTERS.has(page)) {
        test('runs unchanged', PATIENT, async () => {
          const ran = await runCode(page, code.join('\n'))
          assert.equal(ran.code, 0, ran.stderr)
          assert.equal(ran.stderr, '')
          assertPrints(ran.stdout.trimEnd(), outputs.join('').trimEnd())
        })
      }
      if (others.some(({ language }) => ['js', 'console', 'sh', 'json'].includes(language))) {
        // Nothing here depends on the runtime.
        test('has commands and data that are understood', { ...PATIENT, skip: !isNode }, async () => {
          for (const block of others) {
            await checkBlock(block)
          }
        })
      }
    })
  }
}

describe('all documents', () => {
  // The compiler is the same everywhere.
  test('have TypeScript that the compiler accepts', { ...PATIENT, skip: !isNode }, () => {
    const folder = mkdtempSync(join(ROOT, '__test__', '.page-'))
    try {
      cpSync(YOURS, folder, { recursive: true })
      const programs = pages()
        .filter((page) => codeOf(page).length > 0 && !RUN_BY_ADAPTERS.has(page))
        .map((page) => {
          const path = join(folder, `${page.replaceAll('/', '_').slice(0, -'.md'.length)}.ts`)
          writeFileSync(path, codeOf(page).join('\n'))
          return path
        })
      const program = ts.createProgram(programs, {
        target: ts.ScriptTarget.ES2022,
        lib: ['lib.es2024.d.ts', 'lib.esnext.disposable.d.ts'],
        module: ts.ModuleKind.NodeNext,
        types: ['node'],
        strict: true,
        noEmit: true,
        allowImportingTsExtensions: true,
        skipLibCheck: true,
      })
      const problems = ts.getPreEmitDiagnostics(program).map(({ file, start, messageText }) => {
        const line = file === undefined ? 0 : file.getLineAndCharacterOfPosition(start ?? 0).line + 1
        return `${basename(file?.fileName ?? '')}, line ${line}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`
      })
      holds(programs.length > 5)
      assert.deepEqual(problems, [])
    } finally {
      removeDirectory(folder)
    }
  })

  test('the reference is what index.d.ts says', PATIENT, async () => {
    const { code, stderr } = await runProcess(
      process.execPath,
      [...runtimeParameters(process.execPath), join(ROOT, 'scripts/reference.mjs'), '--check'],
      ROOT,
      process.env,
    )
    assert.equal(code, 0, stderr)
  })

  test('the table of errors has every code, and no other', () => {
    const [, union = ''] = /type ContextErrorCode =([\s\S]*?);\n/.exec(textOf('index.d.ts')) ?? []
    const codes = (text: string): string[] => [...new Set(text.match(/ERR_CONTEXT_[A-Z_]+/g))].sort()
    const rows = textOf('docs/errors.md').match(/^\| `ERR_CONTEXT_[A-Z_]+` \|/gm) ?? []
    holds(codes(union).length > 10)
    assert.deepEqual(codes(rows.join('\n')), codes(union))
  })

  test('link to what is there', () => {
    assert.deepEqual(
      documents().flatMap((path) => deadLinksOf(path, isInRepository)),
      [],
    )
  })

  test('the README has at most 150 lines, and the commands of CI', () => {
    const text = textOf('README.md')
    holds(text.split('\n').length <= 151, `${text.split('\n').length - 1} lines`)
    assert.match(text, /^npm install && npm test$/m)
  })

  for (const start of ['README.md', 'docs/index.md']) {
    test(`every page is reached from ${start}`, () => {
      const reached = new Set([start])
      for (const page of reached) {
        for (const link of linksIn(page).filter((link) => link !== 'README.md')) {
          reached.add(link)
        }
      }
      assert.deepEqual(
        pages().filter((page) => page !== 'README.md' && !reached.has(page)),
        [],
      )
    })
  }

  test('every guide is linked from the list of guides', () => {
    const listed = linksIn('docs/index.md')
    assert.deepEqual(
      pages().filter((page) => page.startsWith('docs/guides/') && !listed.includes(page)),
      [],
    )
  })

  test('the sidebar of the site has every page, and no other', () => {
    const sidebar = textOf('site/.vitepress/config.mjs').replace(/^[\s\S]*?\bsidebar: /, '')
    const linked = [...sidebar.matchAll(/\bpage\('[^']*', '([^']*)'\)/g)].map(([, link = '']) =>
      `docs/${link}`.replace(/\/$/, '/index').concat('.md'),
    )
    assert.deepEqual(
      linked.sort(),
      pages().filter((page) => page !== 'README.md'),
    )
  })

  test('a dead link, a missing heading and an unknown command are found', async () => {
    assert.deepEqual(deadLinksOf('README.md', () => false).length > 0, true)
    await assert.rejects(checkCommands('agent-context frobnicate'), /frobnicate/)
    await assert.rejects(checkCommands('agent-context list --jsn'), /--jsn/)
    await assert.rejects(checkCommands('npm run frobnicate'), /frobnicate/)
    assert.throws(() => checkJson('{"a":…}'), SyntaxError)
    holds(!expected('a … c').test('a b\nc'))
    holds(expected('a … c').test('a b c'))
  })
})

/** The documents that a document links to. */
function linksIn(page: string): string[] {
  const base = pathToFileURL(join(ROOT, page))
  return [...textOf(page).matchAll(/\]\(([^)\s#:]+\.md)/g)]
    .map(([, link = '']) => fileURLToPath(new URL(link, base)).slice(ROOT.length).replaceAll('\\', '/'))
    .filter((link) => isInRepository(link))
}
