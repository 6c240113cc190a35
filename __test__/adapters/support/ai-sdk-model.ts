/** A language model of the AI SDK that follows a script. */

import type { LanguageModelV4CallOptions, LanguageModelV4Content, LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { convertArrayToReadableStream, MockLanguageModelV4 } from 'ai/test'
import { piecesOf, type Script, stepOf } from './script.ts'

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
}

export function scriptedModel(script: Script): MockLanguageModelV4 {
  let at = 0
  const next = ({ prompt }: LanguageModelV4CallOptions) => {
    const step = stepOf(script, at++, JSON.stringify(prompt))
    const isText = typeof step === 'string'
    const content: LanguageModelV4Content[] = isText
      ? [{ type: 'text', text: step }]
      : step.map(({ tool, input }, index) => ({
          type: 'tool-call',
          toolCallId: `call-${at}-${index}`,
          toolName: tool,
          input: JSON.stringify(input),
        }))
    const reason = isText ? 'stop' : 'tool-calls'
    return { content, finishReason: { unified: reason, raw: reason } as const, usage, warnings: [] }
  }
  return new MockLanguageModelV4({
    doGenerate: async (options) => next(options),
    doStream: async (options) => {
      const { content, finishReason } = next(options)
      const parts = content.flatMap((part): LanguageModelV4StreamPart[] =>
        part.type === 'text'
          ? [
              { type: 'text-start', id: '1' },
              ...piecesOf(part.text).map((delta) => ({ type: 'text-delta', id: '1', delta }) as const),
              { type: 'text-end', id: '1' },
            ]
          : [part as LanguageModelV4StreamPart],
      )
      const start: LanguageModelV4StreamPart = { type: 'stream-start', warnings: [] }
      return { stream: convertArrayToReadableStream([start, ...parts, { type: 'finish', finishReason, usage }]) }
    },
  })
}
