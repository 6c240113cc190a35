/** Installs the frameworks of one end of the peer ranges: `node support/install-frameworks.ts oldest|latest`. */

import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const [end] = process.argv.slice(2)
if (end !== 'oldest' && end !== 'latest') {
  throw new Error("say which end of the ranges: 'oldest' or 'latest'")
}
const manifest = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as {
  peerDependencies: Record<string, string>
}
/** Oldest versions that are not the first of their range, and why. */
const LATER: Readonly<Record<string, string>> = {
  // The model of the tests, `FilesystemBackend`, throws in 1.14.0 where a glob leaves the tree, and finds no files from 1.14.1 on.
  // It runs on the oldest `@langchain/core` as well, though its own range begins at 1.2.9.
  deepagents: '1.14.1',
}
const packages = Object.entries(manifest.peerDependencies).map(
  ([name, range]) => `${name}@${end === 'oldest' ? (LATER[name] ?? range.replace(/^\^/, '')) : range}`,
)
const parameters = ['install', '--no-save', '--no-package-lock', '--legacy-peer-deps', ...packages]
const { status } = spawnSync('npm', parameters, {
  cwd: fileURLToPath(new URL('..', import.meta.url)),
  stdio: 'inherit',
  shell: process.platform === 'win32',
})
process.exitCode = status ?? 1
