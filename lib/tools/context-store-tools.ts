/** `contextStoreTools`: lets a model keep, find, read and change what agents share, for any framework. */

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
/** Room for one entry in a line with how it begins, and for all that describes one, whatever stands around. */
const LEAST_MAXIMUM_BYTES = 8192

/** What the tools need of a store: a `ContextStore` is one. */
export interface ContextStoreToolsSource
  extends WriteSource,
    StoreSearchSource,
    StoreReadSource,
    UpdateSource,
    SupersedeSource {}

/** Options of `contextStoreTools`. */
export interface ContextStoreToolsOptions {
  /**
   * The text that a tool gives back never takes more bytes than this, at least 8192.
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
 * The tools with which a model uses a context store. The `value` of a result is the text for the model, whole: what agents
 * wrote stands in it between tags that it cannot forge, and what it hides is shown. `message` holds nothing of it. There is
 * none that removes: agents do not.
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
