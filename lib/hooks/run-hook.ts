/** Handles an event of a coding agent: redacts, stores and offloads its output, and answers in the client's form. */

import { homedir } from 'node:os'
import { join } from 'node:path'
import type { BlobsOptions, StorageOptions } from '../index.ts'
import { type ProjectPlaces, placesInDirectory, projectPlaces } from '../projects/project-places.ts'
import { CLIENT } from './clients.ts'
import type { Client, ClientName, HookEvent, ToolCall } from './hook-event.ts'
import { largestText } from './replaced-output.ts'

export interface HookOptions {
  /** Directory of the outputs; the workspace's own without it. */
  readonly dir?: string | undefined
  readonly history?: string | undefined
  readonly memory?: string | undefined
  /** A database in place of files. */
  readonly storage?: string | StorageOptions | undefined
  /** A bucket for large outputs, beside the database. */
  readonly blobs?: string | BlobsOptions | undefined
  /** Smaller outputs stay in the conversation. */
  readonly threshold?: number | undefined
}

/** Outputs of these tools are never replaced: the model requested the text to work on it and would read a placeholder back. */
const NEVER_REPLACED =
  /^(Read|Edit|Write|MultiEdit|NotebookEdit|read|edit|write|read_file|read_many_files|replace|write_file|apply_patch)$/
/** Matches the tools of this package, whose answers are already stored. */
const OWN_TOOL = /agent[-_]context/
const PACK_CHARS = 6000
/** Of an output that is not replaced, in the history. */
const SHOWN_IN_HISTORY = 2000

/** Returns the answer for the client. After any failure it is empty, so that the client continues as without a hook; never rejects. */
export async function runHook(
  clientName: ClientName,
  event: string,
  input: string,
  options: HookOptions,
): Promise<object> {
  let log = join(homedir(), '.agent', 'hook.log')
  try {
    const client = CLIENT[clientName]
    const read = client.read(event, JSON.parse(input) as Record<string, unknown>)
    const isInDatabase = options.storage !== undefined
    const places =
      options.dir === undefined
        ? await projectPlaces(read.workspace, isInDatabase)
        : placesInDirectory(options.dir, isInDatabase)
    log = places.log
    return await respond(client, read, places, options)
  } catch (error) {
    const { logFailure } = await import('./hook-log.ts')
    const { code, message } = error as { code?: unknown; message?: unknown }
    await logFailure(log, `${clientName} ${event}: ${typeof code === 'string' ? `${code}: ` : ''}${String(message)}`)
    return {}
  }
}

async function respond(client: Client, event: HookEvent, places: ProjectPlaces, options: HookOptions): Promise<object> {
  const { happening } = event
  const { storage, blobs } = options
  switch (happening.kind) {
    case 'tool':
      return OWN_TOOL.test(happening.tool) ? {} : afterTool(client, event, happening, places, options)
    case 'session-start': {
      const { RepoMemory } = await import('../index.ts')
      const memory = await RepoMemory.open({ workspace: event.workspace, root: options.memory, storage, blobs })
      const pack = await memory.buildContextFromMemory(PACK_CHARS, { repoMap: false })
      return pack === '' ? {} : client.context(pack)
    }
    case 'session-end': {
      const { ContextManager } = await import('../index.ts')
      await new ContextManager({ contextDir: places.contexts, storage, blobs }).endSession(await sessionOf(event))
      return {}
    }
    default:
      return {}
  }
}

async function afterTool(
  client: Client,
  event: HookEvent,
  call: ToolCall,
  places: ProjectPlaces,
  options: HookOptions,
): Promise<object> {
  const { ContextHistory, ContextManager } = await import('../index.ts')
  const { storage, blobs } = options
  const sessionId = await sessionOf(event)
  const output = largestText(call.response)
  const manager = new ContextManager({ contextDir: places.contexts, sessionId, persist: 'all', storage, blobs })
  const history = new ContextHistory({ path: options.history ?? places.history, storage, blobs })
  const result = output?.text ?? call.response ?? null
  const { callId } = call
  // A placeholder is made, and noted in the record, only if the client accepts replacements.
  const mayReplace =
    output !== undefined && !NEVER_REPLACED.test(call.tool) && client.replace(call, output.with(''), '') !== undefined
  const offloaded = await manager.offload(call.tool, { ...call.args }, result, {
    threshold: mayReplace ? options.threshold : Number.POSITIVE_INFINITY,
    ...(callId === undefined ? {} : { callId }),
  })
  // The output is stored from here on, so that the answer may refer to it.
  const { handle, filepath, isOffloaded, sizeBytes, error } = offloaded
  const isStored = error === undefined && filepath !== undefined
  const isReplaced = isStored && isOffloaded && mayReplace
  const answer = isReplaced ? client.replace(call, output.with(offloaded.text), offloaded.text) : undefined
  // What the conversation gets of it: `stats --savings` counts that.
  const shownBytes = answer === undefined ? sizeBytes : Buffer.byteLength(offloaded.text)
  const reference = { handle, sizeBytes, shownBytes }
  const appended = await Promise.allSettled([
    history.append({
      toolName: call.tool,
      params: call.args,
      result: isStored && (isOffloaded || sizeBytes > SHOWN_IN_HISTORY) ? reference : result,
      success: call.failed !== true,
      sessionId,
      callId,
      durationMs: call.durationMs,
    }),
    manager.close(),
  ])
  if (error !== undefined) {
    throw error
  }
  for (const outcome of appended) {
    if (outcome.status === 'rejected') {
      const { logFailure } = await import('./hook-log.ts')
      await logFailure(places.log, `history: ${String((outcome.reason as Error).message)}`)
    }
  }
  return answer ?? {}
}

const LONGEST_SESSION = 64

/** The client's own id; one that cannot be the name of a session is hashed. */
async function sessionOf({ session }: HookEvent): Promise<string> {
  if (/^[\w.:-]+$/.test(session) && session.length <= LONGEST_SESSION) {
    return session
  }
  const { createHash } = await import('node:crypto')
  return createHash('sha256').update(session).digest('hex').slice(0, 32)
}
