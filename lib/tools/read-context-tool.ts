/** `readContextTool`: a tool with which a model reads the latest entries of a history. */

import { Buffer } from 'node:buffer'
import { checkWhole, count, optional } from '../arguments/checks.ts'
import { inspect } from '../arguments/errors.ts'
import { knownOptions } from '../arguments/known-options.ts'
import { type ContextHistory, checkHistory } from '../history/context-history.ts'
import type { ContextEntry } from '../history/types.ts'
import { stringify } from '../native/stringify.ts'
import { defineTool } from './define-tool.ts'
import { fitEntries, MINIMUM_ENTRY_BYTES } from './entry-budget.ts'
import { execute, failure, readParameters, reasonOf, WrongParameters } from './tool-parameters.ts'
import type { ToolDefinition, ToolResult } from './types.ts'

const DEFAULT_LIMIT = 20
const DEFAULT_MAXIMUM_BYTES = 32_768
/** How many times the answer's limit is read from the history, because entries that are too large are cut to make room for others. */
const READ_SHARE = 32

/** The arguments that the model passes. */
export interface ReadContextParameters {
  /**
   * The largest number of entries.
   * @default 20
   */
  limit?: number
}

/** Options of `readContextTool`. */
export interface ReadContextOptions {
  /**
   * The largest size of the JSON that the tool returns, in bytes. The oldest entries are left out first; an entry that is larger
   * than the limit is cut.
   * @default 32768
   */
  maxBytes?: number | null | undefined
}

const readContextOptions = knownOptions<ReadContextOptions>('ReadContextOptions', {
  maxBytes: true,
})

/**
 * Returns the tool `read_context`, for any framework: its parameters are a JSON Schema, and `execute` never rejects.
 *
 * @param history the history to read; without one, the tool answers that there is none
 * @example
 * ```ts
 * const tool = readContextTool(history)
 * const { message, value } = await tool.execute({ limit: 10 })
 * ```
 */
export function readContextTool(
  history: ContextHistory | null | undefined,
  options?: ReadContextOptions | null,
): ToolDefinition<ReadContextParameters, ContextEntry[], 'read_context'> {
  const source = optional(history, 'history', checkHistory)
  const maxBytes = count(optional(options, 'options', readContextOptions)?.maxBytes, 'maxBytes', DEFAULT_MAXIMUM_BYTES)
  return defineTool({
    name: 'read_context',
    description: 'Read recent tool invocations from offline context history.',
    parameters: {
      type: 'object',
      properties: {
        limit: {
          type: 'integer',
          minimum: 0,
          default: DEFAULT_LIMIT,
          description: 'How many entries to read at most: the most recent ones, oldest first.',
        },
      },
      required: [],
      additionalProperties: false,
    },
    examples: [
      {
        description: 'Read last 10 context entries',
        input: { limit: 10 },
        output: [
          {
            id: '0b6f0d5e-7f0c-4d0e-9d39-3a1f6f1f6a52',
            toolName: 'grep',
            params: { pattern: 'auth', path: 'src/' },
            result: { matches: 15 },
            success: true,
            summary: 'Searched for auth patterns',
            timestamp: '2025-12-18T10:30:00.000Z',
          },
        ],
      },
    ],
    async execute(parameters, options) {
      if (source === undefined) {
        return failure('Context history not available.')
      }
      return execute(options, async () => readContext(source, readLimit(parameters), maxBytes), couldNotRead)
    },
  })
}

function readLimit(parameters: unknown): number {
  const { limit } = readParameters<ReadContextParameters>('read_context', parameters, ['limit'], '{"limit": 20}')
  try {
    return optional(limit as number | null | undefined, 'limit', checkWhole) ?? DEFAULT_LIMIT
  } catch {
    throw new WrongParameters(`limit must be a whole number from 0 up, such as 20, not ${inspect(limit)}.`)
  }
}

async function readContext(
  history: ContextHistory,
  limit: number,
  maxBytes: number,
): Promise<ToolResult<ContextEntry[]>> {
  // Does not read more entries than can fit, because a model may request any number.
  const readable = Math.floor(maxBytes / MINIMUM_ENTRY_BYTES) + 1
  const found = await history.read(Math.min(limit, readable), { maxBytes: READ_SHARE * maxBytes })
  const { entries, cutEntries } = fitEntries(found, maxBytes)
  const leftOut = found.length - entries.length
  const isCutShort = leftOut > 0 || cutEntries > 0
  const isMore =
    found.length < limit && (found.length === readable || (isCutShort && measureAll(found) >= READ_SHARE * maxBytes))
  const parts = [`Retrieved ${entries.length} context entries.`]
  if (isMore && leftOut === 0) {
    parts.push('Older entries were left out.')
  } else if (leftOut > 0) {
    parts.push(`${isMore ? 'At least ' : ''}${leftOut} older ${leftOut === 1 ? 'entry was' : 'entries were'} left out.`)
  }
  if (cutEntries > 0) {
    parts.push(`${cutEntries} ${cutEntries === 1 ? 'entry was' : 'entries were'} too large and cut (truncated: true).`)
  }
  if (parts.length > 1) {
    parts.push(
      `No more than ${maxBytes} bytes are given at once: ask for fewer entries, or search for what is missing.`,
    )
  }
  return { message: parts.join(' '), value: entries, success: true }
}

/** The approximate size of the entries' JSON in bytes. */
function measureAll(entries: readonly ContextEntry[]): number {
  return entries.reduce((total, entry) => total + Buffer.byteLength(stringify(entry)), 0)
}

function couldNotRead(error: unknown): string {
  return `Context history could not be read: ${reasonOf(error)}. Go on without it, or try again later.`
}
