/** Runs of the tool runner of the Anthropic SDK, with a model that follows a script: the API is on this machine. */

import Anthropic from '@anthropic-ai/sdk'
import type { BetaRunnableTool } from '@anthropic-ai/sdk/lib/tools/BetaRunnableTool'
import { AnthropicApi } from './anthropic-api.ts'
import type { Script } from './script.ts'

export type Message = Anthropic.Beta.BetaMessageParam
type Reply = Anthropic.Beta.BetaMessage | AsyncIterable<Anthropic.Beta.BetaRawMessageStreamEvent>

export interface RunnerOptions {
  readonly tools: BetaRunnableTool[]
  readonly messages?: Message[]
  readonly stream?: boolean
  readonly signal?: AbortSignal | undefined
}

/** @returns what the model was sent and said, what the runner keeps, and what the run was rejected with */
export async function runRunner(script: Script, { tools, messages, stream = false, signal }: RunnerOptions) {
  const api = new AnthropicApi(script)
  const client = new Anthropic({ apiKey: 'none', baseURL: await api.start(), maxRetries: 0 })
  const runner = client.beta.messages.toolRunner(
    {
      model: 'claude-opus-5',
      max_tokens: 1024,
      messages: messages ?? [{ role: 'user', content: 'Who is customer 7?' }],
      tools,
      stream,
    },
    { ...(signal && { signal }) },
  )
  /** What the model said, piece by piece, where the replies are streamed. */
  const pieces: string[] = []
  const follow = async () => {
    for await (const reply of runner as AsyncIterable<Reply>) {
      if (Symbol.asyncIterator in reply) {
        for await (const event of reply) {
          if (event.type === 'content_block_delta' && event.delta.type === 'text_delta') {
            pieces.push(event.delta.text)
          }
        }
      }
    }
    return runner.done()
  }
  try {
    const [outcome] = await Promise.allSettled([follow()])
    const [block] = outcome.status === 'fulfilled' ? outcome.value.content : []
    return {
      requests: api.requests,
      pieces,
      messages: [...runner.params.messages] as Message[],
      answer: block?.type === 'text' ? block.text : undefined,
      ...(outcome.status === 'rejected' && { error: outcome.reason as unknown }),
    }
  } finally {
    api.stop()
  }
}
