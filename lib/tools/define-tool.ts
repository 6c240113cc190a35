/** Completes the definition of a tool with what all tools have. */

import type { ToolDefinition, ToolStandardSchema } from './types.ts'

/** A tool without what follows from the rest. */
export type PlainTool<Params, Value, Name extends string> = Omit<ToolDefinition<Params, Value, Name>, '~standard'>

/** The tool with its schema in the form of Standard Schema. */
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
