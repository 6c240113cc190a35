/** Recognises the names of the tools for models. Frameworks put a prefix such as a server's name before them. */

import { invalidArgument } from '../arguments/errors.ts'

/** The tools that return stored content. Storing their answers again would only hide the content behind another placeholder. */
const RETRIEVAL_TOOLS: ReadonlySet<string> = new Set([
  'list_contexts',
  'search_contexts',
  'read_context_slice',
  'read_context',
  'context_search',
  'context_read',
])

/** The characters that are valid in tool names for all frameworks. */
const PREFIX = /^[A-Za-z0-9_.:/-]{0,100}$/

/** Whether a tool is one of this package's tools that return stored content. */
export function isRetrievalTool(name: string, prefix = ''): boolean {
  const isOwn = (own: string): boolean => RETRIEVAL_TOOLS.has(own)
  return isOwn(name) || (prefix !== '' && name.startsWith(prefix) && isOwn(name.slice(prefix.length)))
}

export function checkPrefix(prefix: string, name: string): string {
  if (typeof prefix !== 'string' || !PREFIX.test(prefix)) {
    throw invalidArgument(name, 'at most 100 letters, digits and _ . : / -', prefix)
  }
  return prefix
}
