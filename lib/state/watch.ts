/** `Watcher`: changes of a state store as an asynchronous iterator. */

import type { StateChange } from './types.ts'

/** The checked arguments of a watcher. */
export interface Watched {
  readonly since: string | undefined
  readonly signal: AbortSignal | undefined
  /** Waits for changes after a cursor, or without a cursor for changes from now on. */
  readonly changes: (
    since: string | undefined,
    signal: AbortSignal,
  ) => Promise<{ changes: StateChange[]; cursor: string }>
}

const END: IteratorResult<StateChange, undefined> = { done: true, value: undefined }

/** Concurrent calls of `next()` are answered one after the other, in their order. */
export class Watcher implements AsyncIterableIterator<StateChange> {
  readonly #open: () => Watched
  readonly #all: Set<Watcher>
  readonly #ended = new AbortController()
  #watched: Watched | undefined
  #cursor: string | undefined
  #changes: StateChange[] = []
  #nextChange = 0
  #last: Promise<unknown> = Promise.resolve()
  #isFirst = true

  /**
   * @param open checks the arguments; called by the first `next()`
   * @param all the watchers of the store, which are ended when the store is closed
   */
  constructor(open: () => Watched, all: Set<Watcher>) {
    this.#open = open
    this.#all = all
  }

  next(): Promise<IteratorResult<StateChange, undefined>> {
    // The first call runs immediately, because it determines where the changes begin.
    const step = this.#isFirst ? this.#step() : this.#last.then(() => this.#step())
    this.#isFirst = false
    this.#last = step.catch(() => {})
    return step
  }

  async #step(): Promise<IteratorResult<StateChange, undefined>> {
    try {
      while (!this.#ended.signal.aborted) {
        const change = this.#changes[this.#nextChange]
        if (change !== undefined) {
          this.#nextChange++
          return { done: false, value: change }
        }
        await this.#wait()
      }
    } catch (error) {
      const isEnded = this.#ended.signal.aborted
      this.end()
      if (!isEnded) {
        throw error
      }
    }
    return END
  }

  async #wait(): Promise<void> {
    if (this.#watched === undefined) {
      this.#watched = this.#open()
      this.#cursor = this.#watched.since
      this.#all.add(this)
    }
    const { signal, changes } = this.#watched
    const ended = this.#ended.signal
    const answer = await changes(this.#cursor, signal === undefined ? ended : AbortSignal.any([signal, ended]))
    this.#changes = answer.changes
    this.#nextChange = 0
    this.#cursor = answer.cursor
  }

  async return(): Promise<IteratorResult<StateChange, undefined>> {
    this.end()
    return END
  }

  /** Ends the iteration, including a pending `next()`. */
  end(): void {
    this.#all.delete(this)
    this.#ended.abort()
  }

  [Symbol.asyncIterator](): this {
    return this
  }
}
