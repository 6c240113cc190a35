/** Opens the stores of the server, each when it is first needed. */

import type { ContextHistory, ContextManager, ContextManagerOptions, ContextStore, RepoMemory } from '../index.ts'
import { type ProjectPlaces, placesInDirectory, projectPlaces } from '../projects/project-places.ts'
import type { ServerSettings } from './options.ts'
import { allProjectDirectories, type Outputs, outputsOf, outputsOfAll } from './outputs.ts'

export class Stores {
  readonly settings: ServerSettings
  #places: Promise<ProjectPlaces> | undefined
  #manager: Promise<ContextManager> | undefined
  #history: Promise<ContextHistory> | undefined
  #store: Promise<ContextStore> | undefined
  #memory: Promise<RepoMemory> | undefined
  readonly #others = new Map<string, ContextManager>()

  constructor(settings: ServerSettings) {
    this.settings = settings
  }

  manager(): Promise<ContextManager> {
    this.#manager ??= (async () => {
      const { ContextManager } = await import('../index.ts')
      const { contexts } = await this.#place()
      return new ContextManager({ contextDir: contexts, sessionId: this.settings.session, ...this.#common() })
    })()
    return this.#manager
  }

  async outputs(signal: AbortSignal): Promise<Outputs> {
    const manager = await this.manager()
    if (!this.settings.allProjects) {
      return outputsOf(manager, signal)
    }
    const { ContextManager } = await import('../index.ts')
    for (const contextDir of await allProjectDirectories()) {
      if (contextDir !== manager.getContextDir() && !this.#others.has(contextDir)) {
        this.#others.set(contextDir, new ContextManager({ contextDir, ...this.#common() }))
      }
    }
    return outputsOfAll([manager, ...this.#others.values()], signal)
  }

  history(): Promise<ContextHistory> {
    this.#history ??= (async () => {
      const { ContextHistory } = await import('../index.ts')
      const path = this.settings.history ?? (await this.#place()).history
      return new ContextHistory({ path, ...this.#common() })
    })()
    return this.#history
  }

  store(): Promise<ContextStore> {
    this.#store ??= (async () => {
      const { ContextStore } = await import('../index.ts')
      const { agent, store, session } = this.settings
      return new ContextStore({ agent, path: store, sessionId: session, ...this.#common() })
    })()
    return this.#store
  }

  memory(): Promise<RepoMemory> {
    this.#memory ??= (async () => {
      const { RepoMemory } = await import('../index.ts')
      const { workspace, memory } = this.settings
      return RepoMemory.open({ workspace, root: memory, ...this.#common() })
    })()
    return this.#memory
  }

  /** Waits for what is being saved. */
  async close(): Promise<void> {
    await Promise.allSettled([(await this.#manager)?.close(), ...[...this.#others.values()].map((one) => one.close())])
  }

  #place(): Promise<ProjectPlaces> {
    const { dir, workspace, storage } = this.settings
    const isInDatabase = storage !== undefined
    this.#places ??=
      dir === undefined ? projectPlaces(workspace, isInDatabase) : Promise.resolve(placesInDirectory(dir, isInDatabase))
    return this.#places
  }

  /** The options that all stores have. */
  #common(): Pick<ContextManagerOptions, 'onDebug' | 'storage' | 'blobs'> {
    const { onDebug, storage, blobs } = this.settings
    return { onDebug, storage, blobs }
  }
}
