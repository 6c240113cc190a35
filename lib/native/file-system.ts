/** Resolves the paths that callers pass, on the local disk or in an injected file system. */

import { homedir } from 'node:os'
import { join, resolve, sep } from 'node:path'
import type { NativeFileSystem } from '#addon'
import { checkObject } from '../arguments/checks.ts'
import { contextError, invalidArgument } from '../arguments/errors.ts'
import { scopeOf } from './border.ts'
import type { IFileSystem } from './types.ts'

const REQUIRED_METHODS = ['readFile', 'writeFile', 'exists', 'mkdir', 'readdir', 'unlink', 'resolvePath', 'joinPath']

export function checkFileSystem(value: IFileSystem, name: string): IFileSystem {
  checkObject(value, name)
  for (const method of REQUIRED_METHODS) {
    checkMethod(value, name, method)
  }
  return value
}

function checkMethod(fileSystem: IFileSystem, name: string, method: string): void {
  if (!isMethod(fileSystem, method)) {
    const given = (fileSystem as unknown as Record<string, unknown>)[method]
    throw invalidArgument(`${name}.${method}`, 'a function', given)
  }
}

function isMethod(object: object, name: string): boolean {
  return typeof (object as Record<string, unknown>)[name] === 'function'
}

/**
 * Describes an injected file system to the native side.
 *
 * @param timeout the timeout of each of its calls, in ms
 */
export function describeFileSystem(fileSystem: IFileSystem, prefix: string, timeout: number): NativeFileSystem {
  return {
    scope: scopeOf(fileSystem),
    prefix,
    timeout,
    canRename: isMethod(fileSystem, 'rename'),
    canAppend: isMethod(fileSystem, 'appendFile'),
    canChmod: isMethod(fileSystem, 'chmod'),
  }
}

/**
 * Resolves a directory to its absolute path, and returns it also with a separator at its end.
 *
 * @param name the option that holds the path, for messages
 */
export function resolveDirectory(
  path: string,
  name: string,
  fileSystem: IFileSystem | undefined,
): { directory: string; prefix: string } {
  const directory = resolvePath(path, name, fileSystem)
  if (fileSystem === undefined) {
    return { directory, prefix: directory.endsWith(sep) ? directory : directory + sep }
  }
  return { directory, prefix: prefixOf(directory, fileSystem) }
}

/** Joins an absolute directory and a relative path; returns the result also with a separator at its end. */
export function directoryBelow(
  root: string,
  names: readonly string[],
  fileSystem: IFileSystem | undefined,
): { directory: string; prefix: string } {
  if (fileSystem === undefined) {
    const directory = join(root, ...names)
    return { directory, prefix: directory + sep }
  }
  const directory = checkAnswer(fileSystem.joinPath(root, ...names), 'joinPath')
  return { directory, prefix: prefixOf(directory, fileSystem) }
}

/** Resolves a file to its absolute path, with the description of its injected file system. */
export function resolveFile(
  path: string,
  name: string,
  fileSystem: IFileSystem | undefined,
  timeout: number,
): { path: string; fileSystem?: NativeFileSystem } {
  const resolved = resolvePath(path, name, fileSystem)
  if (fileSystem === undefined) {
    return { path: resolved }
  }
  checkMethod(fileSystem, 'fileSystem', 'dirname')
  const directory = checkAnswer(fileSystem.dirname(resolved), 'dirname')
  return { path: resolved, fileSystem: describeFileSystem(fileSystem, prefixOf(directory, fileSystem), timeout) }
}

function resolvePath(path: string, name: string, fileSystem: IFileSystem | undefined): string {
  if (fileSystem === undefined) {
    return resolve(expandHome(path, name))
  }
  return checkAnswer(fileSystem.resolvePath(path), 'resolvePath')
}

function checkAnswer(path: unknown, method: string): string {
  if (typeof path !== 'string' || path === '' || path.includes('\0')) {
    throw invalidArgument(`fileSystem.${method}`, 'a function that gives a path', path)
  }
  return path
}

/** Determines the path separator of a file system once, in the constructor: later calls come only from the completion queue. */
function prefixOf(directory: string, fileSystem: IFileSystem): string {
  const probe = 'context.json'
  const joined = fileSystem.joinPath(directory, probe)
  const isSimple = typeof joined === 'string' && joined.endsWith(probe) && !joined.includes('\0')
  return isSimple ? joined.slice(0, -probe.length) : `${directory}/`
}

function expandHome(path: string, name: string): string {
  if (path !== '~' && !path.startsWith('~/') && !path.startsWith(`~${sep}`)) {
    return path
  }
  let home: string
  try {
    home = homedir()
  } catch (cause) {
    throw noHome(path, name, cause)
  }
  if (home === '') {
    throw noHome(path, name)
  }
  return home + path.slice(1)
}

function noHome(path: string, name: string, cause?: unknown): Error {
  return contextError(
    'ERR_CONTEXT_INVALID_ARGUMENT',
    `${name} ${path} needs a home directory and there is none; set HOME or pass an absolute ${name}`,
    cause,
  )
}
