// `npm run release:dry`: makes what a release publishes, and installs and runs it as a user would.
import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { BUNDLED } from '../bundled-packages.mjs'
import { bundledPackages, cratesOf } from './components.mjs'
import { compileConsumer, writeConsumer } from './consumer.mjs'
import { runInDebian } from './debian.mjs'
import { readOptions, USAGE } from './dry-run-options.mjs'
import { installByName, installTarballs, runPrograms } from './installs.mjs'
import { lint } from './linters.mjs'
import { billOf, noticesOf } from './notices.mjs'
import { platformNamed } from './packages.mjs'
import { findRuntimes } from './runtimes.mjs'
import { pack, stageMain, stagePlatform, sumsOf } from './stage.mjs'

/** Bytes of the main package's tarball. */
const MOST = 1.5 * 1024 * 1024
const root = fileURLToPath(new URL('../..', import.meta.url))

let options
try {
  options = readOptions(process.argv.slice(2))
} catch (error) {
  console.error(`${error.message}\n\n${USAGE}`)
  process.exit(2)
}
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const { targetOf } = createRequire(import.meta.url)(buildIfNeeded(options.addon))
const platform = platformNamed(manifest, targetOf())
const out = resolve(options.out)
const runtimes = resolve(options.runtimes)

const crates = cratesOf(root, platform.target)
const bundled = bundledPackages(root, Object.values(BUNDLED).flat())
console.log(`── Packages (${crates.length} crates and C sources, ${bundled.length} bundled npm packages)`)
const first = makePackages(join(out, 'first'))
const second = makePackages(join(out, 'second'))
for (const name of ['main', 'addon']) {
  expect(first[name].sha256 === second[name].sha256, `two builds of ${first[name].path} differ`)
  copyFileSync(first[name].path, join(out, basename(first[name].path)))
  report(`${basename(first[name].path)}: ${first[name].bytes} bytes, the same in two builds`)
}
const tarballs = { main: join(out, basename(first.main.path)), addon: join(out, basename(first.addon.path)) }
expect(first.main.bytes <= MOST, `the main package has ${first.main.bytes} bytes, more than ${MOST}`)
expect(!first.main.files.some((path) => path.endsWith('.node')), 'the main package holds an addon')
const bill = `${manifest.name}-${manifest.version}-${platform.platform}.cdx.json`
writeFileSync(join(out, bill), billOf(manifest, [...crates, ...bundled]))
writeFileSync(join(out, 'SHA256SUMS'), sumsOf([tarballs.main, tarballs.addon, join(out, bill)]))
report(`${bill}, SHA256SUMS`)

for (const line of lint(runtimes, tarballs.main)) {
  report(line)
}
if (options.packOnly) {
  process.exit(0)
}

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'agent-context-release-')))
try {
  console.log('── Installed from the tarballs, without scripts and without Rust')
  const project = join(folder, 'project')
  const programs = writeConsumer(project)
  await installTarballs(project, { manifest, platform, ...tarballs })
  programs.push(...compileConsumer(project, join(root, 'node_modules', '@types')))
  const found = findRuntimes(runtimes)
  for (const line of runPrograms(project, programs, found)) {
    report(line)
  }
  console.log('── Installed by name from a registry')
  for await (const line of installByName(join(folder, 'by-name'), { manifest, platform, ...tarballs })) {
    report(line)
  }
  console.log('── Other systems')
  for (const line of runInDebian(options.debian, project, programs, found)) {
    report(line)
  }
  report(
    'musl: SKIPPED, not run. It needs an Alpine root, and the addon for musl: the release workflow runs it on Alpine.',
  )
} finally {
  rmSync(folder, { recursive: true, force: true })
}

/** Builds the addon unless one was given, and everything else always. Returns the path of the module that names platforms. */
function buildIfNeeded(addon) {
  const parameters = addon === undefined ? ['--release'] : ['--entry-only']
  execFileSync(process.execPath, ['scripts/build.mjs', ...parameters], {
    cwd: root,
    stdio: 'inherit',
    env: {
      ...process.env,
      PATH: `${join(root, 'node_modules', '.bin')}${process.platform === 'win32' ? ';' : ':'}${process.env.PATH}`,
    },
  })
  return join(root, 'dist', 'addon-error.cjs')
}

function makePackages(folder) {
  mkdirSync(folder, { recursive: true })
  const addon = resolve(options.addon ?? join(root, platform.addon))
  const title = `Third-party software in ${manifest.name} ${manifest.version}`
  stageMain(root, join(folder, 'main'), { manifest, notices: noticesOf(title, bundled) })
  stagePlatform(root, join(folder, 'addon'), {
    manifest,
    platform,
    addon,
    notices: noticesOf(`Third-party software in the addon of ${manifest.name} ${manifest.version}`, crates),
  })
  return { main: pack(join(folder, 'main'), folder), addon: pack(join(folder, 'addon'), folder) }
}

function expect(holds, failure) {
  if (!holds) {
    throw new Error(failure)
  }
}

function report(line) {
  console.log(`  ${line}`)
}
