/** Types of tools for models. */

import type { CancellationOptions } from '../arguments/types.ts'

/** The result of a tool: a value, or, if the call failed, a message that says to the model what to do. */
export type ToolResult<Value = unknown> =
  | { success: true; value: Value; message: string }
  | { success: false; value: null; message: string }

/** The JSON Schema of one parameter. */
export type ToolParameterSchema = {
  type: 'string' | 'integer' | 'boolean' | 'array'
  description?: string
  default?: string | number | boolean
  /** The allowed values of a text. */
  enum?: string[]
  minLength?: number
  maxLength?: number
  /** The smallest allowed number. */
  minimum?: number
  maximum?: number
  /** The schema of the elements of an array. */
  items?: ToolParameterSchema
  minItems?: number
  maxItems?: number
}

/** The JSON Schema of a tool's parameters: an object without additional properties. */
export type ToolParametersSchema = {
  type: 'object'
  properties: { [name: string]: ToolParameterSchema }
  required: string[]
  additionalProperties: false
}

/**
 * The schema of a tool's parameters in the form of Standard Schema and Standard JSON Schema, which many frameworks accept.
 * `validate` accepts any value, because `execute` checks the parameters and explains errors to the model.
 */
export interface ToolStandardSchema<Params = unknown> {
  readonly version: 1
  readonly vendor: 'agent-context'
  readonly types?: { readonly input: Params; readonly output: Params }
  validate(value: unknown): { value: Params }
  readonly jsonSchema: {
    input(options?: unknown): Record<string, unknown>
    output(options?: unknown): Record<string, unknown>
  }
}

/** A tool that an agent can offer to its model. */
export interface ToolDefinition<Params = unknown, Value = unknown, Name extends string = string> {
  readonly name: Name
  readonly description: string
  /** A JSON Schema of the parameters. */
  readonly parameters: ToolParametersSchema
  readonly examples: readonly {
    readonly description: string
    readonly input: Params
    readonly output: Value
  }[]
  /** The parameters as a Standard Schema, so that the definition itself can be passed to a framework as the schema. */
  readonly '~standard': ToolStandardSchema<Params>
  /** Runs the tool. It never rejects: a failure, including an aborted `signal`, is a result whose message says what to do. */
  execute(params?: Params | null, options?: CancellationOptions | null): Promise<ToolResult<Value>>
}
