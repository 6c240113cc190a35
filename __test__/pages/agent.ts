/** What the code of pages takes for granted: an agent without a model, its tools, its event bus. */

import type { ToolCallbacks } from 'agent-context'

const FILES: Readonly<Record<string, string>> = {
  'src/auth/LoginForm.tsx': 'export const LoginForm = () => checkPassword()\n',
  'src/billing/tax.ts': 'export const rate = 0.2\n',
}

export const myCallbacks: ToolCallbacks = {}

/** Reads two files, whatever it is asked. */
export class Agent {
  readonly #callbacks: ToolCallbacks

  constructor({ callbacks }: { callbacks: ToolCallbacks }) {
    this.#callbacks = callbacks
  }

  async run(query: string): Promise<void> {
    this.#callbacks.onAgentStart?.({ traceId: 't', spanId: 't' }, query)
    for (const [index, path] of Object.keys(FILES).entries()) {
      const context = { traceId: 't', spanId: `s${index}` }
      this.#callbacks.onToolStart?.(context, 'read_file', { path })
      this.#callbacks.onToolEnd?.(context, 'read_file', { success: true, result: FILES[path], message: '' })
    }
  }
}

type Listener = (event: { toolName: string; params?: unknown; result?: unknown }) => void

const listeners: Listener[] = []

/** An event bus that announces tool calls. */
export const bus = {
  subscribe: (_type: 'ToolInvoked', listener: Listener): void => void listeners.push(listener),
  publish: (event: Parameters<Listener>[0]): void => {
    for (const listener of listeners) {
      listener(event)
    }
  },
}

/** Answers every prompt in the same way. */
export const model = async (_prompt: string): Promise<string> => 'The parser is a module of its own.'

/** Chooses the second candidate. */
export const chooseWithModel = async (_prompt: string, _schema: unknown): Promise<unknown> => ({ context_ids: [2] })

/** Vectors of the letters that texts have. */
export const vectorsOf = async (texts: readonly string[]): Promise<number[][]> =>
  texts.map((text) => [...'abcdefghijklmnopqrstuvwxyz'].map((letter) => text.toLowerCase().split(letter).length - 1))
