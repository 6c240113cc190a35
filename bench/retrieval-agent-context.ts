/** Stores the rows of a labelled set as contexts, through the public API only. */

import { join } from 'node:path'
import { ContextManager, type Embed } from '../dist/index.js'
import { isToolCall, isTurn, type Question, type Row } from './retrieval-sets.ts'
import type { Ranker, RetrievalSystem } from './retrieval-systems.ts'
import { OURS } from './save-contenders.ts'

/** Deeper than any score and any budget looks. */
const LIMIT = 2000

/** The beginning of the message about an `embed` that failed. */
const EMBED_FAILED = 'embed failed'

/** A row as a call of `saveContext`. */
interface Call {
  readonly toolName: string
  readonly args: Record<string, unknown>
  readonly result: unknown
  readonly queryId: string | undefined
  /** Given by `describe`; the package's own where there is none. */
  readonly description?: string
}

export function callOf(row: Row): Call {
  // Outputs of one session were made for one purpose: that is what a query id says.
  const queryId = row.session === undefined ? undefined : `session ${row.session}`
  if (isToolCall(row)) {
    const { toolName, args, result, toolDescription: description } = row
    return { toolName, args, result, queryId, description }
  }
  if (isTurn(row)) {
    const { speaker, timestamp, text, caption } = row
    const result = caption === undefined ? text : `${text}\n${caption}`
    // The time of the save is the current time; the original time of the row is passed as an argument of the call.
    return { toolName: 'message', args: { speaker, time: timestamp }, result, queryId }
  }
  return { toolName: 'document', args: row.title === undefined ? {} : { title: row.title }, result: row.text, queryId }
}

/** A manager for each group. Nothing is written: which tier holds a result makes no difference to its rank. */
export function agentContext(directory: string, embed?: Embed): RetrievalSystem {
  let groups = 0
  return { name: OURS, open: (rows) => openManager(join(directory, String(groups++)), rows, embed) }
}

async function openManager(contextDir: string, rows: readonly Row[], embed: Embed | undefined): Promise<Ranker> {
  const calls = rows.map(callOf)
  const descriptions = new Map(calls.map(({ args, description }) => [args, description]))
  const isDescribed = calls.some(({ description }) => description !== undefined)
  let embedError: unknown
  const manager = new ContextManager({
    contextDir,
    // A selection whose `embed` fails continues without vectors: its figures would be those of another system.
    onDebug: (message, data) => {
      if (message.startsWith(EMBED_FAILED)) {
        embedError = (data as { error: unknown }).error
      }
    },
    persist: 'large',
    persistThreshold: Number.MAX_SAFE_INTEGER,
    memoryBudget: Number.MAX_SAFE_INTEGER,
    ...(isDescribed && { describe: (toolName, args) => descriptions.get(args) ?? toolName }),
  })
  // Called in the order of the rows, which is that of the contexts.
  const paths = await Promise.all(
    calls.map(({ toolName, args, result, queryId }) => manager.saveContext(toolName, args, result, null, queryId)),
  )
  const idOf = new Map(paths.map((path, index) => [path, rows[index]?.id]))
  const pointers = manager.getAllPointers()

  async function choose({ query, beforeSeq }: Question): Promise<string[]> {
    const known = rows.filter(({ seq }) => beforeSeq === undefined || seq < beforeSeq).length
    const offered = known < rows.length ? { pointers: pointers.slice(0, known) } : {}
    const chosen = await manager.selectContexts(query, {
      limit: LIMIT,
      fill: true,
      embed,
      embedTimeout: Number.POSITIVE_INFINITY,
      ...offered,
    })
    if (embedError !== undefined) {
      throw embedError
    }
    return chosen.map(({ filepath }) => filepath)
  }

  return {
    rank: async (question) => (await choose(question)).flatMap((path) => idOf.get(path) ?? []),
    close: () => manager.clear(),
  }
}
