// Installs of a release in empty projects, without a Rust toolchain, without scripts, and without any other registry.
import { execFile, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { EXPECTED } from './consumer.mjs'
import { platformManifest, platformsOf, publishedManifest } from './packages.mjs'
import { serveRegistry } from './registry.mjs'

const run = promisify(execFile)

/** Installs both tarballs, and nothing else. */
export async function installTarballs(project, { manifest, platform, main, addon }) {
  const registry = await serveRegistry(listing(manifest, {}))
  try {
    await npm(project, registry, ['install', main, addon])
    expectInstalled(project, [manifest.name, platform.name])
  } finally {
    await registry.close()
  }
}

/** Installs by the package's name, with and without its optional dependencies; yields what was seen. */
export async function* installByName(folder, { manifest, platform, main, addon }) {
  const registry = await serveRegistry(listing(manifest, { [manifest.name]: main, [platform.name]: addon }))
  const { name } = manifest
  try {
    const whole = emptyProject(join(folder, 'whole'))
    await npm(whole, registry, ['install', name])
    expectInstalled(whole, [name, platform.name])
    yield `npm install ${name}: ${name} and ${platform.name}, none of the other ${manifest.napi.targets.length - 1} platforms`

    const omitted = emptyProject(join(folder, 'omitted'))
    await npm(omitted, registry, ['install', '--omit=optional', name])
    expectInstalled(omitted, [name])
    const { stderr, status } = start(omitted, process.execPath, ['--input-type=module', '--eval', `import '${name}'`])
    const expected = `the package ${platform.name} is not installed. Optional dependencies were left out`
    if (status === 0 || !stderr.includes(expected)) {
      throw new Error(`--omit=optional does not lead to "${expected}":\n${stderr}`)
    }
    yield 'npm install --omit=optional: one error, which names the package and the command'
  } finally {
    await registry.close()
  }
}

/** Runs each program on each runtime; throws unless it prints what it should. */
export function runPrograms(project, programs, runtimes, inside = (command, parameters) => [command, parameters]) {
  return runtimes.map(({ title, command, parameters }) => {
    for (const program of programs) {
      const { status, stdout, stderr, error } = start(project, ...inside(command, [...parameters, program]))
      if (status !== 0 || stdout.trim() !== EXPECTED) {
        throw new Error(`${program} on ${title} ended with ${status}:\n${stdout}${stderr}${error ?? ''}`)
      }
    }
    return `${title}: ${programs.join(', ')}`
  })
}

/** The manifests of all packages, with the tarballs that there are. */
function listing(manifest, tarballs) {
  const manifests = [
    publishedManifest(manifest),
    ...platformsOf(manifest).map((platform) => platformManifest(manifest, platform)),
  ]
  return manifests.map((manifest) => ({ manifest, tarball: tarballs[manifest.name] }))
}

function emptyProject(folder) {
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), '{ "private": true }\n')
  return folder
}

function npm(project, { url }, parameters) {
  const all = [
    ...parameters,
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
    '--registry',
    url,
    '--cache',
    join(project, '.npm-cache'),
  ]
  return run('npm', all, { cwd: project, env: userEnvironment(project), shell: process.platform === 'win32' })
}

function start(project, command, parameters) {
  return spawnSync(command, parameters, { cwd: project, encoding: 'utf8', env: userEnvironment(project) })
}

/** The environment of a user who has Node.js and no Rust toolchain; throws when there is one all the same. */
function userEnvironment(project) {
  const environment = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(?:cargo|rust|npm_|node_|napi_)/i.test(name)),
  )
  if (process.platform === 'win32') {
    return environment
  }
  const tools = join(project, '.tools')
  if (!existsSync(tools)) {
    mkdirSync(tools)
    symlinkSync(process.execPath, join(tools, 'node'))
    const npm = spawnSync('which', ['npm'], { encoding: 'utf8' }).stdout.trim()
    symlinkSync(npm, join(tools, 'npm'))
  }
  const path = [tools, '/usr/bin', '/bin', '/usr/sbin', '/sbin'].filter((folder) => !existsSync(join(folder, 'cargo')))
  return { ...environment, HOME: dirname(project), PATH: path.join(':') }
}

function expectInstalled(project, names) {
  const folder = join(project, 'node_modules')
  const found = readdirSync(folder)
    .filter((name) => !name.startsWith('.'))
    .sort()
  if (JSON.stringify(found) !== JSON.stringify([...names].sort())) {
    throw new Error(`${folder} has ${found.join(', ')}, not ${names.join(', ')}`)
  }
}
