// The runtimes that a release is tried on.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { bunBinary } from '../bun-binary.mjs'

const NODES = ['20', '22', '24', '26']
const DENO = ['run', '--allow-ffi', '--allow-read', '--allow-write', '--allow-env', '--allow-sys']

/**
 * Node.js in each supported version, Bun and Deno. What is not in the folder is installed there from npm.
 *
 * @param {string} folder with `node_modules/node22` and so on
 * @returns {{ title: string, command: string, parameters: string[] }[]}
 */
export function findRuntimes(folder) {
  const own = process.versions.node.split('.')[0]
  const needed = NODES.filter((version) => version !== own)
  const missing = needed.filter((version) => !existsSync(nodeIn(folder, version)))
  const packages = missing.map(
    (version) =>
      `node${version}@npm:node-${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}@${version}`,
  )
  if (denoIn(folder) === undefined) {
    packages.push('deno@2')
  }
  if (packages.length > 0) {
    mkdirSync(folder, { recursive: true })
    execFileSync(
      'npm',
      ['install', '--prefix', folder, '--no-save', '--no-package-lock', '--ignore-scripts', ...packages],
      { stdio: ['ignore', 'ignore', 'inherit'], shell: process.platform === 'win32' },
    )
  }
  return [
    ...NODES.map((version) => ({
      title: `Node.js ${version}`,
      command: version === own ? process.execPath : nodeIn(folder, version),
      parameters: [],
    })),
    { title: 'Bun', command: bunBinary(), parameters: [] },
    { title: 'Deno', command: denoIn(folder), parameters: DENO },
  ]
}

function nodeIn(folder, version) {
  const name = process.platform === 'win32' ? 'node.exe' : 'node'
  return join(folder, 'node_modules', `node${version}`, 'bin', name)
}

function denoIn(folder) {
  const scope = join(folder, 'node_modules', '@deno')
  const name = process.platform === 'win32' ? 'deno.exe' : 'deno'
  return (existsSync(scope) ? readdirSync(scope) : [])
    .map((part) => join(scope, part, name))
    .find((path) => existsSync(path))
}
