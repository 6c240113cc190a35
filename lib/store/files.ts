/** Remembers which entries were written or changed in which session of this process, for `ContextStore.contextFiles`. */

import type { IFileSystem } from '../native/types.ts'

/** The number of remembered sessions, those that wrote last; a process may have any number of sessions. */
const MAXIMUM_SESSIONS = 1000

/** The remembered sessions of stores on the local disk, by the store's path, and of injected file systems. */
const onDisk = new Map<string, Set<string>>()
const injected = new WeakMap<IFileSystem, Map<string, Set<string>>>()

/** The files of one session in one store. */
export class SessionFiles {
  readonly #stores: Map<string, Set<string>>
  readonly #path: string

  constructor(path: string, fileSystem: IFileSystem | undefined) {
    this.#stores = sessionsOf(fileSystem)
    this.#path = path
  }

  /** Adds entries to a session, in the order given. */
  add(sessionId: string, paths: readonly string[]): void {
    const key = this.#key(sessionId)
    const files = this.#stores.get(key) ?? new Set()
    for (const path of paths) {
      files.add(path)
    }
    // Deletes and inserts the session, so that the first one of the map is the least recently used.
    this.#stores.delete(key)
    this.#stores.set(key, files)
    if (this.#stores.size > MAXIMUM_SESSIONS) {
      for (const oldest of this.#stores.keys()) {
        this.#stores.delete(oldest)
        break
      }
    }
  }

  /** Returns the paths of a session's entries, in the order of their first change. */
  of(sessionId: string): string[] {
    return [...(this.#stores.get(this.#key(sessionId)) ?? [])]
  }

  #key(sessionId: string): string {
    return `${this.#path}\0${sessionId}`
  }
}

function sessionsOf(fileSystem: IFileSystem | undefined): Map<string, Set<string>> {
  if (fileSystem === undefined) {
    return onDisk
  }
  let sessions = injected.get(fileSystem)
  if (sessions === undefined) {
    sessions = new Map()
    injected.set(fileSystem, sessions)
  }
  return sessions
}
