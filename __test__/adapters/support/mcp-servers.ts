/** Servers and clients of both versions of the SDK, with a tool for each kind of result. */

import { Client as ClientV2, InMemoryTransport as TransportV2 } from '@modelcontextprotocol/client'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { InMemoryTransport as TransportV1 } from '@modelcontextprotocol/sdk/inMemory.js'
import { McpServer as ServerV1 } from '@modelcontextprotocol/sdk/server/mcp.js'
import { McpServer as ServerV2 } from '@modelcontextprotocol/server'
import { z } from 'zod'
import { LARGE } from './large.ts'

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const large = JSON.stringify(LARGE)
const text = (value: string) => ({ type: 'text' as const, text: value })
const image = { type: 'image' as const, data: PNG, mimeType: 'image/png' }
const resource = (value: string) => ({
  type: 'resource' as const,
  resource: { uri: 'file:///a.txt', mimeType: 'text/plain', text: value },
})

/** What the tools return, by their names. */
export const RESULTS = {
  text: { content: [text('a small text')] },
  image: { content: [image] },
  audio: { content: [{ type: 'audio' as const, data: PNG, mimeType: 'audio/wav' }] },
  link: { content: [{ type: 'resource_link' as const, uri: 'file:///b.txt', name: 'b.txt' }] },
  embedded: { content: [resource('the text of a file')] },
  mixed: { content: [text('before'), image, resource('within')] },
  error: { content: [text('no such table')], isError: true },
  structured: { content: [text('{"sum":3}')], structuredContent: { sum: 3 } },
  empty: { content: [] },
  large: { content: [text(large)] },
  largeMixed: { content: [text(large), image, text('after'), resource(large)] },
  largeError: { content: [text(`failed: ${large}`)], isError: true },
  largeStructured: { content: [text(large)], structuredContent: LARGE },
}
export type ResultName = keyof typeof RESULTS

export interface ToolServer {
  registerTool(name: string, config: object, handler: (...parameters: never[]) => unknown): unknown
}

export function emptyServer(version: 1 | 2): ToolServer {
  const info = { name: 'fixtures', version: '1.0.0' }
  return (version === 1 ? new ServerV1(info) : new ServerV2(info)) as unknown as ToolServer
}

/** @param wrap what is done to the server before its tools are registered */
export function serverOf(version: 1 | 2, wrap: (server: ToolServer) => void = () => {}): ToolServer {
  const server = emptyServer(version)
  wrap(server)
  for (const [name, result] of Object.entries(RESULTS)) {
    const inputSchema = z.object({ query: z.string().optional() })
    server.registerTool(name, { description: name, inputSchema }, async () => result)
  }
  const outputSchema = z.object({ query: z.string(), results: z.array(z.object({ id: z.number() }).loose()) })
  server.registerTool('declared', { description: 'd', outputSchema }, async () => RESULTS.largeStructured)
  server.registerTool('throws', { description: 'd' }, async () => {
    throw new Error('the database is down')
  })
  return server
}

export interface ToolClient {
  callTool(
    parameters: { name: string; arguments?: object },
    ...options: object[]
  ): Promise<{ content: { type: string; text?: string }[]; isError?: boolean }>
  listTools(): Promise<{ tools: { name: string; inputSchema: object }[] }>
  close(): Promise<void>
}

export async function clientOf(version: 1 | 2, server: ToolServer): Promise<ToolClient> {
  const info = { name: 'tests', version: '1.0.0' }
  const client = version === 1 ? new ClientV1(info) : new ClientV2(info)
  const [one, other] = (version === 1 ? TransportV1 : TransportV2).createLinkedPair()
  const connecting = server as unknown as { connect(transport: unknown): Promise<void> }
  await Promise.all([connecting.connect(one), client.connect(other as never)])
  return client as unknown as ToolClient
}
