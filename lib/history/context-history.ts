/** `ContextHistory`: the public class of the history, over the native implementation. */

import { Buffer } from 'node:buffer'
import { setTimeout } from 'node:timers/promises'
import { type NativeDatabase, NativeHistory } from '#addon'
import { checkText, checkWhole, count, optional, readSignal } from '../arguments/checks.ts'
import { asContextError, invalidArgument } from '../arguments/errors.ts'
import { readCancellation } from '../arguments/known-options.ts'
import { tooLarge } from '../arguments/messages.ts'
import { checkCloseTimeout } from '../arguments/timeouts.ts'
import type { CancellationOptions, ContextError } from '../arguments/types.ts'
import type { CopyReport } from '../copying/types.ts'
import { Embeddings } from '../embedding/embeddings.ts'
import { leastBytes } from '../native/binary.ts'
import { cancellable, close, debug, type Hooks, operate, outbox, registerHooks } from '../native/border.ts'
import { encode, FLAT } from '../native/snapshot.ts'
import { stringify } from '../native/stringify.ts'
import { checkRedaction, reportRedaction } from '../redaction/redaction.ts'
import type { RedactionFinding } from '../redaction/types.ts'
import { checkStorage, storageStats } from '../storage/storage.ts'
import type { StorageUse } from '../storage/types.ts'
import { type CheckedPolicy, checkPolicy, type SummaryLine, spanOf, summarise, summaryLine } from './compaction.ts'
import { checkConditions, checkEntry, parseEntries } from './entry.ts'
import { checkFilter, checkFilterEmbedder } from './filter.ts'
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
/** The number of attempts when other processes compact the file at the same time. Each attempt may call `summarise`, which may be expensive. */
const COMPACT_ATTEMPTS = 20
const SUMMARISED_ATTEMPTS = 3
/** The longest pause between two attempts, in ms. */
const COMPACT_PAUSE = 50

/** The members of a planned compaction that are used here. The plan's text is passed back to the native side unchanged. */
interface Plan {
  keptEntries: number
  droppedEntries: number
  droppedBadLines: number
  /** The file's length in bytes. */
  length: number
}

type CopyLines = (
  from: ContextHistory,
  to: ContextHistory,
  isDryRun: boolean,
  signal: AbortSignal | undefined,
) => Promise<CopyReport>

let copyLines: CopyLines

/** Adds the lines of a history to another that does not have them. */
export const copyHistory: CopyLines = (from, to, isDryRun, signal) => copyLines(from, to, isDryRun, signal)

/**
 * An append-only log of tool calls and decisions: one JSON object per line in a file, which other programs may also read and
 * append to. Any number of `ContextHistory` objects, in any number of processes, may share a file; with `storage`, a history in a
 * database, from any number of machines.
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
  static {
    copyLines = async (from, to, isDryRun, signal) => {
      // Referenced until the end: the native side may ask both for passwords.
      const hooks: Hooks & { readonly target: Hooks } = { ...from.#hooks, target: to.#hooks }
      return cancellable(
        hooks,
        from.#native,
        signal,
        (operation) => from.#native.copyTo(operation, to.#native, isDryRun),
        (_, [report = '']) => JSON.parse(report) as CopyReport,
      )
    }
  }

  readonly #native: NativeHistory
  readonly #options: CheckedHistoryOptions
  readonly #closeTimeout: number
  readonly #hooks: Hooks
  readonly #embeddings: Embeddings
  readonly #database: NativeDatabase | undefined

  /** Does not access the disk: the first `append` creates the file. Throws `ERR_CONTEXT_INVALID_ARGUMENT` for an invalid option. */
  constructor(options?: ContextHistoryOptions | null) {
    const given = optional(options, 'options', historyOptions) ?? {}
    const redaction = checkRedaction(given.redaction, 'redaction')
    this.#options = checkHistoryOptions(given)
    this.#closeTimeout = checkCloseTimeout(given.closeTimeout)
    const storage = checkStorage(given)
    this.#hooks = {
      fileSystem: given.fileSystem ?? undefined,
      onDebug: given.onDebug ?? undefined,
      redaction,
      passwords: storage?.passwords,
    }
    this.#database = storage?.native
    this.#native = new NativeHistory(
      outbox,
      { ...this.#options, id: registerHooks(this.#hooks) },
      redaction?.redactor.native,
      storage?.native,
    )
    this.#embeddings = new Embeddings(this.#hooks, this.#native)
    debug(this.#hooks, 'ContextHistory initialized', { path: this.#options.path })
  }

  /** The absolute path of the file, whose symbolic links are not resolved; with `storage`, the name of the history in the database. */
  get path(): string {
    return this.#options.path
  }

  /** Returns what was asked of the database, with the option `storage`. */
  stats(): StorageUse {
    return storageStats(this.#database)
  }

  /**
   * Appends an entry. Its values are copied before `append` returns: later changes to them have no effect.
   *
   * A `Buffer` or `Uint8Array` that is UTF-8 text is written as that text. Values that JSON cannot represent are written as
   * `JSON.stringify` writes them. Where `JSON.stringify` throws, a marker string replaces each value that makes it throw: a
   * BigInt (`[BigInt 10]`), a cycle (`[Circular]`), a throwing getter or `toJSON` (`[Throws: message]`), or a value nested deeper
   * than 10 000 levels (`[Too deep]`).
   *
   * @returns the completed entry, after its whole line is in the file at the chosen durability. `params`, `result` and additional
   * members are the values that were passed, not copies read from the file. Where secrets were removed (see `redaction`), the
   * returned entry is the redacted one, as reading returns it; the passed values are not modified. Where the file already has an
   * entry with the same `operationId`, nothing is written and that entry is returned as reading returns it. Processes exclude
   * each other by a lock on the file. With a `fileSystem`, or on a file system whose locks do not exclude all processes (see
   * `trustLocks`), `operationId` and `ifLast` work within one process only. With `storage`, `append` resolves once the entry is
   * committed, and both work for all machines.
   * @throws (rejects) `ERR_CONTEXT_INVALID_ARGUMENT`, `ERR_CONTEXT_CONFLICT` when another entry than `ifLast` is the last one,
   * `ERR_CONTEXT_TOO_LARGE`, `ERR_CONTEXT_REDACTION`, `ERR_CONTEXT_LOCK_TIMEOUT`, `ERR_CONTEXT_IO`; with `storage`, also
   * `ERR_CONTEXT_STORAGE`, `ERR_CONTEXT_TIMEOUT` and `ERR_CONTEXT_ACCESS`, with `mayExist: true` if the entry may have been stored:
   * pass an `operationId` to be able to repeat such an append
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
    // A text that is too long is refused here, before it is copied to the native side.
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
        // The native side sent an entry without findings: the earlier entry of the same operation.
        return findings === undefined ? (JSON.parse(stored) as ContextEntry) : this.#redacted(stored, findings)
      },
    )
  }

  /** The redacted entry that was written. */
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
   * Appends a decision as an entry, so that reading and searching return it together with the tool calls around it.
   *
   * @param summary the decision
   * @param details the reasons or data behind the decision, stored as `params`
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
   * The most recent entries, oldest first. Lines that do not hold an entry are skipped and reported to `onDebug`.
   *
   * @param limit the largest number of entries, 50 by default
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
   * The most recent entries that meet every condition of the filter, oldest first. With `ranked`, the entries that match its
   * `text` best, best first; with `embed`, also those that mean the same.
   *
   * @throws (rejects) `ERR_CONTEXT_INVALID_ARGUMENT`, `ERR_CONTEXT_IO`
   */
  async search(filter: HistoryFilter): Promise<ContextEntry[]> {
    const wanted = checkFilter(filter, DEFAULT_LIMIT)
    const embedder = checkFilterEmbedder(filter)
    const signal = readSignal(filter)
    if (wanted.limit === 0 || wanted.toolNames?.length === 0) {
      return []
    }
    const request = JSON.stringify(wanted)
    const embedded =
      embedder &&
      (await this.#embeddings.queryOf(embedder, signal, (operation, vectors, limit) =>
        this.#native.textsToSearch(operation, request, vectors, limit),
      ))
    return cancellable(
      this.#hooks,
      this.#native,
      signal,
      (operation) => this.#native.search(operation, request, embedded),
      (_, texts) => parseEntries(texts, this.path),
    )
  }

  /**
   * Yields entries as any process appends them, in their order in the file, until the caller stops or the signal is aborted. It
   * continues while the file is compacted or replaced, and waits where no file exists yet. It polls for new entries up to ten
   * times a second. No entry is missed, except one that is appended and then removed by the second of two compactions between
   * two polls.
   *
   * @throws (rejects) `ERR_CONTEXT_INVALID_ARGUMENT`; `ERR_CONTEXT_NOT_FOUND` when the file has no entry with the id `after`,
   * for example because a compaction removed it; `ERR_CONTEXT_IO`; the signal's reason
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
   * Removes the entries that the policy does not keep, and the lines without an entry that precede the first kept entry. The file
   * is replaced atomically: readers see the old file or the new one, and entries that other processes append during the
   * compaction are kept.
   *
   * @throws (rejects) `ERR_CONTEXT_INVALID_ARGUMENT`, also when `summarise` fails (its error is the `cause`);
   * `ERR_CONTEXT_TOO_LARGE` when the summary's line is longer than `maxEntryBytes`; `ERR_CONTEXT_REDACTION`;
   * `ERR_CONTEXT_CONFLICT` when other processes replace the file at each attempt. A rejected call has changed nothing. Also
   * `ERR_CONTEXT_UNSUPPORTED`, `ERR_CONTEXT_LOCK_TIMEOUT`, `ERR_CONTEXT_IO`
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
      // Read before `summarise` is called, because that function may modify the entries.
      const span = spanOf(dropped)
      summary = summaryLine(span, await summarise(policy.summarise, dropped, policy.summariseTimeout, signal))
      if (Buffer.byteLength(summary.line) > this.#options.maxEntryBytes) {
        throw this.#tooLarge(summary.entry.toolName)
      }
    }
    signal?.throwIfAborted()
    this.#hooks.redaction?.redactor.refresh()
    // The compaction is not cancellable from here on, so that a call that rejects has changed nothing.
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

  /** Reads the whole file and reports its contents and its damaged lines. Changes nothing. */
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
   * Waits until every earlier `append` has succeeded or failed, and for a background compaction that a completed append started.
   * Waits for pending calls of a `fileSystem` for `closeTimeout` at most. The history can be used again afterwards.
   */
  async close(): Promise<void> {
    return close(this.#hooks, this.#native, this.#closeTimeout)
  }

  /** For `await using`: calls `close()` at the end of the block. */
  async [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}

/** Whether a value has the methods of a history. The class is not checked, so that tests can pass their own object. */
export function isHistory(value: unknown): value is ContextHistory {
  return typeof (value as Partial<ContextHistory> | null | undefined)?.append === 'function'
}

export function checkHistory(value: ContextHistory, name: string): ContextHistory {
  if (!isHistory(value)) {
    throw invalidArgument(name, 'a ContextHistory', value)
  }
  return value
}
