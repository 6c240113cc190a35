/** Tool outputs to search, of about 850 bytes each, and what is asked of them. The same in every run. */

import { Buffer } from 'node:buffer'
import { Variety } from './payloads.ts'

export interface Output {
  readonly toolName: string
  readonly args: Record<string, string>
  readonly result: string
}

export interface SearchQuery {
  readonly text: string
  /** The output whose result the words were taken from, by its number. */
  readonly source?: number
}

const TOOLS = ['read_file', 'search_text', 'list_tree', 'run_command', 'fetch_page']
const CONSONANTS = 'bdfgklmnprstvz'
const VOWELS = 'aeiou'
/** Fourteen and five have no common divisor: every number below 70 gives another pair. */
const SYLLABLES = CONSONANTS.length * VOWELS.length
const WORDS = 20_000
/** No divisor of `WORDS`: neighbours in frequency do not look alike. */
const SHUFFLE = 7919
const RESULT_LENGTH = 690
const MAX_QUERY_WORDS = 6

/** A word by how common it is, 0 the most. */
function wordOf(rank: number): string {
  const number = (rank * SHUFFLE) % WORDS
  const parts = [number % SYLLABLES, Math.floor(number / SYLLABLES) % SYLLABLES, Math.floor(number / SYLLABLES ** 2)]
  return parts.map((part) => `${CONSONANTS[part % CONSONANTS.length]}${VOWELS[part % VOWELS.length]}`).join('')
}

/** As in texts: the n-th most common word has an n-th of the most common one's frequency (Zipf). */
function commonWord(variety: Variety): string {
  return wordOf(Math.floor(WORDS ** (variety.below(2 ** 32) / 2 ** 32)) - 1)
}

function rareWord(variety: Variety): string {
  return wordOf(variety.below(WORDS))
}

/** A tool's output by its number. */
export function makeOutput(number: number): Output {
  const variety = new Variety(number)
  const toolName = variety.of(TOOLS)
  const [area, part] = [commonWord(variety), commonWord(variety)]
  const line = variety.of([codeLine, logLine, proseLine])
  const lines: string[] = []
  for (let length = 0; length < RESULT_LENGTH; ) {
    const next = line(variety)
    lines.push(next)
    length += next.length + 1
  }
  const args: Record<string, string> =
    toolName === 'search_text' ? { pattern: area, path: 'src' } : { path: `src/${area}/${part}${capital(area)}.ts` }
  return { toolName, args, result: flat(lines.join('\n')) }
}

/** As tools get texts, from a file or a socket: strings that were just put together are trees inside the engine. */
function flat(text: string): string {
  return Buffer.from(text).toString()
}

/** As long, and nothing to index. */
export function withoutWords({ toolName, args, result }: Output): Output {
  const blank = (text: string): string => flat(text.replaceAll(/\w/g, '-'))
  const blankArgs = Object.fromEntries(Object.entries(args).map(([key, value]) => [key, blank(value)]))
  return { toolName: blank(toolName), args: blankArgs, result: blank(result) }
}

function codeLine(variety: Variety): string {
  const [a, b, c, d] = [commonWord(variety), commonWord(variety), commonWord(variety), commonWord(variety)]
  return `  const ${a}${capital(b)} = this.${c}(${d}, ${variety.below(10_000)})`
}

function logLine(variety: Variety): string {
  const time = new Date(1_760_000_000_000 + variety.below(2 ** 31)).toISOString()
  const words = Array.from({ length: 6 }, () => commonWord(variety))
  return `${time} ${variety.of(['INFO', 'WARN', 'ERROR'])} ${words.join(' ')}`
}

function proseLine(variety: Variety): string {
  const words = Array.from({ length: 8 + variety.below(10) }, () => commonWord(variety))
  return `${capital(words.join(' '))}.`
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** One to six words each: in turn those of one output's result, and common and rare ones that meet by chance. */
export function makeQueries(length: number, outputs: number, seed: number): SearchQuery[] {
  const variety = new Variety(seed)
  return Array.from({ length }, (_, index) => {
    const words = 1 + variety.below(MAX_QUERY_WORDS)
    if (index % 2 === 0) {
      const source = variety.below(outputs)
      const candidates = makeOutput(source).result.match(/[A-Za-z]{4,}/g) ?? []
      return { text: Array.from({ length: words }, () => variety.of(candidates)).join(' '), source }
    }
    const word = (): string => (variety.below(2) === 0 ? commonWord(variety) : rareWord(variety))
    return { text: Array.from({ length: words }, word).join(' ') }
  })
}
