/** What tools give back: ordinary texts, and texts full of secrets. The same in every run with the same dependencies. */

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Planted, plantSecrets } from '../__test__/support/planted-secrets.ts'
import { Variety } from './payloads.ts'

const MODULES = join(import.meta.dirname, '..', 'node_modules')
const SIZES = [1, 4, 16, 64, 256, 1024, 4096].map((kibibytes) => kibibytes * 1024)
const MEGABYTE = 2 ** 20
const SEED = 7
const WORDS = ['session', 'token', 'login', 'cache', 'order', 'invoice', 'pointer', 'record', 'user', 'password', 'key']
const LEVELS = ['INFO', 'DEBUG', 'WARN', 'ERROR']
const PATHS = ['/v1/orders', '/v1/users/me', '/healthz', '/auth/token/refresh', '/static/app.js']

/** Characters of a kind of output, as many as are taken or more. */
type Kind = (bytes: number) => string

const KINDS: readonly (readonly [kind: Kind, megabytes: number])[] = [
  [sources, 8],
  [answers, 3],
  [logs, 3],
  [documents, 2],
  [differences, 2],
]

/** Ordinary output in texts from 1 KB to 4 MB, 18 MB in all. */
export function ordinaryTexts(share = 1): string[] {
  return KINDS.flatMap(([kind, megabytes]) => {
    const bytes = Math.round(megabytes * MEGABYTE * share)
    return pieces(repeated(kind(bytes), bytes))
  })
}

/** A text that is long enough, repeated where the dependencies have less. */
function repeated(text: string, length: number): string {
  return text.repeat(Math.ceil(length / text.length)).slice(0, length)
}

/** Cut into texts of all sizes in turn. */
function pieces(text: string): string[] {
  const cut: string[] = []
  for (let at = 0, turn = 0; at < text.length; turn++) {
    const size = SIZES[turn % SIZES.length] as number
    // As a tool reads it: a flat text of its own.
    cut.push(Buffer.from(text.slice(at, at + size)).toString())
    at += size
  }
  return cut
}

function filesBelow(folder: string, isWanted: (name: string) => boolean): string[] {
  const entries = existsSync(folder) ? readdirSync(folder, { recursive: true, withFileTypes: true }) : []
  const files = entries.filter((entry) => entry.isFile() && isWanted(entry.name))
  return files.map((entry) => join(entry.parentPath, entry.name)).sort()
}

function contents(files: readonly string[], bytes: number): string {
  let text = ''
  for (const file of files) {
    if (text.length >= bytes) {
      break
    }
    text += readFileSync(file, 'utf8')
  }
  return text
}

function sources(bytes: number): string {
  const isSource = (name: string): boolean => /\.(ts|js|mjs|cjs)$/.test(name)
  const folders = ['@types/node', 'fast-check', 'rollup', 'typescript/lib']
  return contents(
    folders.flatMap((folder) => filesBelow(join(MODULES, folder), isSource)),
    bytes,
  )
}

function documents(bytes: number): string {
  return contents(
    filesBelow(MODULES, (name) => name.endsWith('.md')),
    bytes,
  )
}

function lines(bytes: number, line: (variety: Variety) => string): string {
  const variety = new Variety(SEED)
  const made: string[] = []
  for (let size = 0; size < bytes; ) {
    const next = line(variety)
    made.push(next)
    size += next.length + 1
  }
  return made.join('\n')
}

const hex = (variety: Variety, length: number): string =>
  Array.from({ length }, () => variety.below(16).toString(16)).join('')

function logs(bytes: number): string {
  return lines(bytes, (variety) => {
    const time = new Date(1_760_000_000_000 + variety.below(1e9)).toISOString()
    const place = `request_id=${hex(variety, 32)} path=${variety.of(PATHS)} status=${200 + variety.below(5) * 100}`
    return `${time} ${variety.of(LEVELS)} [${variety.of(WORDS)}] ${place} took ${variety.below(900)} ms`
  })
}

/** JSON as services give it, one answer in a line. */
function answers(bytes: number): string {
  return lines(bytes, (variety) => JSON.stringify(answer(variety)))
}

function answer(variety: Variety): object {
  return {
    id: hex(variety, 24),
    type: variety.of(WORDS),
    url: `https://api.corp.net${variety.of(PATHS)}?page=${variety.below(50)}&per_page=100`,
    sha: hex(variety, 40),
    created_at: new Date(1_760_000_000_000 + variety.below(1e9)).toISOString(),
    author: { login: variety.of(WORDS), id: variety.below(1e6), site_admin: false },
    title: `${variety.of(WORDS)} ${variety.of(WORDS)} of the ${variety.of(WORDS)} (#${variety.below(9999)})`,
    tokens: { input: variety.below(4000), output: variety.below(900) },
    next_page_token: null,
  }
}

function differences(bytes: number): string {
  return lines(bytes, (variety) => {
    const [a, b] = [variety.of(WORDS), variety.of(WORDS)]
    switch (variety.below(8)) {
      case 0:
        return `diff --git a/src/${a}.ts b/src/${a}.ts\nindex ${hex(variety, 7)}..${hex(variety, 7)} 100644`
      case 1:
        return `@@ -${variety.below(900)},7 +${variety.below(900)},9 @@ function ${a}(${b}) {`
      case 2:
        return `-  const ${a} = await this.${b}(${variety.below(99)})`
      case 3:
        return `+  const ${a} = await this.${b}(options.${a}, { retries: ${variety.below(9)} })`
      default:
        return `   if (${a}.${b} === undefined) { throw new Error('no ${a} for ${b}') }`
    }
  })
}

/** JSON values as tools return them: the texts in objects with other members. */
export function asValues(texts: readonly string[]): object[] {
  return texts.map((text, index) => {
    const rows = text.split('\n')
    // Alternately one text unchanged and one as rows, which gives strings of all lengths.
    return index % 2 === 0
      ? { path: `src/file-${index}.ts`, lines: rows.length, text }
      : { rows: rows.map((row, line) => ({ line, row })) }
  })
}

/** A secret in about every hundred bytes, of all kinds. */
export function denseTexts(bytes: number): string[] {
  const { planted } = plantSecrets(2000, SEED)
  const forms = planted.filter(({ kind }) => !/variable of this process|of the caller/.test(kind))
  const variety = new Variety(SEED)
  return pieces(lines(bytes, () => denseLine(variety, forms)).slice(0, bytes))
}

function denseLine(variety: Variety, planted: readonly Planted[]): string {
  return `${variety.of(planted).text}\n${variety.of(WORDS)} ${variety.below(99)}`
}
