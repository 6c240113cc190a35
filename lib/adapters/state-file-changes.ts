/** Changes files within one transaction. */

import { Buffer } from 'node:buffer'
import { posix } from 'node:path'
import type { StateView } from '../index.ts'
import {
  ancestorsOf,
  type FileContent,
  type FileEntry,
  type Located,
  ROOT,
  type SavedEntry,
} from './state-file-entries.ts'
import type { StateFiles } from './state-files.ts'

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
