/** `offloadMiddleware`: replaces large tool outputs in the prompts of a language model. */

import { type AdapterManager, type CallOptions, CallRecorder, unsupportedFramework } from '../call-recorder.ts'
import { type ModelOutput, RANGE, shorten } from './model-output.ts'

/** A middleware for `wrapLanguageModel`. */
export interface OffloadMiddleware {
  readonly specificationVersion: 'v4'
  transformParams<Params extends { prompt: object }>(options: { params: Params; model: unknown }): Promise<Params>
}

/** The part of a prompt of the specification `v4` that this module reads. */
type Prompt = readonly { readonly role: string; readonly content: unknown }[]
type Part = Readonly<Record<string, unknown>>

/**
 * Returns a middleware that replaces large tool outputs in the prompt, for conversations whose tools you cannot wrap. The
 * conversation itself keeps the large outputs: prefer `withContext` where possible.
 */
export function offloadMiddleware(manager: AdapterManager, options?: CallOptions | null): OffloadMiddleware {
  const calls = new CallRecorder(manager, options)
  /** The shortened outputs of the conversation; each output is shortened only once. */
  const shortened = new WeakMap<object, Promise<ModelOutput>>()
  return {
    specificationVersion: 'v4',
    async transformParams({ params, model }) {
      const { specificationVersion } = (model ?? {}) as { specificationVersion?: unknown }
      if (specificationVersion !== undefined && specificationVersion !== 'v4') {
        throw unsupportedFramework('ai-sdk', RANGE, `this model has the specification ${specificationVersion}`)
      }
      const prompt = params.prompt as Prompt
      const parts = prompt.flatMap(({ content }) => (Array.isArray(content) ? (content as Part[]) : []))
      const inputs = new Map(
        parts.flatMap(({ type, toolCallId, input }) => (type === 'tool-call' ? [[toolCallId, input]] : [])),
      )
      const shortenPart = async (part: Part): Promise<Part> => {
        const { type, toolName, toolCallId, output } = part
        if (type !== 'tool-result' || typeof output !== 'object' || output === null) {
          return part
        }
        const call = { toolName: String(toolName), input: inputs.get(toolCallId), callId: String(toolCallId) }
        const known = shortened.get(output) ?? shorten(calls, call, output as ModelOutput)
        shortened.set(output, known)
        return { ...part, output: await known }
      }
      const messages = prompt.map(async (message) =>
        message.role === 'tool' && Array.isArray(message.content)
          ? { ...message, content: await Promise.all(message.content.map(shortenPart)) }
          : message,
      )
      return { ...params, prompt: await Promise.all(messages) }
    },
  }
}
