/** `ContextSessionStore`: transcripts of the Claude Agent SDK over `StateStore`. */

import { invalidArgument } from '../../arguments/errors.ts'
import type { JsonValue, StateStore } from '../../index.ts'
import { unsupportedFramework } from '../call-recorder.ts'
import { allItems, checkState, deleteAll } from '../state-items.ts'
import { CLAUDE_AGENT_RANGE } from './context-server.ts'

/** Identifies a transcript: that of a session, or with a `subpath` that of one of its sub-agents. */
export interface SessionKey {
  projectKey: string
  sessionId: string
  subpath?: string
}

/** A line of a transcript. */
export interface SessionEntry {
  type: string
  uuid?: string
  timestamp?: string
  [member: string]: unknown
}

/** The summary of a session, which the SDK shows in lists. */
export interface SessionSummary {
  sessionId: string
  /** When the last entry was appended, in ms since 1970. */
  mtime: number
  /** Opaque data of the SDK. */
  data: Record<string, unknown>
}

/** The members of the module `@anthropic-ai/claude-agent-sdk` that summaries use. */
export interface SessionSummaries {
  foldSessionSummary(
    previous: SessionSummary | undefined,
    key: SessionKey,
    entries: SessionEntry[],
    options?: { mtime?: number },
  ): SessionSummary
}

/** The number of appended entries, and the summary of all of them if one is stored. */
type Head = { length: number; summary?: JsonValue }
/** An entry with its position. */
type Saved = { at: number; entry: JsonValue }

const ROOT = 'claude-agent'
const POSITION_DIGITS = 12

/**
 * Stores transcripts for the option `sessionStore` of `query`, so that any process of this machine can resume a session. An entry
 * that is appended repeatedly, identified by its `uuid`, is stored once. Entries are read back unchanged: a `StateStore` does not
 * redact by default.
 *
 * Claude Code mirrors its transcripts only if `CLAUDE_CONFIG_DIR` is set in its `env`.
 */
export class ContextSessionStore {
  readonly #state: StateStore
  /** Keeps the order of appends that the caller does not await. */
  #appends: Promise<unknown> = Promise.resolve()
  readonly #sdk: SessionSummaries | undefined

  /**
   * @param sdk `import * as sdk from '@anthropic-ai/claude-agent-sdk'`: with it, each append updates the session's summary, and
   * the SDK lists sessions without reading their transcripts
   */
  constructor(state: StateStore, sdk?: SessionSummaries | null) {
    this.#state = checkState(state)
    this.#sdk = sdk ?? undefined
    if (this.#sdk !== undefined && typeof this.#sdk !== 'object') {
      throw invalidArgument('sdk', 'the module @anthropic-ai/claude-agent-sdk', sdk)
    }
    if (this.#sdk !== undefined && typeof this.#sdk.foldSessionSummary !== 'function') {
      throw unsupportedFramework('claude-agent', CLAUDE_AGENT_RANGE, 'the one that is passed in makes no summaries')
    }
  }

  append(key: SessionKey, entries: SessionEntry[]): Promise<void> {
    const appended = this.#appends.then(() => this.#append(key, entries))
    this.#appends = appended.catch(() => undefined)
    return appended
  }

  #append(key: SessionKey, entries: readonly SessionEntry[]): Promise<void> {
    const place = placeOf(key)
    return this.#state.transaction(async (view) => {
      const before = ((await view.get(...headOf(key)))?.value as Head | undefined) ?? { length: 0 }
      let { length } = before
      const added: SessionEntry[] = []
      for (const entry of entries) {
        const name =
          typeof entry.uuid === 'string' ? `uuid ${entry.uuid}` : String(length).padStart(POSITION_DIGITS, '0')
        if ((await view.get(place, name)) === undefined) {
          view.put(place, name, { at: length++, entry: entry as JsonValue } satisfies Saved)
          added.push(entry)
        }
      }
      view.put(...headOf(key), { length, ...this.#summaryOf(key, before, added) } satisfies Head)
    })
  }

  /** The summary after an append; none if earlier entries are not summarised. */
  #summaryOf(key: SessionKey, { length, summary }: Head, added: SessionEntry[]): Pick<Head, 'summary'> {
    if (this.#sdk === undefined || key.subpath !== undefined || (summary === undefined && length > 0)) {
      return {}
    }
    const previous =
      summary === undefined
        ? undefined
        : { sessionId: key.sessionId, mtime: 0, data: summary as SessionSummary['data'] }
    const { data } = this.#sdk.foldSessionSummary(previous, key, added)
    return { summary: data as JsonValue }
  }

  /** Returns the entries in their order; `null` for an unknown transcript. */
  async load(key: SessionKey): Promise<SessionEntry[] | null> {
    if ((await this.#state.get(...headOf(key))) === undefined) {
      return null
    }
    const saved: Saved[] = []
    for await (const { value } of allItems(this.#state, placeOf(key))) {
      saved.push(value as Saved)
    }
    return saved.sort((one, other) => one.at - other.at).map(({ entry }) => entry as unknown as SessionEntry)
  }

  async listSessions(projectKey: string): Promise<{ sessionId: string; mtime: number }[]> {
    const sessions: { sessionId: string; mtime: number }[] = []
    for await (const { key, updatedAt } of allItems(this.#state, [ROOT, 'sessions', projectKey])) {
      sessions.push({ sessionId: key, mtime: Date.parse(updatedAt) })
    }
    return sessions
  }

  /**
   * Returns the summaries of the sessions that have one: those whose entries were all appended by a store with `sdk`. The SDK
   * reads the transcripts of the others.
   */
  async listSessionSummaries(projectKey: string): Promise<SessionSummary[]> {
    const summaries: SessionSummary[] = []
    for await (const { key, value, updatedAt } of allItems(this.#state, [ROOT, 'sessions', projectKey])) {
      const { summary } = value as Head
      if (summary !== undefined) {
        summaries.push({ sessionId: key, mtime: Date.parse(updatedAt), data: summary as SessionSummary['data'] })
      }
    }
    return summaries
  }

  async listSubkeys({ projectKey, sessionId }: SessionKey): Promise<string[]> {
    const subpaths: string[] = []
    for await (const { key } of allItems(this.#state, [ROOT, 'sub-agents', projectKey, sessionId])) {
      subpaths.push(key)
    }
    return subpaths
  }

  /** Removes a transcript; with a session's transcript, also those of its sub-agents. */
  async delete(key: SessionKey): Promise<void> {
    const { projectKey, sessionId, subpath } = key
    await this.#state.delete(...headOf(key))
    if (subpath === undefined) {
      await deleteAll(this.#state, [ROOT, 'sub-agents', projectKey, sessionId])
    }
    await deleteAll(this.#state, subpath === undefined ? placeOf(key).slice(0, -1) : placeOf(key))
  }
}

/** The namespace of a transcript's entries. */
function placeOf({ projectKey, sessionId, subpath }: SessionKey): string[] {
  return [ROOT, 'entries', projectKey, sessionId, subpath === undefined ? 'main' : `sub-agent ${subpath}`]
}

/** The namespace and key of a transcript's head. */
function headOf({ projectKey, sessionId, subpath }: SessionKey): [namespace: string[], key: string] {
  return subpath === undefined
    ? [[ROOT, 'sessions', projectKey], sessionId]
    : [[ROOT, 'sub-agents', projectKey, sessionId], subpath]
}
