/** What a tool for a model is. */

/** What a tool gives back to the agent: a value, or, when the call failed, a message that tells the model what to do. */
export type ToolResult<Value = unknown> =
  | { success: true; value: Value; message: string }
  | { success: false; value: null; message: string }

/** A tool that an agent can offer to its model. */
export interface ToolDefinition<Params = unknown, Value = unknown> {
  readonly name: string
  readonly description: string
  /** A JSON Schema of the parameters. */
  readonly parameters: Readonly<Record<string, unknown>>
  readonly examples: readonly {
    readonly description: string
    readonly input: Params
    readonly output: Value
  }[]
  /** Never rejects: a failure is a result whose message tells what to do. */
  execute(params?: Params | null): Promise<ToolResult<Value>>
}
