/** Resolves the paths of a backend. The error texts are those that models know from files on disk. */

import { posix } from 'node:path'
import { checkModelText, type FileEntry, type Located } from '../state-file-entries.ts'

const REASONS = {
  ENOENT: 'no such file or directory',
  ENOTDIR: 'not a directory',
  EISDIR: 'illegal operation on a directory',
  EEXIST: 'file already exists',
}

/** Resolves a path; throws if it may lead out of the tree. */
export function pathOf(given: string): string {
  checkModelText(given, 'path')
  const path = given.startsWith('/') ? given : `/${given}`
  if (path.includes('..')) {
    throw new Error('Path traversal not allowed')
  }
  if (path.startsWith('//')) {
    throw new Error(`Path: ${posix.normalize(path).replace(/(?<=.)\/$/, '')} outside root directory: /`)
  }
  if (path.includes('\0')) {
    throw new Error('Path must not contain null characters')
  }
  return posix.normalize(path).replace(/(?<=.)\/$/, '')
}

/** The entry at a path; throws if there is none. */
export function presentEntry({ entry, obstacle }: Located, path: string): FileEntry {
  if (entry === undefined) {
    throw fileError(obstacle?.isFile === true ? 'ENOTDIR' : 'ENOENT', 'stat', path)
  }
  return entry
}

/** Throws if a file cannot be written. */
export function checkWritable({ entry, obstacle }: Located, path: string): void {
  if (entry?.isDirectory === true) {
    throw fileError('EISDIR', 'open', path)
  }
  if (obstacle?.isFile === true) {
    const directory = posix.dirname(path)
    throw fileError(directory === obstacle.path ? 'EEXIST' : 'ENOTDIR', 'mkdir', directory)
  }
}

/** Whether there is an entry to delete; throws if a parent directory is missing. */
export function isDeletable({ entry, obstacle }: Located, path: string): boolean {
  if (obstacle !== undefined && !obstacle.isFile) {
    throw fileError('ENOENT', 'lstat', obstacle.path)
  }
  if (obstacle !== undefined && obstacle.path !== posix.dirname(path)) {
    const [name] = path.slice(obstacle.path.length + 1).split('/')
    throw fileError('ENOTDIR', 'lstat', `${obstacle.path}/${name}`)
  }
  return entry !== undefined
}

function fileError(code: keyof typeof REASONS, call: string, path: string): Error {
  return Object.assign(new Error(`${code}: ${REASONS[code]}, ${call} '${path}'`), { code })
}
