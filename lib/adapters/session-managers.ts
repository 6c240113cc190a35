/** The managers of a coding agent's sessions, each with a recorder of calls and the tools that read its outputs. */

import { checkFilled, optional } from '../arguments/checks.ts'
import { invalidArgument } from '../arguments/errors.ts'
import { knownOptions } from '../arguments/known-options.ts'
import { ContextManager, type ContextTool, contextTools, toText } from '../index.ts'
import { type AdapterManager, type CallOptions, CallRecorder, type ToolCall } from './call-recorder.ts'

/** The methods of a manager that are used; a `ContextManager` has them. */
export interface SessionManager extends AdapterManager, Pick<ContextManager, 'clear' | 'close'> {}

/** Options that the adapters of coding agents share. An option that is `undefined` or `null` has its default. */
export interface SessionOptions extends CallOptions {
  /**
   * Returns the manager for a session id.
   * @default a `ContextManager` of that session, resumed, in the default directory
   */
  manager?: ((sessionId: string) => SessionManager) | null | undefined
}

/** A session that is used in this process. */
export interface Session {
  readonly manager: SessionManager
  readonly calls: CallRecorder
  readonly tools: readonly ContextTool<unknown>[]
}

/** Outputs of these tools are never replaced: the model requested the text to work on it and would read a placeholder back. */
const NEVER_REPLACED: ReadonlySet<string> = new Set(['read', 'edit', 'write', 'multiedit', 'patch', 'apply_patch'])

/** Tools without a manager, from which names, descriptions and parameters are read. */
export const TOOLS = contextTools({
  getLatestPointers: () => [],
  search: async () => [],
  readContext: () => Promise.reject(new Error('a tool without a session reads nothing')),
} as unknown as Parameters<typeof contextTools>[0])

const sessionOptions = knownOptions<SessionOptions>('SessionOptions', { manager: true, queryId: true, taskId: true })

export function checkSessionOptions(options: SessionOptions | null | undefined): SessionOptions {
  const given = optional(options, 'options', sessionOptions) ?? {}
  optional(given.manager, 'manager', checkFunction)
  return given
}

export class SessionManagers {
  readonly #callOptions: CallOptions
  readonly #managerOf: (sessionId: string) => SessionManager
  readonly #sessions = new Map<string, Session>()
  /** The start times of running calls, by their ids. */
  readonly #starts = new Map<string, number>()

  constructor({ manager, ...callOptions }: SessionOptions) {
    this.#managerOf = manager ?? ((sessionId) => new ContextManager({ sessionId, resume: true }))
    this.#callOptions = callOptions
  }

  of(sessionId: string): Session {
    const known = this.#sessions.get(checkFilled(sessionId, 'sessionId'))
    if (known !== undefined) {
      return known
    }
    const manager = this.#managerOf(sessionId)
    const session = { manager, calls: new CallRecorder(manager, this.#callOptions), tools: contextTools(manager) }
    this.#sessions.set(sessionId, session)
    return session
  }

  begin(callId: string): void {
    this.#starts.set(callId, performance.now())
  }

  /** The outcome of a call, and the threshold that keeps the outputs of some tools in the conversation. */
  end({ toolName, callId = '' }: ToolCall): { outcome: { durationMs?: number }; threshold?: number } {
    const start = this.#starts.get(callId)
    this.#starts.delete(callId)
    return {
      outcome: start === undefined ? {} : { durationMs: performance.now() - start },
      ...(NEVER_REPLACED.has(toolName) ? { threshold: Number.MAX_SAFE_INTEGER } : {}),
    }
  }

  /** Calls a tool of a session. */
  async ask(sessionId: string, name: string, input: unknown, signal: AbortSignal | undefined): Promise<string> {
    const tool = this.of(sessionId).tools.find((candidate) => candidate.name === name)
    return tool === undefined ? `there is no tool ${name}` : toText(await tool.execute(input, { signal }))
  }

  /** Ends a session and removes its outputs. */
  async clear(sessionId: string): Promise<void> {
    const { manager } = this.of(sessionId)
    this.#sessions.delete(sessionId)
    await manager.clear()
    await manager.close()
  }

  /** Closes all managers; the sessions may continue in another process. */
  async close(): Promise<void> {
    const sessions = [...this.#sessions.values()]
    this.#sessions.clear()
    await Promise.all(sessions.map(({ manager }) => manager.close()))
  }
}

function checkFunction(value: unknown, name: string): void {
  if (typeof value !== 'function') {
    throw invalidArgument(name, 'a function', value)
  }
}
