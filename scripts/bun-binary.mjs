import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

/**
 * The path of the Bun that the repository installs. The package's own install script, which puts the binary in its place, may be blocked.
 *
 * @returns {string}
 */
export function bunBinary() {
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
