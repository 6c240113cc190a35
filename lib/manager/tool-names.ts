/** The names of the tools for models, as the model knows them: frameworks put the name of a server before them. */

import { invalidArgument } from '../arguments/errors.ts'

/** What these tools give back was stored before: storing it again would only hide it behind another placeholder. */
const RETRIEVAL_TOOLS: ReadonlySet<string> = new Set([
  'list_contexts',
  'search_contexts',
  'read_context_slice',
  'read_context',
  'context_search',
  'context_read',
])

/** What tool names consist of, everywhere. */
const PREFIX = /^[A-Za-z0-9_.:/-]{0,100}$/

/** Whether a tool is one of this package that gives back what is stored. */
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
