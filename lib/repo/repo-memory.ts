/** `RepoMemory`: the public face of the native memory. */

import { NativeRepoMemory } from '#addon'
import { checkFilled, checkPath, optional } from '../arguments/checks.ts'
import { contextError } from '../arguments/errors.ts'
import { readCancellation } from '../arguments/known-options.ts'
import type { CancellationOptions } from '../arguments/types.ts'
import { cancellable, close, debug, type Hooks, operate, outbox, registerHooks } from '../native/border.ts'
import { describeFileSystem } from '../native/file-system.ts'
import { checkRedaction, joinFindings, reportRedaction } from '../redaction/redaction.ts'
import type { RedactionFinding, RedactionReport } from '../redaction/types.ts'
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

/** What `open` has found out. */
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
 * What is known about a repository: conventions, decisions and notes in a file that people read and edit as well, the latest
 * summaries of steps, a map of the source files, and the most useful of all that within a budget, for a model. Any number of
 * memories, in any number of processes, may be about one repository.
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

  private constructor(opened: Opened) {
    if (!(opened instanceof Opened)) {
      throw contextError(
        'ERR_CONTEXT_INVALID_ARGUMENT',
        'RepoMemory has no public constructor: use await RepoMemory.open({ workspace })',
      )
    }
    const { repoHash, identity, options, place, hooks } = opened
    const { fileSystem, fileSystemTimeout, closeTimeout } = place
    const { root, ...more } = options
    const { directory, prefix } = repoDirectory(root, repoHash, fileSystem)
    this.#repoHash = repoHash
    this.#directory = directory
    this.#prefix = prefix
    this.#closeTimeout = closeTimeout
    this.#workspace = identity?.workspace
    this.#hooks = hooks
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
    )
    debug(hooks, 'RepoMemory opened', { directory: this.#directory, workspace: this.#workspace })
  }

  /**
   * Opens the memory of a repository, by a folder in it or by its hash. Reads what git says about the folder, without the
   * `git` program, and writes nothing: the first change creates the directory.
   *
   * @throws (rejects) `ERR_CONTEXT_INVALID_ARGUMENT`, also when both `workspace` and `repoHash` are given, or neither;
   * `ERR_CONTEXT_NOT_FOUND` when there is no such folder; `ERR_CONTEXT_CORRUPT` and `ERR_CONTEXT_TOO_LARGE` when what git keeps
   * is not understood; `ERR_CONTEXT_UNSUPPORTED` for a branch in a reftable; `ERR_CONTEXT_IO`
   */
  static async open(options: RepoMemoryLocation & RepoMemoryOptions): Promise<RepoMemory> {
    const { location, branchScope, place, checked, hooks } = reading('open', () => {
      repoMemoryOptions(options, 'options')
      const place = checkRepoFileSystem(options)
      return {
        place,
        location: checkLocation(options),
        branchScope: checkBranchScope(options.branchScope),
        checked: checkRepoOptions(options, place.fileSystem),
        hooks: {
          fileSystem: place.fileSystem,
          onDebug: options.onDebug ?? undefined,
          redaction: checkRedaction(options.redaction, 'redaction'),
        },
      }
    })
    const where = 'repoHash' in location ? location.repoHash : await identityOf(hooks, location.workspace, branchScope)
    return reading('open', () => new RepoMemory(new Opened(where, checked, place, hooks)))
  }

  /**
   * The hash of the repository that a folder belongs to: of the canonical path of its work tree, the remote's URL without
   * credentials, and the branch (or the commit of a detached `HEAD`); where there is no remote, of the path alone.
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
   * Moves what is remembered about a repository whose folder moved, or changed its remote, to where it is looked for now:
   * with `fromWorkspace` what is remembered of all of its branches, with `fromRepoHash` one memory. Where both have a record,
   * the one that was changed last stays. After a crash the same call does the rest.
   *
   * @returns what was moved; nothing when it is there already
   * @throws (rejects) `ERR_CONTEXT_INVALID_ARGUMENT`; `ERR_CONTEXT_NOT_FOUND` when there is nothing to move, or no folder
   * `workspace`; `ERR_CONTEXT_CORRUPT`, `ERR_CONTEXT_REDACTION`, `ERR_CONTEXT_LOCK_TIMEOUT`, `ERR_CONTEXT_UNSUPPORTED` on a
   * file system without locks, `ERR_CONTEXT_IO`. What was not moved is where it was
   */
  static async migrate(options: RepoMemoryMigration): Promise<MigrateReport> {
    return migrate(options)
  }

  /** 64 hexadecimal digits that stand for the repository. */
  get repoHash(): string {
    return this.#repoHash
  }

  /** Where the memory's files are: `<root>/repos/<repoHash>`, absolute; in the `fileSystem`, where there is one. */
  get directory(): string {
    return this.#directory
  }

  /** The folder that the map shows: the root of the work tree. `undefined` when the memory was opened by its hash. */
  get workspace(): string | undefined {
    return this.#workspace
  }

  /**
   * Everything that is remembered. What in the files is no record or summary is skipped, kept, and told to `onDebug`.
   *
   * @throws (rejects) `ERR_CONTEXT_CORRUPT` when `memory.json` is no JSON object of lists; `ERR_CONTEXT_TOO_LARGE`,
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
   * Adds a convention, or changes the one with this `id`, or else the one with this `title`. Secrets are taken out of it, see
   * `redaction`. Changes of others are never lost: each is made to the file as it is then, under the memory's lock. Changes
   * and removals of records take effect in the order of the calls, also when one is not awaited before the next.
   *
   * @returns the convention as it is stored
   * @throws (rejects) `ERR_CONTEXT_INVALID_ARGUMENT`, also when something is missing in a new one; `ERR_CONTEXT_CONFLICT` when
   * another convention has the title; `ERR_CONTEXT_TOO_LARGE`; `ERR_CONTEXT_CORRUPT` when `memory.json` is not understood: it
   * stays as it is; `ERR_CONTEXT_REDACTION`, `ERR_CONTEXT_LOCK_TIMEOUT`, `ERR_CONTEXT_IO`. Nothing has changed then
   */
  async upsertConvention(input: ConventionInput): Promise<Convention> {
    return this.#upsert('upsertConvention', () => checkConvention(input))
  }

  /** As {@link RepoMemory.upsertConvention}, of a decision, which is known by its `id` alone. */
  async upsertDecision(input: DecisionInput): Promise<Decision> {
    return this.#upsert('upsertDecision', () => checkDecision(input))
  }

  /** As {@link RepoMemory.upsertConvention}, of a note, which is known by its `id` alone. */
  async upsertNote(input: NoteInput): Promise<Note> {
    return this.#upsert('upsertNote', () => checkNote(input))
  }

  /**
   * Removes a record.
   *
   * @returns whether it was there
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
   * Adds what a step of a run came to; the oldest summaries beyond this object's `maxSummaries` and `maxSummaryBytes` go,
   * also those of other objects and processes with wider bounds. Summaries are
   * stored in the order of the calls.
   *
   * @param runId one line of at most 300 bytes, as `stepId`
   * @param summaryText 1 byte to 64 KiB
   * @param tags what to find it by: at most 50 non-empty single lines
   * @returns the summary as it is stored; the one that is kept already where one has the same `operationId`. Processes exclude
   * each other by the lock of the file: where locks do not bind all of them (see `trustLocks`), and with a `fileSystem`, `operationId`
   * holds for one process
   * @throws (rejects) `ERR_CONTEXT_INVALID_ARGUMENT`, `ERR_CONTEXT_TOO_LARGE`, `ERR_CONTEXT_REDACTION`,
   * `ERR_CONTEXT_LOCK_TIMEOUT`, `ERR_CONTEXT_IO`; `ERR_CONTEXT_CORRUPT` when `memory.json` is not understood. Nothing is added
   * then
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
   * The most useful of what is remembered, as Markdown for a model: conventions, the latest summaries, decisions and notes,
   * what answers `query` first, and a map of the repository in the room that is left. Whole records, unless one is larger than
   * the budget; a last line says what was left out. The same for the same memory, files and options.
   *
   * @param maxChars the most it may have, in UTF-16 code units (JavaScript's `length`); `Infinity` means no bound
   * @throws (rejects) `ERR_CONTEXT_INVALID_ARGUMENT`, also when `countTokens` fails; `ERR_CONTEXT_CORRUPT`,
   * `ERR_CONTEXT_TOO_LARGE`, `ERR_CONTEXT_REDACTION`, `ERR_CONTEXT_IO`; the signal's reason
   */
  async buildContextFromMemory(maxChars: number, options?: ContextPackOptions | null): Promise<string> {
    return (await this.#pack('buildContextFromMemory', maxChars, options)).text
  }

  /**
   * As {@link RepoMemory.buildContextFromMemory}, with the records that the text holds and those that it leaves out.
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
   * A map of the repository: the files that matter most, and what they define. Files are parsed once; what is known of them is
   * kept in `indexes/`.
   *
   * @throws (rejects) `ERR_CONTEXT_INVALID_ARGUMENT`; `ERR_CONTEXT_UNSUPPORTED` when the memory was opened by its hash;
   * `ERR_CONTEXT_NOT_FOUND` when the workspace is gone; `ERR_CONTEXT_REDACTION`, `ERR_CONTEXT_IO`; the signal's reason
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
   * What a source file defines, in its order.
   *
   * @param path relative to the workspace, `/` between its parts, or absolute below it
   * @throws (rejects) as {@link RepoMemory.repoMap}; `ERR_CONTEXT_NOT_FOUND` also when it is none of the source files that the
   * map knows
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
   * A run whose steps leave summaries, which the steps after them find in their context.
   *
   * @param runId one line of at most 300 bytes
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
   * Waits for every call made before, whether it succeeds or fails; for those that wait for a `fileSystem`, no longer than
   * `closeTimeout`. The memory can be used again afterwards.
   */
  async close(): Promise<void> {
    return close(this.#hooks, this.#native, this.#closeTimeout)
  }

  /** `await using`: the block waits for its changes. */
  async [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /** What the native side is asked, as JSON. It is asked next: the environment's secrets are those of now. */
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

  /** `found` was redacted in it before. */
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
    const { most, request, tokens, signal } = reading(call, () => ({
      most: checkMaxChars(maxChars, 'maxChars'),
      ...checkPack(options),
    }))
    return this.#withPack(call, request, signal, (render) =>
      tokens === undefined ? render(most) : fitTokens(render, most, tokens),
    )
  }

  /** Prepares a pack once, lets `use` render it, and forgets it in any case. */
  async #withPack(
    call: string,
    request: PackRequest,
    signal: AbortSignal | undefined,
    use: (render: (maxChars: number) => Promise<ContextPack>) => Promise<ContextPack>,
  ): Promise<ContextPack> {
    const asked = this.#request(call, () => request)
    let pack = 0
    try {
      await cancellable(
        this.#hooks,
        this.#native,
        signal,
        (operation) => {
          pack = operation
          this.#native.preparePack(operation, asked)
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
