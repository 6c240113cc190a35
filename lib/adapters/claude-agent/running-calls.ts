/** Calls of Claude that have begun: Claude Code reports no end of those that are interrupted or refused. */

/** What the hooks read of every input. */
export interface EventInput {
  readonly hook_event_name: string
  readonly session_id: string
  /** Of a sub-agent. */
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
   * Gives and forgets the calls that will not end any more.
   *
   * @param event what ends them: `SessionEnd` those of the session, others those of one agent; without it, all
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
