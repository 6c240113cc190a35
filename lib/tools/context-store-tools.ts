/** `contextStoreTools`: tools with which a model writes, finds, reads and changes entries of a `ContextStore`, for any framework. */

import { count, optional } from '../arguments/checks.ts'
import { invalidArgument } from '../arguments/errors.ts'
import { knownOptions } from '../arguments/known-options.ts'
import type { ContextTool } from './context-tools.ts'
import { type ContextReadParameters, contextReadTool, type StoreReadSource } from './store-read-tool.ts'
import { type ContextSearchParameters, contextSearchTool, type StoreSearchSource } from './store-search-tool.ts'
import { type ContextSupersedeParameters, contextSupersedeTool, type SupersedeSource } from './store-supersede-tool.ts'
import { type ContextUpdateParameters, contextUpdateTool, type UpdateSource } from './store-update-tool.ts'
import { type ContextWriteParameters, contextWriteTool, type WriteSource } from './store-write-tool.ts'

const DEFAULT_MAXIMUM_BYTES = 16_384
/** The smallest limit: room for the line of one entry with its beginning, or for all metadata of one entry, with the surrounding text. */
const LEAST_MAXIMUM_BYTES = 8192

/** The methods of a store that the tools use; a `ContextStore` has them. */
export interface ContextStoreToolsSource
  extends WriteSource,
    StoreSearchSource,
    StoreReadSource,
    UpdateSource,
    SupersedeSource {}

/** Options of `contextStoreTools`. */
export interface ContextStoreToolsOptions {
  /**
   * The largest size of the text that a tool returns, in bytes than this, at least 8192.
   * @default 16384
   */
  maxBytes?: number | null | undefined
}

const contextStoreToolsOptions = knownOptions<ContextStoreToolsOptions>('ContextStoreToolsOptions', {
  maxBytes: true,
})

/** `context_write`, `context_search`, `context_read`, `context_update` and `context_supersede`. */
export type ContextStoreTools = [
  ContextTool<ContextWriteParameters, 'context_write'>,
  ContextTool<ContextSearchParameters, 'context_search'>,
  ContextTool<ContextReadParameters, 'context_read'>,
  ContextTool<ContextUpdateParameters, 'context_update'>,
  ContextTool<ContextSupersedeParameters, 'context_supersede'>,
]

/**
 * Returns the tools with which a model uses a context store. The `value` of a result is the complete text for the model. Content
 * of agents is delimited in it by tags that the content cannot forge, and invisible characters in it are shown as escapes.
 * `message` contains no such content. No tool removes entries.
 *
 * @example
 * ```ts
 * const tools = contextStoreTools(store)
 * const called = tools.find(({ name }) => name === call.name)
 * const answer = await called?.execute(call.arguments)
 * ```
 */
export function contextStoreTools(
  store: ContextStoreToolsSource,
  options?: ContextStoreToolsOptions | null,
): ContextStoreTools {
  const missing = (['write', 'search', 'read', 'update', 'supersede'] as const).find(
    (method) => typeof (store as Partial<ContextStoreToolsSource> | null | undefined)?.[method] !== 'function',
  )
  if (missing !== undefined) {
    throw invalidArgument('store', 'a ContextStore', store)
  }
  const maxBytes = count(
    optional(options, 'options', contextStoreToolsOptions)?.maxBytes,
    'maxBytes',
    DEFAULT_MAXIMUM_BYTES,
  )
  if (!(maxBytes >= LEAST_MAXIMUM_BYTES && maxBytes <= Number.MAX_SAFE_INTEGER)) {
    throw invalidArgument('maxBytes', `a whole number from ${LEAST_MAXIMUM_BYTES} up`, maxBytes)
  }
  return [
    contextWriteTool(store),
    contextSearchTool(store, maxBytes),
    contextReadTool(store, maxBytes),
    contextUpdateTool(store),
    contextSupersedeTool(store),
  ]
}
