/** `agent-context/mcp` with both versions of the SDK: what a client gets with and without the wrap. */

import { McpServer as ServerV2 } from '@modelcontextprotocol/server'
import { registerContextTools, wrapClient, wrapServer } from 'agent-context/mcp'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { adapterSuite, type Framework, type Run } from './support/adapter-suite.ts'
import { bytesOf, handleIn, newManager, recordsOf, runGuide } from './support/fixtures.ts'
import { clientOf, emptyServer, RESULTS, type ResultName, serverOf } from './support/mcp-servers.ts'
import { stepOf } from './support/script.ts'

const NAMES = Object.keys(RESULTS) as ResultName[]
const SMALL = NAMES.filter((name) => !name.startsWith('large'))
const LARGE_NAMES = NAMES.filter((name) => name.startsWith('large'))

/** What a tool gives, as a result of MCP. */
const resultOf = (output: unknown) =>
  Array.isArray(output)
    ? { content: output }
    : { content: [{ type: 'text', text: typeof output === 'string' ? output : JSON.stringify(output) }] }

interface HandlerContext extends RequestContext {
  readonly mcpReq?: RequestContext & { notify(notification: object): Promise<void> }
  sendNotification?(notification: object): Promise<void>
}
interface RequestContext {
  readonly signal?: AbortSignal
  readonly _meta?: { readonly progressToken?: string | number }
}

/** Sends the client how far a tool is, where the client wants to know. */
function reporterOf({ mcpReq, ...context }: HandlerContext) {
  const { progressToken } = (mcpReq ?? context)._meta ?? {}
  let progress = 0
  return async (message: string): Promise<void> => {
    progress += 1
    const params = { progressToken, progress, message }
    if (progressToken !== undefined) {
      const notification = { method: 'notifications/progress', params }
      await (mcpReq === undefined ? context.sendNotification?.(notification) : mcpReq.notify(notification))
    }
  }
}

/** A client follows the script as a model would; the results of the calls are what it was sent. */
function frameworkOf(version: 1 | 2, side: 'server' | 'client'): Framework {
  const follow = async ({ tools, script, manager, taskId, signal }: Run, reports?: string[]) => {
    const server = emptyServer(version)
    if (manager !== undefined && side === 'server') {
      registerContextTools(wrapServer(server, manager, { taskId }), manager, version === 1 ? { z } : {})
    }
    for (const [name, run] of Object.entries(tools)) {
      const config = { description: 'd', inputSchema: z.object({ query: z.string().optional() }) }
      const handler = async (input: { query?: string }, context: HandlerContext) =>
        resultOf(await run(input, context.mcpReq?.signal ?? context.signal, reporterOf(context)))
      server.registerTool(name, config, handler)
    }
    const plain = await clientOf(version, server)
    const client = manager !== undefined && side === 'client' ? wrapClient(plain, manager, { taskId }) : plain
    const given = {
      ...(signal && { signal }),
      ...(reports && { onprogress: ({ message }: { message?: string }) => reports.push(message ?? '') }),
    }
    const options = version === 1 ? [undefined, given] : [given]
    const requests = ['[]']
    const results: object[] = []
    let error: unknown
    for (let at = 0; error === undefined; at++) {
      const step = stepOf(script, at, requests.at(-1) ?? '')
      if (typeof step === 'string') {
        break
      }
      const calls = step.map(({ tool, input }) =>
        client.callTool({ name: tool, arguments: input }, ...(options as object[])),
      )
      const settled = await Promise.allSettled(calls)
      for (const [index, outcome] of settled.entries()) {
        if (outcome.status === 'rejected') {
          error = outcome.reason
        } else {
          results.push({ tool: step[index]?.tool, result: outcome.value })
        }
      }
      requests.push(JSON.stringify(results))
    }
    await client.close()
    return { requests, error, outputs: results.map((result) => JSON.stringify(result)) }
  }
  return {
    name: `MCP SDK v${version}, wrapped ${side}`,
    async run(given) {
      const { requests, error } = await follow(given)
      return { requests, error }
    },
    // A client has no model: what it streams are the notifications of progress.
    async stream(given) {
      const reports: string[] = []
      return { ...(await follow(given, reports)), reports }
    },
    withImage: (text, png) => [
      { type: 'text', text },
      { type: 'image', mimeType: 'image/png', data: png },
    ],
    turn: 'support/mcp-turn.ts',
    turnParameters: [String(version), side],
    example: 'mcp',
    // The id of a request is not known to the caller of a client.
    ...(side === 'client' && { hasCallIds: false }),
  }
}

describe.each([1, 2] as const)('SDK v%i', (version) => {
  adapterSuite(frameworkOf(version, 'server'))
  adapterSuite(frameworkOf(version, 'client'))
})

describe.each([1, 2] as const)('SDK v%i', (version) => {
  const options = version === 1 ? { z } : {}

  test.each(SMALL)('a wrapped server gives the same for %s', async (name) => {
    const manager = newManager()
    const plain = await clientOf(version, serverOf(version))
    const wrapped = await clientOf(
      version,
      serverOf(version, (server) => wrapServer(server, manager)),
    )
    expect(await wrapped.callTool({ name, arguments: {} })).toEqual(await plain.callTool({ name, arguments: {} }))
    expect(recordsOf(manager)).toMatchObject([{ toolName: name, success: name !== 'error', isTimed: true }])
  })

  test.each(SMALL)('a wrapped client gives the same for %s', async (name) => {
    const manager = newManager()
    const plain = await clientOf(version, serverOf(version))
    const wrapped = wrapClient(await clientOf(version, serverOf(version)), manager)
    expect(await wrapped.callTool({ name, arguments: {} })).toEqual(await plain.callTool({ name, arguments: {} }))
    expect(manager.size).toBe(1)
  })

  test.each(LARGE_NAMES)('%s gets a placeholder from a wrapped server, and is read back', async (name) => {
    const manager = newManager()
    const server = serverOf(version, (server) => wrapServer(server, manager))
    const client = await clientOf(version, registerContextTools(server, manager, options))
    const result = await client.callTool({ name, arguments: { query: 'x' } })
    expect(bytesOf(result)).toBeLessThan(5000)
    expect('isError' in result).toBe('isError' in RESULTS[name])
    const id = handleIn(JSON.stringify(result))
    const read = await client.callTool({ name: 'read_context_slice', arguments: { id, grep: 'Customer number 7\\b' } })
    expect(read.content[0]?.text).toContain('Customer number 7')
    // A page takes more than the threshold of an output, and is not stored again.
    const page = await client.callTool({ name: 'read_context_slice', arguments: { id } })
    expect(bytesOf(page)).toBeGreaterThan(10_000)
    expect(recordsOf(manager)).toMatchObject([
      { toolName: name, args: { query: 'x' }, callId: expect.any(String), success: name !== 'largeError' },
    ])
  })

  test.each(LARGE_NAMES)(
    '%s gets a placeholder from a wrapped client, which answers the tools itself',
    async (name) => {
      const manager = newManager()
      const client = wrapClient(await clientOf(version, serverOf(version)), manager)
      const { tools } = await client.listTools()
      expect(tools.map(({ name }) => name)).toContain('search_contexts')
      const result = await client.callTool({ name, arguments: {} })
      expect(bytesOf(result)).toBeLessThan(5000)
      const id = handleIn(JSON.stringify(result))
      const read = await client.callTool({
        name: 'read_context_slice',
        arguments: { id, grep: 'Customer number 7\\b' },
      })
      expect(read.content[0]?.text).toContain('Customer number 7')
      expect(manager.size).toBe(1)
    },
  )

  test('images and resources stay where they are', async () => {
    const manager = newManager()
    const client = wrapClient(await clientOf(version, serverOf(version)), manager)
    const { content } = await client.callTool({ name: 'largeMixed', arguments: {} })
    expect(content.map(({ type }) => type)).toEqual(['text', 'image', 'text', 'resource'])
    expect(content.slice(1, 3)).toEqual(RESULTS.largeMixed.content.slice(1, 3))
    const { result } = await manager.loadContext(manager.getAllPointers()[0]?.filepath ?? '')
    expect(result).toEqual(RESULTS.largeMixed.content)
  })

  test('structured content with a declared schema stays valid; its text is a placeholder', async () => {
    const manager = newManager()
    const client = await clientOf(
      version,
      serverOf(version, (server) => wrapServer(server, manager)),
    )
    await client.listTools()
    const result = await client.callTool({ name: 'declared' })
    expect(result).toHaveProperty('structuredContent.results.7.id', 7)
    expect(bytesOf(result.content)).toBeLessThan(3000)
  })

  test('the tools are listed with their parameters, and a wrapped client leaves those of the server', async () => {
    const manager = newManager()
    const server = registerContextTools(serverOf(version), manager, options)
    const client = wrapClient(await clientOf(version, server), newManager())
    const { tools } = await client.listTools()
    const own = tools.filter(({ name }) => name === 'read_context_slice')
    expect(own).toHaveLength(1)
    expect(own[0]?.inputSchema).toMatchObject({ type: 'object', required: ['id'] })
    const path = await manager.saveContext('old', {}, 'of the server')
    const handle = manager.getAllPointers()[0]?.handle ?? path
    const read = await client.callTool({ name: 'read_context_slice', arguments: { id: handle } })
    expect(read.content[0]?.text).toContain('of the server')
  })
})

test('a server of the SDK v1 needs zod, and the error says so', () => {
  expect(() => registerContextTools(serverOf(1), newManager())).toThrow('pass { z } of zod 4')
})

test('the types of the SDK are accepted and kept', () => {
  const server = new ServerV2({ name: 'a', version: '1.0.0' })
  const wrapped: ServerV2 = registerContextTools(wrapServer(server, newManager()), newManager())
  expect(wrapped).toBe(server)
})

test('a server of an older SDK is refused with the ranges', () => {
  const old = { tool: () => {} } as never
  const error = expect.objectContaining({
    code: 'ERR_CONTEXT_UNSUPPORTED',
    message: expect.stringContaining('@modelcontextprotocol/sdk ^1.29.0'),
  })
  expect(() => wrapServer(old, newManager())).toThrow(error)
  expect(() => registerContextTools(old, newManager())).toThrow(error)
})

test('wrong arguments are refused', () => {
  expect(() => wrapServer({} as never, newManager())).toThrow('server must be an McpServer')
  expect(() => wrapClient({} as never, newManager())).toThrow('client must be a Client')
  expect(() => wrapServer(serverOf(2), {} as never)).toThrow('manager must be a ContextManager')
})

test('the guide runs', () => {
  const modules = {
    'tools.ts': `
import { InMemoryTransport } from '@modelcontextprotocol/client'
import { z } from 'zod'
import { LARGE } from '../../support/large.ts'
export const searchCustomers = {
  config: { description: 'Search the customers', inputSchema: z.object({ query: z.string() }) },
  run: async () => ({ content: [{ type: 'text' as const, text: JSON.stringify(LARGE) }] }),
}
export const [transport, clientTransport] = InMemoryTransport.createLinkedPair()
`,
  }
  const output = runGuide('mcp-sdk', modules)
  expect(output).toContain('in the output of "search_customers", stored as ctx_')
  expect(output).toContain('read_context_slice')
})
