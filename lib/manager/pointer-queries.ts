/** Synchronous queries for the pointers of a manager. */

import type { NativeManager } from '#addon'
import { checkText, checkWhole, optional, taskToken } from '../arguments/checks.ts'
import { contextError, inspect, invalidArgument } from '../arguments/errors.ts'
import type { TaskId } from '../arguments/types.ts'
import { stringify } from '../native/stringify.ts'
import { checkPointer, selectable } from './candidates.ts'
import { latestOptions } from './option-names.ts'
import { PointerCache, type PointerOrigin, readPointers, sequenceOf } from './pointers.ts'
import type { LatestOptions } from './retrieval-types.ts'
import type { ContextPointer, SelectablePointer } from './types.ts'

/** The number of pointers that are fetched from the native side at once. */
const PAGE = 4096
const page = new Float64Array(PAGE)
const DEFAULT_LATEST = 20

/** Reads the pointers of one manager. */
export class PointerQueries<Task extends TaskId> {
  readonly #native: NativeManager
  readonly #origin: PointerOrigin
  /** The manager as which pointers are tagged. */
  readonly #manager: object
  readonly #cache = new PointerCache<Task>()

  constructor(native: NativeManager, origin: PointerOrigin, manager: object) {
    this.#native = native
    this.#origin = origin
    this.#manager = manager
  }

  all(): ContextPointer<Task>[] {
    const pointers: ContextPointer<Task>[] = []
    for (let start = 0; ; ) {
      const found = readPointers<Task>(this.#native.pointersFrom(start, page), this.#origin, page, this.#manager)
      if (start === 0 && found.length < PAGE) {
        return found
      }
      for (const pointer of found) {
        pointers.push(pointer)
      }
      if (found.length < PAGE) {
        return pointers
      }
      start = (page[PAGE - 1] as number) + 1
    }
  }

  ofQuery(queryId: string | null | undefined): ContextPointer<Task>[] {
    if (queryId === undefined || queryId === null) {
      return []
    }
    checkText(queryId, 'queryId')
    return this.#group(`q${queryId}`, (sequences) => this.#native.pointersForQuery(queryId, sequences))
  }

  ofTask(taskId: TaskId | null | undefined): ContextPointer<Task>[] {
    if (taskId === undefined || taskId === null) {
      return []
    }
    const task = taskToken(taskId, 'taskId')
    return this.#group(`t${task}`, (sequences) => this.#native.pointersForTask(task, sequences))
  }

  latest(options: LatestOptions | null | undefined): ContextPointer<Task>[] {
    const { toolName, before, limit } = optional(options, 'options', latestOptions) ?? {}
    optional(toolName, 'toolName', checkText)
    optional(before, 'before', checkText)
    const sequences = new Float64Array(
      Math.min(optional(limit, 'limit', checkWhole) ?? DEFAULT_LATEST, this.#native.size()),
    )
    const text = this.#native.latestPointers(toolName ?? undefined, before ?? undefined, sequences)
    if (text === null) {
      throw contextError('ERR_CONTEXT_NOT_FOUND', `this manager has no context ${inspect(before)}`)
    }
    return readPointers<Task>(text, this.#origin, sequences, this.#manager)
  }

  #group(key: string, fetch: (sequences: Float64Array) => string | null): ContextPointer<Task>[] {
    // The generation is read before the pointers, so that a concurrent change invalidates the cached copy.
    const generation = this.#native.generation()
    const cached = this.#cache.get(generation, key, this.#manager)
    if (cached !== undefined) {
      return cached
    }
    for (let sequences = page; ; sequences = new Float64Array(2 * sequences.length)) {
      const text = fetch(sequences)
      if (text !== null) {
        const pointers = readPointers<Task>(text, this.#origin, sequences, this.#manager)
        this.#cache.set(generation, key, pointers, sequences)
        return pointers
      }
    }
  }

  /** The paths of the pointers that share a word with the query, best first; all paths if none does. */
  relevant(query: string, availablePointers: readonly SelectablePointer[]): string[] {
    checkText(query, 'query')
    if (!Array.isArray(availablePointers)) {
      throw invalidArgument('availablePointers', 'an array of pointers', availablePointers)
    }
    const pointers = availablePointers as readonly SelectablePointer[]
    const positions = this.#rank(query, pointers, true) ?? this.#rank(query, pointers, false) ?? []
    if (positions.length === 0) {
      return pointers.map((pointer) => pointer.filepath)
    }
    return positions.map((position) => (pointers[position] as SelectablePointer).filepath)
  }

  #rank(query: string, pointers: readonly SelectablePointer[], usesMarks: boolean): number[] | null {
    const sequences = new Float64Array(pointers.length)
    const foreign: unknown[] = []
    for (let index = 0; index < pointers.length; index++) {
      const pointer = checkPointer(pointers[index], 'availablePointers', index)
      const sequence = usesMarks ? sequenceOf(pointer, this.#manager) : -1
      sequences[index] = sequence
      if (sequence < 0) {
        foreign.push(selectable(pointer))
      }
    }
    return this.#native.rank(query, sequences, foreign.length === 0 ? '[]' : stringify(foreign))
  }
}
