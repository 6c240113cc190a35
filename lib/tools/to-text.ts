/** `toText`: converts the result of a tool to the text for the model. */

import { stringify } from '../native/stringify.ts'
import type { ToolResult } from './types.ts'

/**
 * Returns the text for the model: the value of a successful call (a string unchanged, any other value as JSON), or the message of a failed call.
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
