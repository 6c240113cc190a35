/** A server with the tools of the conformance suite, over HTTP: `node support/conformance-server.ts plain|wrapped`; prints its address. */

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { ContextManager } from 'agent-context'
import { registerContextTools, wrapServer } from 'agent-context/mcp'
import { z } from 'zod'

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=='
const WAV = 'UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA='
const image = { type: 'image' as const, data: PNG, mimeType: 'image/png' }
const resource = (uri: string, mimeType: string, text: string) => ({
  type: 'resource' as const,
  resource: { uri, mimeType, text },
})
const RESULTS = {
  test_simple_text: { content: [{ type: 'text' as const, text: 'This is a simple text response for testing.' }] },
  test_image_content: { content: [image] },
  test_audio_content: { content: [{ type: 'audio' as const, data: WAV, mimeType: 'audio/wav' }] },
  test_embedded_resource: {
    content: [resource('test://embedded-resource', 'text/plain', 'This is an embedded resource content.')],
  },
  test_multiple_content_types: {
    content: [
      { type: 'text' as const, text: 'Multiple content types test:' },
      image,
      resource('test://mixed-content-resource', 'application/json', '{"test":"data","value":123}'),
    ],
  },
}
const manager = new ContextManager({ contextDir: join(tmpdir(), `agent-context-conformance-${process.pid}`) })

function newServer(): McpServer {
  const server = new McpServer({ name: 'conformance', version: '1.0.0' })
  if (process.argv[2] === 'wrapped') {
    registerContextTools(wrapServer(server, manager), manager, { z })
  }
  for (const [name, result] of Object.entries(RESULTS)) {
    server.registerTool(name, { description: name }, async () => result)
  }
  server.registerTool('test_error_handling', { description: 'fails' }, async () => {
    throw new Error('This tool intentionally returns an error for testing')
  })
  return server
}

const http = createServer(async (request, response) => {
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined } as never)
  await newServer().connect(transport as never)
  response.on('close', () => void transport.close())
  await transport.handleRequest(request, response)
})
http.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`))
process.on('SIGTERM', () => {
  void manager.clear().then(() => process.exit(0))
})
