/** `contextTools`: tools with which a model finds and reads stored outputs, for any framework. */

import { count, optional } from '../arguments/checks.ts'
import { invalidArgument } from '../arguments/errors.ts'
import { knownOptions } from '../arguments/known-options.ts'
import type { CancellationOptions } from '../arguments/types.ts'
import { type AnswerMarks, marksOf, SIGNATURE_BYTES } from '../manager/answer-marks.ts'
import { checkSessionScope } from '../manager/filter.ts'
import { checkPrefix } from '../manager/tool-names.ts'
import type { SessionScope } from '../manager/types.ts'
import { type ListContextsParameters, type ListSource, listContextsTool } from './list-contexts-tool.ts'
import { type ReadContextSliceParameters, readContextSliceTool, type SliceSource } from './read-context-slice-tool.ts'
import { type SearchContextsParameters, type SearchSource, searchContextsTool } from './search-contexts-tool.ts'
import type { ToolSettings } from './tool-settings.ts'
import type { ToolDefinition, ToolResult } from './types.ts'

const DEFAULT_MAXIMUM_BYTES = 16_384
/** The smallest limit: room for one line of any kind with the surrounding text. */
const LEAST_MAXIMUM_BYTES = 4096

/** The methods of a manager that the tools use; a `ContextManager` has them. */
export interface ContextToolsSource extends ListSource, SearchSource, SliceSource {}

/** Options of `contextTools`. */
export interface ContextToolsOptions<Prefix extends string = string> {
  /**
   * The largest size of the text that a tool returns, in bytes than this, at least 4096.
   * @default 16384
   */
  maxBytes?: number | null | undefined
  /**
   * Which sessions' outputs the tools show and read, and which they read by handle or path. `'own'`: those of this session.
   * `'all'`: those of every session of the directory. An array: those of the sessions with these ids.
   * @default 'own'
   */
  sessions?: SessionScope | null | undefined
  /**
   * The prefix of the tools' names as the model sees them. Set `offload.prefix` of the manager to the same text.
   * @default ''
   */
  prefix?: Prefix | null | undefined
}

const contextToolsOptions = knownOptions<ContextToolsOptions>('ContextToolsOptions', {
  maxBytes: true,
  sessions: true,
  prefix: true,
})

/** `list_contexts`, `search_contexts` and `read_context_slice`, with the prefix before their names. */
export type ContextTools<Prefix extends string = string> = [
  ContextTool<ListContextsParameters, `${Prefix}list_contexts`>,
  ContextTool<SearchContextsParameters, `${Prefix}search_contexts`>,
  ContextTool<ReadContextSliceParameters, `${Prefix}read_context_slice`>,
]

/** A tool whose `execute` accepts any arguments of a model, and returns a message for the model if they are invalid. */
export interface ContextTool<Params, Name extends string = string>
  extends Omit<ToolDefinition<Params, string, Name>, 'execute'> {
  execute(params?: unknown, options?: CancellationOptions | null): Promise<ToolResult<string>>
}

/**
 * Returns the tools with which a model finds and reads stored outputs. The `value` of a result is the complete text for the
 * model. Stored content is delimited in it by tags that the content cannot forge, and invisible characters in it are shown as
 * escapes. `message` contains no stored content.
 *
 * @example
 * ```ts
 * const tools = contextTools(manager)
 * const { success, value, message } = await tools[2].execute({ id: 'ctx_1f2e3d4c5b6a7988', from_line: 400 })
 * reply(success ? value : message)
 * ```
 */
export function contextTools<Prefix extends string = ''>(
  manager: ContextToolsSource,
  options?: ContextToolsOptions<Prefix> | null,
): ContextTools<Prefix> {
  const missing = (['getLatestPointers', 'search', 'readContext'] as const).find(
    (method) => typeof (manager as Partial<ContextToolsSource> | null | undefined)?.[method] !== 'function',
  )
  const given = optional(options, 'options', contextToolsOptions) ?? {}
  const maxBytes = count(given.maxBytes, 'maxBytes', DEFAULT_MAXIMUM_BYTES)
  const sessions = optional(given.sessions, 'sessions', checkScope) ?? 'own'
  if (missing !== undefined || (sessions !== 'own' && typeof manager.listContexts !== 'function')) {
    throw invalidArgument('manager', 'a ContextManager', manager)
  }
  if (!(maxBytes >= LEAST_MAXIMUM_BYTES && maxBytes <= Number.MAX_SAFE_INTEGER)) {
    throw invalidArgument('maxBytes', `a whole number from ${LEAST_MAXIMUM_BYTES} up`, maxBytes)
  }
  const marks = marksOf(manager)
  const settings: ToolSettings<Prefix> = {
    maxBytes: marks === undefined ? maxBytes : maxBytes - SIGNATURE_BYTES,
    sessions,
    // If no prefix is given, the type `Prefix` is `''`.
    prefix: (optional(given.prefix, 'prefix', checkPrefix) ?? '') as Prefix,
  }
  return [
    signing(listContextsTool(manager, settings), marks),
    signing(searchContextsTool(manager, settings), marks),
    signing(readContextSliceTool(manager, settings), marks),
  ]
}

/**
 * Wraps a tool so that its answers are signed. The manager recognises a signed answer when a framework passes it back as a tool's
 * output, under any tool name.
 */
function signing<Params, Name extends string>(
  tool: ToolDefinition<Params, string, Name>,
  marks: AnswerMarks | undefined,
): ContextTool<Params, Name> {
  if (marks === undefined) {
    return tool as ContextTool<Params, Name>
  }
  return {
    ...tool,
    async execute(params, options) {
      const answer = await tool.execute(params as Params, options)
      return answer.success ? { ...answer, value: await marks.sign(answer.value) } : answer
    },
  }
}

function checkScope(scope: SessionScope, name: string): SessionScope {
  checkSessionScope(scope, name, '')
  return scope
}
