/** Entries of a file tree, and their stored form. */

import { checkText } from '../arguments/checks.ts'
import { invalidArgument } from '../arguments/errors.ts'
import type { StateItem } from '../index.ts'

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
export type SavedEntry = { type: 'file'; size: number } | { type: 'directory' }

export const ROOT: FileEntry = { path: '/', isDirectory: true, size: 0, createdAt: '', modifiedAt: '' }

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
export function ancestorsOf(path: string): string[] {
  const names = path.split('/').slice(1, -1)
  return names.map((_, index) => `/${names.slice(0, index + 1).join('/')}`)
}

export function entryOf(path: string, { value, createdAt, updatedAt }: StateItem): FileEntry {
  const saved = value as SavedEntry
  const isDirectory = saved.type === 'directory'
  return { path, isDirectory, size: isDirectory ? 0 : saved.size, createdAt, modifiedAt: updatedAt }
}
