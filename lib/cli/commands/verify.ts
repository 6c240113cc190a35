/** `verify`: reads all stored data, and reports what is damaged. */

import { EXIT, type Invocation } from '../command-types.ts'
import { failureOf } from '../failures.ts'
import { startProgress } from '../output/progress.ts'
import { counted } from '../output/units.ts'
import { visibleLine } from '../output/visible-text.ts'
import { openHistory, openManager, openMemory, openState, openStore, placeText } from '../places.ts'
import { isThere } from '../state-items.ts'

/** Outputs that are read at a time. */
const BATCH = 16

interface Problem {
  readonly path: string
  readonly reason: string
}

interface Part {
  readonly place: 'contexts' | 'history' | 'store' | 'memory' | 'state'
  readonly path: string
  readonly checked: number
  readonly problems: readonly Problem[]
  /** The state of the index; only for the history. */
  readonly index?: string
}

export async function run(invocation: Invocation): Promise<0 | 1> {
  const { output } = invocation
  const progress = startProgress(output.mode === 'text')
  const parts: Part[] = []
  for (const check of [verifyContexts, verifyHistory, verifyStore, verifyMemory, verifyState]) {
    parts.push(await check(invocation, (text) => progress.update(text)))
  }
  progress.done()
  const isWhole = parts.every(({ problems }) => problems.length === 0)
  await output.document({ isWhole, items: parts }, async () => {
    for (const { place, path, checked, problems, index } of parts) {
      const { green, red } = output.style
      const state = problems.length === 0 ? green('ok') : red(counted(problems.length, 'problem'))
      const what = index === undefined ? '' : `, index ${index}`
      await output.line(
        `${place.padEnd(9)} ${state}  ${checked} checked${what}  ${placeText(visibleLine(path), invocation)}`,
      )
      for (const problem of problems) {
        await output.line(visibleLine(`          ${problem.path}: ${problem.reason}`))
      }
    }
  })
  return isWhole ? EXIT.done : EXIT.nothing
}

type Report = (text: string) => void

async function verifyContexts(invocation: Invocation, report: Report): Promise<Part> {
  const { signal } = invocation
  const problems: Problem[] = []
  const manager = await openManager(invocation, {
    // Files that have the name of a context and hold none are left out of listings, and reported.
    onDebug: (message) => (/json/.test(message) ? problems.push({ path: '', reason: message }) : undefined),
  })
  const pointers = await manager.listContexts(undefined, { signal })
  for (let from = 0; from < pointers.length; from += BATCH) {
    signal.throwIfAborted()
    report(`outputs: ${from} of ${pointers.length}`)
    const batch = pointers.slice(from, from + BATCH)
    const outcomes = await Promise.allSettled(
      batch.map(({ filepath }) => manager.readContext(filepath, { maxBytes: 4 })),
    )
    outcomes.forEach((outcome, index) => {
      if (outcome.status === 'rejected') {
        problems.push({ path: batch[index]?.filepath ?? '', reason: failureOf(outcome.reason).message })
      }
    })
  }
  return { place: 'contexts', path: manager.getContextDir(), checked: pointers.length, problems }
}

async function verifyHistory(invocation: Invocation, report: Report): Promise<Part> {
  const { options, signal } = invocation
  report('history')
  const history = await openHistory(invocation)
  if (options.fixIndex === true) {
    // A search for a tool that no entry is of looks at all of the index, and rebuilds what is missing, stale or damaged.
    await history.search({ toolName: 'agent-context verify --fix-index', limit: 1, signal })
  }
  const { entries, problems, badLines, index } = await history.verify({ signal })
  const found = problems.map(({ line, reason }) => ({ path: `${history.path}:${line}`, reason }))
  const further = badLines - problems.length
  const rest = further > 0 ? [{ path: history.path, reason: `${further} further lines are no entries` }] : []
  const isIndexDamaged =
    index === 'damaged' ? [{ path: history.path, reason: 'the index is damaged: add --fix-index' }] : []
  return {
    place: 'history',
    path: history.path,
    checked: entries,
    problems: [...found, ...rest, ...isIndexDamaged],
    index,
  }
}

async function verifyStore(invocation: Invocation, report: Report): Promise<Part> {
  report('store')
  const store = await openStore(invocation)
  const { entries, problems, danglingLinks } = await store.verify({ signal: invocation.signal })
  return {
    place: 'store',
    path: store.path,
    checked: entries,
    problems: [
      ...problems.map(({ path, line, reason }) => ({ path: `${path}:${line}`, reason })),
      ...danglingLinks.map(({ path, link }) => ({ path, reason: `links to ${link}, which is not there` })),
    ],
  }
}

async function verifyMemory(invocation: Invocation, report: Report): Promise<Part> {
  report('memory')
  const memory = await openMemory(invocation)
  const part = { place: 'memory', path: memory.directory } as const
  try {
    const { conventions, decisions, notes, summaries } = await memory.getRepoMemory()
    return { ...part, checked: conventions.length + decisions.length + notes.length + summaries.length, problems: [] }
  } catch (error) {
    return { ...part, checked: 0, problems: [{ path: memory.directory, reason: failureOf(error).message }] }
  }
}

async function verifyState(invocation: Invocation, report: Report): Promise<Part> {
  report('state')
  const store = await openState(invocation)
  const part = { place: 'state', path: store.path } as const
  try {
    if (!(await isThere(store, invocation))) {
      return { ...part, checked: 0, problems: [] }
    }
    const { items, problems } = await store.verify({ signal: invocation.signal })
    return { ...part, checked: items, problems: problems.map((reason) => ({ path: store.path, reason })) }
  } catch (error) {
    return { ...part, checked: 0, problems: [{ path: store.path, reason: failureOf(error).message }] }
  } finally {
    await store.close()
  }
}
