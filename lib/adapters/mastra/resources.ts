/** Stores the working memory of Mastra's resources in a `StateStore`. */

import type * as mastra from '@mastra/core/storage'
import type { JsonValue, StateStore } from '../../index.ts'
import { placeOf, withDates } from './place.ts'

/** A change of a resource; absent members stay unchanged. */
export interface ResourceChange {
  resourceId: string
  workingMemory?: string
  metadata?: Record<string, unknown>
}

export class Resources {
  readonly #state: StateStore

  constructor(state: StateStore) {
    this.#state = state
  }

  async get(id: string): Promise<mastra.StorageResourceType | null> {
    const item = await this.#state.get(placeOf('resources'), id)
    return item === undefined ? null : withDates<mastra.StorageResourceType>(item.value)
  }

  async save(resource: mastra.StorageResourceType): Promise<mastra.StorageResourceType> {
    await this.#state.put(placeOf('resources'), resource.id, resource as unknown as JsonValue)
    return resource
  }

  update({ resourceId, workingMemory, metadata }: ResourceChange): Promise<mastra.StorageResourceType> {
    return this.#state.transaction(async (view) => {
      const item = await view.get(placeOf('resources'), resourceId)
      const now = new Date()
      const existing = item && withDates<mastra.StorageResourceType>(item.value)
      const resource = {
        ...(existing ?? { id: resourceId, createdAt: now }),
        ...(workingMemory === undefined ? {} : { workingMemory }),
        metadata: { ...existing?.metadata, ...metadata },
        updatedAt: now,
      }
      view.put(placeOf('resources'), resourceId, resource as unknown as JsonValue)
      return resource
    })
  }
}
