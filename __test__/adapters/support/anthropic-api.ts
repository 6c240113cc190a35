/** The API of Anthropic on this machine, with a model that follows a script. */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { piecesOf, type Script, stepOf } from './script.ts'

interface MessagesRequest {
  readonly model: string
  readonly stream?: boolean
  readonly messages: readonly object[]
  readonly tools?: readonly { readonly name: string }[]
  /** A request that goes on from a reply has only what is new. */
  readonly thread?: { readonly previous_message_id?: string }
}

export class AnthropicApi {
  /** The messages that the model was sent, as JSON. */
  readonly requests: string[] = []
  /** The milliseconds from each answer that called tools to the request with their outputs. */
  readonly waits: number[] = []
  /** The names of the tools in the last request. */
  tools: readonly string[] = []
  readonly #script: Script
  #answered: number | undefined
  /** The conversations up to each reply. */
  readonly #threads = new Map<string, Pick<MessagesRequest, 'messages' | 'tools'>>()
  readonly #server = createServer((request, response) => void this.#answer(request, response))

  constructor(script: Script) {
    this.#script = script
  }

  /** @returns the address to send requests to */
  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    // It ends with the process.
    this.#server.unref()
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  stop(): void {
    this.#server.closeAllConnections()
    this.#server.close()
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const given = (await json(request).catch(() => ({}))) as MessagesRequest
    if (!request.url?.startsWith('/v1/messages?') && request.url !== '/v1/messages') {
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"input_tokens":1}')
      return
    }
    const before = this.#threads.get(given.thread?.previous_message_id ?? '')
    const tools = given.tools ?? before?.tools ?? []
    // Questions beside the conversation, such as for a title, have no tools.
    const isConversation = tools.length > 0
    const conversation = [...(before?.messages ?? []), ...given.messages]
    const messages = JSON.stringify(conversation)
    const step = isConversation ? stepOf(this.#script, this.requests.length, messages) : 'a title'
    if (isConversation) {
      if (this.#answered !== undefined) {
        this.waits.push(performance.now() - this.#answered)
      }
      this.requests.push(messages)
      this.tools = tools.map(({ name }) => name)
    }
    const content =
      typeof step === 'string'
        ? [{ type: 'text', text: step }]
        : step.map(({ tool, input }, index) => {
            return { type: 'tool_use', id: `call-${this.requests.length}-${index}`, name: tool, input }
          })
    const message = {
      id: `msg_${this.requests.length}`,
      type: 'message',
      role: 'assistant',
      model: given.model,
      content,
      stop_reason: typeof step === 'string' ? 'end_turn' : 'tool_use',
      stop_sequence: null,
      usage: { input_tokens: 1, output_tokens: 1 },
    }
    this.#threads.set(message.id, { messages: [...conversation, { role: 'assistant', content }], tools })
    if (given.stream === true) {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end(eventsOf(message))
    } else {
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(message))
    }
    if (isConversation) {
      this.#answered = performance.now()
    }
  }
}

interface Message {
  readonly content: readonly { type: string; text?: string; input?: object }[]
  readonly stop_reason: string
}

function eventsOf({ stop_reason, ...message }: Message): string {
  const blocks = message.content.flatMap((block, index) => {
    const isText = block.type === 'text'
    const deltas = isText
      ? piecesOf(block.text ?? '').map((text) => ({ type: 'text_delta', text }))
      : [{ type: 'input_json_delta', partial_json: JSON.stringify(block.input) }]
    return [
      {
        type: 'content_block_start',
        index,
        content_block: isText ? { type: 'text', text: '' } : { ...block, input: {} },
      },
      ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
      { type: 'content_block_stop', index },
    ]
  })
  const events = [
    { type: 'message_start', message: { ...message, content: [], stop_reason: null } },
    ...blocks,
    { type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 1 } },
    { type: 'message_stop' },
  ]
  return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('')
}
