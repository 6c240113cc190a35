/** Managers of coding agents: one for each of their sessions, with the recorder of its calls and the tools that read its outputs back. */

import { checkFilled, optional } from '../arguments/checks.ts'
import { invalidArgument } from '../arguments/errors.ts'
import { knownOptions } from '../arguments/known-options.ts'
import { ContextManager, type ContextTool, contextTools, toText } from '../index.ts'
import { type AdapterManager, type CallOptions, CallRecorder, type ToolCall } from './call-recorder.ts'

/** What is needed of a manager: a `ContextManager` is one. */
export interface SessionManager extends AdapterManager, Pick<ContextManager, 'clear' | 'close'> {}

/** Options that the adapters of coding agents share. An option that is `undefined` or `null` has its default. */
export interface SessionOptions extends CallOptions {
  /**
   * The manager of a session, by the session's id.
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

/** What the model asked for to work on it stays in the conversation: a placeholder would only be read back. */
const NEVER_REPLACED: ReadonlySet<string> = new Set(['read', 'edit', 'write', 'multiedit', 'patch', 'apply_patch'])

/** The tools without a session: their names, descriptions and parameters. */
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
  /** When calls began that have not ended, by their ids. */
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

  /** How a call ended, and what stays in the conversation whatever its size. */
  end({ toolName, callId = '' }: ToolCall): { outcome: { durationMs?: number }; threshold?: number } {
    const start = this.#starts.get(callId)
    this.#starts.delete(callId)
    return {
      outcome: start === undefined ? {} : { durationMs: performance.now() - start },
      ...(NEVER_REPLACED.has(toolName) ? { threshold: Number.MAX_SAFE_INTEGER } : {}),
    }
  }

  /** What a tool of a session answers. */
  async ask(sessionId: string, name: string, input: unknown, signal: AbortSignal | undefined): Promise<string> {
    const tool = this.of(sessionId).tools.find((candidate) => candidate.name === name)
    return tool === undefined ? `there is no tool ${name}` : toText(await tool.execute(input, { signal }))
  }

  /** The session is over: what it stored is removed. */
  async clear(sessionId: string): Promise<void> {
    const { manager } = this.of(sessionId)
    this.#sessions.delete(sessionId)
    await manager.clear()
    await manager.close()
  }

  /** The sessions may go on, in another process. */
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
