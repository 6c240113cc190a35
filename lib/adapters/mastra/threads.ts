/** Stores Mastra's threads in a `StateStore`. */

import * as mastra from '@mastra/core/storage'
import type { JsonValue, StateItem, StateStore } from '../../index.ts'
import { allItems } from '../state-items.ts'
import { nextPosition, placeOf, withDates } from './place.ts'

type Thread = mastra.StorageThreadType

/** A thread in its stored form, with its position among the others. */
type SavedThread = Omit<Thread, 'createdAt' | 'updatedAt'> & { at: number; createdAt: string; updatedAt: string }

/** A thread with its position among the others. */
export interface PlacedThread {
  readonly thread: Thread
  readonly at: number
}

export class Threads {
  readonly #state: StateStore

  constructor(state: StateStore) {
    this.#state = state
  }

  async get(id: string): Promise<Thread | undefined> {
    const item = await this.#state.get(placeOf('threads'), id)
    return item && threadOf(item)
  }

  async save(thread: Thread): Promise<void> {
    await this.#state.transaction(async (view) => {
      const existing = (await view.get(placeOf('threads'), thread.id))?.value as unknown as SavedThread | undefined
      view.put(placeOf('threads'), thread.id, savedThread(thread, existing?.at ?? nextPosition()))
    })
  }

  async delete(id: string): Promise<void> {
    await this.#state.delete(placeOf('threads'), id)
  }

  /** Changes a thread in a transaction, so that concurrent changes of other processes are not lost. */
  change(id: string, change: (thread: Thread) => Thread): Promise<Thread> {
    return this.#state.transaction(async (view) => {
      const item = await view.get(placeOf('threads'), id)
      if (item === undefined) {
        throw new Error(`Thread with id ${id} not found`)
      }
      const changed = change(threadOf(item))
      view.put(placeOf('threads'), id, savedThread(changed, (item.value as unknown as SavedThread).at))
      return changed
    })
  }

  /** Updates the times of threads whose messages have changed; times strictly increase. */
  async touch(ids: readonly (string | undefined)[]): Promise<void> {
    for (const id of new Set(ids)) {
      if (!id) {
        continue
      }
      await this.#state.transaction(async (view) => {
        const item = await view.get(placeOf('threads'), id)
        if (item !== undefined) {
          const { at } = item.value as unknown as SavedThread
          const thread = threadOf(item)
          const updatedAt = new Date(Math.max(Date.now(), thread.updatedAt.getTime() + 1))
          view.put(placeOf('threads'), id, savedThread({ ...thread, updatedAt }, at))
        }
      })
    }
  }

  async matching(filter: mastra.StorageListThreadsInput['filter']): Promise<PlacedThread[]> {
    const threads: PlacedThread[] = []
    for await (const item of allItems(this.#state, placeOf('threads'))) {
      const thread = threadOf(item)
      const isMatch = Object.entries(filter?.metadata ?? {}).every(([name, value]) =>
        mastra.jsonValueEquals(thread.metadata?.[name], value),
      )
      if ((!filter?.resourceId || thread.resourceId === filter.resourceId) && isMatch) {
        threads.push({ at: (item.value as unknown as SavedThread).at, thread })
      }
    }
    return threads
  }
}

function savedThread(thread: Thread, at: number): JsonValue {
  return { ...thread, at } as unknown as JsonValue
}

function threadOf({ value }: StateItem): Thread {
  const { at, ...thread } = value as unknown as SavedThread
  return withDates(thread)
}
