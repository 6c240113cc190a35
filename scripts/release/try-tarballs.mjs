// Installs the tarballs of a release and runs them on the Node.js that runs this:
// node scripts/release/try-tarballs.mjs --packages FOLDER --platform linux-x64-musl
import { mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { compileConsumer, writeConsumer } from './consumer.mjs'
import { installByName, installTarballs, runPrograms } from './installs.mjs'
import { platformNamed } from './packages.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))
const { values } = parseArgs({ options: { packages: { type: 'string' }, platform: { type: 'string' } } })
if (values.packages === undefined || values.platform === undefined) {
  console.error('Usage: node scripts/release/try-tarballs.mjs --packages FOLDER --platform PLATFORM')
  process.exit(2)
}
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const platform = platformNamed(manifest, values.platform)
const packed = (name) => resolve(values.packages, `${name}-${manifest.version}.tgz`)
const release = { manifest, platform, main: packed(manifest.name), addon: packed(platform.name) }
const runtime = {
  title: `Node.js ${process.versions.node} on ${platform.platform}`,
  command: process.execPath,
  parameters: [],
}

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'agent-context-release-')))
try {
  const project = join(folder, 'project')
  const programs = writeConsumer(project)
  await installTarballs(project, release)
  programs.push(...compileConsumer(project, join(root, 'node_modules', '@types')))
  console.log(runPrograms(project, programs, [runtime]).join('\n'))
  for await (const line of installByName(join(folder, 'by-name'), release)) {
    console.log(line)
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}
