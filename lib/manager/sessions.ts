/** The session operations of a manager: resuming, ending, sweeping, forgetting, and finding an equal call. */

import type { NativeManager, SweepReport } from '#addon'
import { checkArguments, checkBoolean, checkText, duration, optional, readSignal } from '../arguments/checks.ts'
import { contextError, invalidArgument } from '../arguments/errors.ts'
import { readCancellation } from '../arguments/known-options.ts'
import type { CancellationOptions, TaskId } from '../arguments/types.ts'
import { cancellable, debug, type Hooks, operate } from '../native/border.ts'
import { stringify } from '../native/stringify.ts'
import { checkContextFilter, checkSessionScope } from './filter.ts'
import { findOptions, forgetFilter, forgetOptions, sweepOptions } from './option-names.ts'
import { type CheckedOptions, checkSession } from './options.ts'
import type {
  ContextPointer,
  FindOptions,
  ForgetFilter,
  ForgetOptions,
  ForgetReport,
  SessionInfo,
  SweepOptions,
} from './types.ts'

/** Performs the session operations of one manager. */
export class Sessions {
  readonly #native: NativeManager
  readonly #hooks: Hooks
  readonly #options: CheckedOptions

  constructor(native: NativeManager, hooks: Hooks, options: CheckedOptions) {
    this.#native = native
    this.#hooks = hooks
    this.#options = options
  }

  /** Starts to restore the session's pointers, if the option `resume` is set. */
  begin(): void {
    if (this.#options.resumes) {
      this.resume().catch((error: unknown) => {
        debug(this.#hooks, 'Failed to resume the session', { sessionId: this.#options.session, error })
      })
    }
  }

  resume(): Promise<void> {
    return operate(
      this.#hooks,
      (operation) => this.#native.resume(operation),
      () => {},
    )
  }

  list(options: CancellationOptions | null | undefined): Promise<SessionInfo[]> {
    return cancellable(
      this.#hooks,
      this.#native,
      readCancellation(options),
      (operation) => this.#native.sessions(operation),
      (text) => JSON.parse(text) as SessionInfo[],
    )
  }

  end(sessionId: string): Promise<boolean> {
    checkSession(sessionId, 'sessionId')
    return operate(this.#hooks, (operation) => this.#native.endSession(operation, sessionId), isTrue)
  }

  sweep(options: SweepOptions | null | undefined): Promise<SweepReport> {
    const given = optional(options, 'options', sweepOptions) ?? {}
    const isDryRun = optional(given.dryRun, 'options.dryRun', checkBoolean) ?? false
    return cancellable(
      this.#hooks,
      this.#native,
      readSignal(given),
      (operation) => this.#native.sweep(operation, isDryRun),
      (text) => JSON.parse(text) as SweepReport,
    )
  }

  pin(filepath: string, isPinned: boolean): Promise<boolean> {
    checkText(filepath, 'filepath')
    return operate(this.#hooks, (operation) => this.#native.pin(operation, filepath, isPinned), isTrue)
  }

  forget(filepath: string): Promise<boolean> {
    checkText(filepath, 'filepath')
    return operate(this.#hooks, (operation) => this.#native.forget(operation, filepath), isTrue)
  }

  forgetMatching(filter: ForgetFilter, options: ForgetOptions | null | undefined): Promise<ForgetReport> {
    forgetFilter(filter, 'filter')
    const given = optional(options, 'options', forgetOptions) ?? {}
    const { before, after, sessionId, ...rest } = filter
    const session = optional(sessionId, 'filter.sessionId', checkSession)
    const checked = checkContextFilter({ ...rest, since: after, until: before }, 'filter', TIME_NAMES)
    if (session === undefined && Object.values(checked).every((condition) => condition === undefined)) {
      throw contextError(
        'ERR_CONTEXT_INVALID_ARGUMENT',
        'filter must have a condition (or pass the filepath of one context); call clear() to remove all contexts of the session',
      )
    }
    // Both bounds are exclusive here, and times are whole ms.
    const since = checked.since === undefined ? undefined : checked.since + 1
    const until = checked.until === undefined ? undefined : checked.until - 1
    const request = JSON.stringify({
      filter: { ...checked, since, until },
      session,
      isDryRun: optional(given.dryRun, 'options.dryRun', checkBoolean) ?? false,
    })
    return operate(
      this.#hooks,
      (operation) => this.#native.forgetMatching(operation, request),
      (text) => JSON.parse(text) as ForgetReport,
    )
  }

  findContext<Task extends TaskId>(
    toolName: string,
    args: Record<string, unknown>,
    options: FindOptions | null | undefined,
  ): Promise<ContextPointer<Task> | undefined> {
    checkText(toolName, 'toolName')
    checkArguments(args, 'args')
    const given = optional(options, 'options', findOptions) ?? {}
    const maximumAge = optional(given.maxAge, 'options.maxAge', checkAge)
    const request = JSON.stringify({
      since: maximumAge === undefined ? undefined : Date.now() - maximumAge,
      sessions: checkSessionScope(given.sessions ?? 'own', 'options.sessions', this.#options.session),
    })
    const text = stringify(args)
    this.#hooks.redaction?.redactor.refresh()
    return cancellable(
      this.#hooks,
      this.#native,
      readSignal(given),
      (operation) =>
        this.#native.findContext(
          operation,
          toolName,
          // Arguments whose JSON is not an object are wrapped as a save wraps them.
          text.startsWith('{') ? text : `{"value":${text}}`,
          request,
        ),
      (found) => (found === '' ? undefined : (JSON.parse(found) as ContextPointer<Task>)),
    )
  }
}

/** The names of `since` and `until` in a filter of `forget`, for messages. */
const TIME_NAMES = { since: 'after', until: 'before' } as const

function checkAge(age: string | number, name: string): number {
  if (typeof age === 'string') {
    return duration(age, name)
  }
  if (!(typeof age === 'number' && age >= 0)) {
    throw invalidArgument(name, "a number of ms from 0 up, or a duration such as '5m'", age)
  }
  return age
}

function isTrue(text: string): boolean {
  return text === 'true'
}
