/** `contextTools`: lets a model find and read what was stored, for any framework. */

import { count, optional } from '../arguments/checks.ts'
import { invalidArgument } from '../arguments/errors.ts'
import { knownOptions } from '../arguments/known-options.ts'
import { type ListContextsParameters, type ListSource, listContextsTool } from './list-contexts-tool.ts'
import { type ReadContextSliceParameters, readContextSliceTool, type SliceSource } from './read-context-slice-tool.ts'
import { type SearchContextsParameters, type SearchSource, searchContextsTool } from './search-contexts-tool.ts'
import type { ToolDefinition, ToolResult } from './types.ts'

const DEFAULT_MAXIMUM_BYTES = 16_384
/** Room for one line of anything, with what stands around it. */
const LEAST_MAXIMUM_BYTES = 4096

/** What the tools need of a manager: a `ContextManager` is one. */
export interface ContextToolsSource extends ListSource, SearchSource, SliceSource {}

/** Options of `contextTools`. */
export interface ContextToolsOptions {
  /**
   * The text that a tool gives back never takes more bytes than this, at least 4096.
   * @default 16384
   */
  maxBytes?: number | null | undefined
}

const contextToolsOptions = knownOptions<ContextToolsOptions>('ContextToolsOptions', {
  maxBytes: true,
})

/** `list_contexts`, `search_contexts` and `read_context_slice`. */
export type ContextTools = [
  ContextTool<ListContextsParameters>,
  ContextTool<SearchContextsParameters>,
  ContextTool<ReadContextSliceParameters>,
]

/** A tool whose `execute` takes whatever a model gave, and says what is wrong with it. */
export interface ContextTool<Params> extends Omit<ToolDefinition<Params, string>, 'execute'> {
  execute(params?: unknown): Promise<ToolResult<string>>
}

/**
 * The tools with which a model finds and reads stored outputs. The `value` of a result is the text for the model, whole:
 * what was stored stands in it between tags that it cannot forge, and what it hides is shown. `message` holds nothing of it.
 *
 * @example
 * ```ts
 * const tools = contextTools(manager)
 * const { success, value, message } = await tools[2].execute({ id: 'ctx_1f2e3d4c5b6a7988', from_line: 400 })
 * reply(success ? value : message)
 * ```
 */
export function contextTools(manager: ContextToolsSource, options?: ContextToolsOptions | null): ContextTools {
  const missing = (['getLatestPointers', 'search', 'readContext'] as const).find(
    (method) => typeof (manager as Partial<ContextToolsSource> | null | undefined)?.[method] !== 'function',
  )
  if (missing !== undefined) {
    throw invalidArgument('manager', 'a ContextManager', manager)
  }
  const maxBytes = count(optional(options, 'options', contextToolsOptions)?.maxBytes, 'maxBytes', DEFAULT_MAXIMUM_BYTES)
  if (!(maxBytes >= LEAST_MAXIMUM_BYTES && maxBytes <= Number.MAX_SAFE_INTEGER)) {
    throw invalidArgument('maxBytes', `a whole number from ${LEAST_MAXIMUM_BYTES} up`, maxBytes)
  }
  return [
    listContextsTool(manager, maxBytes),
    searchContextsTool(manager, maxBytes),
    readContextSliceTool(manager, maxBytes),
  ]
}
