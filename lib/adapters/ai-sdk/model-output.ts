/** The form of a tool's output that a model of the AI SDK gets. */

import { type CallRecorder, failed, type ToolCall } from '../call-recorder.ts'

/** A `ToolResultOutput` of the specification `v4`. */
export type ModelOutput = { readonly type: string; readonly value?: unknown }

export const RANGE = 'ai ^7.0.0'
const SINGLE_VALUES: ReadonlySet<string> = new Set(['text', 'json', 'error-text', 'error-json'])

/** Returns the output for the model, with placeholders for large texts. An output that appears in several steps is stored once. */
export async function shorten(calls: CallRecorder, call: ToolCall, output: ModelOutput): Promise<ModelOutput> {
  const { type, value } = output
  if (type === 'content') {
    return { ...output, value: (await calls.blocks(call, value, { ifAbsent: true })).value }
  }
  if (!SINGLE_VALUES.has(type)) {
    return output
  }
  const isError = type.startsWith('error-')
  const outcome = isError ? failed(typeof value === 'string' ? value : JSON.stringify(value)) : {}
  const { isOffloaded, text } = await calls.output(call, value, { outcome, ifAbsent: true })
  return isOffloaded ? { ...output, type: isError ? 'error-text' : 'text', value: text } : output
}
