/** Entries of a tree of files, and how they are stored. */

import { checkText } from '../arguments/checks.ts'
import { invalidArgument } from '../arguments/errors.ts'
import type { StateItem } from '../index.ts'

/** A text, or bytes that are no text. */
export type FileContent = string | Uint8Array

/** A file or a directory. */
export interface FileEntry {
  /** Absolute and normal: `/`, `/notes/a.md`. */
  readonly path: string
  readonly isDirectory: boolean
  /** Bytes of a file; 0 for a directory. */
  readonly size: number
  /** ISO 8601. */
  readonly createdAt: string
  readonly modifiedAt: string
}

/** What is at a path. Where nothing is: the first directory on the way to it that is missing, or a file. */
export interface Located {
  readonly entry: FileEntry | undefined
  readonly obstacle: { readonly path: string; readonly isFile: boolean } | undefined
}

/** As it is stored, under the name in its directory. */
export type SavedEntry = { type: 'file'; size: number } | { type: 'directory' }

export const ROOT: FileEntry = { path: '/', isDirectory: true, size: 0, createdAt: '', modifiedAt: '' }

/** A namespace of the caller's for files. */
export function checkFilesNamespace(value: readonly string[], name: string): readonly string[] {
  if (!Array.isArray(value) || value.some((segment) => typeof segment !== 'string' || segment === '')) {
    throw invalidArgument(name, 'an array of non-empty strings', value)
  }
  return value
}

/** A text of a model's: what calls itself one may be anything. */
export function checkModelText(value: unknown, name: string): string {
  checkText(value, name)
  return value
}

/** The directories on the way to a path, from the top, without the root. */
export function ancestorsOf(path: string): string[] {
  const names = path.split('/').slice(1, -1)
  return names.map((_, index) => `/${names.slice(0, index + 1).join('/')}`)
}

export function entryOf(path: string, { value, createdAt, updatedAt }: StateItem): FileEntry {
  const saved = value as SavedEntry
  const isDirectory = saved.type === 'directory'
  return { path, isDirectory, size: isDirectory ? 0 : saved.size, createdAt, modifiedAt: updatedAt }
}
