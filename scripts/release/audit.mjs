// `npm run release:audit`: the packages that are installed for a build, checked as `npm audit` does, and the lock file of the crates.
import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { auditOutcome, unlockedCrates, unlockedPackages } from './locks.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))
const mustReach = process.argv.includes('--online')

const problems = unlockedCrates(readFileSync(join(root, 'Cargo.lock'), 'utf8'))
console.log(`Cargo.lock: ${problems.length === 0 ? 'every crate has a source and a checksum' : 'see below'}`)

// The repository has no lock file of npm's: one is made of what a build would install now.
const folder = mkdtempSync(join(tmpdir(), 'agent-context-audit-'))
try {
  copyFileSync(join(root, 'package.json'), join(folder, 'package.json'))
  npm(['install', '--package-lock-only', '--package-lock=true', '--ignore-scripts', '--no-audit', '--no-fund'])
  const lock = JSON.parse(readFileSync(join(folder, 'package-lock.json'), 'utf8'))
  problems.push(...unlockedPackages(lock))
  console.log(
    `npm: ${Object.keys(lock.packages).length - 1} packages, each with an integrity unless it is listed below`,
  )
  const { stdout } = npm(['audit', '--json', '--package-lock=true', '--fetch-retries=0', '--fetch-timeout=15000'])
  const { isKnown, advisories } = auditOutcome(stdout)
  if (isKnown) {
    console.log(`npm audit: ${advisories.length} advisories`)
    problems.push(...advisories)
  } else {
    console.log('npm audit: SKIPPED, the registry gave no answer about advisories. Run it where the network is.')
    problems.push(...(mustReach ? ['advisories could not be asked for, and --online asks for them'] : []))
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}
for (const problem of problems) {
  console.error(problem)
}
process.exit(problems.length === 0 ? 0 : 1)

function npm(parameters) {
  return spawnSync('npm', parameters, { cwd: folder, encoding: 'utf8', shell: process.platform === 'win32' })
}
