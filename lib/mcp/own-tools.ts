/** Tools that only the server has: history with conditions, memory of the repository, storing an output. */

import { harmlessLine } from '#addon'
import type { ContextEntry, HistoryFilter } from '../index.ts'
import { fit, frame } from '../tools/stored-text.ts'
import {
  execute,
  failure,
  readParameters,
  readText,
  readWhole,
  reasonOf,
  WrongParameters,
} from '../tools/tool-parameters.ts'
import type { ToolResult } from '../tools/types.ts'
import { ADDS, type CallContext, define, READS, type ServerTool } from './server-tool.ts'

const LONGEST = 500
const LONGEST_TEXT = 65_536
const text = (description: string, maxLength = LONGEST): object => ({
  type: 'string',
  minLength: 1,
  maxLength,
  description,
})
const whole = (minimum: number, maximum: number, fallback: number, description: string): object => ({
  type: 'integer',
  minimum,
  maximum,
  default: fallback,
  description,
})
const texts = (description: string): object => ({ type: 'array', maxItems: 50, items: { type: 'string' }, description })
const object = (properties: object, required: readonly string[] = []): Record<string, unknown> => ({
  type: 'object',
  properties,
  ...(required.length === 0 ? {} : { required }),
  additionalProperties: false,
})

const ENTRIES = 20
const MOST_ENTRIES = 200
/** Of a result or of parameters that an entry shows. */
const SHOWN_OF_VALUE = 600

interface HistoryParameters {
  limit?: number
  text?: string
  ranked?: boolean
  tool?: string
  since?: string
  until?: string
  failed?: boolean
}

const readContext: ServerTool = {
  group: 'history',
  writes: false,
  definition: define(
    'read_context',
    'Read the history of calls',
    'Read recent tool calls and decisions of this workspace, oldest first, or those that contain a text. Older ones: pass the time of the first one as "until".',
    object({
      limit: whole(1, MOST_ENTRIES, ENTRIES, 'How many entries at most.'),
      text: text('Entries that contain this text.'),
      ranked: { type: 'boolean', description: 'With text: best answers first, one word is enough.' },
      tool: text('Only calls of this tool.'),
      since: text('At this time or later, ISO 8601.'),
      until: text('At this time or before, ISO 8601.'),
      failed: { type: 'boolean', description: 'Only failed calls.' },
    }),
    READS,
  ),
  execute: (args, context) =>
    execute(
      { signal: context.signal },
      async () => {
        const given = readParameters<HistoryParameters>(
          'read_context',
          args,
          ['limit', 'text', 'ranked', 'tool', 'since', 'until', 'failed'],
          '{"limit": 20}',
        )
        const filter: HistoryFilter = {
          limit: readWhole(given.limit, 'limit', 1, MOST_ENTRIES) ?? ENTRIES,
          text: readText(given.text, 'text', 'login', LONGEST),
          ranked: given.ranked === true,
          toolName: readText(given.tool, 'tool', 'grep', LONGEST),
          since: readText(given.since, 'since', '2026-11-01', LONGEST),
          until: readText(given.until, 'until', '2026-11-01', LONGEST),
          success: given.failed === true ? false : undefined,
          signal: context.signal,
        }
        if (filter.ranked === true && filter.text === undefined) {
          throw new WrongParameters('ranked needs text: pass the words that entries have to share.')
        }
        context.progress('read_context: reading the history')
        const history = await context.stores.history()
        return entriesAnswer(await history.search(filter), context)
      },
      explain('Call read_context with other conditions.'),
    ),
}

function entriesAnswer(found: readonly ContextEntry[], { maxBytes }: CallContext): ToolResult<string> {
  if (found.length === 0) {
    return failure('No entry of the history meets that. Call read_context without conditions for the latest ones.')
  }
  // The latest ones matter most: where not all fit, the oldest are left out.
  const lines = found.map(entryLine).reverse()
  const { text: value, shown } = fit(lines.length, maxBytes, (count) =>
    frame(
      `${count} of ${found.length} entries found, oldest first: time | outcome | tool | parameters | result.`,
      lines.slice(0, count).reverse().join('\n'),
      count < found.length ? 'More: pass the time of the first entry as "until"' : undefined,
    ),
  )
  return { success: true, value, message: `${shown} entries.` }
}

function entryLine({ timestamp, success, toolName, params, result, summary, error }: ContextEntry): string {
  const shown = (value: unknown): string => JSON.stringify(value) ?? ''
  return [timestamp ?? '-', success ? 'ok' : 'failed', toolName, shown(params), summary ?? error ?? shown(result)]
    .map((part) => harmlessLine(part, SHOWN_OF_VALUE))
    .join(' | ')
}

const MOST_CHARS = 12_000

const memoryPack: ServerTool = {
  group: 'memory',
  writes: false,
  definition: define(
    'memory_pack',
    'What is known about the repository',
    'Conventions, decisions, notes and recent step summaries of this repository, the most useful ones first, within a budget.',
    object({
      max_chars: whole(200, MOST_CHARS, 8000, 'At most so many characters.'),
      query: text('What you are about to do: what answers it comes first.'),
    }),
    READS,
  ),
  execute: (args, { stores, signal, maxBytes }) =>
    execute(
      undefined,
      async () => {
        const given = readParameters<{ max_chars?: number; query?: string }>(
          'memory_pack',
          args,
          ['max_chars', 'query'],
          '{"max_chars": 8000}',
        )
        const maxChars = readWhole(given.max_chars, 'max_chars', 200, MOST_CHARS) ?? 8000
        const memory = await stores.memory()
        const pack = await memory.buildContextFromMemory(Math.min(maxChars, Math.floor(maxBytes / 1.25)), {
          query: readText(given.query, 'query', 'add a login', LONGEST),
          repoMap: false,
          signal,
        })
        return pack === ''
          ? failure('Nothing is known about this repository yet. Keep what is worth knowing with memory_remember.')
          : { success: true, value: pack, message: 'What is known about the repository.' }
      },
      explain('Call memory_pack with other parameters.'),
    ),
}

interface RememberParameters {
  kind?: string
  title?: string
  content?: string
  rationale?: string
  paths?: string[]
  tags?: string[]
}

const memoryRemember: ServerTool = {
  group: 'memory',
  writes: true,
  definition: define(
    'memory_remember',
    'Remember something about the repository',
    'Keep a convention (title, content, tags), a decision (content, rationale, paths) or a note (content) about this repository for later sessions. A convention with the same title is replaced. Secrets are taken out.',
    object(
      {
        kind: { enum: ['convention', 'decision', 'note'], description: 'What it is.' },
        title: text('Of a convention: one line.', 300),
        content: text('The convention, what was decided, or the note.', LONGEST_TEXT),
        rationale: text('Why it was decided.', LONGEST_TEXT),
        paths: texts('Paths that a decision is about.'),
        tags: texts('Tags of a convention.'),
      },
      ['kind', 'content'],
    ),
    ADDS,
  ),
  execute: (args, { stores }) =>
    execute(
      undefined,
      async () => {
        const given = readParameters<RememberParameters>(
          'memory_remember',
          args,
          ['kind', 'title', 'content', 'rationale', 'paths', 'tags'],
          '{"kind": "note", "content": "The tests need a database."}',
        )
        const content = readText(given.content, 'content', 'The tests need a database.', LONGEST_TEXT)
        if (content === undefined) {
          throw new WrongParameters('content is missing: pass what is worth remembering.')
        }
        const memory = await stores.memory()
        const done = (id: string): ToolResult<string> => ({
          success: true,
          value: `Remembered as ${id}.`,
          message: 'Remembered.',
        })
        switch (given.kind) {
          case 'convention':
            return done(
              (
                await memory.upsertConvention({
                  title: readText(given.title, 'title', 'Tests', 300),
                  content,
                  tags: given.tags as string[] | undefined,
                })
              ).id,
            )
          case 'decision':
            return done(
              (
                await memory.upsertDecision({
                  summary: content,
                  rationale: readText(given.rationale, 'rationale', 'no script reads it', LONGEST_TEXT),
                  impactedPaths: given.paths as string[] | undefined,
                })
              ).id,
            )
          case 'note':
            return done((await memory.upsertNote({ content, source: 'agent' })).id)
          default:
            throw new WrongParameters('kind must be "convention", "decision" or "note".')
        }
      },
      explain('Nothing was remembered: call memory_remember with other parameters.'),
    ),
}

interface StoreOutputParameters {
  tool?: string
  args?: unknown
  result?: unknown
}

const storeOutput: ServerTool = {
  group: 'contexts',
  writes: true,
  definition: define(
    'store_output',
    'Store a tool output',
    'Store the output of a tool, without its secrets, and get the text for the conversation: a large output becomes a placeholder with an id for read_context_slice.',
    object(
      {
        tool: text('The tool that made the output.'),
        args: { type: 'object', description: 'Its arguments.' },
        result: { description: 'The output: a text, or any JSON.' },
      },
      ['tool', 'result'],
    ),
    ADDS,
  ),
  execute: (args, { stores, maxBytes }) =>
    execute(
      undefined,
      async () => {
        const given = readParameters<StoreOutputParameters>(
          'store_output',
          args,
          ['tool', 'args', 'result'],
          '{"tool": "npm_test", "result": "all passed"}',
        )
        const tool = readText(given.tool, 'tool', 'npm_test', LONGEST)
        if (tool === undefined || given.result === undefined) {
          throw new WrongParameters('tool and result are needed: {"tool": "npm_test", "result": "all passed"}.')
        }
        const callArguments = typeof given.args === 'object' && given.args !== null ? given.args : {}
        const manager = await stores.manager()
        const offloaded = await manager.offload(tool, callArguments as Record<string, unknown>, given.result, {
          threshold: Math.floor(maxBytes / 2),
        })
        if (offloaded.error !== undefined) {
          throw offloaded.error
        }
        return {
          success: true,
          value: offloaded.isOffloaded ? offloaded.text : `Stored as ${offloaded.handle ?? offloaded.filepath}.`,
          message: 'Stored.',
        }
      },
      explain('The output was not stored: keep it in the conversation.'),
    ),
}

const explain =
  (hint: string) =>
  (error: unknown): string =>
    `${reasonOf(error)}. ${hint}`

export const OUTPUT_TOOLS: readonly ServerTool[] = [storeOutput]
export const HISTORY_TOOLS: readonly ServerTool[] = [readContext]
export const MEMORY_TOOLS: readonly ServerTool[] = [memoryPack, memoryRemember]
