/** `StateFiles`: files and directories in a `StateStore`, for frameworks whose models work with paths. */

import { Buffer } from 'node:buffer'
import { posix } from 'node:path'
import { checkText } from '../arguments/checks.ts'
import { invalidArgument } from '../arguments/errors.ts'
import type { StateItem, StateStore, StateView } from '../index.ts'
import { allItems } from './state-items.ts'

/** The content of a file: a text, or bytes that are not text. */
export type FileContent = string | Uint8Array

/** A file or a directory. */
export interface FileEntry {
  /** The absolute, normalised path: `/`, `/notes/a.md`. */
  readonly path: string
  readonly isDirectory: boolean
  /** The size of a file in bytes; 0 for a directory. */
  readonly size: number
  /** When it was created, ISO 8601. */
  readonly createdAt: string
  readonly modifiedAt: string
}

/** The entry at a path. If there is none, the obstacle: the first missing parent directory, or a file in its place. */
export interface Located {
  readonly entry: FileEntry | undefined
  readonly obstacle: { readonly path: string; readonly isFile: boolean } | undefined
}

/** An entry in its stored form, under its name in the directory. */
type SavedEntry = { type: 'file'; size: number } | { type: 'directory' }
type Reader = Pick<StateView, 'get'>

const ROOT: FileEntry = { path: '/', isDirectory: true, size: 0, createdAt: '', modifiedAt: '' }
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

/** The view of the files in a change. */
export class FileChanges {
  readonly #files: StateFiles
  readonly #view: StateView
  #isCounted = false

  constructor(files: StateFiles, view: StateView) {
    this.#files = files
    this.#view = view
  }

  locate(path: string): Promise<Located> {
    return this.#files.locate(path, this.#view)
  }

  read(path: string): Promise<FileContent | undefined> {
    return this.#files.read(path, this.#view)
  }

  /** Writes a file and its missing parent directories. No parent may be a file. */
  async write(path: string, content: FileContent): Promise<void> {
    const { entry } = await this.locate(path)
    if (entry === undefined) {
      await this.makeDirectories(posix.dirname(path))
      await this.#count()
    }
    const saved = typeof content === 'string' ? content.toWellFormed() : content
    const size = typeof saved === 'string' ? Buffer.byteLength(saved) : saved.byteLength
    this.#view.put(...this.#files.entryPlace(path), { type: 'file', size } satisfies SavedEntry)
    this.#view.put(...this.#files.contentPlace(path), saved)
  }

  async makeDirectories(path: string): Promise<void> {
    for (const directory of [...ancestorsOf(path), path]) {
      if ((await this.locate(directory)).entry === undefined) {
        await this.#count()
        this.#view.put(...this.#files.entryPlace(directory), { type: 'directory' } satisfies SavedEntry)
      }
    }
  }

  /** Removes the entry at a path with everything below it; for the root, only everything below it. */
  async remove(path: string): Promise<void> {
    for (const entry of await this.#all(path)) {
      this.#removeEntry(entry)
    }
  }

  /** Moves an entry. The parent directories of the new path must exist. */
  async move(path: string, newPath: string): Promise<void> {
    for (const entry of await this.#all(path)) {
      const moved = newPath + entry.path.slice(path.length)
      const item = await this.#view.get(...this.#files.entryPlace(entry.path))
      const content = entry.isDirectory ? undefined : await this.read(entry.path)
      this.#removeEntry(entry)
      this.#view.put(...this.#files.entryPlace(moved), item?.value as SavedEntry)
      if (content !== undefined) {
        this.#view.put(...this.#files.contentPlace(moved), content)
      }
    }
  }

  async #all(path: string): Promise<FileEntry[]> {
    await this.#count()
    const { entry } = await this.locate(path)
    const entries = entry === undefined || entry === ROOT ? [] : [entry]
    if (entry?.isDirectory === true) {
      for await (const below of this.#files.below(path)) {
        entries.push(below)
      }
    }
    return entries
  }

  #removeEntry({ path, isDirectory }: FileEntry): void {
    this.#view.delete(...this.#files.entryPlace(path))
    if (!isDirectory) {
      this.#view.delete(...this.#files.contentPlace(path))
    }
  }

  async #count(): Promise<void> {
    if (!this.#isCounted) {
      this.#isCounted = true
      const place = this.#files.changesPlace()
      const changes = ((await this.#view.get(...place))?.value as number | undefined) ?? 0
      this.#view.put(...place, changes + 1)
    }
  }
}

/** Checks the namespace for files that a caller passed. */
export function checkFilesNamespace(value: readonly string[], name: string): readonly string[] {
  if (!Array.isArray(value) || value.some((segment) => typeof segment !== 'string' || segment === '')) {
    throw invalidArgument(name, 'an array of non-empty strings', value)
  }
  return value
}

/** Checks that a value from a model is a text. */
export function checkModelText(value: unknown, name: string): string {
  checkText(value, name)
  return value
}

/** The parent directories of a path, from the top, without the root. */
function ancestorsOf(path: string): string[] {
  const names = path.split('/').slice(1, -1)
  return names.map((_, index) => `/${names.slice(0, index + 1).join('/')}`)
}

function entryOf(path: string, { value, createdAt, updatedAt }: StateItem): FileEntry {
  const saved = value as SavedEntry
  const isDirectory = saved.type === 'directory'
  return { path, isDirectory, size: isDirectory ? 0 : saved.size, createdAt, modifiedAt: updatedAt }
}
