/**
 * An agent session without a model and without a network: real tools work on a real code base, agent-context stores every
 * output, and a question is asked at the end.
 *
 *   npm run example -- [folder] [question]
 */

import { mkdtemp, readdir, rmdir, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
// In your project: import { ContextManager, createToolRecorder } from 'agent-context'
import {
  ContextManager,
  type ContextPointer,
  createToolRecorder,
  type StoredContext,
  type ToolCallbacks,
} from '../dist/index.js'
import { Agent, wordsOfNames } from './agent-session/agent.ts'
import {
  bytes,
  callText,
  faint,
  heading,
  line,
  ms,
  NOISE_MS,
  note,
  oneLine,
  printOutputs,
  printTiers,
  timed,
  watchEventLoop,
} from './agent-session/report.ts'
import { createTools } from './agent-session/tools.ts'

const REPOSITORY = fileURLToPath(new URL('..', import.meta.url))
const QUESTION = 'How does the sweep know that a session is dead, and what does its lease file do?'
/** The number of sources for the answer: the best ones, not all that match. */
const MAXIMUM_SOURCES = 8
/** The largest part of a source in the prompt. */
const MAXIMUM_SOURCE_LENGTH = 8000

async function main(folder = REPOSITORY, question?: string): Promise<void> {
  const root = resolve(folder)
  const isFolder = await stat(root).then(
    (found) => found.isDirectory(),
    () => false,
  )
  if (!isFolder) {
    throw new Error(`${root} is no folder. Usage: npm run example -- [folder] [question]`)
  }
  // The default directory, ~/.agent/context, is shared by all your agents; an example should not use it.
  const contextDir = await mkdtemp(join(tmpdir(), 'agent-context-example-'))
  const manager = new ContextManager({ contextDir, onDebug: reportProblems })
  note(`code base          ${root}`)
  note(`context directory  ${contextDir}`)
  try {
    await runSession(manager, root, question)
  } finally {
    await endSession(manager, contextDir)
  }
}

async function runSession(manager: ContextManager, root: string, givenQuestion: string | undefined): Promise<void> {
  const loop = watchEventLoop()

  heading('1. The agent works')
  note('(no model and no network: a script decides which of the real tools to call)')
  const recorder = createToolRecorder(manager)
  // The recorder's callbacks call the agent's own ones.
  const callbacks = recorder.wrap(ownCallbacks())
  const onToolEnd = timed(callbacks.onToolEnd)
  const agent = new Agent(createTools(root), { ...callbacks, onToolEnd: onToolEnd.run })
  const start = performance.now()
  const files = await agent.explore('Get to know this code base.')
  const question = givenQuestion ?? (root === resolve(REPOSITORY) ? QUESTION : questionAbout(wordsOfNames(files)))
  await agent.investigate(question)
  // Saves run in the background while the agent works. Wait for the last ones here.
  await recorder.flush()
  note(`${manager.size} tool outputs in ${ms(performance.now() - start)}\n`)
  const pointers = manager.getAllPointers()
  printOutputs(pointers)

  heading('2. Where the outputs are')
  printTiers(manager.stats())

  heading('3. What matters for the answer')
  note(`question: ${question}`)
  const select = timed(() => manager.selectRelevantContexts(question, pointers))
  const ranked = select.run()
  const chosen = ranked.slice(0, MAXIMUM_SOURCES)
  const isMatch = reasons(manager, question, pointerOf(chosen[0] ?? '', pointers)) !== ''
  note(
    isMatch
      ? `${ranked.length} of ${pointers.length} outputs share a word with it in name, description or arguments. The best:`
      : `No output shares a word with it, so all are given in the order of the calls. The first:`,
  )

  const loadStart = performance.now()
  const contexts = await manager.loadContexts(chosen)
  const loadDuration = performance.now() - loadStart
  const sources = contexts.map(sourceText)
  const prompt = [`Answer from these sources: ${question}`, ...sources].join('\n\n')
  for (const [index, path] of chosen.entries()) {
    const pointer = pointerOf(path, pointers)
    note(`${index + 1}. ${callText(pointer)}`)
    const sizes = `${bytes(pointer.sizeBytes)} stored, ${bytes(Buffer.byteLength(sources[index] ?? ''))} in the prompt`
    faint(`   ${sizes}; ${reasons(manager, question, pointer) || 'no word in common'}`)
  }

  heading('4. The answer prompt')
  line('sources', `${contexts.length}`, `each up to ${MAXIMUM_SOURCE_LENGTH} characters`)
  line('size', bytes(Buffer.byteLength(prompt)), `of ${bytes(manager.stats().diskBytes)} that the tools produced`)

  const blocked = loop.stop()
  heading('5. What it cost')
  line(
    'event loop blocked',
    ms(blocked.total),
    `by everything in sections 1 to 4; pauses over ${NOISE_MS} ms, the longest ${ms(blocked.longest)}`,
  )
  const { calls, total, longest } = onToolEnd.spent
  line('by saving', ms(total), `inside ${calls} calls of onToolEnd, the longest ${ms(longest)}`)
  line('by selecting', ms(select.spent.total), `among ${pointers.length} pointers`)
  line(
    'loading took',
    ms(loadDuration),
    `${manager.stats().memoryHits} from memory, ${manager.stats().diskHits} from disk`,
  )
}

main(process.argv[2], process.argv[3]).catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`)
  process.exitCode = 1
})

/** What an agent already has: here a log of its turns and of calls that failed. */
function ownCallbacks(): ToolCallbacks {
  return {
    onAgentStart(_context, query) {
      note(`turn: ${query}`)
    },
    onToolEnd(_context, toolName, response) {
      if (!response.success) {
        faint(oneLine(`${toolName} failed: ${response.error}`))
      }
    },
  }
}

function questionAbout(words: string[]): string {
  const [first, second] = words
  return first === undefined ? 'What is in this folder?' : `How do ${first} and ${second ?? 'the rest'} work here?`
}

function pointerOf(filepath: string, pointers: readonly ContextPointer[]): ContextPointer {
  const found = pointers.find((pointer) => pointer.filepath === filepath)
  if (found === undefined) {
    throw new Error(`No pointer leads to ${filepath}`)
  }
  return found
}

/** Shows why the ranker chose an output: it ranks each word of the query against each part of the pointer separately. */
function reasons(manager: ContextManager, question: string, pointer: ContextPointer): string {
  const parts = [
    { filepath: 'name', toolName: pointer.toolName },
    { filepath: 'description', toolDescription: pointer.toolDescription },
    { filepath: 'arguments', args: pointer.args },
    // Nothing matches this one: it comes back only when no part matches and all are returned.
    { filepath: 'nothing' },
  ]
  const found = new Map<string, string[]>()
  for (const word of new Set(question.toLowerCase().match(/[\p{L}\p{N}]+/gu))) {
    const matching = manager.selectRelevantContexts(word, parts)
    if (!matching.includes('nothing')) {
      const where = parts
        .map(({ filepath }) => filepath)
        .filter((part) => matching.includes(part))
        .join(' and ')
      found.set(where, [...(found.get(where) ?? []), `"${word}"`])
    }
  }
  return [...found].map(([where, words]) => `${words.join(', ')} in ${where}`).join('; ')
}

/** One source of the prompt. Long ones are cut; the model can still load the whole output. */
function sourceText(context: StoredContext): string {
  const { success, error, result } = context
  const text = success === false ? `failed: ${error}` : typeof result === 'string' ? result : JSON.stringify(result)
  const isLong = text.length > MAXIMUM_SOURCE_LENGTH
  return `## ${callText(context)}\n${isLong ? `${text.slice(0, MAXIMUM_SOURCE_LENGTH)}\n[cut]` : text}`
}

/** `loadContexts` skips contexts that it cannot read, and reports them only here. */
function reportProblems(message: string): void {
  if (/not found|failed/i.test(message)) {
    process.stderr.write(`${message}\n`)
  }
}

async function endSession(manager: ContextManager, contextDir: string): Promise<void> {
  heading('6. The end')
  const before = await readdir(contextDir)
  const leases = before.filter((name) => name.endsWith('.lease')).length
  line(
    'files before clear()',
    `${before.length}`,
    `${before.length - leases} outputs, ${leases} lease that shows the session is alive`,
  )
  const start = performance.now()
  await manager.clear()
  const after = await readdir(contextDir)
  line(
    'files after clear()',
    `${after.length}`,
    after.length === 0 ? `the directory is empty, after ${ms(performance.now() - start)}` : after.join(', '),
  )
  // Removes empty directories only.
  await rmdir(contextDir)
}
