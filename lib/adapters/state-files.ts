/** `StateFiles`: files and directories in a `StateStore`, for frameworks whose models work with paths. */

import { posix } from 'node:path'
import type { StateStore, StateView } from '../index.ts'
import { FileChanges } from './state-file-changes.ts'
import {
  ancestorsOf,
  entryOf,
  type FileContent,
  type FileEntry,
  type Located,
  ROOT,
  type SavedEntry,
} from './state-file-entries.ts'
import { allItems } from './state-items.ts'

type Reader = Pick<StateView, 'get'>

/** A counter that is written with every added or removed entry, so that a transaction detects that a listing is out of date. */
const CHANGES = 'changes'
/** The number of attempts of a change when other processes change files at the same time. */
const ATTEMPTS = 200

/** A tree of files below a namespace, which any number of processes may share. Paths are absolute and normalised. */
export class StateFiles {
  readonly #state: StateStore
  readonly #namespace: readonly string[]
  /** Changes of this object run one after the other, because concurrent ones would only cause retries. */
  #changes: Promise<unknown> = Promise.resolve()

  constructor(state: StateStore, namespace: readonly string[]) {
    this.#state = state
    this.#namespace = namespace
  }

  async locate(path: string, reader: Reader = this.#state): Promise<Located> {
    if (path === '/') {
      return { entry: ROOT, obstacle: undefined }
    }
    const item = await reader.get(...this.entryPlace(path))
    if (item !== undefined) {
      return { entry: entryOf(path, item), obstacle: undefined }
    }
    for (const directory of ancestorsOf(path)) {
      const found = await reader.get(...this.entryPlace(directory))
      if ((found?.value as SavedEntry | undefined)?.type !== 'directory') {
        return { entry: undefined, obstacle: { path: directory, isFile: found !== undefined } }
      }
    }
    return { entry: undefined, obstacle: undefined }
  }

  async read(path: string, reader: Reader = this.#state): Promise<FileContent | undefined> {
    return (await reader.get(...this.contentPlace(path)))?.value as FileContent | undefined
  }

  /** The direct entries of a directory, sorted by name. */
  async children(directory: string): Promise<FileEntry[]> {
    const namespace = [...this.#namespace, 'entries', directory]
    const entries: FileEntry[] = []
    for await (const item of allItems(this.#state, namespace)) {
      // The listing also contains trees in longer namespaces, which are skipped.
      if (item.namespace.length === namespace.length) {
        entries.push(entryOf(posix.join(directory, item.key), item))
      }
    }
    return entries
  }

  /** All entries below a directory; each directory precedes its contents. */
  async *below(directory: string): AsyncGenerator<FileEntry> {
    for (const entry of await this.children(directory)) {
      yield entry
      if (entry.isDirectory) {
        yield* this.below(entry.path)
      }
    }
  }

  /** Changes files atomically: all changes, or none if it rejects. The function may be called several times. */
  change<T>(work: (changes: FileChanges) => Promise<T>): Promise<T> {
    const attempt = (view: StateView) => work(new FileChanges(this, view))
    const done = this.#changes.then(() => this.#state.transaction(attempt, { attempts: ATTEMPTS }))
    this.#changes = done.catch(() => undefined)
    return done
  }

  entryPlace(path: string): [namespace: string[], key: string] {
    return [[...this.#namespace, 'entries', posix.dirname(path)], posix.basename(path)]
  }

  contentPlace(path: string): [namespace: string[], key: string] {
    return [[...this.#namespace, 'contents', posix.dirname(path)], posix.basename(path)]
  }

  changesPlace(): [namespace: string[], key: string] {
    return [[...this.#namespace, 'tree'], CHANGES]
  }
}
