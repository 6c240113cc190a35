/** `list_contexts`: the tool that lists stored outputs. */

import { contextError, inspect } from '../arguments/errors.ts'
import type { CancellationOptions, TaskId } from '../arguments/types.ts'
import type { LatestOptions } from '../manager/retrieval-types.ts'
import type { ContextPointer, SessionScope } from '../manager/types.ts'
import { defineTool } from './define-tool.ts'
import { callOf, describePointer, explainFailure, fit, frame, given } from './stored-text.ts'
import { execute, readParameters, readText, readWhole } from './tool-parameters.ts'
import type { ToolSettings } from './tool-settings.ts'
import type { ToolDefinition, ToolResult } from './types.ts'

const DEFAULT_LIMIT = 20
const MAXIMUM_LIMIT = 200
const MAXIMUM_TEXT = 500

/** The arguments that the model passes to `list_contexts`. */
export interface ListContextsParameters {
  /** Only outputs of this tool. */
  tool?: string
  /**
   * The largest number of outputs.
   * @default 20
   */
  limit?: number
  /** Only outputs that are older than this one: its id, or the value that the previous list names. */
  before?: string
}

/** The methods of a manager that `list_contexts` uses. */
export interface ListSource {
  getLatestPointers(options?: LatestOptions | null): ContextPointer<TaskId>[]
  /** Required if outputs of other sessions are shown. */
  listContexts?(sessionId?: string | null, options?: CancellationOptions | null): Promise<ContextPointer<TaskId>[]>
}

export function listContextsTool<Prefix extends string>(
  source: ListSource,
  { maxBytes, sessions, prefix }: ToolSettings<Prefix>,
): ToolDefinition<ListContextsParameters, string, `${Prefix}list_contexts`> {
  return defineTool({
    name: `${prefix}list_contexts`,
    description: `List the tool outputs stored in this session, newest first: id, tool, what it did, size, time. Read one with ${prefix}read_context_slice.`,
    parameters: {
      type: 'object',
      properties: {
        tool: { type: 'string', minLength: 1, maxLength: MAXIMUM_TEXT, description: 'Only outputs of this tool.' },
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
      required: [],
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
    execute(parameters, options) {
      let before: string | undefined
      return execute(
        options,
        async (signal) => {
          const read = readParameters<ListContextsParameters>(
            `${prefix}list_contexts`,
            parameters,
            ['tool', 'limit', 'before'],
            '{"limit": 20}',
          )
          const toolName = readText(read.tool, 'tool', 'read_file', MAXIMUM_TEXT)
          const limit = readWhole(read.limit, 'limit', 1, MAXIMUM_LIMIT) ?? DEFAULT_LIMIT
          before = readText(read.before, 'before', 'ctx_1f2e3d4c5b6a7988', MAXIMUM_TEXT)
          return list(source, { maxBytes, sessions, prefix }, { toolName, limit, before, signal })
        },
        (error) => explainFailure(error, before, '', prefix),
      )
    },
  })
}

/** The checked arguments of a call. */
interface ListCall {
  readonly toolName: string | undefined
  readonly limit: number
  readonly before: string | undefined
  readonly signal: AbortSignal | undefined
}

async function list(source: ListSource, settings: ToolSettings, call: ListCall): Promise<ToolResult<string>> {
  const { toolName, limit, before } = call
  const options: LatestOptions = { limit: limit + 1 }
  if (toolName !== undefined) {
    options.toolName = toolName
  }
  if (before !== undefined) {
    options.before = before
  }
  const found =
    settings.sessions === 'own'
      ? source.getLatestPointers(options)
      : await latestOf(source, settings.sessions, { ...call, limit: limit + 1 })
  const pointers = found.slice(0, limit)
  if (pointers.length === 0) {
    const none = noneFound(call, settings.prefix)
    return given(none, `[${none}]`)
  }
  const lines = pointers.map(describePointer)
  const { text, shown } = fit(lines.length, settings.maxBytes, (count) =>
    compose(lines, count, found, call, settings.prefix),
  )
  return given(`${shown === 1 ? '1 stored output' : `${shown} stored outputs`} listed.`, text)
}

/** The latest outputs, including those of other sessions, newest first. */
async function latestOf(
  source: ListSource,
  sessions: SessionScope,
  { toolName, before, limit, signal }: ListCall,
): Promise<ContextPointer<TaskId>[]> {
  const newestFirst = [...((await source.listContexts?.(null, { signal })) ?? [])].reverse()
  const isShown = ({ sessionId }: ContextPointer<TaskId>) =>
    sessions === 'all' || (sessionId !== undefined && sessions.includes(sessionId))
  const shown = newestFirst.filter(isShown)
  let start = 0
  if (before !== undefined) {
    const names = (pointer: ContextPointer<TaskId>) => [pointer.handle, pointer.filename, pointer.filepath]
    const position = shown.findIndex((pointer) => names(pointer).includes(before))
    if (position < 0) {
      throw contextError('ERR_CONTEXT_NOT_FOUND', `there is no stored output ${inspect(before)}`)
    }
    start = position + 1
  }
  const older = shown.slice(start)
  const ofTool = toolName === undefined ? older : older.filter((pointer) => pointer.toolName === toolName)
  return ofTool.slice(0, limit)
}

function noneFound({ toolName, before }: ListCall, prefix: string): string {
  const older = before === undefined ? '' : ' older'
  return toolName === undefined
    ? `There is no${older} stored output.`
    : `There is no${older} stored output of the tool ${inspect(toolName)}. Call ${prefix}list_contexts without "tool" for those of others.`
}

function compose(
  lines: readonly string[],
  count: number,
  found: readonly ContextPointer<TaskId>[],
  { toolName, limit }: ListCall,
  prefix: string,
): string {
  // Identified by file name, because several equal outputs share a handle.
  const last = found[count - 1]?.filename
  const next = { ...(toolName === undefined ? {} : { tool: toolName }), limit, before: last }
  return frame(
    `${count === 1 ? '1 stored output' : `${count} stored outputs`}, newest first: id | tool | what it did | size | time.`,
    lines.slice(0, count).join('\n'),
    count < found.length ? `Older ones: ${callOf(`${prefix}list_contexts`, next)}` : undefined,
  )
}
