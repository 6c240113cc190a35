// `npm run words`: how many words of a private dialect the comments have, for each 1,000 lines of comments. Fails above the limit of
// `--limit`; without one it prints the rates only. Use: node scripts/words.mjs [--limit RATE] [FOLDER …]
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { commentLines, countWords, rateOf } from './comment-words.mjs'

const FOLDERS = ['src', 'crates', 'lib', '__test__', 'bench', 'examples', 'fuzz', 'scripts']
const SOURCE = /\.(?:rs|ts|mjs)$/
const WORST = 10
const root = fileURLToPath(new URL('..', import.meta.url))

const { limit, folders } = read(process.argv.slice(2))
const files = folders.flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && SOURCE.test(entry.name))
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
    // Tests make folders that begin with a dot.
    .filter((path) => !/[\\/](?:node_modules|target|\.[^\\/]*)[\\/]/.test(path.slice(root.length)))
    .map((path) => ({ folder, path: path.slice(root.length), ...measured(path) })),
)
for (const folder of folders) {
  print(
    folder,
    files.filter((file) => file.folder === folder),
  )
}
print('all', files)
console.log(`\nThe worst files:`)
for (const { path, lines, words } of [...files]
  .sort((left, right) => right.words.length - left.words.length)
  .slice(0, WORST)) {
  if (words.length > 0) {
    console.log(`${String(words.length).padStart(5)} in ${lines} lines  ${path}: ${[...new Set(words)].join(', ')}`)
  }
}
if (limit !== undefined && rateOf(files) >= limit) {
  console.error(`\nFewer than ${limit} for each 1,000 lines are allowed: use the terms of the field in their place.`)
  process.exit(1)
}

function measured(path) {
  const lines = commentLines(readFileSync(path, 'utf8'))
  return { lines: lines.length, words: countWords(lines) }
}

function print(title, files) {
  const lines = files.reduce((sum, file) => sum + file.lines, 0)
  const words = files.reduce((sum, file) => sum + file.words.length, 0)
  console.log(
    `${title.padEnd(10)} ${rateOf(files).toFixed(1).padStart(6)} for each 1,000 of ${lines} lines (${words} words)`,
  )
}

function read(parameters) {
  const at = parameters.indexOf('--limit')
  if (at < 0) {
    return { limit: undefined, folders: parameters.length > 0 ? parameters : FOLDERS }
  }
  const limit = Number(parameters[at + 1])
  if (!(limit > 0)) {
    console.error('--limit needs a rate, such as 5.')
    process.exit(2)
  }
  const folders = parameters.toSpliced(at, 2)
  return { limit, folders: folders.length > 0 ? folders : FOLDERS }
}
