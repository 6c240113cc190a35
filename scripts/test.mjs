// `npm test`: everything, or what its parameters name; see `test-plan.mjs`.
import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { bunBinary } from './bun-binary.mjs'
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
for (const { title, command, parameters } of plan) {
  run(title, command === 'bun' ? bunBinary() : command, parameters)
}

function run(title, command, parameters) {
  console.log(`\n── ${title}`)
  const { status, error } = spawnSync(command, parameters, { stdio: 'inherit', shell: process.platform === 'win32' })
  if (status !== 0) {
    console.error(`\n${title} failed${error === undefined ? '' : `: ${error.message}`}`)
    process.exit(status ?? 1)
  }
}
