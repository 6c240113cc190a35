// `npm test`: everything, in the order in which failures are cheapest to see.
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

const tests = readdirSync('__test__')
  .filter((name) => name.endsWith('.test.ts'))
  .map((name) => join('__test__', name))

run('build', 'node', ['scripts/build.mjs', '--release'])
run('type tests', 'tsc', ['--noEmit'])
run('core without Node-API', 'cargo', ['test', '--no-default-features'])
run('Node', 'node', ['--import', 'tsx', '--test', '--test-reporter=spec', ...tests])
run('Bun', bunBinary(), ['test', '--timeout', '120000', ...tests.map((name) => `./${name}`)])

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
