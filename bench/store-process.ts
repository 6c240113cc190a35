/**
 * The process behind `store.ts`: `store-process.ts DIRECTORY CONTENDER ROUNDS`; prints a `StoreRun` as JSON. Every
 * question is asked once cold, in a process that knows nothing yet, and then again and again.
 */

import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { performance } from 'node:perf_hooks'
import process from 'node:process'
import { setTimeout } from 'node:timers/promises'
import { ContextStore } from '../dist/index.js'
import { median } from './statistics.ts'
import { OURS, PLAIN_SCAN, RIPGREP } from './store.ts'
import { QUESTIONS, type Question, WANTED } from './store-entries.ts'

export interface StoreRun {
  /** ms of the first question in a fresh process. */
  readonly cold: number
  /** ms of each question after that, the median. */
  readonly warm: Readonly<Record<string, number>>
  /** Growth of the process in bytes. */
  readonly memory: number
  /** How many each question found. */
  readonly found: Readonly<Record<string, number>>
}

/** Gives the texts of the newest entries that have what is asked for. */
interface Contender {
  ask(question: Question): Promise<readonly string[]>
  close?(): Promise<void>
}

/** Files read at once. */
const AT_ONCE = 32
/** Times of files are not trusted before. */
const SETTLED = 2500

function patternOf({ tag, type, text }: Question): string {
  return tag !== undefined
    ? `^tags:.*\\b${tag}\\b`
    : type !== undefined
      ? `^type: ${type}$`
      : `\\b(${text?.replaceAll(' ', '|')})\\b`
}

const newestFirst = (left: string, right: string): number => (basename(left) < basename(right) ? 1 : -1)

function ours(directory: string): Contender {
  const store = new ContextStore({ agent: 'agent-0', path: directory })
  return {
    async ask({ tag, type, text, isRanked = false }) {
      const found = await store.search({
        ...(tag !== undefined && { tags: [tag] }),
        ...(type !== undefined && { type: type as 'decision' }),
        ...(text !== undefined && { query: text }),
        ranked: isRanked,
        limit: WANTED,
      })
      return found.map(({ content }) => content)
    },
    close: () => store.close(),
  }
}

/** What an agent's own code does: read everything, keep what matches. */
function plainScan(directory: string): Contender {
  return {
    async ask(question) {
      const pattern = new RegExp(patternOf(question), 'im')
      const entries = await readdir(directory, { recursive: true, withFileTypes: true })
      const paths = entries
        .filter((entry) => entry.isFile() && entry.name.endsWith('.md'))
        .map((entry) => join(entry.parentPath, entry.name))
        .sort(newestFirst)
      const found: string[] = []
      for (let start = 0; start < paths.length && found.length < WANTED; start += AT_ONCE) {
        const texts = await Promise.all(paths.slice(start, start + AT_ONCE).map((path) => readFile(path, 'utf8')))
        found.push(...texts.filter((text) => pattern.test(text)))
      }
      return found.slice(0, WANTED)
    },
  }
}

function ripgrep(directory: string): Contender {
  return {
    async ask(question) {
      const parameters = ['-l', '-i', patternOf(question), directory]
      const output = execFileSync('rg', parameters, { encoding: 'utf8', maxBuffer: 2 ** 28 })
      const paths = output.split('\n').filter((line) => line !== '')
      const newest = paths.sort(newestFirst).slice(0, WANTED)
      return newest.map((path) => readFileSync(path, 'utf8'))
    },
  }
}

const CONTENDERS: Readonly<Record<string, (directory: string) => Contender>> = {
  [OURS]: ours,
  [PLAIN_SCAN]: plainScan,
  [RIPGREP]: ripgrep,
}

async function run(directory: string, name: string, rounds: number): Promise<StoreRun> {
  // One-time work of the runtime is not attributed to any contender.
  readdirSync(directory)
  await setTimeout(100)
  const before = process.memoryUsage.rss()
  const make = CONTENDERS[name]
  const [first] = QUESTIONS
  if (make === undefined || first === undefined) {
    throw new Error(`no contender ${name}`)
  }
  const start = performance.now()
  const contender = make(directory)
  await contender.ask(first)
  const cold = performance.now() - start
  await setTimeout(SETTLED)
  const warm: Record<string, number> = {}
  const found: Record<string, number> = {}
  for (const question of QUESTIONS) {
    const times: number[] = []
    for (let round = 0; round <= rounds; round++) {
      const begun = performance.now()
      const texts = await contender.ask(question)
      if (round > 0) {
        times.push(performance.now() - begun)
      }
      found[question.name] = texts.length
    }
    warm[question.name] = median(times)
  }
  const memory = process.memoryUsage.rss() - before
  await contender.close?.()
  return { cold, warm, memory, found }
}

const [directory = '', name = '', rounds = '5'] = process.argv.slice(2)
process.stdout.write(`${JSON.stringify(await run(directory, name, Number(rounds)))}\n`)
