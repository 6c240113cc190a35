/** Tracks running calls, because Claude Code reports no end of calls that are interrupted or refused. */

/** The members that the hooks read from every input. */
export interface EventInput {
  readonly hook_event_name: string
  readonly session_id: string
  /** The id of the sub-agent, if one made the call. */
  readonly agent_id?: string
}

interface Running<Input> {
  readonly input: Input
  readonly start: number
}

/** A call that has not ended, and how long it has been running. */
export interface Unended<Input> {
  readonly input: Input
  readonly durationMs: number
}

export class RunningCalls<Input extends EventInput & { readonly tool_use_id: string }> {
  readonly #running = new Map<string, Running<Input>>()

  begin(input: Input): void {
    this.#running.set(input.tool_use_id, { input, start: performance.now() })
  }

  end({ tool_use_id: id }: Input): void {
    this.#running.delete(id)
  }

  /**
   * Returns and forgets the calls that will not end any more.
   *
   * @param event the event that ends the calls: `SessionEnd` those of the session, other events those of one agent; without an
   * event, all calls
   */
  takeUnended(event?: EventInput): Unended<Input>[] {
    const unended: Unended<Input>[] = []
    for (const [id, { input, start }] of this.#running) {
      if (event === undefined || isOf(event, input)) {
        this.#running.delete(id)
        unended.push({ input, durationMs: performance.now() - start })
      }
    }
    return unended
  }
}

function isOf(event: EventInput, call: EventInput): boolean {
  return (
    event.session_id === call.session_id && (event.hook_event_name === 'SessionEnd' || event.agent_id === call.agent_id)
  )
}
