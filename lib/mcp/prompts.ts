/** Prompts: the memory of the repository, outputs that answer a question, and what a session did. */

import { type GetPromptResult, type Prompt, ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server'
import { answer, type ServerTool } from './server-tool.ts'
import type { Stores } from './stores.ts'

export const PROMPTS: readonly Prompt[] = [
  {
    name: 'memory_pack',
    title: 'What is known about the repository',
    description: 'Conventions, decisions, notes and recent step summaries, within a budget.',
    arguments: [
      { name: 'query', description: 'What is to be done.' },
      { name: 'max_chars', description: 'At most so many characters.' },
    ],
  },
  {
    name: 'recall',
    title: 'Stored outputs that answer a question',
    description: 'Quotes the best passages of stored tool outputs.',
    arguments: [{ name: 'question', description: 'What to look for.', required: true }],
  },
  {
    name: 'handoff',
    title: 'What a session did',
    description: 'The calls of a session, for another one that goes on with its work.',
    arguments: [{ name: 'session', description: 'The id of the session; the latest calls without it.' }],
  },
]

/** Each prompt quotes what one tool answers. */
export async function getPrompt(
  stores: Stores,
  tools: ReadonlyMap<string, ServerTool>,
  name: string,
  given: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<GetPromptResult> {
  const [toolName, args, introduction] = await callOf(stores, name, given, signal)
  const tool = tools.get(toolName)
  if (tool === undefined) {
    throw new ProtocolError(
      ProtocolErrorCode.InvalidParams,
      `the prompt ${name} needs ${toolName}, which is not served`,
    )
  }
  const { content } = await answer(tool, args, { stores, signal, progress: () => undefined })
  const [block] = content
  const text = block?.type === 'text' ? block.text : ''
  return { messages: [{ role: 'user', content: { type: 'text', text: `${introduction}\n\n${text}` } }] }
}

type Call = readonly [tool: string, args: Record<string, unknown>, introduction: string]

async function callOf(
  stores: Stores,
  name: string,
  given: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<Call> {
  switch (name) {
    case 'memory_pack': {
      const maxChars = Number(given['max_chars'])
      const args = {
        ...(given['query'] ? { query: given['query'] } : {}),
        ...(Number.isInteger(maxChars) && maxChars > 0 ? { max_chars: maxChars } : {}),
      }
      return ['memory_pack', args, 'This is known about the repository:']
    }
    case 'recall': {
      if (!given['question']) {
        throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'the prompt recall needs the argument question')
      }
      return ['search_contexts', { query: given['question'] }, `Answer from these stored outputs: ${given['question']}`]
    }
    case 'handoff': {
      const { session } = given
      if (!session) {
        return ['read_context', { limit: 50 }, 'Go on with the work of these latest calls:']
      }
      const info = (await (await stores.manager()).sessions({ signal })).find(({ id }) => id === session)
      if (info === undefined) {
        throw new ProtocolError(ProtocolErrorCode.InvalidParams, `there is no session ${JSON.stringify(session)}`)
      }
      const times = { since: new Date(info.createdAt).toISOString(), until: new Date(info.lastUsedAt).toISOString() }
      return ['read_context', { limit: 50, ...times }, `Go on with what session ${JSON.stringify(session)} did:`]
    }
    default:
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `there is no prompt ${JSON.stringify(name)}`)
  }
}

const MOST_COMPLETIONS = 100

/** Values for a variable that begin as typed. */
export async function complete(
  stores: Stores,
  variable: string,
  typed: string,
  signal: AbortSignal,
): Promise<{ values: string[]; total: number; hasMore: boolean }> {
  const all = await candidates(stores, variable, signal)
  const found = [...new Set(all)].filter((value) => value.startsWith(typed))
  return {
    values: found.slice(0, MOST_COMPLETIONS),
    total: found.length,
    hasMore: found.length > MOST_COMPLETIONS,
  }
}

async function candidates(stores: Stores, variable: string, signal: AbortSignal): Promise<string[]> {
  const { groups } = stores.settings
  switch (variable) {
    case 'session':
      return groups.has('contexts') ? (await (await stores.manager()).sessions({ signal })).map(({ id }) => id) : []
    case 'id':
      return groups.has('contexts')
        ? (await (await stores.outputs(signal)).listContexts())
            .reverse()
            .map(({ handle, filename }) => handle ?? filename)
        : []
    case 'path':
      return groups.has('store') ? (await (await stores.store()).list({ signal })).map(({ path }) => path) : []
    default:
      return []
  }
}
