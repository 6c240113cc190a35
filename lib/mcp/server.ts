/** The server of one connection or request: which tools, resources and prompts it has, and how it answers. */

import { ProtocolError, ProtocolErrorCode, Server, type ServerContext } from '@modelcontextprotocol/server'
import { libraryTools } from './library-tools.ts'
import { TOOL_GROUPS } from './options.ts'
import { HISTORY_TOOLS, MEMORY_TOOLS, OUTPUT_TOOLS } from './own-tools.ts'
import { complete, getPrompt, PROMPTS } from './prompts.ts'
import { listResources, RESOURCE_TEMPLATES, readResource } from './resources.ts'
import { answer, type ServerTool } from './server-tool.ts'
import type { Stores } from './stores.ts'

/** How long clients may cache lists, in ms: lists change only with a new version. */
const LIST_TTL = 3_600_000
const INSTRUCTIONS =
  'Tool outputs, the history of calls, entries that agents share, and the memory of the repository. Look before running a slow tool again: list_contexts, search_contexts. Placeholders name an id: read it with read_context_slice.'

/** In a fixed order, so that what clients cache stays valid. */
export function servedTools({ settings }: Stores): ReadonlyMap<string, ServerTool> {
  const all = [...libraryTools(), ...OUTPUT_TOOLS, ...HISTORY_TOOLS, ...MEMORY_TOOLS]
  const served = TOOL_GROUPS.flatMap((group) => all.filter((tool) => tool.group === group)).filter(
    ({ group, writes }) => settings.groups.has(group) && !(settings.readOnly && writes),
  )
  return new Map(served.map((tool) => [tool.definition.name, tool]))
}

export function createServer(stores: Stores): Server {
  const tools = servedTools(stores)
  const list = { ttlMs: LIST_TTL, cacheScope: 'private' } as const
  const server = new Server(
    { name: 'agent-context', title: 'agent-context', version: stores.settings.version },
    {
      capabilities: { tools: {}, resources: {}, prompts: {}, completions: {} },
      instructions: INSTRUCTIONS,
      cacheHints: {
        'tools/list': list,
        'prompts/list': list,
        'resources/templates/list': list,
        'server/discover': list,
      },
    },
  )
  server.setRequestHandler('tools/list', () => ({ tools: [...tools.values()].map(({ definition }) => definition) }))
  server.setRequestHandler('tools/call', async ({ params }, context) => {
    const tool = tools.get(params.name)
    if (tool === undefined) {
      const names = [...tools.keys()].join(', ')
      throw new ProtocolError(
        ProtocolErrorCode.InvalidParams,
        `there is no tool ${JSON.stringify(params.name)}, but: ${names}`,
      )
    }
    const { signal } = context.mcpReq
    return answer(tool, params.arguments ?? {}, { stores, signal, progress: progressOf(context) })
  })
  server.setRequestHandler('resources/list', ({ params }, { mcpReq }) =>
    listResources(stores, params?.cursor, mcpReq.signal),
  )
  server.setRequestHandler('resources/templates/list', () => ({ resourceTemplates: [...RESOURCE_TEMPLATES] }))
  server.setRequestHandler('resources/read', ({ params }, { mcpReq }) =>
    readResource(stores, params.uri, mcpReq.signal),
  )
  server.setRequestHandler('prompts/list', () => ({ prompts: [...PROMPTS] }))
  server.setRequestHandler('prompts/get', ({ params }, { mcpReq }) =>
    getPrompt(stores, tools, params.name, params.arguments ?? {}, mcpReq.signal),
  )
  server.setRequestHandler('completion/complete', async ({ params }, { mcpReq }) => ({
    completion: await complete(stores, params.argument.name, params.argument.value, mcpReq.signal),
  }))
  return server
}

/** Reports to the client, if it asked for that with a token. */
function progressOf({ mcpReq }: ServerContext): (message: string) => void {
  const progressToken = mcpReq._meta?.progressToken
  if (progressToken === undefined) {
    return () => undefined
  }
  let progress = 0
  return (message) => {
    progress += 1
    mcpReq
      .notify({ method: 'notifications/progress', params: { progressToken, progress, message } })
      .catch(() => undefined) // The client is gone, and with it the interest.
  }
}
