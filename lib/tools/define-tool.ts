/** Adds to the definition of a tool the members that all tools have. */

import type { ToolDefinition, ToolStandardSchema } from './types.ts'

/** A tool definition without the members that `defineTool` adds. */
export type PlainTool<Params, Value, Name extends string> = Omit<ToolDefinition<Params, Value, Name>, '~standard'>

/** Returns the tool with its schema also in the form of Standard Schema. */
export function defineTool<Params, Value, Name extends string>(
  tool: PlainTool<Params, Value, Name>,
): ToolDefinition<Params, Value, Name> {
  const jsonSchema = (): Record<string, unknown> => ({ ...tool.parameters })
  const standard: ToolStandardSchema<Params> = {
    version: 1,
    vendor: 'agent-context',
    validate: (value) => ({ value: value as Params }),
    jsonSchema: { input: jsonSchema, output: jsonSchema },
  }
  return { ...tool, '~standard': standard }
}
