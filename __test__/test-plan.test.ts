/** The parameters of `npm test`. */

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { removeDirectory } from './support/fixtures.ts'
import { PATIENT } from './support/processes.ts'

interface Command {
  readonly title: string
  readonly command: string
  readonly parameters: readonly string[]
  readonly beside?: boolean
}

const module = new URL('../scripts/test-plan.mjs', import.meta.url).href
const { failedFiles } = (await import(new URL('../scripts/run-tests.mjs', import.meta.url).href)) as {
  failedFiles(runtime: string, files: readonly string[], output: string): string[]
}
const { planOf } = (await import(module)) as {
  planOf(parameters: readonly string[], tests: readonly string[]): readonly Command[]
}

const TESTS = ['__test__/a.test.ts', '__test__/b.test.ts']
const linesOf = (parameters: readonly string[]): string[] =>
  planOf(parameters, TESTS).map(({ command, parameters }) =>
    [command, ...parameters].join(' ').replace(/ bun \S+ /, ' bun BUN '),
  )

const BUILD = 'node scripts/build.mjs --release'
const onNode = (files: string, concurrency = 2): string =>
  `node scripts/run-tests.mjs node node --concurrency=${concurrency} ${files}`
const onBun = (files: string): string => `node scripts/run-tests.mjs bun BUN ${files}`

describe('npm test', () => {
  test('runs everything without parameters', () => {
    assert.deepEqual(linesOf([]), [
      BUILD,
      'tsc --noEmit',
      'cargo test --workspace --no-default-features',
      onBun('__test__/a.test.ts __test__/b.test.ts'),
      onNode('__test__/a.test.ts __test__/b.test.ts', 3),
    ])
  })

  test('runs the files on Bun beside the tests of the core, or beside Node', () => {
    for (const [parameters, before] of [
      [[], 'core without Node-API'],
      [['__test__/a.test.ts'], 'Node'],
    ] as const) {
      const plan = planOf(parameters, TESTS)
      const beside = plan.flatMap((command, at) => (command.beside ? [[plan[at - 1]?.title, command.title]] : []))
      assert.deepEqual(beside, [[before, 'Bun']])
    }
  })

  test('runs the longest files only on Node, unless they are named', () => {
    const files = [
      '__test__/a.storm.test.ts',
      '__test__/b.test.ts',
      '__test__/c.canary.test.ts',
      '__test__/cli.d.test.ts',
      '__test__/fleet.e.test.ts',
      '__test__/f.database.test.ts',
      '__test__/pages.test.ts',
    ]
    const commands = planOf([], files).map(({ parameters }) => parameters.join(' '))
    assert.ok(commands.at(-1)?.endsWith(files.join(' ')))
    assert.ok(commands.at(-2)?.endsWith(' __test__/b.test.ts'))
    assert.ok(!commands.at(-2)?.includes('__test__/a.storm.test.ts'))
    const named = planOf(['__test__/a.storm.test.ts'], files)
    assert.ok(named.at(-1)?.parameters.includes('__test__/a.storm.test.ts'))
  })

  test('runs the files that are named on Node and on Bun', () => {
    const expected = [BUILD, onNode('__test__/b.test.ts'), onBun('__test__/b.test.ts')]
    assert.deepEqual(linesOf(['__test__/b.test.ts']), expected)
    assert.deepEqual(linesOf(['./__test__/b.test.ts', '__test__/b.test.ts']), expected)
    assert.deepEqual(linesOf(['__test__\\b.test.ts']), expected)
    assert.equal(
      linesOf(['__test__/b.test.ts', '__test__/a.test.ts'])[1],
      onNode('__test__/b.test.ts __test__/a.test.ts'),
    )
  })

  test('passes the filter of --rust to cargo test', () => {
    assert.deepEqual(linesOf(['--rust', 'durable::log']), ['cargo test --workspace --no-default-features durable::log'])
    assert.deepEqual(linesOf(['--rust', 'log', '__test__/a.test.ts']), [
      BUILD,
      'cargo test --workspace --no-default-features log',
      onBun('__test__/a.test.ts'),
      onNode('__test__/a.test.ts', 3),
    ])
  })

  test('says what is wrong with its parameters', () => {
    for (const [parameters, message] of [
      [['__test__/c.test.ts'], /^There is no test file __test__\/c\.test\.ts: /],
      [['b.test.ts'], /^There is no test file b\.test\.ts: /],
      [['--wach'], /^Unknown flag --wach\.$/],
      [['-w'], /^Unknown flag -w\.$/],
      [['--rust'], /^--rust needs a filter/],
      [['--rust', '--release'], /^--rust needs a filter/],
      [['--rust', 'a', '--rust', 'b'], /^--rust can be given once/],
    ] as const) {
      assert.throws(() => planOf(parameters, TESTS), { message })
    }
  })

  test('shows its usage when a parameter is wrong, and runs nothing', PATIENT, () => {
    const script = fileURLToPath(new URL('../scripts/test.mjs', import.meta.url))
    const root = fileURLToPath(new URL('..', import.meta.url))
    const { status, stdout, stderr } = spawnSync('node', [script, '__test__/none.test.ts'], {
      cwd: root,
      encoding: 'utf8',
    })
    assert.deepEqual([status, stdout], [2, ''])
    assert.match(stderr, /^There is no test file __test__\/none\.test\.ts: .*\n\nUsage:\n/)
  })
})

describe('a file that fails', () => {
  const named = (runtime: string, ...lines: string[]): string[] => failedFiles(runtime, TESTS, lines.join('\n'))

  test('is found in the report of each runtime', () => {
    const failed = ['__test__/b.test.ts']
    assert.deepEqual(
      named('node', '✖ d', 'ℹ fail 1', '', '✖ failing tests:', '', 'test at __test__/b.test.ts:2:19', '✖ x (1 ms)'),
      failed,
    )
    const onBun = ['', '__test__/a.test.ts:', '(pass) y [1 ms]', '', '__test__/b.test.ts:']
    const bunEnds = 'Ran 2 tests across 2 files. [34.00ms]'
    assert.deepEqual(named('bun', ...onBun, '(fail) d > x [1.2ms]', bunEnds), failed)
    const repeated = ['__test__/a.test.ts:', '(pass) y [1 ms]', '', '2 tests failed:', '(fail) d > x [1.2ms]']
    assert.deepEqual(named('bun', ...onBun, '(fail) d > x [1.2ms]', ...repeated, bunEnds), failed)
    assert.deepEqual(named('bun', ...onBun, '', '# Unhandled error between tests', bunEnds), failed)
    const onDeno = ['running 1 test from ./__test__/a.test.ts', 'y ... ok (0ms)']
    const denoEnds = 'FAILED | 0 passed (1 step) | 1 failed (1 step) (7ms)'
    assert.deepEqual(
      named('deno', ...onDeno, 'running 1 test from ./__test__/b.test.ts', '  x ... FAILED (2ms)', denoEnds),
      failed,
    )
    assert.deepEqual(named('deno', ...onDeno, 'Uncaught error from ./__test__/b.test.ts FAILED', denoEnds), failed)
  })

  test('is not guessed: of a run that broke, or of a failure in no file', () => {
    assert.deepEqual(named('bun', '__test__/b.test.ts:', '(fail) d > x [1.2ms]', 'panic: segmentation fault'), [])
    assert.deepEqual(named('bun', '(fail) d > x [1.2ms]', 'Ran 2 tests across 2 files. [34.00ms]'), [])
    assert.deepEqual(named('node', 'ℹ fail 1', 'test at __test__/other.test.ts:2:19'), [])
  })

  test('is run once more by itself in CI, and nowhere else', PATIENT, () => {
    const root = fileURLToPath(new URL('..', import.meta.url))
    // Below the repository, where tsx is found.
    const folder = mkdtempSync(join(root, '__test__', '.page-repeated-'))
    try {
      const file = `__test__/${basename(folder)}/example.test.ts`
      const run = (ci: string, body: string): readonly [number | null, boolean] => {
        writeFileSync(
          join(root, file),
          `import { test } from 'node:test'\nimport fs from 'node:fs'\ntest('t', () => {${body}})\n`,
        )
        // A test runner within a test runner prints for that one.
        const { NODE_TEST_CONTEXT: _, ...environment } = process.env
        const { status, stderr } = spawnSync('node', ['scripts/run-tests.mjs', 'node', 'node', file], {
          cwd: root,
          encoding: 'utf8',
          env: { ...environment, CI: ci },
        })
        return [status, stderr.includes(`failed once of two runs: ${file}`)]
      }
      const once = (mark: string): string => {
        const path = JSON.stringify(join(folder, mark))
        return `if (!fs.existsSync(${path})) { fs.writeFileSync(${path}, ''); throw new Error('once') }`
      }
      assert.deepEqual(run('true', once('first')), [0, true])
      assert.deepEqual(run('', once('second')), [1, false])
      assert.deepEqual(run('true', "throw new Error('always')"), [1, false])
      assert.deepEqual(run('', ''), [0, false])
    } finally {
      removeDirectory(folder)
    }
  })
})
