/** The outputs that the server shows: those of one directory, or of all workspaces. */

import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { ContextManager, ContextPointer, ContextSlice, SearchHit, SearchOptions, SliceOptions } from '../index.ts'
import { projectsDirectory } from '../projects/project-places.ts'

/** What tools and resources read outputs with. */
export interface Outputs {
  getLatestPointers(): ContextPointer[]
  listContexts(): Promise<ContextPointer[]>
  search(query: string, options?: SearchOptions | null): Promise<SearchHit[]>
  readContext(path: string, slice?: SliceOptions | null): Promise<ContextSlice>
}

/** The outputs of a manager's directory, for one request: its cancellation ends the reading. */
export function outputsOf(manager: ContextManager, signal: AbortSignal): Outputs {
  return {
    getLatestPointers: () => manager.getLatestPointers(),
    listContexts: () => manager.listContexts(undefined, { signal }),
    search: (query, options) => manager.search(query, { ...options, signal }),
    readContext: (path, slice) => manager.readContext(path, { ...slice, signal }),
  }
}

/** The outputs of several directories as if they were one. */
export function outputsOfAll(managers: readonly ContextManager[], signal: AbortSignal): Outputs {
  const parts = managers.map((manager) => outputsOf(manager, signal))
  return {
    getLatestPointers: () => [],
    async listContexts() {
      const lists = await Promise.all(parts.map((part) => part.listContexts()))
      return lists.flat().sort((one, other) => one.timestamp - other.timestamp)
    },
    async search(query, options) {
      const hits = await Promise.all(parts.map((part) => part.search(query, options)))
      return hits
        .flat()
        .sort((one, other) => other.score - one.score)
        .slice(0, options?.limit ?? undefined)
    },
    async readContext(path, slice) {
      let missing: unknown
      for (const part of parts) {
        try {
          return await part.readContext(path, slice)
        } catch (error) {
          if (!NOT_HERE.has((error as { code?: unknown }).code)) {
            throw error
          }
          missing = error
        }
      }
      throw missing
    },
  }
}

const NOT_HERE = new Set<unknown>(['ERR_CONTEXT_NOT_FOUND', 'ERR_CONTEXT_OUTSIDE_DIRECTORY'])

/** The directories of all workspaces that have outputs. */
export async function allProjectDirectories(): Promise<string[]> {
  const names = await readdir(projectsDirectory()).catch(() => [])
  return names.filter((name) => /^[0-9a-f]{64}$/.test(name)).map((name) => join(projectsDirectory(), name, 'contexts'))
}
