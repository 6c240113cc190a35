/** `toText`: the text that a model gets of a tool's answer. */

import { stringify } from '../native/stringify.ts'
import type { ToolResult } from './types.ts'

/**
 * The text for the model: the value, a string unchanged and anything else as JSON, and of a failed call the message.
 *
 * @example
 * ```ts
 * reply(toText(await tool.execute(call.arguments, { signal })))
 * ```
 */
export function toText({ success, value, message }: ToolResult): string {
  if (!success) {
    return message
  }
  return typeof value === 'string' ? value : stringify(value)
}
