// Runs test files on a runtime. Parameters: node, bun or deno; the path of its binary; the files.
//
// In CI (environment variable `CI`), three runtimes share two cores, and a test with a time limit may fail although the
// code is right. There, a file that fails is run once more by itself. If the file fails again, the run fails; otherwise
// the run reports the name of the file. Elsewhere, every failure fails the run.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { pathToFileURL } from 'node:url'

/** The most files that are repeated. With more failures, the cause is not the load of the machine. */
const MOST_REPEATED = 2

/** The last lines of the runtimes' reports. An output without one comes from a run that crashed. */
const REPORT_ENDS = /^(?:ℹ fail \d+|Ran \d+ tests? across .*|FAILED \| .*)$/m

/** What Bun and Deno print where a test or a whole file fails. */
const FAILURE = /^\(fail\)|^# Unhandled error|\.\.\. FAILED\b|^Uncaught error from/

/** The files with a failed test, read from the output of the runtime. Empty if the output does not name them all. */
export function failedFiles(runtime, files, output) {
  const failed = new Set()
  if (!REPORT_ENDS.test(output)) {
    return []
  }
  let current
  // Bun repeats all failures after those of the last file.
  const [report = ''] = output.split(/^\d+ tests failed:$/m, 1)
  for (const line of report.split('\n')) {
    if (runtime === 'node') {
      current = /^\s*test at (.+?):\d+:\d+/.exec(line)?.[1]
    } else {
      // The name of a file precedes its tests.
      current =
        /^(?:running \d+ tests? from |Uncaught error from )?(\S+\.test\.m?ts)(?::$|$| FAILED$)/.exec(line)?.[1] ??
        current
    }
    if (runtime === 'node' ? current !== undefined : FAILURE.test(line)) {
      failed.add(files.find((name) => current?.endsWith(name)))
    }
  }
  return failed.has(undefined) ? [] : [...failed]
}

/** Several times what the longest file takes on a slow machine, in ms: a test that hangs fails, and names its file. */
const TEST_TIMEOUT = 20 * 60 * 1000

/** The parameters with which a runtime tests files, a number of them at a time. */
function parametersOf(runtime, files, concurrency) {
  switch (runtime) {
    case 'node':
      return [
        '--import',
        'tsx',
        '--test',
        `--test-concurrency=${concurrency}`,
        `--test-timeout=${TEST_TIMEOUT}`,
        '--test-reporter=spec',
        ...files,
      ]
    case 'bun':
      return ['test', '--timeout', '120000', ...files.map((name) => `./${name}`)]
    default:
      return ['test', '--allow-all', '--no-check', ...files]
  }
}

async function run(runtime, binary, files, concurrency) {
  const child = spawn(binary, parametersOf(runtime, files, concurrency), {
    stdio: ['ignore', 'pipe', 'pipe'],
    shell: process.platform === 'win32',
  })
  const chunks = []
  for (const [from, to] of [
    [child.stdout, process.stdout],
    [child.stderr, process.stderr],
  ]) {
    from.on('data', (chunk) => {
      chunks.push(chunk)
      to.write(chunk)
    })
  }
  const [status, signal] = await once(child, 'close')
  return { status: signal === null ? status : 1, output: Buffer.concat(chunks).toString() }
}

async function main([runtime, binary, ...rest]) {
  const [, concurrency = '1'] = /^--concurrency=(\d+)$/.exec(rest[0] ?? '') ?? []
  const files = rest.filter((parameter) => !parameter.startsWith('--concurrency='))
  if (!['node', 'bun', 'deno'].includes(runtime) || binary === undefined || files.length === 0) {
    console.error('Usage: node scripts/run-tests.mjs node|bun|deno BINARY [--concurrency=N] FILE…')
    return 2
  }
  const first = await run(runtime, binary, files, concurrency)
  if (first.status === 0 || !process.env.CI) {
    return first.status
  }
  const failed = failedFiles(runtime, files, first.output)
  if (failed.length === 0 || failed.length > MOST_REPEATED) {
    return first.status
  }
  console.error(`\n── once more by itself: ${failed.join(', ')}`)
  const { status } = await run(runtime, binary, failed, 1)
  if (status === 0) {
    console.error(`\n── failed once of two runs: ${failed.join(', ')}`)
  }
  return status
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  process.exitCode = await main(process.argv.slice(2))
}
