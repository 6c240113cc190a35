/** `autoRecord`: an observer of an event bus that writes tool calls to a history. */

import { checkFunction, optional } from '../arguments/checks.ts'
import { knownOptions } from '../arguments/known-options.ts'
import { checkTimestamp } from '../arguments/timestamps.ts'
import { type ContextHistory, checkHistory } from '../history/context-history.ts'
import { readMember } from '../native/stringify.ts'
import { PendingSaves } from './pending-saves.ts'
import { readOutcome } from './tool-response.ts'

/** A completed tool call as an event bus reports it. Other members of an event are not recorded. */
export interface ToolInvoked {
  toolName?: string | null | undefined
  /** The name of the tool, used if `toolName` is absent. */
  name?: string | null | undefined
  params?: unknown
  result?: unknown
  /** Whether the call succeeded. The default is a boolean `success`, or the negated `isError`, of the result; without these, `true`. */
  success?: boolean | null | undefined
  /** The time of the call: ISO 8601, a `Date`, or ms since 1970. For any other value, the current time is used. */
  timestamp?: Date | string | number | null | undefined
}

/** Options of `autoRecord`. */
export interface AutoRecordOptions {
  /** Called when an event could not be recorded; `flush` reports the failure too. */
  onError?: ((error: unknown, toolName: string) => void) | null | undefined
}

const autoRecordOptions = knownOptions<AutoRecordOptions>('AutoRecordOptions', {
  onError: true,
})

/** An observer of an event bus. It neither throws nor blocks. */
export interface AutoRecorder {
  /** Records a call. Its values are copied immediately: later changes to them have no effect. */
  (event: ToolInvoked): void
  /** Waits for all appends that were started. Rejects with an `AggregateError` of the failures since the last flush. */
  flush(): Promise<void>
}

/**
 * Returns an observer that appends every reported tool call to a history, with the summary `Called <tool>`.
 *
 * @example
 * ```ts
 * const observer = autoRecord(history)
 * bus.subscribe('tool-invoked', observer)
 * // …
 * await observer.flush()
 * ```
 */
export function autoRecord(history: ContextHistory, options?: AutoRecordOptions | null): AutoRecorder {
  checkHistory(history, 'history')
  const given = optional(options, 'options', autoRecordOptions) ?? {}
  const saves = new PendingSaves('tool calls', optional(given.onError, 'onError', checkFunction))
  function observe(event: ToolInvoked): void {
    let toolName: unknown
    try {
      toolName = event.toolName ?? event.name
    } catch (error) {
      saves.failed(error, '')
      return
    }
    const result = readMember(event, 'result')
    saves.start(typeof toolName === 'string' ? toolName : '', result, () => {
      return history.append({
        // `append` refuses an invalid name.
        toolName: toolName as string,
        params: readMember(event, 'params'),
        result,
        success: hasSucceeded(event, result),
        summary: `Called ${toolName}`,
        timestamp: timeOf(event),
      })
    })
  }
  return Object.assign(observe, { flush: () => saves.flush() })
}

function hasSucceeded(event: ToolInvoked, result: unknown): boolean {
  const told = readMember(event, 'success')
  return typeof told === 'boolean' ? told : (readOutcome(result).success ?? true)
}

function timeOf(event: ToolInvoked): string | undefined {
  const timestamp = readMember(event, 'timestamp') as ToolInvoked['timestamp'] | null
  try {
    return optional(timestamp, 'timestamp', checkTimestamp)
  } catch {
    return undefined
  }
}
