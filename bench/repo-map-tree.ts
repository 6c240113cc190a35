/** A tree of real sources: those of the crates and packages that this project is built with. */

import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, realpathSync, statSync, writeFileSync } from 'node:fs'
import { dirname, extname, join, relative, sep } from 'node:path'

export const LANGUAGES = 'TypeScript, JavaScript, Python, Rust, Go, Java, C and C++'
const ENDINGS = new Set('.ts .tsx .js .mjs .cjs .py .rs .go .java .c .h .cc .cpp .hpp'.split(' '))
const REPOSITORY = dirname(import.meta.dirname)
/** The largest copied file in bytes. Generated tables and bundles are larger and are left out. */
export const LARGEST = 512 * 1024

export interface SourceTree {
  readonly root: string
  /** Relative to `root`, the order they were copied in. */
  readonly files: readonly string[]
  readonly bytes: number
}

/** Copies at most so many files, evenly chosen. Two runs on one machine make the same tree. */
export function makeSourceTree(root: string, most: number): SourceTree {
  const found = [...crates(), packages()].flatMap(sourcesOf)
  const files: string[] = []
  let bytes = 0
  for (const { path, original } of evenly(found, most)) {
    const contents = readFileSync(original)
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), contents)
    files.push(path)
    bytes += contents.length
  }
  return { root, files, bytes }
}

function evenly<T>(items: readonly T[], most: number): T[] {
  const step = Math.max(1, items.length / most)
  return items.filter((_, index) => Math.floor(index / step) !== Math.floor((index - 1) / step))
}

interface Origin {
  /** The directory's name in the tree. */
  readonly name: string
  readonly directory: string
}

/** What the addon is built of on this system. */
function crates(): Origin[] {
  const host = /^host: (.+)$/m.exec(run('rustc', ['-vV']))?.[1] ?? ''
  const parameters = ['metadata', '--format-version', '1', '--offline', '--filter-platform', host]
  const metadata = JSON.parse(run('cargo', parameters)) as { packages: { source: unknown; manifest_path: string }[] }
  return metadata.packages
    .filter(({ source }) => source !== null) // this one has none
    .map(({ manifest_path }) => dirname(manifest_path))
    .sort()
    .map((directory) => ({ name: join('crates', directory.split(sep).at(-1) ?? ''), directory }))
}

function packages(): Origin {
  return { name: 'packages', directory: realpathSync(join(REPOSITORY, 'node_modules')) }
}

interface Source {
  /** In the tree. */
  readonly path: string
  readonly original: string
}

/** Hidden directories aside. */
function sourcesOf({ name, directory }: Origin): Source[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && ENDINGS.has(extname(entry.name)))
    .map((entry) => relative(directory, join(entry.parentPath, entry.name)))
    .filter((path) => !path.split(sep).some((part) => part.startsWith('.')) && isText(join(directory, path)))
    .sort()
    .map((path) => ({
      // All contenders skip `node_modules`.
      path: join(name, path).replaceAll('node_modules', 'packages'),
      original: join(directory, path),
    }))
}

function isText(path: string): boolean {
  return statSync(path).size <= LARGEST && !readFileSync(path).includes(0)
}

function run(program: string, parameters: readonly string[]): string {
  return execFileSync(program, parameters, { cwd: REPOSITORY, encoding: 'utf8', maxBuffer: 2 ** 28 })
}
