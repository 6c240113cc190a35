// The third-party parts of what is published: crates in the addon, and npm packages in the bundles.
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const LICENCE_FILE = /^(?:licen[cs]e|copying|unlicense|notice)/i
/** A licence's text for packages that come without a file of their own: what such packages may have. */
const MIT = `Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation files (the "Software"), to deal in the Software without restriction, including without limitation the rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.`
/** C sources inside of crates that have a licence of their own. */
const C_SOURCES = [
  {
    crate: 'libsqlite3-sys',
    name: 'SQLite',
    licence: 'blessing',
    text: 'The authors of SQLite have dedicated its code to the public domain.',
  },
  { crate: 'libmimalloc-sys', name: 'mimalloc', licence: 'MIT', file: 'c_src/mimalloc/v2/LICENSE' },
]

/**
 * @typedef {{ ecosystem: 'cargo' | 'npm' | 'generic', name: string, version: string, licence: string, texts: string[] }} Component
 */

/**
 * The crates that are linked into the addon for a target, sorted. What only builds it or tests it is left out, and so are macros.
 *
 * @returns {Component[]}
 */
export function cratesOf(root, target) {
  const metadata = JSON.parse(
    execFileSync('cargo', ['metadata', '--format-version', '1', '--locked', '--filter-platform', target], {
      cwd: root,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
      maxBuffer: 256 * 1024 * 1024,
    }),
  )
  const crates = linkedCrates(metadata).filter(({ source }) => source !== null)
  const apache = apacheText(crates)
  return crates.flatMap((crate) => [componentOfCrate(crate, apache), ...cSourcesOf(crate)]).sort(byName)
}

/** The packages of cargo's metadata that the root package links, itself included. */
export function linkedCrates({ packages, resolve }) {
  const byId = new Map(packages.map((crate) => [crate.id, crate]))
  const nodes = new Map(resolve.nodes.map((node) => [node.id, node]))
  const linked = new Set()
  const waiting = [resolve.root]
  for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
    if (linked.has(id)) {
      continue
    }
    linked.add(id)
    for (const { pkg, dep_kinds: kinds } of nodes.get(id).deps) {
      const isMacro = byId.get(pkg).targets.some(({ kind }) => kind.includes('proc-macro'))
      if (!isMacro && kinds.some(({ kind }) => kind === null)) {
        waiting.push(pkg)
      }
    }
  }
  return [...linked].map((id) => byId.get(id))
}

/** The npm packages that are bundled into `dist/`, with the licences that are beside them there. */
export function bundledPackages(root, names) {
  return names
    .map((name) => {
      const folder = join(root, 'node_modules', name)
      const { version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
      return { ecosystem: 'npm', name, version, licence: license, texts: textsIn(folder) }
    })
    .sort(byName)
}

/** The text of the Apache licence, which many crates contain, for those that name it and do not contain it. */
function apacheText(crates) {
  const file = crates
    .map(({ manifest_path: manifest }) => join(dirname(manifest), 'LICENSE-APACHE'))
    .find((path) => existsSync(path))
  return file === undefined ? undefined : readFileSync(file, 'utf8').replaceAll('\r\n', '\n').trim()
}

function componentOfCrate({ name, version, license, authors, manifest_path: manifest }, apache) {
  const texts = textsIn(dirname(manifest))
  if (texts.length > 0) {
    return { ecosystem: 'cargo', name, version, licence: license, texts }
  }
  const text = /\bMIT\b/.test(license) ? MIT : /\bApache-2\.0\b/.test(license) ? apache : undefined
  if (text === undefined) {
    throw new Error(`The crate ${name} ${version} (${license}) has no licence file: add its text.`)
  }
  return {
    ecosystem: 'cargo',
    name,
    version,
    licence: license,
    texts: [`Copyright (c) ${authors.join(', ')}\n\n${text}`],
  }
}

function cSourcesOf({ name, version, manifest_path: manifest }) {
  return C_SOURCES.filter(({ crate }) => crate === name).map((source) => ({
    ecosystem: 'generic',
    name: source.name,
    version: `in ${name} ${version}`,
    licence: source.licence,
    texts: [source.text ?? readFileSync(join(dirname(manifest), source.file), 'utf8').trim()],
  }))
}

function textsIn(folder) {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile() && LICENCE_FILE.test(entry.name))
    .map(({ name }) => name)
    .sort()
    .map((name) => readFileSync(join(folder, name), 'utf8').replaceAll('\r\n', '\n').trim())
}

function byName(left, right) {
  const key = ({ name, version }) => `${name.toLowerCase()} ${version}`
  return key(left) < key(right) ? -1 : 1
}
