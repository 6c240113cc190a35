// `npm test`: everything, or what its parameters name; see `test-plan.mjs`.
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
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

/** The package's own install script, which puts the binary in its place, may be blocked. */
function bunBinary() {
  const folder = join(dirname(createRequire(import.meta.url).resolve('bun/package.json')), '..', '@oven')
  const name = process.platform === 'win32' ? 'bun.exe' : 'bun'
  const packages = existsSync(folder) ? readdirSync(folder) : []
  for (const candidate of packages.map((part) => join(folder, part, 'bin', name))) {
    if (existsSync(candidate) && spawnSync(candidate, ['--version']).status === 0) {
      return candidate
    }
  }
  return 'bun'
}
