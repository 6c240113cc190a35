/** `RepoMemory`: the public class over the native memory. */

import { type NativeDatabase, NativeRepoMemory } from '#addon'
import { checkFilled, checkPath, optional } from '../arguments/checks.ts'
import { contextError } from '../arguments/errors.ts'
import { readCancellation } from '../arguments/known-options.ts'
import type { CancellationOptions } from '../arguments/types.ts'
import { Embeddings } from '../embedding/embeddings.ts'
import type { CheckedEmbedder } from '../embedding/options.ts'
import { cancellable, close, debug, type Hooks, operate, outbox, registerHooks } from '../native/border.ts'
import { describeFileSystem } from '../native/file-system.ts'
import { checkRedaction, joinFindings, reportRedaction } from '../redaction/redaction.ts'
import type { RedactionFinding, RedactionReport } from '../redaction/types.ts'
import { storageStats } from '../storage/storage.ts'
import type { StorageUse } from '../storage/types.ts'
import { type Identity, identityOf } from './identity.ts'
import { checkRepoMap, parseRepoMap, parseSymbols } from './map.ts'
import { migrate } from './migration.ts'
import { repoHashOptions, repoMemoryOptions } from './option-names.ts'
import {
  type CheckedFileSystem,
  type CheckedRepoOptions,
  checkBranchScope,
  checkLocation,
  checkRepoFileSystem,
  checkRepoOptions,
  checkWorkspace,
  reading,
  repoDirectory,
} from './options.ts'
import { checkMaxChars, checkPack, fitTokens, type PackRequest } from './pack.ts'
import { type CheckedSummary, checkConvention, checkDecision, checkKind, checkNote, checkSummary } from './records.ts'
import type {
  AppendSummaryOptions,
  ContextPack,
  ContextPackOptions,
  Convention,
  ConventionInput,
  Decision,
  DecisionInput,
  MigrateReport,
  Note,
  NoteInput,
  RecordKind,
  RepoHashOptions,
  RepoMap,
  RepoMapOptions,
  RepoMemoryContents,
  RepoMemoryLocation,
  RepoMemoryMigration,
  RepoMemoryOptions,
  Summary,
  SymbolSummary,
  Workflow,
} from './types.ts'
import { RepoWorkflow } from './workflow.ts'

const MEMORY = 'memory.json'
const SUMMARIES = 'summaries.jsonl'

/** The values that `open` determines, which the private constructor takes. */
class Opened {
  readonly repoHash: string
  readonly identity: Identity | undefined
  readonly options: CheckedRepoOptions
  readonly place: CheckedFileSystem
  readonly hooks: Hooks

  constructor(where: string | Identity, options: CheckedRepoOptions, place: CheckedFileSystem, hooks: Hooks) {
    this.identity = typeof where === 'string' ? undefined : where
    this.repoHash = typeof where === 'string' ? where : where.repoHash
    this.options = options
    this.place = place
    this.hooks = hooks
  }
}

/**
 * A memory of one repository, which outlives sessions: conventions, decisions and notes in a file that people may also edit, the
 * latest summaries of workflow steps, and a map of the source files. `buildContextFromMemory` chooses the most useful parts
 * within a budget, as text for a model. Any number of objects, in any number of processes, may open the memory of one
 * repository.
 *
 * @example
 * ```ts
 * await using memory = await RepoMemory.open({ workspace: '.' })
 * await memory.upsertConvention({ title: 'Tests', content: 'node:test, no mocks of our own code', tags: ['testing'] })
 * const workflow = memory.workflow('run-42')
 * await workflow.step('plan', async ({ context }) => plan(await context(8000, { query: 'Add a login' })))
 * ```
 */
export class RepoMemory {
  readonly #native: NativeRepoMemory
  readonly #repoHash: string
  readonly #directory: string
  readonly #prefix: string
  readonly #closeTimeout: number
  readonly #workspace: string | undefined
  readonly #hooks: Hooks
  readonly #embeddings: Embeddings
  readonly #database: NativeDatabase | undefined

  private constructor(opened: Opened) {
    if (!(opened instanceof Opened)) {
      throw contextError(
        'ERR_CONTEXT_INVALID_ARGUMENT',
        'RepoMemory has no public constructor: use await RepoMemory.open({ workspace })',
      )
    }
    const { repoHash, identity, options, place, hooks } = opened
    const { fileSystem, fileSystemTimeout, closeTimeout, storage } = place
    const { root, ...more } = options
    const { directory, prefix } = repoDirectory(root, repoHash, place)
    this.#repoHash = repoHash
    this.#directory = directory
    this.#prefix = prefix
    this.#closeTimeout = closeTimeout
    this.#workspace = identity?.workspace
    this.#hooks = hooks
    this.#database = storage?.native
    this.#native = new NativeRepoMemory(
      outbox,
      {
        ...more,
        id: registerHooks(hooks),
        directory,
        ...(identity === undefined ? {} : { identity: identity.text }),
        ...(fileSystem === undefined ? {} : { fileSystem: describeFileSystem(fileSystem, prefix, fileSystemTimeout) }),
      },
      hooks.redaction?.redactor.native,
      storage?.native,
    )
    this.#embeddings = new Embeddings(hooks, this.#native)
    debug(hooks, 'RepoMemory opened', { directory: this.#directory, workspace: this.#workspace })
  }

  /**
   * Opens the memory of a repository, given by a folder in it or by its hash. Reads git's files about the folder, without running
   * the `git` program, and writes nothing: the first change creates the directory.
   *
   * @throws (rejects) `ERR_CONTEXT_INVALID_ARGUMENT`, also when both `workspace` and `repoHash` are given, or neither;
   * `ERR_CONTEXT_NOT_FOUND` when there is no such folder; `ERR_CONTEXT_CORRUPT` and `ERR_CONTEXT_TOO_LARGE` when git's files
   * cannot be understood; `ERR_CONTEXT_UNSUPPORTED` for a repository whose branches are stored as a reftable; `ERR_CONTEXT_IO`
   */
  static async open(options: RepoMemoryLocation & RepoMemoryOptions): Promise<RepoMemory> {
    const { location, branchScope, place, checked, hooks } = reading('open', () => {
      repoMemoryOptions(options, 'options')
      const place = checkRepoFileSystem(options)
      return {
        place,
        location: checkLocation(options),
        branchScope: checkBranchScope(options.branchScope),
        checked: checkRepoOptions(options, place),
        hooks: {
          fileSystem: place.fileSystem,
          onDebug: options.onDebug ?? undefined,
          redaction: checkRedaction(options.redaction, 'redaction'),
          passwords: place.storage?.passwords,
        },
      }
    })
    const where = 'repoHash' in location ? location.repoHash : await identityOf(hooks, location.workspace, branchScope)
    return reading('open', () => new RepoMemory(new Opened(where, checked, place, hooks)))
  }

  /**
   * Returns the hash of the repository that contains a folder. It is computed from the canonical path of the work tree, the
   * remote's URL without credentials, and the branch (or the commit of a detached `HEAD`); without a remote, only from the path.
   *
   * @throws (rejects) as {@link RepoMemory.open}
   */
  static async repoHash(workspace: string, options?: RepoHashOptions | null): Promise<string> {
    const asked = reading('repoHash', () => ({
      workspace: checkWorkspace(workspace, 'workspace'),
      branchScope: checkBranchScope(optional(options, 'options', repoHashOptions)?.branchScope),
    }))
    const hooks = { fileSystem: undefined, onDebug: undefined, redaction: checkRedaction(undefined, 'redaction') }
    return (await identityOf(hooks, asked.workspace, asked.branchScope)).repoHash
  }

  /**
   * Moves the memory of a repository whose folder or remote has changed to its new hash: with `fromWorkspace`, the memories of
   * all its branches; with `fromRepoHash`, one memory. If the old and the new memory both have a record, the one that was changed
   * last is kept. After a crash, the same call completes the move.
   *
   * @returns the moved memories; none if they were already moved
   * @throws (rejects) `ERR_CONTEXT_INVALID_ARGUMENT`; `ERR_CONTEXT_NOT_FOUND` when there is nothing to move, or no folder
   * `workspace`; `ERR_CONTEXT_CORRUPT`, `ERR_CONTEXT_REDACTION`, `ERR_CONTEXT_LOCK_TIMEOUT`, `ERR_CONTEXT_UNSUPPORTED` on a file
   * system without locks, `ERR_CONTEXT_IO`. A memory that was not moved remains under its old hash
   */
  static async migrate(options: RepoMemoryMigration): Promise<MigrateReport> {
    return migrate(options)
  }

  /** The hash of the repository: 64 hexadecimal digits. */
  get repoHash(): string {
    return this.#repoHash
  }

  /** The absolute path of the memory's directory, `<root>/repos/<repoHash>`; with a `fileSystem`, a path in it. */
  get directory(): string {
    return this.#directory
  }

  /** Returns what was asked of the database, with the option `storage`. */
  stats(): StorageUse {
    return storageStats(this.#database)
  }

  /** The root of the work tree, which the map shows. `undefined` if the memory was opened by its hash. */
  get workspace(): string | undefined {
    return this.#workspace
  }

  /**
   * Reads the complete memory. Parts of the files that are not valid records or summaries are skipped and reported to `onDebug`;
   * they are kept in the files.
   *
   * @throws (rejects) `ERR_CONTEXT_CORRUPT` when `memory.json` is not a JSON object of lists; `ERR_CONTEXT_TOO_LARGE`,
   * `ERR_CONTEXT_IO`
   */
  async getRepoMemory(): Promise<RepoMemoryContents> {
    return operate(
      this.#hooks,
      (operation) => this.#native.contents(operation),
      (_, [text = '']) => JSON.parse(text) as RepoMemoryContents,
    )
  }

  /**
   * Adds a convention, or changes the one with this `id` or, without an `id`, with this `title`. Secrets are removed from it, see
   * `redaction`. The change is applied to the current file under the memory's lock, so that concurrent changes of other processes
   * are not lost. Changes and removals of records take effect in the order of the calls, even if a call is not awaited before the
   * next.
   *
   * @returns the stored convention
   * @throws (rejects) `ERR_CONTEXT_INVALID_ARGUMENT`, also when a required member of a new convention is missing;
   * `ERR_CONTEXT_CONFLICT` when another convention has the title; `ERR_CONTEXT_TOO_LARGE`; `ERR_CONTEXT_CORRUPT` when
   * `memory.json` is not valid (the file is not changed); `ERR_CONTEXT_REDACTION`, `ERR_CONTEXT_LOCK_TIMEOUT`, `ERR_CONTEXT_IO`.
   * A rejected call has changed nothing
   */
  async upsertConvention(input: ConventionInput): Promise<Convention> {
    return this.#upsert('upsertConvention', () => checkConvention(input))
  }

  /** Adds or changes a decision, as {@link RepoMemory.upsertConvention} does; a decision is identified only by its `id`. */
  async upsertDecision(input: DecisionInput): Promise<Decision> {
    return this.#upsert('upsertDecision', () => checkDecision(input))
  }

  /** Adds or changes a note, as {@link RepoMemory.upsertConvention} does; a note is identified only by its `id`. */
  async upsertNote(input: NoteInput): Promise<Note> {
    return this.#upsert('upsertNote', () => checkNote(input))
  }

  /**
   * Removes a record.
   *
   * @returns whether the record existed
   * @throws (rejects) as {@link RepoMemory.upsertConvention}
   */
  async remove(kind: RecordKind, id: string): Promise<boolean> {
    const request = this.#request('remove', () => ({ kind: checkKind(kind, 'kind'), id: checkFilled(id, 'id') }))
    return operate(
      this.#hooks,
      (operation) => this.#native.remove(operation, request),
      (_, [text = '']) => JSON.parse(text) as boolean,
    )
  }

  /**
   * Appends the summary of a step of a run. Removes the oldest summaries beyond this object's `maxSummaries` and
   * `maxSummaryBytes`, including those that objects with larger limits have appended. Summaries are stored in the order of the
   * calls.
   *
   * @param runId the name of the run: one line of at most 300 bytes; likewise `stepId`
   * @param summaryText the summary, 1 byte to 64 KiB
   * @param tags at most 50 non-empty single lines
   * @returns the stored summary, or the existing one with the same `operationId`. Processes exclude each other by a lock on the
   * file. With a `fileSystem`, or on a file system whose locks do not exclude all processes (see `trustLocks`), `operationId`
   * works within one process only
   * @throws (rejects) `ERR_CONTEXT_INVALID_ARGUMENT`, `ERR_CONTEXT_TOO_LARGE`, `ERR_CONTEXT_REDACTION`,
   * `ERR_CONTEXT_LOCK_TIMEOUT`, `ERR_CONTEXT_IO`; `ERR_CONTEXT_CORRUPT` when `memory.json` is not valid. A rejected call has
   * added nothing
   */
  async appendSummary(
    runId: string,
    stepId: string,
    summaryText: string,
    tags?: readonly string[] | null,
    options?: AppendSummaryOptions | null,
  ): Promise<Summary> {
    return this.#append(reading('appendSummary', () => checkSummary(runId, stepId, summaryText, tags, options)))
  }

  /**
   * Returns the most useful parts of the memory as Markdown for a model: conventions, the latest summaries, decisions and notes,
   * those that match `query` first, and a map of the repository in the remaining budget. Records are included whole, unless one
   * is larger than the budget; a last line says what was left out. The same memory, source files and options give the same text.
   *
   * @param maxChars the largest length of the text, in UTF-16 code units (JavaScript's `length`); `Infinity` means no limit
   * @throws (rejects) `ERR_CONTEXT_INVALID_ARGUMENT`, also when `countTokens` fails; `ERR_CONTEXT_CORRUPT`,
   * `ERR_CONTEXT_TOO_LARGE`, `ERR_CONTEXT_REDACTION`, `ERR_CONTEXT_IO`; the signal's reason
   */
  async buildContextFromMemory(maxChars: number, options?: ContextPackOptions | null): Promise<string> {
    return (await this.#pack('buildContextFromMemory', maxChars, options)).text
  }

  /**
   * As {@link RepoMemory.buildContextFromMemory}, but also returns which records the text contains and which it omits.
   *
   * @throws (rejects) as {@link RepoMemory.buildContextFromMemory}
   * @example
   * ```ts
   * const { text, leftOut } = await memory.contextPack(4000, { query: 'add a login' })
   * ```
   */
  async contextPack(maxChars: number, options?: ContextPackOptions | null): Promise<ContextPack> {
    return this.#pack('contextPack', maxChars, options)
  }

  /**
   * Returns a map of the repository: its most important files and the symbols that they define. A file is parsed again only after
   * it has changed; the symbols are cached in `indexes/`.
   *
   * @throws (rejects) `ERR_CONTEXT_INVALID_ARGUMENT`; `ERR_CONTEXT_UNSUPPORTED` when the memory was opened by its hash;
   * `ERR_CONTEXT_NOT_FOUND` when the workspace does not exist any more; `ERR_CONTEXT_REDACTION`, `ERR_CONTEXT_IO`; the signal's
   * reason
   */
  async repoMap(options?: RepoMapOptions | null): Promise<RepoMap> {
    const { request, progress, signal } = reading('repoMap', () => checkRepoMap(options))
    const text = this.#request('repoMap', () => request)
    return cancellable(
      this.#hooks,
      this.#native,
      signal,
      (operation) => this.#native.repoMap(operation, text, progress !== undefined),
      (_, [answer = '']) => parseRepoMap(answer),
      progress,
    )
  }

  /**
   * Returns the symbols that a source file defines, in the order of the file.
   *
   * @param path the path of the file: relative to the workspace, with `/` between its parts, or absolute
   * @throws (rejects) as {@link RepoMemory.repoMap}; `ERR_CONTEXT_NOT_FOUND` also when the file is not one of the map's source
   * files
   */
  async symbols(path: string, options?: CancellationOptions | null): Promise<SymbolSummary[]> {
    const signal = reading('symbols', () => readCancellation(options))
    const request = this.#request('symbols', () => ({ path: checkPath(path, 'path').toWellFormed() }))
    return cancellable(
      this.#hooks,
      this.#native,
      signal,
      (operation) => this.#native.symbols(operation, request),
      (_, [answer = '']) => parseSymbols(answer),
    )
  }

  /**
   * Returns a run whose steps append summaries to the memory; later steps get them in their context.
   *
   * @param runId the name of the run, one line of at most 300 bytes
   * @throws `ERR_CONTEXT_INVALID_ARGUMENT`
   * @example
   * ```ts
   * const workflow = memory.workflow('run-42')
   * await workflow.step('plan', () => 'Split the parser from the printer.')
   * await workflow.step('build', async ({ context }) => {
   *   const prompt = await context(8000, { query: 'parser' })
   *   return { happened: await model(prompt), outputs: ['src/parser.ts'], followUps: ['Document it'] }
   * })
   * ```
   */
  workflow(runId: string): Workflow {
    return new RepoWorkflow(runId, {
      redaction: this.#hooks.redaction,
      append: (summary, findings) => this.#append(summary, findings),
      context: (maxChars, options) => this.buildContextFromMemory(maxChars, options),
      debug: (message, data) => debug(this.#hooks, message, data),
    })
  }

  /**
   * Waits until every earlier call has succeeded or failed; waits for pending calls of a `fileSystem` for `closeTimeout` at most.
   * The memory can be used again afterwards.
   */
  async close(): Promise<void> {
    return close(this.#hooks, this.#native, this.#closeTimeout)
  }

  /** For `await using`: calls `close()` at the end of the block. */
  async [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /** The request to the native side, as JSON. Refreshes the secret environment variables, because the request is sent next. */
  #request(call: string, check: () => object): string {
    const request = reading(call, () => JSON.stringify(check()))
    this.#hooks.redaction?.redactor.refresh()
    return request
  }

  #upsert<Stored extends { id: string }>(call: string, check: () => object): Promise<Stored> {
    const request = this.#request(call, check)
    return operate(
      this.#hooks,
      (operation) => this.#native.upsert(operation, request),
      (_, [text = '', findings]) => {
        const stored = JSON.parse(text) as Stored
        this.#report('memoryRecord', MEMORY, findingsIn(findings), { entryId: stored.id })
        return stored
      },
    )
  }

  /** @param found the findings of an earlier redaction of the summary */
  #append(summary: CheckedSummary, found: readonly RedactionFinding[] = []): Promise<Summary> {
    const request = this.#request('appendSummary', () => summary)
    return operate(
      this.#hooks,
      (operation) => this.#native.appendSummary(operation, request),
      (_, [text = '', findings]) => {
        this.#report('memorySummary', SUMMARIES, joinFindings(found, findingsIn(findings)))
        return JSON.parse(text) as Summary
      },
    )
  }

  #report(
    kind: RedactionReport['kind'],
    file: string,
    findings: RedactionFinding[],
    more?: Pick<RedactionReport, 'entryId'>,
  ): void {
    if (findings.length > 0) {
      const filepath = this.#prefix + file
      reportRedaction(this.#hooks.redaction, { kind, filepath, ...more, findings })
    }
  }

  async #pack(call: string, maxChars: number, options: ContextPackOptions | null | undefined): Promise<ContextPack> {
    const { most, request, tokens, embedder, signal } = reading(call, () => ({
      most: checkMaxChars(maxChars, 'maxChars'),
      ...checkPack(options),
    }))
    return this.#withPack(call, request, embedder, signal, (render) =>
      tokens === undefined ? render(most) : fitTokens(render, most, tokens),
    )
  }

  /** Prepares a context pack once, calls `use` to render it, and releases it even if `use` fails. */
  async #withPack(
    call: string,
    request: PackRequest,
    embedder: CheckedEmbedder | undefined,
    signal: AbortSignal | undefined,
    use: (render: (maxChars: number) => Promise<ContextPack>) => Promise<ContextPack>,
  ): Promise<ContextPack> {
    const asked = this.#request(call, () => request)
    const embedded =
      embedder &&
      (await this.#embeddings.queryOf(embedder, signal, (operation, vectors, limit) =>
        this.#native.textsToPack(operation, asked, vectors, limit),
      ))
    let pack = 0
    try {
      await cancellable(
        this.#hooks,
        this.#native,
        signal,
        (operation) => {
          pack = operation
          this.#native.preparePack(operation, asked, embedded)
        },
        () => {},
      )
      return await use(async (maxChars) => {
        const rendered = await operate(
          this.#hooks,
          (operation) => this.#native.renderPack(operation, pack, maxChars),
          (_, [text = '', contents = '']) => ({ text, ...(JSON.parse(contents) as Omit<ContextPack, 'text'>) }),
        )
        signal?.throwIfAborted()
        return rendered
      })
    } finally {
      this.#native.releasePack(pack)
    }
  }
}

function findingsIn(text: string | undefined): RedactionFinding[] {
  return text === undefined ? [] : (JSON.parse(text) as RedactionFinding[])
}
