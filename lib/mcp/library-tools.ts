/** The tools that the library gives to models, as tools of the server. */

import type { ContextManager, ContextStore, ToolDefinition } from '../index.ts'
import { contextStoreTools } from '../tools/context-store-tools.ts'
import { contextTools } from '../tools/context-tools.ts'
import type { ToolResult } from '../tools/types.ts'
import type { Outputs } from './outputs.ts'
import { ADDS, define, READS, type ServerTool } from './server-tool.ts'

type AnyTool = Pick<ToolDefinition, 'name' | 'description' | 'parameters'> & {
  execute(parameters?: never): Promise<ToolResult<unknown>>
}

/** Tools without a store, from which descriptions are read, so that listing tools opens nothing. */
const unopened = (names: readonly string[]): never =>
  Object.fromEntries(names.map((name) => [name, () => Promise.reject(new Error('not opened'))])) as never

const OUTPUT_TOOLS = contextTools(unopened(['getLatestPointers', 'search', 'readContext', 'listContexts']), {
  sessions: 'all',
}) as readonly AnyTool[]
const STORE_TOOLS = contextStoreTools(
  unopened(['write', 'search', 'read', 'update', 'supersede']),
) as readonly AnyTool[]

const TITLES: Readonly<Record<string, string>> = {
  list_contexts: 'List stored tool outputs',
  search_contexts: 'Search stored tool outputs',
  read_context_slice: 'Read part of a stored output',
  context_write: 'Write an entry for other agents',
  context_search: 'Search entries of agents',
  context_read: 'Read an entry',
  context_update: 'Change an entry',
  context_supersede: 'Replace an entry by a new one',
}
const WRITERS = new Set(['context_write', 'context_update', 'context_supersede'])

export const libraryTools = (): ServerTool[] => [
  ...OUTPUT_TOOLS.map(
    ({ name, description, parameters }, index): ServerTool => ({
      group: 'contexts',
      writes: false,
      definition: define(
        name,
        TITLES[name] ?? name,
        // Here no session is the server's own.
        description.replace('stored in this session', 'stored by any session'),
        parameters,
        READS,
      ),
      async execute(args, { stores, signal, maxBytes, progress }) {
        const outputs: Outputs = await stores.outputs(signal)
        progress(`${name}: looking at stored outputs`)
        const tools = contextTools(outputs as Outputs & ContextManager, { sessions: 'all', maxBytes })
        const slice = name === 'read_context_slice' && typeof args['max_bytes'] === 'number'
        const bounded = slice ? { ...args, max_bytes: Math.min(Number(args['max_bytes']), maxBytes) } : args
        return (tools as readonly AnyTool[])[index]?.execute(bounded as never) ?? unknown(name)
      },
    }),
  ),
  ...STORE_TOOLS.map(
    ({ name, description, parameters }, index): ServerTool => ({
      group: 'store',
      writes: WRITERS.has(name),
      definition: define(name, TITLES[name] ?? name, description, parameters, WRITERS.has(name) ? ADDS : READS),
      async execute(args, { stores, maxBytes }) {
        const store: ContextStore = await stores.store()
        const tools = contextStoreTools(store, { maxBytes }) as readonly AnyTool[]
        return tools[index]?.execute(args as never) ?? unknown(name)
      },
    }),
  ),
]

function unknown(name: string): ToolResult<never> {
  return { success: false, value: null, message: `There is no tool ${name}.` }
}
