/** An agent whose model is a script: it calls real tools and reads their outputs to decide what to call next. */

import { randomUUID } from 'node:crypto'
import type { ToolCallbacks, ToolResponse } from '../../dist/index.js'
import { type FileEntry, inBatches, type Match, type Tool, type Tools } from './tools.ts'

/** Models ask for several tools at a time. */
const CALLS_AT_ONCE = 8
const MAXIMUM_FOLDERS = 12
const MAXIMUM_FILES_READ = 100
const MAXIMUM_WORDS = 6
/** A turn stops asking for more after this time. */
const TURN_MS = 4000

/** Words that say nothing about what to look for. */
const COMMON_WORDS = new Set(
  'about also been does find from have here index into is main mod test tests that the their them there these they this type types used what when where which will with work'.split(
    ' ',
  ),
)

export class Agent {
  readonly #tools: Tools
  readonly #callbacks: Required<ToolCallbacks>
  readonly #alreadyRead = new Set<string>()

  constructor(tools: Tools, callbacks: Required<ToolCallbacks>) {
    this.#tools = tools
    this.#callbacks = callbacks
  }

  /** First turn: lists files, and returns them. */
  async explore(query: string): Promise<FileEntry[]> {
    const turn = this.#start(query)
    const { listTree, readText, searchText, runCommand } = this.#tools
    const tree = await turn.call(listTree, { path: '.' })
    const files = tree.success ? tree.result.files : []
    const folders = new Set(files.filter(({ path }) => path.includes('/')).map(({ path }) => path.split('/')[0] ?? ''))
    await turn.callAll(listTree, [...folders].slice(0, MAXIMUM_FOLDERS), (path) => ({ path }))

    const largest = files.toSorted((a, b) => b.bytes - a.bytes).map(({ path }) => path)
    // The last one is missing: models guess names, and a failure is worth keeping as well.
    const paths = [...largest.slice(0, MAXIMUM_FILES_READ), 'docs/a-guess-of-the-model.md']
    await turn.callAll(readText, paths, (path) => ({ path }))
    for (const path of paths) {
      this.#alreadyRead.add(path)
    }

    const commands = [
      'node --version',
      'git log --stat -n 200',
      'git log --patch -n 50',
      'git status --short',
      'ls -la',
    ]
    const countable = largest.filter((path) => !path.includes(' ')).slice(0, 50)
    if (countable.length > 0) {
      commands.push(`wc -l ${countable.join(' ')}`)
    }
    await turn.callAll(runCommand, commands, (command) => ({ command }))
    await turn.callAll(searchText, ['error', 'import', 'TODO'], (text) => ({ text, contextLines: 10 }))
    return files
  }

  /** Second turn: looks for the question's words, and reads the files that hold most of them. */
  async investigate(question: string): Promise<void> {
    const turn = this.#start(question)
    const { readText, searchText } = this.#tools
    const words = wordsOf(question).slice(0, MAXIMUM_WORDS)
    const searches = await turn.callAll(searchText, words, (text) => ({ text, contextLines: 1 }))
    const hits = bestFiles(searches.map((response) => (response.success ? response.result.matches : [])))
    const unread = hits.filter((path) => !this.#alreadyRead.has(path))
    await turn.callAll(readText, unread.slice(0, CALLS_AT_ONCE), (path) => ({ path }))
  }

  /** The callbacks receive every turn and every call; the recorder needs nothing else. */
  #start(query: string) {
    const traceId = randomUUID()
    const callbacks = this.#callbacks
    const deadline = performance.now() + TURN_MS
    callbacks.onAgentStart({ traceId, spanId: randomUUID() }, query)

    async function call<Args extends Record<string, unknown>, Result>(
      tool: Tool<Args, Result>,
      args: Args,
    ): Promise<ToolResponse<Result>> {
      const context = { traceId, spanId: randomUUID() }
      callbacks.onToolStart(context, tool.name, args)
      const response = await tool.run(args).catch((error: unknown) => failure<Result>(tool.name, error))
      callbacks.onToolEnd(context, tool.name, response)
      return response
    }

    async function callAll<Item, Args extends Record<string, unknown>, Result>(
      tool: Tool<Args, Result>,
      items: readonly Item[],
      toArgs: (item: Item) => Args,
    ): Promise<ToolResponse<Result>[]> {
      const callInTime = async (item: Item) => (performance.now() < deadline ? call(tool, toArgs(item)) : undefined)
      const responses = await inBatches(items, callInTime, CALLS_AT_ONCE)
      return responses.filter((response) => response !== undefined)
    }

    return { call, callAll }
  }
}

function failure<Result>(toolName: string, error: unknown): ToolResponse<Result> {
  const text = error instanceof Error ? error.message : String(error)
  return { success: false, error: text.trim(), message: `${toolName} failed` }
}

/** The words of a text worth searching for, each once. */
function wordsOf(text: string): string[] {
  const words = text.toLowerCase().match(/\p{L}{4,}/gu) ?? []
  return [...new Set(words)].filter((word) => !COMMON_WORDS.has(word))
}

/** The words in the files' names, most frequent first. */
export function wordsOfNames(files: readonly FileEntry[]): string[] {
  const counts = new Map<string, number>()
  for (const { path } of files) {
    const [name = ''] = (path.split('/').at(-1) ?? '').split('.')
    for (const word of wordsOf(name.replace(/(?<=\p{Ll})(?=\p{Lu})/gu, ' '))) {
      counts.set(word, (counts.get(word) ?? 0) + 1)
    }
  }
  return [...counts].toSorted((a, b) => b[1] - a[1]).map(([word]) => word)
}

/** Files by the number of searches that found them, then by the number of matches. */
function bestFiles(searches: Match[][]): string[] {
  const found = new Map<string, { searches: Set<Match[]>; matches: number }>()
  for (const matches of searches) {
    for (const { path } of matches) {
      const ofFile = found.get(path) ?? { searches: new Set(), matches: 0 }
      ofFile.searches.add(matches)
      ofFile.matches++
      found.set(path, ofFile)
    }
  }
  const byRank = [...found].toSorted(([, a], [, b]) => b.searches.size - a.searches.size || b.matches - a.matches)
  return byRank.map(([path]) => path)
}
