/**
 * The names that the conformance suite asks for, on the HTTP stack of `agent-context mcp`. Prints its address, and ends with its
 * standard input.
 */

import {
  MissingRequiredClientCapabilityError,
  ProtocolError,
  ResourceNotFoundError,
  Server,
} from '@modelcontextprotocol/server'
import { serveHttp } from '../../../lib/mcp/http.ts'

/** A dot. */
const IMAGE = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
/** A sound file without samples. */
const AUDIO = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA='

const image = { type: 'image', data: IMAGE, mimeType: 'image/png' } as const
const text = (words: string) => ({ type: 'text', text: words }) as const
const embedded = (uri: string, mimeType: string, words: string) =>
  ({ type: 'resource', resource: { uri, mimeType, text: words } }) as const

const TOOLS = [
  'test_simple_text',
  'test_image_content',
  'test_audio_content',
  'test_embedded_resource',
  'test_multiple_content_types',
  'test_error_handling',
  'test_tool_with_progress',
  'test_missing_capability',
  'test_streaming_elicitation',
  'test_logging_tool',
]
const PROMPTS = [
  { name: 'test_simple_prompt', description: 'A prompt without arguments' },
  {
    name: 'test_prompt_with_arguments',
    description: 'A prompt with two arguments',
    arguments: ['arg1', 'arg2'].map((name) => ({ name, description: name, required: true })),
  },
  {
    name: 'test_prompt_with_embedded_resource',
    description: 'A prompt with a resource',
    arguments: [{ name: 'resourceUri', description: 'address of the resource', required: true }],
  },
  { name: 'test_prompt_with_image', description: 'A prompt with an image' },
]

function createServer(): Server {
  const list = { ttlMs: 3_600_000, cacheScope: 'private' } as const
  const server = new Server(
    { name: 'conformance-fixture', version: '1.0.0' },
    {
      capabilities: { tools: {}, resources: {}, prompts: {}, completions: {} },
      cacheHints: {
        'tools/list': list,
        'prompts/list': list,
        'resources/list': list,
        'resources/templates/list': list,
      },
    },
  )
  server.setRequestHandler('tools/list', () => ({
    tools: TOOLS.map((name) => ({ name, description: `The suite calls ${name}`, inputSchema: { type: 'object' } })),
  }))
  server.setRequestHandler('tools/call', async ({ params }, { mcpReq }) => {
    const progressToken = mcpReq._meta?.progressToken
    switch (params.name) {
      case 'test_simple_text':
      case 'test_streaming_elicitation':
      case 'test_logging_tool':
        return { content: [text('This is a simple text response for testing.')] }
      case 'test_image_content':
        return { content: [image] }
      case 'test_audio_content':
        return { content: [{ type: 'audio', data: AUDIO, mimeType: 'audio/wav' }] }
      case 'test_embedded_resource':
        return {
          content: [embedded('test://embedded-resource', 'text/plain', 'This is an embedded resource content.')],
        }
      case 'test_multiple_content_types':
        return {
          content: [
            text('Multiple content types test:'),
            image,
            embedded('test://mixed-content-resource', 'application/json', '{"test":"data","value":123}'),
          ],
        }
      case 'test_error_handling':
        return { content: [text('This tool intentionally returns an error for testing')], isError: true }
      case 'test_tool_with_progress':
        for (const progress of progressToken === undefined ? [] : [0, 50, 100]) {
          await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress, total: 100 } })
        }
        return { content: [text('Done.')] }
      case 'test_missing_capability':
        throw new MissingRequiredClientCapabilityError({ requiredCapabilities: { sampling: {} } })
      default:
        throw new ProtocolError(-32602, `there is no tool ${params.name}`)
    }
  })
  server.setRequestHandler('resources/list', () => ({
    resources: [
      { uri: 'test://static-text', name: 'static-text', description: 'A text', mimeType: 'text/plain' },
      { uri: 'test://static-binary', name: 'static-binary', description: 'An image', mimeType: 'image/png' },
    ],
  }))
  server.setRequestHandler('resources/templates/list', () => ({
    resourceTemplates: [{ uriTemplate: 'test://template/{id}/data', name: 'template', mimeType: 'application/json' }],
  }))
  server.setRequestHandler('resources/read', ({ params: { uri } }) => {
    const id = /^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1]
    if (id !== undefined) {
      const data = JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` })
      return { contents: [{ uri, mimeType: 'application/json', text: data }] }
    }
    switch (uri) {
      case 'test://static-text':
        return { contents: [{ uri, mimeType: 'text/plain', text: 'This is the content of the static text resource.' }] }
      case 'test://static-binary':
        return { contents: [{ uri, mimeType: 'image/png', blob: IMAGE }] }
      default:
        throw new ResourceNotFoundError(uri)
    }
  })
  server.setRequestHandler('prompts/list', () => ({ prompts: PROMPTS }))
  server.setRequestHandler('prompts/get', ({ params: { name, arguments: given = {} } }) => {
    const user = <T>(content: T) => ({ role: 'user' as const, content })
    switch (name) {
      case 'test_simple_prompt':
        return { messages: [user(text('This is a simple prompt for testing.'))] }
      case 'test_prompt_with_arguments':
        return { messages: [user(text(`Prompt with arguments: arg1='${given.arg1}', arg2='${given.arg2}'`))] }
      case 'test_prompt_with_embedded_resource':
        return {
          messages: [
            user(embedded(String(given.resourceUri), 'text/plain', 'Embedded resource content for testing.')),
            user(text('Please process the embedded resource above.')),
          ],
        }
      case 'test_prompt_with_image':
        return { messages: [user(image), user(text('Please analyze the image above.'))] }
      default:
        throw new ProtocolError(-32602, `there is no prompt ${name}`)
    }
  })
  server.setRequestHandler('completion/complete', () => ({ completion: { values: [], total: 0, hasMore: false } }))
  return server
}

const ended = new AbortController()
process.stdin.resume().once('close', () => ended.abort())
const [, , token = ''] = process.argv
await serveHttp(createServer, { host: '127.0.0.1', port: 0 }, token, ended.signal, (address) => {
  console.log(address)
})
