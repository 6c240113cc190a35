/** `list_contexts`: which outputs are stored. */

import { inspect } from '../arguments/errors.ts'
import type { TaskId } from '../arguments/types.ts'
import type { LatestOptions } from '../manager/retrieval-types.ts'
import type { ContextPointer } from '../manager/types.ts'
import { callOf, describePointer, explainFailure, fit, frame, given } from './stored-text.ts'
import { execute, readParameters, readText, readWhole } from './tool-parameters.ts'
import type { ToolDefinition, ToolResult } from './types.ts'

const DEFAULT_LIMIT = 20
const MAXIMUM_LIMIT = 200
const MAXIMUM_TEXT = 500

/** What the model passes to `list_contexts`. */
export interface ListContextsParameters {
  /** Outputs of this tool alone. */
  tool?: string
  /**
   * At most this many.
   * @default 20
   */
  limit?: number
  /** Outputs older than this one: its id, or what the listing before says. */
  before?: string
}

/** What `list_contexts` needs of a manager. */
export interface ListSource {
  getLatestPointers(options?: LatestOptions | null): ContextPointer<TaskId>[]
}

export function listContextsTool(source: ListSource, maxBytes: number): ToolDefinition<ListContextsParameters, string> {
  return {
    name: 'list_contexts',
    description:
      'List the tool outputs stored in this session, newest first: id, tool, what it did, size, time. Read one with read_context_slice.',
    parameters: {
      type: 'object',
      properties: {
        tool: { type: 'string', minLength: 1, maxLength: MAXIMUM_TEXT, description: 'Outputs of this tool alone.' },
        limit: {
          type: 'integer',
          minimum: 1,
          maximum: MAXIMUM_LIMIT,
          default: DEFAULT_LIMIT,
          description: 'How many outputs to list at most.',
        },
        before: {
          type: 'string',
          minLength: 1,
          maxLength: MAXIMUM_TEXT,
          description: 'Go on with the outputs that are older than this one.',
        },
      },
      additionalProperties: false,
    },
    examples: [
      {
        description: 'List the last outputs of one tool',
        input: { tool: 'read_file', limit: 5 },
        output:
          '[1 stored output, newest first. …]\n<stored-output-…>\nctx_1f2e3d4c5b6a7988 | read_file | read_file: src/login.ts | 48213 bytes | 2025-12-18T10:30:00.000Z\n</stored-output-…>',
      },
    ],
    execute(parameters) {
      let before: string | undefined
      return execute(
        async () => {
          const read = readParameters<ListContextsParameters>(
            'list_contexts',
            parameters,
            ['tool', 'limit', 'before'],
            '{"limit": 20}',
          )
          const toolName = readText(read.tool, 'tool', 'read_file', MAXIMUM_TEXT)
          const limit = readWhole(read.limit, 'limit', 1, MAXIMUM_LIMIT) ?? DEFAULT_LIMIT
          before = readText(read.before, 'before', 'ctx_1f2e3d4c5b6a7988', MAXIMUM_TEXT)
          return list(source, toolName, limit, before, maxBytes)
        },
        (error) => explainFailure(error, before, ''),
      )
    },
  }
}

function list(
  source: ListSource,
  toolName: string | undefined,
  limit: number,
  before: string | undefined,
  maxBytes: number,
): ToolResult<string> {
  const options: LatestOptions = { limit: limit + 1 }
  if (toolName !== undefined) {
    options.toolName = toolName
  }
  if (before !== undefined) {
    options.before = before
  }
  const found = source.getLatestPointers(options)
  const pointers = found.slice(0, limit)
  if (pointers.length === 0) {
    const none = noneFound(toolName, before)
    return given(none, `[${none}]`)
  }
  const lines = pointers.map(describePointer)
  const { text, shown } = fit(lines.length, maxBytes, (count) => compose(lines, count, found, toolName, limit))
  return given(`${shown === 1 ? '1 stored output' : `${shown} stored outputs`} listed.`, text)
}

function noneFound(toolName: string | undefined, before: string | undefined): string {
  const older = before === undefined ? '' : ' older'
  return toolName === undefined
    ? `There is no${older} stored output.`
    : `There is no${older} stored output of the tool ${inspect(toolName)}. Call list_contexts without "tool" for those of others.`
}

function compose(
  lines: readonly string[],
  count: number,
  found: readonly ContextPointer<TaskId>[],
  toolName: string | undefined,
  limit: number,
): string {
  // By file name: a handle may stand for several outputs that are the same.
  const last = found[count - 1]?.filename
  const next = { ...(toolName === undefined ? {} : { tool: toolName }), limit, before: last }
  return frame(
    `${count === 1 ? '1 stored output' : `${count} stored outputs`}, newest first: id | tool | what it did | size | time.`,
    lines.slice(0, count).join('\n'),
    count < found.length ? `Older ones: ${callOf('list_contexts', next)}` : undefined,
  )
}
