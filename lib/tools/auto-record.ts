/** `autoRecord`: an observer of an event bus that writes tool calls to a history. */

import { checkFunction, optional } from '../arguments/checks.ts'
import { knownOptions } from '../arguments/known-options.ts'
import { checkTimestamp } from '../arguments/timestamps.ts'
import { type ContextHistory, checkHistory } from '../history/context-history.ts'
import { readMember } from '../native/stringify.ts'
import { PendingSaves } from './pending-saves.ts'
import { readOutcome } from './tool-response.ts'

/** A tool call that has ended, as an event bus tells it. Events may say more: that is not recorded. */
export interface ToolInvoked {
  toolName?: string | null | undefined
  /** Counts where there is no `toolName`. */
  name?: string | null | undefined
  params?: unknown
  result?: unknown
  /** Without it, a boolean `success` or `isError` of the result counts, and without that the call succeeded. */
  success?: boolean | null | undefined
  /** ISO 8601, a date, or ms since 1970; what is none of these counts as now. */
  timestamp?: Date | string | number | null | undefined
}

/** Options of `autoRecord`. */
export interface AutoRecordOptions {
  /** Told at once when an event could not be recorded; `flush` reports it as well. */
  onError?: ((error: unknown, toolName: string) => void) | null | undefined
}

const autoRecordOptions = knownOptions<AutoRecordOptions>('AutoRecordOptions', {
  onError: true,
})

/** An observer. It never throws or waits. */
export interface AutoRecorder {
  /** Records a call as it is now: later changes to its values do not count. */
  (event: ToolInvoked): void
  /** Waits for the appends so far. Rejects with an `AggregateError` of those that failed since the last flush. */
  flush(): Promise<void>
}

/**
 * An observer that appends every tool call it is told of, with the summary `Called <tool>`.
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
    saves.start(typeof toolName === 'string' ? toolName : '', () => {
      const result = readMember(event, 'result')
      return history.append({
        // What is no name is refused there.
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
