/** A model of the OpenAI Agents SDK that follows a script. */

import {
  type Model,
  type ModelRequest,
  type ModelResponse,
  type StreamEvent,
  setTracingDisabled,
  Usage,
} from '@openai/agents-core'
import { piecesOf, type Script, stepOf } from './script.ts'

setTracingDisabled(true)

export class ScriptedModel implements Model {
  /** What the model was sent, as JSON. */
  readonly requests: string[] = []
  readonly #script: Script

  constructor(script: Script) {
    this.#script = script
  }

  async getResponse({ input }: ModelRequest): Promise<ModelResponse> {
    const request = JSON.stringify(input)
    const step = stepOf(this.#script, this.requests.length, request)
    this.requests.push(request)
    const output: ModelResponse['output'] =
      typeof step === 'string'
        ? [{ type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text: step }] }]
        : step.map(({ tool, input }, index) => ({
            type: 'function_call',
            callId: `call-${this.requests.length}-${index}`,
            name: tool,
            status: 'completed',
            arguments: JSON.stringify(input),
          }))
    return { usage: new Usage(), output }
  }

  async *getStreamedResponse(request: ModelRequest): AsyncIterable<StreamEvent> {
    const { usage, output } = await this.getResponse(request)
    yield { type: 'response_started' }
    for (const item of output) {
      for (const part of item.type === 'message' && item.role === 'assistant' ? item.content : []) {
        for (const delta of part.type === 'output_text' ? piecesOf(part.text) : []) {
          yield { type: 'output_text_delta', delta }
        }
      }
    }
    const { inputTokens, outputTokens, totalTokens } = usage
    const id = `response-${this.requests.length}`
    yield {
      type: 'response_done',
      response: { id, usage: { inputTokens, outputTokens, totalTokens }, output },
    } as StreamEvent
  }
}
