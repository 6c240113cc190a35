// Folders that hold exactly what is published, and their tarballs.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { platformManifest, platformReadme, publishedManifest } from './packages.mjs'

/** The main package, with everything that `files` of package.json names, except addons. */
export function stageMain(root, folder, { manifest, notices }) {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  for (const path of publishedFiles(root, manifest)) {
    copy(join(root, path), join(folder, path))
  }
  writeManifest(folder, publishedManifest(manifest))
  writeFileSync(join(folder, 'THIRD-PARTY-NOTICES'), notices)
}

/** The package of one platform, with its addon. */
export function stagePlatform(root, folder, { manifest, platform, addon, notices }) {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  if (!existsSync(addon)) {
    throw new Error(`There is no addon ${addon}: build it, or name one with --addon FILE.`)
  }
  copy(addon, join(folder, platform.addon), 0o644)
  copy(join(root, 'LICENSE'), join(folder, 'LICENSE'))
  writeManifest(folder, platformManifest(manifest, platform))
  writeFileSync(join(folder, 'README.md'), platformReadme(manifest, platform))
  writeFileSync(join(folder, 'THIRD-PARTY-NOTICES'), notices)
}

/**
 * Packs a folder. npm writes the same bytes for the same files, whenever and wherever it packs them.
 *
 * @returns {{ path: string, bytes: number, sha256: string, integrity: string, files: string[] }}
 */
export function pack(folder, destination) {
  mkdirSync(destination, { recursive: true })
  const output = npm(['pack', '--json', '--ignore-scripts', '--pack-destination', destination], folder)
  const [{ filename, files, integrity }] = packagesIn(output)
  const path = join(destination, filename.replace(/^@/, '').replace('/', '-'))
  return {
    path,
    bytes: statSync(path).size,
    sha256: sha256(path),
    integrity,
    files: files.map(({ path }) => path),
  }
}

/** A text that `sha256sum --check` reads. */
export function sumsOf(paths) {
  return paths.map((path) => `${sha256(path)}  ${basename(path)}\n`).join('')
}

function sha256(path) {
  return createHash('sha256').update(readFileSync(path)).digest('hex')
}

/** The files that `files` of package.json names, in an order that does not depend on the machine; npm adds the last two itself. */
function publishedFiles(root, { files }) {
  const named = files.filter((name) => !name.endsWith('.node'))
  return [...named, 'LICENSE', 'README.md']
    .flatMap((name) => (statSync(join(root, name)).isDirectory() ? filesBelow(root, name) : [name]))
    .sort()
}

function filesBelow(root, folder) {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`
    return entry.isDirectory() ? filesBelow(root, path) : [path]
  })
}

/** npm's report: an array, or in later versions an object by the package's name. */
function packagesIn(output) {
  return Object.values(JSON.parse(output))
}

function npm(parameters, cwd) {
  return execFileSync('npm', parameters, {
    cwd,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
    shell: process.platform === 'win32',
    maxBuffer: 64 * 1024 * 1024,
  })
}

function writeManifest(folder, manifest) {
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
}

/** Copies with a mode that does not depend on the umask of a clone. */
function copy(from, to, mode = (statSync(from).mode & 0o111) === 0 ? 0o644 : 0o755) {
  mkdirSync(dirname(to), { recursive: true })
  copyFileSync(from, to)
  chmodSync(to, mode)
}
