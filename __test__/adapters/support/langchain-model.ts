/** A chat model of LangChain that follows a script. */

import type { CallbackManagerForLLMRun } from '@langchain/core/callbacks/manager'
import { BaseChatModel } from '@langchain/core/language_models/chat_models'
import { AIMessage, AIMessageChunk, type BaseMessage } from '@langchain/core/messages'
import { ChatGenerationChunk, type ChatResult } from '@langchain/core/outputs'
import { piecesOf, type Script, stepOf } from './script.ts'

export class ScriptedChatModel extends BaseChatModel {
  /** What the model was sent, as JSON of the contents. */
  readonly requests: string[] = []
  readonly #script: Script

  constructor(script: Script) {
    super({})
    this.#script = script
  }

  _llmType(): string {
    return 'scripted'
  }

  override bindTools() {
    return this
  }

  async _generate(messages: BaseMessage[]): Promise<ChatResult> {
    const request = JSON.stringify(messages.map(({ type, content }) => ({ type, content })))
    const step = stepOf(this.#script, this.requests.length, request)
    this.requests.push(request)
    const id = () => `call-${this.requests.length}`
    const message =
      typeof step === 'string'
        ? new AIMessage(step)
        : new AIMessage({
            content: '',
            tool_calls: step.map(({ tool, input }, index) => ({
              id: `${id()}-${index}`,
              name: tool,
              args: { ...input },
              type: 'tool_call' as const,
            })),
          })
    return { generations: [{ text: message.text, message }] }
  }

  override async *_streamResponseChunks(
    messages: BaseMessage[],
    _: this['ParsedCallOptions'],
    following?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    const { generations } = await this._generate(messages)
    for (const { text, message } of generations) {
      const { tool_calls = [], id } = message as AIMessage
      const pieces = text === '' ? [''] : piecesOf(text)
      const calls = tool_calls.map(({ id, name, args }, index) => {
        return { id: id ?? '', name, args: JSON.stringify(args), index, type: 'tool_call_chunk' as const }
      })
      for (const content of pieces) {
        const chunk = new AIMessageChunk({ content, ...(id && { id }), tool_call_chunks: calls })
        const generation = new ChatGenerationChunk({ text: content, message: chunk })
        yield generation
        await following?.handleLLMNewToken(content, undefined, undefined, undefined, undefined, { chunk: generation })
      }
    }
  }
}
