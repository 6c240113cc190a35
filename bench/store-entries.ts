/** A store as many agents leave it: Markdown files of about 1.5 KB, always the same. */

import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const AGENTS = 20
const TYPES = ['finding', 'decision', 'artifact', 'reference', 'summary'] as const
const TAGS = ['security', 'performance', 'database', 'frontend', 'api', 'tests', 'build', 'docs'] as const
/** One entry in so many has it. */
const RARITY = 500
const RARE_TAG = 'quarantine'
const RARE_WORD = 'zeppelin'
const COMMON_WORD = 'authentication'
const BEGIN = Date.UTC(2026, 0, 1)
const SYLLABLES = ['ta', 'ri', 'mo', 'ke', 'lun', 'so', 'pa', 'den', 'vi', 'gor', 'es', 'ban', 'qui', 'hel', 'zo']

/** What is asked for; the newest that have it are wanted. */
export interface Question {
  readonly name: string
  readonly tag?: string
  readonly type?: string
  readonly text?: string
  /** Any word suffices; who can ranks. */
  readonly isRanked?: true
}

export const QUESTIONS: readonly Question[] = [
  { name: 'a rare tag', tag: RARE_TAG },
  { name: 'a common type', type: 'decision' },
  { name: 'a rare word', text: RARE_WORD },
  { name: 'a common word', text: COMMON_WORD },
  { name: 'two words, ranked', text: `${COMMON_WORD} ${RARE_WORD}`, isRanked: true },
]

export const WANTED = 10

function numbers(seed: number): () => number {
  let state = seed * 2_654_435_761 + 1
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

function makeText(index: number): string {
  const random = numbers(index)
  const word = (): string => {
    const length = 2 + Math.floor(random() * 2)
    return Array.from({ length }, () => SYLLABLES[Math.floor(random() ** 2 * SYLLABLES.length)]).join('')
  }
  const lines = Array.from({ length: 18 }, () => Array.from({ length: 13 }, word).join(' '))
  if (index % 3 === 0) {
    lines[4] += ` ${COMMON_WORD}`
  }
  if (index % RARITY === 7) {
    lines[9] += ` ${RARE_WORD}`
  }
  return `# ${word()} ${word()}\n\n${lines.join('\n')}`
}

/** Writes so many entries; a minute lies between each and the next. */
export function makeStore(directory: string, count: number): void {
  for (let agent = 0; agent < AGENTS; agent++) {
    mkdirSync(join(directory, `agent-${agent}`), { recursive: true, mode: 0o700 })
  }
  for (let index = 0; index < count; index++) {
    const agent = `agent-${index % AGENTS}`
    const time = new Date(BEGIN + index * 60_000).toISOString().replace(/\.\d+/, '')
    const tags: (string | undefined)[] = [TAGS[index % TAGS.length], TAGS[(index * 3 + 1) % TAGS.length]]
    if (index % RARITY === 3) {
      tags.push(RARE_TAG)
    }
    const frontMatter = `agent: ${agent}\nsessionId: session-${index % 97}\ntimestamp: ${time}\ntype: ${TYPES[index % TYPES.length]}\ntags: [${tags.join(', ')}]`
    const name = `${time.replaceAll(/[-:Z]/g, '')}-entry-${index}.md`
    writeFileSync(join(directory, agent, name), `---\n${frontMatter}\n---\n\n${makeText(index)}\n`)
  }
}
