/** `selectContexts`: checks the options, and performs the parts of a selection that call the caller's functions; the native side does the ranking. */

import type { NativeEmbedded, NativeManager } from '#addon'
import { checkBoolean, checkFunction, checkWhole, count, optional, readSignal, wholeUpTo } from '../arguments/checks.ts'
import { invalidArgument } from '../arguments/errors.ts'
import { tokensOf } from '../arguments/tokens.ts'
import type { TaskId } from '../arguments/types.ts'
import type { Embeddings } from '../embedding/embeddings.ts'
import { type CheckedEmbedder, checkEmbedder } from '../embedding/options.ts'
import { cancellable, debug, type Hooks } from '../native/border.ts'
import { checkPointer } from './candidates.ts'
import { type CheckedContextFilter, checkContextFilter, checkSessionScope, sessionTokens } from './filter.ts'
import { selectOptions } from './option-names.ts'
import { fromRow, type PointerOrigin, type Row } from './pointers.ts'
import type { ContextSelector, MatchedTerm, ScoreParts, SelectedContext, SelectOptions } from './retrieval-types.ts'
import { askSelector } from './selector.ts'
import type { ContextPointer, SelectablePointer } from './types.ts'

/** The largest number of candidates that a selector is offered. */
const OFFERED = 50
/** The largest output whose contents are counted for the prompt, in bytes. */
const LARGEST_COUNTED = 1_048_576
const MAXIMUM_NEIGHBOURS = 100
const DEFAULT_SELECTOR_TIMEOUT = 60_000

type CountTokens = NonNullable<SelectOptions['countTokens']>

/** The request to the native side, as JSON: see `Selection` in `crates/core/src/context/selection.rs`. */
interface SelectionRequest {
  filter: CheckedContextFilter
  allSessions: boolean
  paths: readonly string[] | undefined
  minScore: number
  bounds: Bounds
  recencyWeight: number | undefined
  neighbours: number
  fill: boolean
  explain: boolean
}

interface Bounds {
  limit?: number | undefined
  /** `Infinity` means no limit, here and below. */
  maxBytes?: number
  maxTokens?: number
}

interface CheckedSelection {
  readonly request: SelectionRequest
  /** Whether the caller set `fill`: a selector is then also offered contexts that do not match, and if nothing matches, the latest come first. */
  readonly isFillGiven: boolean
  readonly countTokens: CountTokens | undefined
  readonly selector: ContextSelector | undefined
  readonly selectorTimeout: number
  readonly embedder: CheckedEmbedder | undefined
  readonly signal: AbortSignal | undefined
}

/** A selected context in the form of the native side. */
type Chosen<Task> = [
  row: Row<Task>,
  score: number,
  isNeighbour: boolean,
  explain: MatchedTerm[] | null,
  session: string | null,
  parts?: ScoreParts | null,
]

interface Answer {
  /** Whether any context matched the query. */
  readonly isMatched: boolean
  /** JSON arrays of `Chosen`. */
  readonly pages: readonly string[]
}

/** Performs the selections of one manager. */
export class Selecting<Task extends TaskId> {
  readonly #native: NativeManager
  readonly #hooks: Hooks
  readonly #origin: PointerOrigin
  readonly #embeddings: Embeddings

  constructor(native: NativeManager, hooks: Hooks, origin: PointerOrigin, embeddings: Embeddings) {
    this.#embeddings = embeddings
    this.#native = native
    this.#hooks = hooks
    this.#origin = origin
  }

  async select(query: string, options: SelectOptions | null | undefined): Promise<SelectedContext<Task>[]> {
    const selection = checkSelection(options, this.#origin.session)
    const { request, embedder, signal } = selection
    signal?.throwIfAborted()
    if (request.bounds.limit === 0) {
      return []
    }
    const embedded =
      embedder &&
      (await this.#embeddings.queryOf(embedder, signal, (operation, vectors, limit) =>
        this.#native.textsToSelect(operation, query, JSON.stringify(request), vectors, limit),
      ))
    return (await this.#byModel(query, selection, embedded)) ?? this.#byRank(query, selection, embedded)
  }

  /** Selects by rank. */
  async #byRank(
    query: string,
    { request, isFillGiven, countTokens, signal }: CheckedSelection,
    embedded: NativeEmbedded | undefined,
  ): Promise<SelectedContext<Task>[]> {
    if (countTokens === undefined) {
      const { isMatched, pages } = await this.#ask(query, request, embedded, signal)
      const selected = pages.flatMap((page) => this.#read(page))
      return isMatched || isFillGiven || !request.fill ? selected : selected.reverse()
    }
    const { isMatched, pages } = await this.#ask(query, { ...request, isOpen: true }, embedded, signal)
    const packing = new Packing<Task>(request.bounds, countTokens)
    let isHitTaken = false
    for (const page of pages) {
      if (packing.isFull) {
        break
      }
      for (const pointer of this.#read(page)) {
        // A neighbour is selected only together with its match.
        if (pointer.isNeighbour !== true) {
          isHitTaken = packing.take(pointer)
        } else if (isHitTaken) {
          packing.take(pointer)
        }
      }
    }
    // If nothing matches, the latest contexts are packed first; the result is in the order of the calls.
    return isMatched || isFillGiven ? packing.taken : packing.taken.reverse()
  }

  /** Lets a model select among the ranker's candidates; `undefined` if the ranker's choice is to be used. */
  async #byModel(
    query: string,
    { request, isFillGiven: fill, selector, selectorTimeout, countTokens, signal }: CheckedSelection,
    embedded: NativeEmbedded | undefined,
  ): Promise<SelectedContext<Task>[] | undefined> {
    if (selector === undefined) {
      return undefined
    }
    const offered = { ...request, fill, bounds: { limit: OFFERED } }
    const { pages } = await this.#ask(query, offered, embedded, signal)
    const candidates = pages.flatMap((page) => this.#read(page))
    if (candidates.length === 0) {
      return []
    }
    let positions: number[]
    try {
      // Copies, because the selector may modify them.
      const copies: ContextPointer<Task>[] = pages.flatMap((page) => this.#read(page))
      const found = await this.#found(copies, signal)
      positions = await askSelector(selector, query, copies, found, selectorTimeout, signal)
    } catch (error) {
      signal?.throwIfAborted()
      debug(this.#hooks, 'The selector failed: the ranker chooses', { error })
      return undefined
    }
    signal?.throwIfAborted()
    const packing = new Packing<Task>(request.bounds, countTokens)
    for (const position of positions) {
      packing.take(candidates[position] as SelectedContext<Task>)
    }
    return packing.taken
  }

  /** What each call found: the message of its tool, otherwise a count of the result's contents. */
  async #found(
    pointers: readonly ContextPointer<Task>[],
    signal: AbortSignal | undefined,
  ): Promise<(string | undefined)[]> {
    const isCounted = ({ error, message, sizeBytes }: ContextPointer<Task>): boolean =>
      message === undefined && error === undefined && sizeBytes <= LARGEST_COUNTED
    const counted = pointers.filter(isCounted)
    const answer =
      counted.length === 0
        ? []
        : await cancellable(
            this.#hooks,
            this.#native,
            signal,
            (operation) => this.#native.found(operation, JSON.stringify(counted.map(({ filepath }) => filepath))),
            (_, [texts = '[]']) => JSON.parse(texts) as (string | null)[],
          )
    const counts = new Map(counted.map((pointer, index) => [pointer, answer[index] ?? undefined]))
    return pointers.map((pointer) => pointer.message ?? pointer.error ?? counts.get(pointer))
  }

  #ask(
    query: string,
    request: SelectionRequest & { isOpen?: boolean },
    embedded: NativeEmbedded | undefined,
    signal: AbortSignal | undefined,
  ): Promise<Answer> {
    return cancellable(
      this.#hooks,
      this.#native,
      signal,
      (operation) => this.#native.select(operation, query, JSON.stringify(request), embedded),
      (_, [head = '{}', ...pages]) => ({ ...(JSON.parse(head) as { isMatched: boolean }), pages }),
    )
  }

  #read(page: string): SelectedContext<Task>[] {
    return (JSON.parse(page) as Chosen<Task>[]).map(([row, score, isNeighbour, explain, session, parts]) => {
      const origin = { prefix: this.#origin.prefix, session: session ?? this.#origin.session }
      const pointer = fromRow(row, origin) as SelectedContext<Task>
      pointer.score = score
      if (isNeighbour) {
        pointer.isNeighbour = true
      }
      if (explain !== null) {
        pointer.explain = explain
      }
      if (parts) {
        pointer.scoreParts = parts
      }
      return pointer
    })
  }
}

/** Takes the contexts that fit, in the order in which they are offered, each once. */
class Packing<Task extends TaskId> {
  readonly taken: SelectedContext<Task>[] = []
  readonly #paths = new Set<string>()
  readonly #limit: number
  readonly #countTokens: CountTokens
  #bytes: number
  #tokens: number

  constructor({ limit = Number.POSITIVE_INFINITY, maxBytes, maxTokens }: Bounds, countTokens: CountTokens | undefined) {
    this.#limit = limit
    this.#bytes = maxBytes ?? Number.POSITIVE_INFINITY
    this.#tokens = maxTokens ?? Number.POSITIVE_INFINITY
    this.#countTokens = countTokens ?? (({ sizeBytes }) => Math.ceil(sizeBytes / 3))
  }

  get isFull(): boolean {
    return this.taken.length >= this.#limit || this.#bytes === 0 || this.#tokens === 0
  }

  /** Returns whether the context was taken, now or before. */
  take(pointer: SelectedContext<Task>): boolean {
    if (this.#paths.has(pointer.filepath)) {
      return true
    }
    if (this.isFull || pointer.sizeBytes > this.#bytes) {
      return false
    }
    const tokens =
      this.#tokens === Number.POSITIVE_INFINITY
        ? 0
        : tokensOf(this.#countTokens, pointer as ContextPointer<TaskId>, 'options.countTokens')
    if (tokens > this.#tokens) {
      return false
    }
    this.#bytes -= pointer.sizeBytes
    this.#tokens -= tokens
    this.#paths.add(pointer.filepath)
    this.taken.push(pointer)
    return true
  }
}

function checkSelection(options: SelectOptions | null | undefined, ownSession: string): CheckedSelection {
  const given = optional(options, 'options', selectOptions) ?? {}
  const signal = readSignal(given)
  const maxTokens = count(given.maxTokens, 'options.maxTokens', Number.POSITIVE_INFINITY)
  const maxBytes = count(given.maxBytes, 'options.maxBytes', Number.POSITIVE_INFINITY)
  const fill = optional(given.fill, 'options.fill', checkBoolean)
  const countTokens = optional(given.countTokens, 'options.countTokens', checkFunction)
  const scope = given.sessions ?? 'own'
  const sessions = checkSessionScope(scope, 'options.sessions', ownSession)
  const refused = (['pointers', 'embed'] as const).find((name) => (given[name] ?? undefined) !== undefined)
  if (scope !== 'own' && refused !== undefined) {
    throw invalidArgument(`options.${refused}`, 'absent beside sessions', given[refused])
  }
  return {
    request: {
      filter: {
        ...checkContextFilter(given, 'options'),
        sessions: scope === 'own' ? undefined : sessionTokens(sessions),
      },
      allSessions: scope !== 'own',
      paths: optional(given.pointers, 'options.pointers', checkPointers),
      minScore: optional(given.minScore, 'options.minScore', checkShare) ?? 0,
      bounds: {
        limit: optional(given.limit, 'options.limit', checkWhole),
        maxBytes,
        maxTokens,
      },
      recencyWeight: optional(given.recencyWeight, 'options.recencyWeight', checkShare),
      neighbours: optional(given.neighbours, 'options.neighbours', wholeUpTo(MAXIMUM_NEIGHBOURS)) ?? 0,
      fill: fill ?? (maxBytes !== Number.POSITIVE_INFINITY || maxTokens !== Number.POSITIVE_INFINITY),
      explain: optional(given.explain, 'options.explain', checkBoolean) ?? false,
    },
    isFillGiven: fill === true,
    countTokens: maxTokens === Number.POSITIVE_INFINITY ? undefined : countTokens,
    selector: optional(given.selector, 'options.selector', checkFunction),
    selectorTimeout: count(given.selectorTimeout, 'options.selectorTimeout', DEFAULT_SELECTOR_TIMEOUT),
    embedder: checkEmbedder(given, 'options.'),
    signal,
  }
}

function checkShare(value: number, name: string): number {
  if (!(typeof value === 'number' && value >= 0 && value <= 1)) {
    throw invalidArgument(name, 'a number from 0 to 1', value)
  }
  return value
}

function checkPointers(pointers: readonly SelectablePointer[], name: string): string[] {
  if (!Array.isArray(pointers)) {
    throw invalidArgument(name, 'an array of pointers', pointers)
  }
  return Array.from(pointers as readonly unknown[], (pointer, index) =>
    checkPointer(pointer, name, index).filepath.toWellFormed(),
  )
}
