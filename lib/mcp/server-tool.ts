/** The type of the server's tools, and the conversion of their results to answers. */

import type { CallToolResult, Tool } from '@modelcontextprotocol/server'
import type { ToolResult } from '../tools/types.ts'
import type { ToolGroup } from './options.ts'
import type { Stores } from './stores.ts'

/** What a call may use besides its arguments. */
export interface CallContext {
  readonly stores: Stores
  readonly signal: AbortSignal
  /** The text of the answer takes no more bytes. */
  readonly maxBytes: number
  /** Reports that work goes on, where the client asked for it. */
  progress(message: string): void
}

export interface ServerTool {
  readonly group: ToolGroup
  /** Absent from a server that only reads. */
  readonly writes: boolean
  readonly definition: Tool
  execute(args: Record<string, unknown>, context: CallContext): Promise<ToolResult<unknown>>
}

/** An answer as JSON is never larger. */
export const MOST_ANSWER_BYTES = 16 * 1024
/** Bounds that are tried in this order, until the answer with its escapes fits. */
const BOUNDS = [14 * 1024, 7 * 1024, 4096] as const

export async function answer(
  tool: ServerTool,
  args: Record<string, unknown>,
  context: Omit<CallContext, 'maxBytes'>,
): Promise<CallToolResult> {
  // What writes is done once; its answers are short.
  for (const maxBytes of tool.writes ? BOUNDS.slice(0, 1) : BOUNDS) {
    const result = resultOf(await tool.execute(args, { ...context, maxBytes }))
    if (Buffer.byteLength(JSON.stringify(result)) <= MOST_ANSWER_BYTES) {
      return result
    }
  }
  return resultOf({
    success: false,
    value: null,
    message: 'The answer is too large: ask for less at a time, with a smaller limit, max_bytes or max_chars.',
  })
}

function resultOf({ success, value, message }: ToolResult<unknown>): CallToolResult {
  const text = !success ? message : typeof value === 'string' ? value : `${message}\n${JSON.stringify(value)}`
  return { content: [{ type: 'text', text }], ...(success ? {} : { isError: true }) }
}

interface Behaviour {
  readonly readOnlyHint: boolean
  readonly destructiveHint: boolean
  readonly idempotentHint: boolean
}

export const READS: Behaviour = { readOnlyHint: true, destructiveHint: false, idempotentHint: true }
export const ADDS: Behaviour = { readOnlyHint: false, destructiveHint: false, idempotentHint: false }

export function define(
  name: string,
  title: string,
  description: string,
  parameters: Readonly<Record<string, unknown>>,
  behaviour: Behaviour,
): Tool {
  return {
    name,
    title,
    description,
    inputSchema: withoutLengths(parameters) as Tool['inputSchema'],
    annotations: { ...behaviour, openWorldHint: false },
  }
}

/** Removes length limits from a schema, because every byte of the list is in every conversation. Tools check lengths themselves. */
function withoutLengths(schema: unknown): unknown {
  if (Array.isArray(schema)) {
    return schema.map(withoutLengths)
  }
  if (typeof schema !== 'object' || schema === null) {
    return schema
  }
  const kept = Object.entries(schema).filter(
    ([key, value]) => typeof value !== 'number' || !/^(min|max)(Length|Items)$/.test(key),
  )
  return Object.fromEntries(kept.map(([key, value]) => [key, withoutLengths(value)]))
}
