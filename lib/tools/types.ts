/** What a tool for a model is. */

import type { CancellationOptions } from '../arguments/types.ts'

/** What a tool gives back to the agent: a value, or, when the call failed, a message that tells the model what to do. */
export type ToolResult<Value = unknown> =
  | { success: true; value: Value; message: string }
  | { success: false; value: null; message: string }

/** The JSON Schema of one parameter. */
export type ToolParameterSchema = {
  type: 'string' | 'integer' | 'boolean' | 'array'
  description?: string
  default?: string | number | boolean
  /** Of a text. */
  enum?: string[]
  minLength?: number
  maxLength?: number
  /** Of a number. */
  minimum?: number
  maximum?: number
  /** Of an array. */
  items?: ToolParameterSchema
  minItems?: number
  maxItems?: number
}

/** The JSON Schema of a tool's parameters: an object with no others than those named. */
export type ToolParametersSchema = {
  type: 'object'
  properties: { [name: string]: ToolParameterSchema }
  required: string[]
  additionalProperties: false
}

/**
 * The schema of a tool's parameters in the form of Standard Schema and Standard JSON Schema, which frameworks take in place of a schema of a
 * library. `validate` accepts everything: `execute` says to the model what is wrong.
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
  /** The parameters as a Standard Schema: the definition itself can be handed to a framework as the schema. */
  readonly '~standard': ToolStandardSchema<Params>
  /** Never rejects: a failure is a result whose message says what to do. An aborted `signal` is one, too. */
  execute(params?: Params | null, options?: CancellationOptions | null): Promise<ToolResult<Value>>
}
