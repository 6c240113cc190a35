/** `ContextBackend`: a backend of deepagents over `StateStore`. */

import { Buffer } from 'node:buffer'
import { posix } from 'node:path'
import { optional } from '../../arguments/checks.ts'
import { knownOptions } from '../../arguments/known-options.ts'
import type { StateStore } from '../../index.ts'
import { unsupportedFramework } from '../call-recorder.ts'
import type { FileChanges } from '../state-file-changes.ts'
import { checkFilesNamespace, type FileContent, type FileEntry } from '../state-file-entries.ts'
import { StateFiles } from '../state-files.ts'
import { checkState } from '../state-items.ts'
import { checkWritable, isDeletable, pathOf, presentEntry } from './file-paths.ts'
import { bytesOf, contentOf, linesOf, replaced, textOf } from './file-texts.ts'
import { globOf } from './glob.ts'
import { mediaTypeOf } from './media-types.ts'
import type {
  DeleteResult,
  DownloadedFile,
  EditResult,
  FileInfo,
  FilesResult,
  GrepMatch,
  GrepResult,
  RawFileResult,
  ReadResult,
  UploadedFile,
  WriteResult,
} from './results.ts'

/** Options of `ContextBackend`. */
export interface ContextBackendOptions {
  /** The namespace of the files, such as `['user', userId]` or `['thread', threadId]`. Files in different namespaces are separate. */
  namespace?: readonly string[] | null | undefined
}

const DEFAULT_LINES = 500
const backendOptions = knownOptions<ContextBackendOptions>('ContextBackendOptions', { namespace: true })

/**
 * Stores the files of deep agents, including the large outputs and old messages that deepagents moves to files:
 * `createDeepAgent({ backend: new ContextBackend(state) })`. Any number of processes may share them; each change is atomic.
 *
 * Files are read back unchanged: a `StateStore` does not redact by default.
 */
export class ContextBackend {
  readonly #files: StateFiles

  constructor(state: StateStore, options?: ContextBackendOptions | null) {
    const { namespace } = optional(options, 'options', backendOptions) ?? {}
    const below = optional(namespace, 'namespace', checkFilesNamespace) ?? []
    this.#files = new StateFiles(checkState(state), ['deepagents', ...below])
  }

  /** Lists the direct entries of a directory. */
  async ls(path: string): Promise<FilesResult> {
    const directory = await this.#directory(path)
    const entries = directory === undefined ? [] : await this.#files.children(directory)
    return { files: sorted(entries.map(infoOf)) }
  }

  /** Reads lines of a text file from an offset, or a whole binary file. */
  async read(filePath: string, offset = 0, limit = DEFAULT_LINES): Promise<ReadResult> {
    try {
      const path = pathOf(filePath)
      if (presentEntry(await this.#files.locate(path), path).isDirectory) {
        return { error: `File '${filePath}' not found` }
      }
      const { mimeType, isText } = mediaTypeOf(filePath)
      const content = (await this.#files.read(path)) ?? ''
      const result = isText ? linesOf(textOf(content), offset, limit) : { content: bytesOf(content) }
      return result.error === undefined ? { ...result, mimeType } : result
    } catch (error) {
      return { error: `Error reading file '${filePath}': ${messageOf(error)}` }
    }
  }

  async readRaw(filePath: string): Promise<RawFileResult> {
    try {
      const path = pathOf(filePath)
      const { entry } = await this.#files.locate(path)
      const content = entry?.isDirectory === false ? await this.#files.read(path) : undefined
      if (entry === undefined || content === undefined) {
        return { error: `File '${filePath}' not found` }
      }
      const { mimeType, isText } = mediaTypeOf(filePath)
      const { createdAt, modifiedAt } = entry
      const data = { mimeType, created_at: createdAt, modified_at: modifiedAt }
      return { data: { content: isText ? textOf(content) : bytesOf(content), ...data } }
    } catch (error) {
      return { error: `Error reading file '${filePath}': ${messageOf(error)}` }
    }
  }

  /** Creates or replaces a file. The content of a file with a binary file type is base64. */
  async write(filePath: string, content: string): Promise<WriteResult> {
    try {
      const { isText } = mediaTypeOf(filePath)
      await this.#write(filePath, isText ? content : contentOf(Buffer.from(content, 'base64')))
      return { path: filePath, filesUpdate: null }
    } catch (error) {
      return { error: `Error writing file '${filePath}': ${messageOf(error)}` }
    }
  }

  /** Replaces a text in a file: its only occurrence, or with `replaceAll` all. */
  async edit(filePath: string, oldString: string, newString: string, replaceAll = false): Promise<EditResult> {
    try {
      const path = pathOf(filePath)
      return await this.#files.change(async (changes): Promise<EditResult> => {
        if (presentEntry(await changes.locate(path), path).isDirectory) {
          return { error: `Error: File '${filePath}' not found` }
        }
        const result = replaced(textOf((await changes.read(path)) ?? ''), oldString, newString, replaceAll)
        if (typeof result === 'string') {
          return { error: result }
        }
        await changes.write(path, result.text)
        return { path: filePath, filesUpdate: null, occurrences: result.occurrences }
      })
    } catch (error) {
      return { error: `Error editing file '${filePath}': ${messageOf(error)}` }
    }
  }

  /** Removes a file, or a directory with its contents. */
  async delete(filePath: string): Promise<DeleteResult> {
    try {
      const path = pathOf(filePath)
      return await this.#files.change(async (changes): Promise<DeleteResult> => {
        if (!isDeletable(await changes.locate(path), path)) {
          return { error: `Error: '${filePath}' not found` }
        }
        await changes.remove(path)
        return { path: filePath, filesUpdate: null }
      })
    } catch (error) {
      return { error: `Error deleting '${filePath}': ${messageOf(error)}` }
    }
  }

  /**
   * Finds the lines that contain a text, in the text files below a path.
   *
   * @param glob of names; with a `/` of paths below the path
   */
  async grep(
    pattern: string,
    path: string | null = '/',
    glob: string | null = null,
    maxCount: number | null = null,
  ): Promise<GrepResult> {
    const most = maxCount ?? Number.POSITIVE_INFINITY
    const isWanted = glob ? globOf(glob, { dot: false }) : () => true
    const matches: GrepMatch[] = []
    for await (const { entry, relative } of this.#below(path || '/')) {
      const isFitting = isWanted(glob?.includes('/') === true ? relative : posix.basename(entry.path))
      const text =
        isFitting && mediaTypeOf(entry.path).isText ? textOf((await this.#files.read(entry.path)) ?? '') : null
      for (const [index, line] of text?.includes(pattern) === true ? text.split('\n').entries() : []) {
        if (line.includes(pattern)) {
          matches.push({ path: entry.path, line: index + 1, text: line })
        }
      }
      if (matches.length > most) {
        return { matches: matches.slice(0, most), truncated: true }
      }
    }
    return { matches }
  }

  /** Finds the files below a directory whose paths match a pattern. */
  async glob(pattern: string, path = '/'): Promise<FilesResult> {
    const isWanted = globOf(pattern.replace(/^\//, ''), { dot: true })
    const files: FileInfo[] = []
    if ((await this.#directory(path)) !== undefined) {
      for await (const { entry, relative } of this.#below(path)) {
        if (isWanted(relative)) {
          files.push(infoOf(entry))
        }
      }
    }
    return { files: sorted(files) }
  }

  /** Stores files unchanged, whatever their file types. */
  async uploadFiles(files: [path: string, content: Uint8Array][]): Promise<UploadedFile[]> {
    const responses: UploadedFile[] = []
    for (const [path, content] of files) {
      const error = await this.#write(path, contentOf(content)).then(() => null, uploadError)
      responses.push({ path, error })
    }
    return responses
  }

  async downloadFiles(paths: string[]): Promise<DownloadedFile[]> {
    const download = async (path: string): Promise<DownloadedFile> => {
      try {
        const { entry, obstacle } = await this.#files.locate(pathOf(path))
        const content = entry?.isDirectory === false ? await this.#files.read(entry.path) : undefined
        if (content !== undefined) {
          return { path, content: bytesOf(content), error: null }
        }
        const missing = obstacle?.isFile === true ? 'invalid_path' : 'file_not_found'
        return { path, content: null, error: entry?.isDirectory === true ? 'is_directory' : missing }
      } catch {
        return { path, content: null, error: 'invalid_path' }
      }
    }
    return Promise.all(paths.map(download))
  }

  /** Only versions of deepagents before `BackendProtocolV2` call it. */
  lsInfo(): never {
    throw tooOld()
  }

  /** Only versions of deepagents before `BackendProtocolV2` call it. */
  grepRaw(): never {
    throw tooOld()
  }

  /** Only versions of deepagents before `BackendProtocolV2` call it. */
  globInfo(): never {
    throw tooOld()
  }

  async #write(filePath: string, content: FileContent): Promise<void> {
    const path = pathOf(filePath)
    await this.#files.change(async (changes: FileChanges) => {
      checkWritable(await changes.locate(path), path)
      await changes.write(path, content)
    })
  }

  /** The path of an existing directory. */
  async #directory(given: string): Promise<string | undefined> {
    const path = searchedPath(given)
    const entry = path === undefined ? undefined : (await this.#files.locate(path)).entry
    return entry?.isDirectory === true ? entry.path : undefined
  }

  /** The files at a path and below it, with their relative paths. */
  async *#below(given: string): AsyncGenerator<{ entry: FileEntry; relative: string }> {
    const path = searchedPath(given)
    const entry = path === undefined ? undefined : (await this.#files.locate(path)).entry
    if (entry?.isDirectory === false) {
      yield { entry, relative: posix.basename(entry.path) }
    } else if (entry !== undefined) {
      for await (const below of this.#files.below(entry.path)) {
        if (!below.isDirectory) {
          yield { entry: below, relative: posix.relative(entry.path, below.path) }
        }
      }
    }
  }
}

/** The path to search; `undefined` for a path that cannot exist. */
function searchedPath(given: string): string | undefined {
  try {
    return pathOf(given)
  } catch {
    return undefined
  }
}

function infoOf({ path, isDirectory, size, modifiedAt }: FileEntry): FileInfo {
  return { path: isDirectory ? `${path}/` : path, is_dir: isDirectory, size, modified_at: modifiedAt }
}

function sorted(files: FileInfo[]): FileInfo[] {
  return files.sort((one, other) => one.path.localeCompare(other.path))
}

function messageOf(error: unknown): string {
  return (error as Error).message
}

function uploadError(error: unknown): UploadedFile['error'] {
  return (error as { code?: unknown }).code === 'EISDIR' ? 'is_directory' : 'invalid_path'
}

function tooOld(): Error {
  return unsupportedFramework('deepagents', 'deepagents ^1.14.0', 'the installed one has an older protocol of backends')
}
