import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

/**
 * The path of the Bun that the repository installs. The package's own install script moves the binary to its place, unless it
 * is blocked.
 *
 * @returns {string}
 */
export function bunBinary() {
  const installed = dirname(createRequire(import.meta.url).resolve('bun/package.json'))
  const folder = join(installed, '..', '@oven')
  const name = process.platform === 'win32' ? 'bun.exe' : 'bun'
  const packages = existsSync(folder) ? readdirSync(folder) : []
  const candidates = packages.map((part) => join(folder, part, 'bin', name))
  for (const candidate of [...candidates, join(installed, 'bin', 'bun.exe')]) {
    if (existsSync(candidate) && spawnSync(candidate, ['--version']).status === 0) {
      return candidate
    }
  }
  return 'bun'
}
