/** A session of opencode as far as its plugins see it: hooks are called with what opencode calls them with. */

import type { ContextPlugin, ContextPluginHooks } from 'agent-context/opencode'
import { type Script, stepOf } from './script.ts'

/** A tool, and what opencode makes of its output. */
export type Tool = (
  input: object,
  signal: AbortSignal | undefined,
  report: (progress: string) => Promise<void>,
) => unknown
type Part = { tool: string; callID: string; input: object; output: unknown; isError: boolean }

/** A turn of a conversation, whose model follows a script; opencode stores the parts. */
export class OpencodeSession {
  /** What the model was sent, as JSON. */
  readonly requests: string[] = []
  readonly parts: Part[]
  /** What the tools reported before their outputs. */
  readonly reports: string[] = []
  readonly #id: string
  readonly #hooks: ContextPluginHooks | undefined

  constructor(id: string, hooks: ContextPluginHooks | undefined, parts: Part[] = []) {
    this.#id = id
    this.#hooks = hooks
    this.parts = parts
  }

  static async start(id: string, plugin: ContextPlugin | undefined, parts: Part[] = []): Promise<OpencodeSession> {
    return new OpencodeSession(id, await plugin?.({ directory: process.cwd() }), parts)
  }

  async prompt(tools: Readonly<Record<string, Tool>>, script: Script, signal?: AbortSignal): Promise<string> {
    for (;;) {
      const request = JSON.stringify(this.parts)
      const step = stepOf(script, this.requests.length, request)
      this.requests.push(request)
      if (typeof step === 'string') {
        return step
      }
      const at = this.requests.length
      await Promise.all(step.map((call, index) => this.#call(`call-${at}-${index}`, call, tools, signal)))
      if (signal?.aborted) {
        return 'aborted'
      }
    }
  }

  async #call(
    callID: string,
    { tool, input }: { tool: string; input: object },
    tools: Readonly<Record<string, Tool>>,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const call = { tool, sessionID: this.#id, callID }
    const part: Part = { tool, callID, input, output: undefined, isError: false }
    this.parts.push(part)
    await this.#hooks?.['tool.execute.before'](call)
    try {
      const own = this.#hooks?.tool[tool]
      const abort = signal ?? new AbortController().signal
      const output = own
        ? await own.execute(input as never, { sessionID: this.#id, abort })
        : await tools[tool]?.(input, signal, (progress) => {
            this.reports.push(progress)
            return this.#publish(call, { status: 'running', input, metadata: { output: progress } })
          })
      // Tools of opencode give a text, those of MCP servers content blocks.
      const isBlocks = Array.isArray((output as { content?: unknown } | null)?.content)
      const text = typeof output === 'string' ? output : JSON.stringify(output)
      const result = isBlocks ? { ...(output as object) } : { title: tool, output: text, metadata: {} }
      await this.#hooks?.['tool.execute.after']({ ...call, args: input }, result)
      part.output = result
    } catch (error) {
      part.isError = true
      part.output = String((error as Error).message)
      const state = { status: 'error', input, error: part.output, time: { start: 1, end: 2 } }
      // As opencode does when a message is stored and again when it is complete.
      await this.#publish(call, state)
      await this.#publish(call, state)
    }
  }

  /** Sends the state of a call to all who follow the events. */
  async #publish(call: { readonly callID: string }, state: object): Promise<void> {
    const part = { id: call.callID, messageID: 'm', type: 'tool', ...call, state }
    await this.#hooks?.event({ event: { type: 'message.part.updated', properties: { part } } })
  }
}
