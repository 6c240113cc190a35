// `npm run test:coverage`: line coverage of the TypeScript (c8, Node) and of the Rust core (cargo-tarpaulin, Linux x64,
// installed at the first run). Fails below 90 %.
import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'

const MINIMUM = '90'

const tests = readdirSync('__test__')
  .filter((name) => name.endsWith('.test.ts'))
  .map((name) => join('__test__', name))

run('node', ['scripts/build.mjs'])
run('c8', [
  // The entries are mapped back to their sources; some tests import sources directly.
  '--include',
  'dist/**',
  '--include',
  'lib/**',
  '--check-coverage',
  '--lines',
  MINIMUM,
  '--reporter',
  'text',
  'node',
  '--enable-source-maps',
  '--import',
  'tsx',
  '--test',
  '--test-reporter=dot',
  ...tests,
])

if (spawnSync('cargo', ['tarpaulin', '--version']).status !== 0) {
  run('cargo', ['install', 'cargo-tarpaulin', '--locked'])
}
run('cargo', [
  'tarpaulin',
  '--workspace',
  '--no-default-features',
  '--target-dir',
  'target/coverage',
  '--include-files',
  'crates/*',
  '--out',
  'stdout',
  '--fail-under',
  MINIMUM,
])

function run(command, parameters) {
  const { status } = spawnSync(command, parameters, { stdio: 'inherit', shell: process.platform === 'win32' })
  if (status !== 0) {
    process.exit(status ?? 1)
  }
}
