import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { hasPostgres, startPostgres } from './support/postgres.ts'

interface Run {
  code: number | string | null | undefined
  output: string
  errors: string
}

const SESSION = fileURLToPath(new URL('../examples/agent-session.ts', import.meta.url))
const FLEET = fileURLToPath(new URL('../examples/fleet/fleet.ts', import.meta.url))
const HISTORY = fileURLToPath(new URL('../examples/history.ts', import.meta.url))
const REDACTION = fileURLToPath(new URL('../examples/redaction.ts', import.meta.url))
const RETRIEVAL = fileURLToPath(new URL('../examples/retrieval.ts', import.meta.url))
const MEMORY = fileURLToPath(new URL('../examples/repo-memory.ts', import.meta.url))
const STATE = fileURLToPath(new URL('../examples/state.ts', import.meta.url))
const STORE = fileURLToPath(new URL('../examples/context-store.ts', import.meta.url))
const QUESTION = 'Who checks the password at login?'

const files: Record<string, string> = {
  'README.md': '# A shop\n\nCustomers log in and buy.\n',
  'src/auth/LoginForm.tsx': 'export const LoginForm = () => checkPassword()\n',
  'src/billing/invoice.ts': 'export const total = 1\n',
  'src/billing/tax.ts': 'export const rate = 0.2\n',
  'src/search/catalogue.ts': `export const words = '${'shop '.repeat(20_000)}'\n`,
  'node_modules/peer/login.js': 'login() // of others: not looked at\n',
}

/** As `npm run example` does; Bun runs TypeScript itself. */
function runExample(script: string, ...parameters: string[]): Promise<Run> {
  return runExampleIn({}, script, ...parameters)
}

/** As `runExample`, with these variables. */
function runExampleIn(variables: NodeJS.ProcessEnv, script: string, ...parameters: string[]): Promise<Run> {
  const loader = process.versions['bun'] === undefined ? ['--import', 'tsx'] : []
  // Even then: what counts is that the output goes into a pipe.
  const options = { cwd: dirname(dirname(script)), env: { ...process.env, FORCE_COLOR: '1', ...variables } }
  return new Promise((resolve) => {
    execFile(process.execPath, [...loader, script, ...parameters], options, (error, output, errors) => {
      resolve({ code: error === null ? 0 : error.code, output, errors })
    })
  })
}

/** The text between a heading and the next one. */
function section(output: string, number: number): string {
  const [, text] = output.split(new RegExp(`^${number}\\. `, 'm'))
  assert.ok(text !== undefined, `section ${number} is missing`)
  return text.split(/^\d\. /m)[0] ?? ''
}

describe('npm run example', () => {
  let folder = ''
  let run: Run

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'agent-context-example-test-'))
    for (const [path, text] of Object.entries(files)) {
      await mkdir(dirname(join(folder, path)), { recursive: true })
      await writeFile(join(folder, path), text)
    }
    run = await runExample(SESSION, folder, QUESTION)
  })

  after(() => rm(folder, { recursive: true, force: true }))

  test('succeeds without a word on stderr', () => {
    assert.deepEqual({ code: run.code, errors: run.errors }, { code: 0, errors: '' })
  })

  test('stores outputs of every tool, failures included', () => {
    for (const tool of ['list_tree', 'read_file', 'run_command', 'search_text']) {
      assert.match(section(run.output, 1), new RegExp(`^ +${tool} +[1-9]`, 'm'))
    }
    assert.match(section(run.output, 1), /^ +read_file +6 +1 /m, 'five files and a wrong guess')
  })

  test('keeps the large output out of memory', () => {
    assert.match(section(run.output, 2), /kept out of memory +\d+\.\d KB/)
  })

  test('selects the file that answers the question, and says why', () => {
    const sources = section(run.output, 3)
    assert.match(sources, /read_file path=src\/auth\/LoginForm\.tsx\n.* "login" in description and arguments/)
    assert.doesNotMatch(sources, /read_file path=src\/billing|node_modules/)
  })

  test('prints the size of the prompt and what the event loop paid', () => {
    assert.match(section(run.output, 4), /size +[\d.]+ K?B /)
    assert.match(section(run.output, 5), /event loop blocked +[\d.]+ ms/)
    assert.match(section(run.output, 5), /by saving +[\d.]+ ms/)
  })

  test('leaves an empty directory, and removes it', () => {
    assert.match(section(run.output, 6), /files before clear\(\) +[1-9]\d* .* 1 lease/)
    assert.match(section(run.output, 6), /files after clear\(\) +0 /)
    const contextDir = /context directory +(.+)/.exec(run.output)?.[1]
    assert.ok(contextDir !== undefined)
    assert.equal(existsSync(contextDir), false)
  })

  test('prints no colour codes into a pipe', () => {
    assert.equal(run.output.includes('\u001b'), false)
  })

  test('says so when nothing matches', async () => {
    const empty = join(folder, 'empty')
    await mkdir(empty)
    const { code, output } = await runExample(SESSION, empty, 'What is this?')
    assert.equal(code, 0)
    assert.match(section(output, 3), /No output shares a word with it/)
    assert.match(section(output, 6), /files after clear\(\) +0 /)
  })

  test('refuses a wrong folder in one line', async () => {
    for (const wrong of [join(folder, 'missing'), join(folder, 'README.md')]) {
      const { code, output, errors } = await runExample(SESSION, wrong)
      assert.deepEqual({ code, output }, { code: 1, output: '' })
      assert.equal(errors, `${wrong} is no folder. Usage: npm run example -- [folder] [question]\n`)
    }
  })
})

describe('npm run example:retrieval', () => {
  test('finds one line among two hundred outputs', async () => {
    const { code, output, errors } = await runExample(RETRIEVAL)
    assert.deepEqual({ code, errors }, { code: 0, errors: '' })
    assert.match(output, /Stored +200 outputs/)
    assert.match(output, /Selected +read_log.*\(.*declin/)
    assert.match(output, /Searched +line 218: .*timed out after 30 s/)
    assert.match(output, /Read +218:10:03:37 checkout PaymentDeclined/)
    assert.match(output, /Tool +read_context_slice/)
  })
})

describe('npm run example:redaction', () => {
  test('leaves no secret on disk, and says what stood where', async () => {
    const { code, output, errors } = await runExample(REDACTION)
    assert.deepEqual({ code, errors }, { code: 0, errors: '' })
    assert.match(output, /Stored +# deploy\.env of the shop\n +HOST=shop\.example\.com\n/)
    assert.match(output, /postgres:\/\/shop:\[REDACTED:[\w.-]+\]@db\.example\.com:5432\/shop\n/)
    assert.match(output, /GITHUB_TOKEN=\[REDACTED:[\w.-]+\]\n +RETRIES=3\n/)
    assert.match(output, /Reported +context of read_file: .*\n.*entry of git_push: /)
    assert.match(output, /On disk +0 of 2 secrets/)
    assert.match(output, /A text .*Authorization: .*\[REDACTED:[\w.-]+\]" https:\/\/api\.github\.com\/user/)
  })
})

describe('npm run example:store', () => {
  test('agents find, change and supersede what others wrote', async () => {
    const { code, output, errors } = await runExample(STORE)
    assert.deepEqual({ code, errors }, { code: 0, errors: '' })
    assert.match(output, /Written +code-reviewer\/a1b2c3d4\/\d{8}T\d{6}-auth-vulnerability\.md\n/)
    assert.match(
      output,
      /On disk +---\n +agent: code-reviewer\n(?: +.*\n)* +type: finding\n +tags: \[security, authentication\]\n/,
    )
    assert.match(output, /Found +code-reviewer\/a1b2c3d4\/\S+: security, authentication\n/)
    assert.match(output, /Too late +ERR_CONTEXT_CONFLICT\n/)
    assert.match(
      output,
      /Changes +code-fixer: Fixed in 4f2a\n +summarizer: Marked as superseded, see summarizer\/a1b2c3d4\/\S+-auth\.md: it is fixed\n/,
    )
    assert.match(output, /Related +code-reviewer\/a1b2c3d4\/\S+\n +code-fixer\/a1b2c3d4\/\S+-constant-time\.md\n/)
    assert.match(output, /Tool +context_read\n +\[Characters 0 to 37 of 37\./)
    assert.match(
      output,
      /For a log +\{"meta":\{"contextFiles":\["code-reviewer\/\S+","code-fixer\/\S+","summarizer\/\S+"\]\}\}\n/,
    )
    assert.match(output, /Verified +3 entries, 0 problems, 0 dangling links/)
  })
})

describe('npm run example:memory', () => {
  test('what is remembered is used by the steps of a run', async () => {
    const { code, output, errors } = await runExample(MEMORY)
    assert.deepEqual({ code, errors }, { code: 0, errors: '' })
    assert.match(output, /Stored +CI pushes with \[REDACTED:[\w.-]+\]\n/)
    assert.match(output, /Built +Used timingSafeEqual, as planned\.\n/)
    assert.match(
      output,
      /Summaries +plan: Compare passwords .*\n +build: Used timingSafeEqual, as planned\.\n +test: Step test failed: 1 of 3 tests failed\n/,
    )
    assert.match(output, /Context +## Latest steps\n +- \*\*run-42 \/ test\*\* .*Step test failed/)
    assert.match(output, /## Repository map\n +```\n +src\/\w+\.ts\n/)
    const [, length] = /Length +(\d+) of 700 characters\n/.exec(output) ?? []
    assert.ok(Number(length) <= 700 && Number(length) > 400, `${length} characters`)
    assert.match(output, /Symbols +class LoginForm, line 2\n +method submit, line 3\n/)
    assert.match(
      output,
      /On disk +\{\n +"version": 1,\n +"repository": .*\n +"conventions": \[\n(?: +.*\n)* +"title": "Tests",\n/,
    )
  })
})

describe('npm run example:history', () => {
  test('the second run finds what the first one did', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'agent-context-example-test-'))
    try {
      await writeFile(join(folder, 'one.ts'), 'function one() {}\n')
      await writeFile(join(folder, 'two.ts'), 'function two() {}\n')
      const { code, output, errors } = await runExample(HISTORY, folder)
      assert.deepEqual({ code, errors }, { code: 0, errors: '' })
      assert.match(output, /failed before +run_tests: no test runner here/)
      assert.match(output, /decided +Begin with the smallest of 2 files/)
      assert.match(output, /Retrieved 3 context entries\. count, run_tests, decision/)
      assert.match(output, /compacted .* 3 earlier calls, 2 tools/)
      assert.match(output, /verified +3 entries, 0 bad lines/)
    } finally {
      await rm(folder, { recursive: true })
    }
  })
})

describe('npm run example:state', () => {
  test('another process takes up the conversation of a killed one', async () => {
    const { code, output, errors } = await runExample(STATE)
    assert.deepEqual({ code, errors }, { code: 0, errors: '' })
    assert.match(output, /Killed\. .*\n +process \d+: goes on after "[a-z ]+"\n/)
    assert.match(output, /The conversation has 6 messages, each step once:\n(?: +(?:user|agent): .*\n){6}$/)
  })
})

describe('npm run example:fleet', () => {
  test('four workers without a common directory share outputs, tasks, a history and findings', async (context) => {
    if (!hasPostgres()) {
      context.skip('PostgreSQL is not installed')
      return
    }
    const server = await startPostgres()
    try {
      const { code, output, errors } = await runExampleIn({ DATABASE_URL: server.url }, FLEET)
      assert.deepEqual({ code, errors }, { code: 0, errors: '' })
      assert.match(output, /Workers +4 processes, 0 files on their disks\n/)
      assert.match(output, /Tasks +12, each taken once, by [1-4] workers\n/)
      assert.match(output, /History +12 entries, the first read by \w+\n/)
      assert.match(output, /Outputs +12 of 12 handles were loaded, \d{6,} characters\n/)
      assert.match(output, /Findings +\w+: The longest file that I read is src\/\w+\.ts\.\n/)
    } finally {
      server.remove()
    }
  })

  test('says what it needs', async () => {
    const { code, errors } = await runExampleIn({ DATABASE_URL: undefined }, FLEET)
    assert.equal(code, 1)
    assert.match(errors, /Set DATABASE_URL/)
  })
})
