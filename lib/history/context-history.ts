/** `ContextHistory`: the public face of the native history. */

import { Buffer } from 'node:buffer'
import { setTimeout } from 'node:timers/promises'
import { NativeHistory } from '#addon'
import { checkText, checkWhole, count, optional, readSignal } from '../arguments/checks.ts'
import { asContextError, invalidArgument } from '../arguments/errors.ts'
import { readCancellation } from '../arguments/known-options.ts'
import { tooLarge } from '../arguments/messages.ts'
import { checkCloseTimeout } from '../arguments/timeouts.ts'
import type { CancellationOptions, ContextError } from '../arguments/types.ts'
import { leastBytes } from '../native/binary.ts'
import { cancellable, close, debug, type Hooks, operate, outbox, registerHooks } from '../native/border.ts'
import { encode, FLAT } from '../native/snapshot.ts'
import { stringify } from '../native/stringify.ts'
import { checkRedaction, reportRedaction } from '../redaction/redaction.ts'
import type { RedactionFinding } from '../redaction/types.ts'
import { type CheckedPolicy, checkPolicy, type SummaryLine, spanOf, summarise, summaryLine } from './compaction.ts'
import { checkConditions, checkEntry, parseEntries } from './entry.ts'
import { checkFilter } from './filter.ts'
import { historyOptions, readOptions } from './option-names.ts'
import { type CheckedHistoryOptions, checkHistoryOptions } from './options.ts'
import { checkTail, follow } from './tail.ts'
import type {
  AppendOptions,
  CompactPolicy,
  CompactReport,
  ContextEntry,
  ContextEntryInput,
  ContextHistoryOptions,
  HistoryFilter,
  ReadOptions,
  TailOptions,
  VerifyReport,
} from './types.ts'

const DEFAULT_LIMIT = 50
/** How often a compaction is planned when others compact the file meanwhile. Summaries may be dear. */
const COMPACT_ATTEMPTS = 20
const SUMMARISED_ATTEMPTS = 3
/** The longest pause between two attempts, in ms. */
const COMPACT_PAUSE = 50

/** What is read of a planned compaction. It is handed back as the text it came as. */
interface Plan {
  keptEntries: number
  droppedEntries: number
  droppedBadLines: number
  /** The file's length in bytes. */
  length: number
}

/**
 * An append-only log of tool calls and decisions: one JSON object per line in a file, which other programs may read and
 * append to as well. Any number of histories, in any number of processes, may share a file.
 *
 * @example
 * ```ts
 * const history = new ContextHistory()
 * await history.append({ toolName: 'grep', params: { pattern: 'auth' }, result: { matches: 15 } })
 * await history.recordDecision('Tokens stay in cookies', { because: 'no script can read them there' })
 * const recent = await history.read(20)
 * ```
 */
export class ContextHistory {
  readonly #native: NativeHistory
  readonly #options: CheckedHistoryOptions
  readonly #closeTimeout: number
  readonly #hooks: Hooks

  /** Touches no file: the first append creates it. Throws `ERR_CONTEXT_INVALID_ARGUMENT`. */
  constructor(options?: ContextHistoryOptions | null) {
    const given = optional(options, 'options', historyOptions) ?? {}
    const redaction = checkRedaction(given.redaction, 'redaction')
    this.#options = checkHistoryOptions(given)
    this.#closeTimeout = checkCloseTimeout(given.closeTimeout)
    this.#hooks = { fileSystem: given.fileSystem ?? undefined, onDebug: given.onDebug ?? undefined, redaction }
    this.#native = new NativeHistory(
      outbox,
      { ...this.#options, id: registerHooks(this.#hooks) },
      redaction?.redactor.native,
    )
    debug(this.#hooks, 'ContextHistory initialized', { path: this.#options.path })
  }

  /** The file, absolute, as it was given (symbolic links are not resolved). */
  get path(): string {
    return this.#options.path
  }

  /**
   * Appends an entry. Its values are taken as they are now: later changes to them do not count.
   *
   * A `Buffer` or `Uint8Array` that is UTF-8 text is written as that text. What JSON cannot hold is written as
   * `JSON.stringify` does it; where that throws, the rest is written with a marker string in place of a BigInt (`[BigInt 10]`), a cycle (`[Circular]`), a throwing getter or `toJSON`
   * (`[Throws: message]`) and levels below 10 000 (`[Too deep]`).
   *
   * @returns the entry, completed, once its line is in the file, whole, at the chosen durability. `params`, `result` and
   * unknown keys are the very values given, not what reading gives back of them. Where secrets were taken out (see
   * `redaction`) it is the entry as it was written and as reading gives it back; the values given are never touched. Where the
   * file has an entry with the same `operationId`, it is that entry as reading gives it back, and nothing is written.
   * Processes exclude each other by the file's lock: where locks do not bind all of them (see `trustLocks`), and with a
   * `fileSystem`, `operationId` and `ifLast` hold for one process.
   * @throws (rejects) `ERR_CONTEXT_INVALID_ARGUMENT`, `ERR_CONTEXT_CONFLICT` for `ifLast`, `ERR_CONTEXT_TOO_LARGE`, `ERR_CONTEXT_REDACTION`,
   * `ERR_CONTEXT_LOCK_TIMEOUT`, `ERR_CONTEXT_IO`
   */
  append(entry: ContextEntryInput, options?: AppendOptions | null): Promise<ContextEntry> {
    try {
      return this.#append(entry, options)
    } catch (error) {
      return Promise.reject(asContextError(error, 'append', 'entry'))
    }
  }

  #append(input: ContextEntryInput, options: AppendOptions | null | undefined): Promise<ContextEntry> {
    const { entry, rest, operationId } = checkEntry(input)
    const conditions = checkConditions(operationId, options)
    const { toolName, result } = entry
    const maximum = this.#options.maxEntryBytes
    // A longer text need not cross to be refused.
    if (leastBytes(result) > maximum) {
      throw this.#tooLarge(toolName)
    }
    const params = stringify(entry.params)
    const encoded = encode(result)
    // The text of a snapshot holds keys as well, and keys of absent values do not count.
    if (params.length > maximum || (encoded.kind !== FLAT && encoded.text.length > maximum)) {
      throw this.#tooLarge(toolName)
    }
    this.#hooks.redaction?.redactor.refresh()
    // The native side copies what it is given before it returns.
    return operate(
      this.#hooks,
      (operation) =>
        this.#native.append(
          operation,
          toolName,
          params,
          encoded.kind,
          encoded.text,
          encoded.operations,
          encoded.length,
          encoded.chunks,
          rest,
          conditions,
        ),
      (_, [stored, findings]) => {
        if (stored === undefined) {
          return entry
        }
        // Without findings it is the earlier entry of the same operation.
        return findings === undefined ? (JSON.parse(stored) as ContextEntry) : this.#redacted(stored, findings)
      },
    )
  }

  /** The entry that was written in place of one that holds secrets. */
  #redacted(text: string, findings: string): ContextEntry {
    const entry = JSON.parse(text) as ContextEntry
    reportRedaction(this.#hooks.redaction, {
      kind: 'entry',
      toolName: entry.toolName,
      filepath: this.path,
      entryId: entry.id,
      findings: JSON.parse(findings) as RedactionFinding[],
    })
    return entry
  }

  #tooLarge(toolName: string): Error {
    const { maxEntryBytes } = this.#options
    return tooLarge(this.#hooks.redaction?.redactor, 'entry', toolName, maxEntryBytes, 'maxEntryBytes')
  }

  /**
   * Appends a decision, so that it is recalled with the tool calls around it.
   *
   * @param summary the decision
   * @param details what led to it, kept as `params`
   */
  recordDecision(summary: string, details?: unknown): Promise<ContextEntry> {
    try {
      checkText(summary, 'summary')
    } catch (error) {
      return Promise.reject(error)
    }
    return this.append({ toolName: 'decision', params: details ?? {}, result: null, success: true, summary })
  }

  /**
   * The most recent entries, oldest first. Lines that are no entries are skipped and reported to `onDebug`.
   *
   * @param limit at most this many, 50 by default
   * @throws (rejects) `ERR_CONTEXT_INVALID_ARGUMENT`, `ERR_CONTEXT_IO`
   */
  async read(limit?: number | null, options?: ReadOptions | null): Promise<ContextEntry[]> {
    const wanted = optional(limit, 'limit', checkWhole) ?? DEFAULT_LIMIT
    const given = optional(options, 'options', readOptions) ?? {}
    const signal = readSignal(given)
    const maxBytes = count(given.maxBytes, 'maxBytes', Number.POSITIVE_INFINITY)
    if (wanted === 0) {
      return []
    }
    return cancellable(
      this.#hooks,
      this.#native,
      signal,
      (operation) => this.#native.read(operation, wanted, maxBytes),
      (_, texts) => parseEntries(texts, this.path),
    )
  }

  /**
   * The most recent entries that meet every condition of the filter, oldest first; with `ranked`, those that answer its
   * `text` best, best first.
   *
   * @throws (rejects) `ERR_CONTEXT_INVALID_ARGUMENT`, `ERR_CONTEXT_IO`
   */
  async search(filter: HistoryFilter): Promise<ContextEntry[]> {
    const wanted = checkFilter(filter, DEFAULT_LIMIT)
    const signal = readSignal(filter)
    if (wanted.limit === 0 || wanted.toolNames?.length === 0) {
      return []
    }
    return cancellable(
      this.#hooks,
      this.#native,
      signal,
      (operation) => this.#native.search(operation, JSON.stringify(wanted)),
      (_, texts) => parseEntries(texts, this.path),
    )
  }

  /**
   * Entries as they are appended, by any process, in their order, until the caller stops or the signal is aborted. Goes on while
   * the file is compacted or replaced, and where there is none yet; new entries are looked for up to ten times a second. Nothing
   * is missed, except entries that are appended and removed again by the second of two compactions within that time.
   *
   * @throws (rejects) `ERR_CONTEXT_INVALID_ARGUMENT`; `ERR_CONTEXT_NOT_FOUND` when the entry `after` is not there, such as after a
   * compaction; `ERR_CONTEXT_IO`; the signal's reason
   * @example
   * ```ts
   * for await (const entry of history.tail({ last: 10, signal })) {
   *   console.log(entry.timestamp, entry.toolName, entry.summary)
   * }
   * ```
   */
  async *tail(options?: TailOptions | null): AsyncGenerator<ContextEntry, void, undefined> {
    const { last, after, signal } = checkTail(options)
    const native = this.#native.tail(last, after)
    yield* follow(
      () =>
        cancellable(
          this.#hooks,
          native,
          signal,
          (operation) => native.next(operation),
          (_, texts) => parseEntries(texts, this.path),
        ),
      signal,
    )
  }

  /**
   * Removes the entries that the policy does not keep, and the lines without an entry before the first that stays. The
   * file is replaced at once: readers see the old one or the new one, and what others append meanwhile is kept.
   *
   * @throws (rejects) `ERR_CONTEXT_INVALID_ARGUMENT`, also when `summarise` fails (its error is the `cause`): nothing is
   * changed then; `ERR_CONTEXT_TOO_LARGE` when the summary's line is longer than `maxEntryBytes`, and nothing is changed
   * either; `ERR_CONTEXT_REDACTION`, likewise; `ERR_CONTEXT_CONFLICT` when others replace the file again and again; `ERR_CONTEXT_UNSUPPORTED`,
   * `ERR_CONTEXT_LOCK_TIMEOUT`, `ERR_CONTEXT_IO`
   */
  async compact(policy: CompactPolicy): Promise<CompactReport> {
    const checked = checkPolicy(policy)
    const signal = readSignal(policy)
    const attempts = checked.summarise === undefined ? COMPACT_ATTEMPTS : SUMMARISED_ATTEMPTS
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#compactOnce(checked, signal)
      } catch (error) {
        const isConflict = (error as Partial<ContextError> | null)?.code === 'ERR_CONTEXT_CONFLICT'
        if (!isConflict || attempt === attempts) {
          throw error
        }
        debug(this.#hooks, 'the file was replaced during a compaction: it is planned again', { path: this.path })
        await setTimeout(Math.random() * COMPACT_PAUSE, undefined, signal === undefined ? {} : { signal })
      }
    }
  }

  async #compactOnce(policy: CheckedPolicy, signal: AbortSignal | undefined): Promise<CompactReport> {
    const [plan = '', ...texts] = await cancellable(
      this.#hooks,
      this.#native,
      signal,
      (operation) => this.#native.planCompaction(operation, JSON.stringify(policy.bounds)),
      (_, answer) => answer,
    )
    const { keptEntries, droppedEntries, droppedBadLines, length } = JSON.parse(plan) as Plan
    if (droppedEntries === 0 && droppedBadLines === 0) {
      return {
        keptEntries,
        droppedEntries,
        droppedBadLines,
        bytesBefore: length,
        bytesAfter: length,
        summaryEntry: null,
      }
    }
    let summary: SummaryLine | undefined
    if (policy.summarise !== undefined && droppedEntries > 0) {
      const dropped = parseEntries(texts, this.path)
      // Noted before the caller's function has them, which may change them.
      const span = spanOf(dropped)
      summary = summaryLine(span, await summarise(policy.summarise, dropped, policy.summariseTimeout, signal))
      if (Buffer.byteLength(summary.line) > this.#options.maxEntryBytes) {
        throw this.#tooLarge(summary.entry.toolName)
      }
    }
    signal?.throwIfAborted()
    this.#hooks.redaction?.redactor.refresh()
    // From here on it is done, so that a call that rejects has changed nothing.
    return operate(
      this.#hooks,
      (operation) => this.#native.compact(operation, plan, summary?.line ?? ''),
      (_, [report = '', redacted, findings]) => {
        const summaryEntry =
          redacted === undefined || findings === undefined ? summary?.entry : this.#redacted(redacted, findings)
        return { ...(JSON.parse(report) as CompactReport), summaryEntry: summaryEntry ?? null }
      },
    )
  }

  /** Reads the whole file, and tells what is in it and what is wrong with it. Changes nothing. */
  async verify(options?: CancellationOptions | null): Promise<VerifyReport> {
    return cancellable(
      this.#hooks,
      this.#native,
      readCancellation(options),
      (operation) => this.#native.verify(operation),
      (text) => JSON.parse(text) as VerifyReport,
    )
  }

  /**
   * Waits for every append called before, whether it succeeds or fails, and for a compaction in the background that one of those
   * that are done has started; for those that wait for a `fileSystem`, no longer
   * than `closeTimeout`. The history can be used again afterwards.
   */
  async close(): Promise<void> {
    return close(this.#hooks, this.#native, this.#closeTimeout)
  }

  /** `await using`: the block waits for its appends. */
  async [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}

/** Whether a value can be appended to. Known by its method: tests bring their own. */
export function isHistory(value: unknown): value is ContextHistory {
  return typeof (value as Partial<ContextHistory> | null | undefined)?.append === 'function'
}

export function checkHistory(value: ContextHistory, name: string): ContextHistory {
  if (!isHistory(value)) {
    throw invalidArgument(name, 'a ContextHistory', value)
  }
  return value
}
