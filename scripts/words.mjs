// `npm run words`: counts discouraged words per 1,000 lines of comments and of Markdown prose. Exits with 1 when all files together
// have 5 or more (`--limit` sets another limit). Use: node scripts/words.mjs [--limit RATE] [FOLDER or FILE …]
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { commentLines, countWords, proseLines, rateOf } from './comment-words.mjs'

const LIMIT = 5
const FOLDERS = ['src', 'crates', 'lib', '__test__', 'bench', 'examples', 'fuzz', 'plugin', 'scripts', 'docs']
const ROOT_PAGES = ['AGENTS.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'README.md', 'SECURITY.md']
const COUNTED = /\.(?:rs|ts|mjs|md)$/
/** Folders that are not counted: packages of others, build output, hidden folders, and the reference, which is generated from `lib`. */
const LEFT_OUT = /(?:^|\/)(?:node_modules|target|\.[^/]*)\/|^docs\/reference\//
const WORST = 10
const root = fileURLToPath(new URL('..', import.meta.url))

const { limit, places } = read(process.argv.slice(2))
const files = places.flatMap((place) =>
  pathsIn(place)
    .map((path) => relative(root, path).replaceAll(sep, '/'))
    .filter((path) => COUNTED.test(path) && !LEFT_OUT.test(path))
    .map((path) => ({ place, path, ...measured(path) })),
)
for (const place of places) {
  print(
    place,
    files.filter((file) => file.place === place),
  )
}
print('all', files)
console.log('\nFiles with the most discouraged words:')
for (const { path, lines, words } of [...files]
  .sort((left, right) => right.words.length - left.words.length)
  .slice(0, WORST)) {
  if (words.length > 0) {
    console.log(`${String(words.length).padStart(5)} in ${lines} lines  ${path}: ${[...new Set(words)].join(', ')}`)
  }
}
if (rateOf(files) >= limit) {
  console.error(
    `\n${limit} or more discouraged words per 1,000 lines: rewrite these sentences with the terms of the field.`,
  )
  process.exit(1)
}

function pathsIn(place) {
  const path = join(root, place)
  if (statSync(path).isFile()) {
    return [path]
  }
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
}

function measured(path) {
  const text = readFileSync(join(root, path), 'utf8')
  const lines = path.endsWith('.md') ? proseLines(text) : commentLines(text)
  return { lines: lines.length, words: countWords(lines) }
}

function print(title, group) {
  const lines = group.reduce((sum, file) => sum + file.lines, 0)
  const words = group.reduce((sum, file) => sum + file.words.length, 0)
  console.log(
    `${title.padEnd(16)} ${rateOf(group).toFixed(1).padStart(6)} per 1,000 of ${lines} lines (${words} words)`,
  )
}

function read(parameters) {
  const at = parameters.indexOf('--limit')
  const limit = at < 0 ? LIMIT : Number(parameters[at + 1])
  if (!(limit > 0)) {
    console.error('--limit needs a rate, such as 5.')
    process.exit(2)
  }
  const places = at < 0 ? parameters : parameters.toSpliced(at, 2)
  return { limit, places: places.length > 0 ? places : [...FOLDERS, ...ROOT_PAGES] }
}
