// `npm test`: everything, or what its parameters name; see `test-plan.mjs`.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { planOf, USAGE } from './test-plan.mjs'

const tests = readdirSync('__test__')
  .filter((name) => name.endsWith('.test.ts'))
  .map((name) => `__test__/${name}`)

let plan
try {
  plan = planOf(process.argv.slice(2), tests)
} catch (error) {
  console.error(`${error.message}\n\n${USAGE}`)
  process.exit(2)
}
while (plan.length > 0) {
  const step = plan.shift()
  const beside = plan[0]?.beside ? runBeside(plan.shift()) : undefined
  console.log(`\n── ${step.title}`)
  const outcome = await run(step, 'inherit')
  const outcomeBeside = await beside
  if (outcomeBeside !== undefined) {
    console.log(`\n── ${outcomeBeside.title}\n${outcomeBeside.output}`)
  }
  const failed = [outcome, outcomeBeside].find((outcome) => outcome !== undefined && outcome.status !== 0)
  if (failed !== undefined) {
    console.error(`\n${failed.title} failed${failed.reason}`)
    process.exit(failed.status)
  }
}

/** Runs a step and prints its output when it has ended, so that it does not mix with that of another one. */
async function runBeside(step) {
  const directory = mkdtempSync(join(tmpdir(), 'agent-context-test-'))
  const path = join(directory, 'output')
  const file = openSync(path, 'w')
  try {
    const outcome = await run(step, ['ignore', file, file])
    return { ...outcome, output: readFileSync(path, 'utf8') }
  } finally {
    closeSync(file)
    rmSync(directory, { recursive: true, force: true })
  }
}

/** The exit status of a step's command, at least 1 when it could not be run or was killed. */
async function run({ title, command, parameters }, stdio) {
  const child = spawn(command, parameters, {
    stdio,
    shell: process.platform === 'win32',
  })
  try {
    const [status, signal] = await once(child, 'exit')
    return { title, status: status ?? 1, reason: signal === null ? '' : `: killed by ${signal}` }
  } catch (error) {
    return { title, status: 1, reason: `: ${error.message}` }
  }
}
