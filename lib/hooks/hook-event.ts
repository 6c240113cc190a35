/** The events of coding agents in a common form. */

export const CLIENTS = ['claude-code', 'codex', 'cursor', 'gemini', 'opencode'] as const
export type ClientName = (typeof CLIENTS)[number]

export interface ToolCall {
  readonly kind: 'tool'
  readonly tool: string
  readonly args: Readonly<Record<string, unknown>>
  /** The output as the client gave it. */
  readonly response: unknown
  readonly callId?: string | undefined
  readonly durationMs?: number | undefined
  readonly failed?: boolean | undefined
}

/** Anything else is `other`, and nothing is done. */
export type Happening = ToolCall | { readonly kind: 'session-start' | 'session-end' | 'other' }

export interface HookEvent {
  readonly session: string
  readonly workspace: string
  readonly happening: Happening
}

/** How one client reports, and how it wants to be answered. */
export interface Client {
  /** @param event the event's name in the configuration */
  read(event: string, input: Readonly<Record<string, unknown>>): HookEvent
  /** The answer that gives the model a text at the start of a session. */
  context(text: string): object
  /** The answer that replaces an output; `undefined` where the client knows none for this call. */
  replace(call: ToolCall, replaced: unknown, placeholder: string): object | undefined
}

export const text = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined

export const record = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {}

/** JSON in a string as its value; any other string unchanged. */
export function parsed(value: unknown): unknown {
  if (typeof value !== 'string' || !/^\s*[[{"]/.test(value)) {
    return value
  }
  try {
    return JSON.parse(value)
  } catch {
    return value
  }
}
