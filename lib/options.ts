/** Checks what callers pass, and completes it with the defaults. */

import { homedir } from 'node:os'
import { resolve, sep } from 'node:path'
import { type NativeFileSystem, type NativeOptions, newScope } from '../native.js'
import type { ContextManagerOptions, IFileSystem } from '../types.d.ts'
import { contextError, invalidArgument } from './errors.ts'

export const DEFAULT_CONTEXT_DIRECTORY = '~/.agent/context'
export const DEFAULT_PERSIST_THRESHOLD = 32_768
const DEFAULT_MEMORY_BUDGET = 64 * 1024 * 1024
const DEFAULT_MAXIMUM_AGE = '7d'
const DEFAULT_MAXIMUM_FILES = 10_000
const DEFAULT_MAXIMUM_BYTES = 1024 * 1024 * 1024
const DEFAULT_MAXIMUM_RESULT_BYTES = 64 * 1024 * 1024
const MAXIMUM_SESSION_ID_LENGTH = 200

const UNITS: Record<string, number> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
}

const REQUIRED_METHODS = ['readFile', 'writeFile', 'exists', 'mkdir', 'readdir', 'unlink', 'resolvePath', 'joinPath']

/** What the native side is told, without what only this side knows. */
export type CheckedOptions = Omit<NativeOptions, 'id'>

/** Checks the options of a manager. */
export function checkOptions(options: ContextManagerOptions): CheckedOptions {
  const fileSystem = optional(options.fileSystem, 'fileSystem', checkFileSystem)
  const directory = resolveDirectory(
    optional(options.contextDir, 'contextDir', checkPath) ?? DEFAULT_CONTEXT_DIRECTORY,
    fileSystem,
  )
  for (const name of ['shouldPersist', 'describe', 'onDebug'] as const) {
    optional(options[name], name, checkFunction)
  }
  const retention = optional(options.retention, 'retention', checkObject) ?? {}
  const session = optional(options.sessionId, 'sessionId', checkSession)
  const persist = options.persist ?? 'all'
  if (persist !== 'all' && persist !== 'large') {
    throw invalidArgument('persist', "'all' or 'large'", persist)
  }
  const durability = options.durability ?? 'process'
  if (durability !== 'process' && durability !== 'full') {
    throw invalidArgument('durability', "'process' or 'full'", durability)
  }
  return {
    ...directory,
    session: session ?? globalThis.crypto.randomUUID(),
    sessionIsNamed: session !== undefined,
    persistThreshold: count(options.persistThreshold, 'persistThreshold', DEFAULT_PERSIST_THRESHOLD),
    persistAll: persist === 'all',
    memoryBudget: count(options.memoryBudget, 'memoryBudget', DEFAULT_MEMORY_BUDGET),
    maxAge: duration(retention.maxAge ?? DEFAULT_MAXIMUM_AGE, 'retention.maxAge'),
    maxFiles: count(retention.maxFiles, 'retention.maxFiles', DEFAULT_MAXIMUM_FILES),
    maxBytes: count(retention.maxBytes, 'retention.maxBytes', DEFAULT_MAXIMUM_BYTES),
    maxResultBytes: count(retention.maxResultBytes, 'retention.maxResultBytes', DEFAULT_MAXIMUM_RESULT_BYTES),
    isDurable: durability === 'full',
    ...(fileSystem === undefined ? {} : { fileSystem: describeFileSystem(fileSystem, directory.prefix) }),
    hasDebug: typeof options.onDebug === 'function',
  }
}

/** `undefined` and `null` mean absent. */
function optional<T, R>(
  value: T | null | undefined,
  name: string,
  check: (value: T, name: string) => R,
): R | undefined {
  return value === undefined || value === null ? undefined : check(value, name)
}

function checkPath(value: string, name: string): string {
  if (typeof value !== 'string' || value === '' || value.includes('\0')) {
    throw invalidArgument(name, 'a non-empty path without NUL characters', value)
  }
  return value
}

function checkFunction<T>(value: T, name: string): T {
  if (typeof value !== 'function') {
    throw invalidArgument(name, 'a function', value)
  }
  return value
}

function checkObject<T>(value: T, name: string): T {
  if (typeof value !== 'object' || value === null) {
    throw invalidArgument(name, 'an object', value)
  }
  return value
}

function checkSession(value: string, name: string): string {
  // Sessions are listed line by line in lease files.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is refused
  const isPlain = typeof value === 'string' && !/[\0-\x1f\x7f\ud800-\udfff]/u.test(value)
  if (!isPlain || value === '' || value.length > MAXIMUM_SESSION_ID_LENGTH) {
    throw invalidArgument(
      name,
      `a string of 1 to ${MAXIMUM_SESSION_ID_LENGTH} characters without control characters`,
      value,
    )
  }
  return value
}

function isMethod(object: object | undefined, name: string): boolean {
  return typeof (object as Record<string, unknown> | undefined)?.[name] === 'function'
}

const scopes = new WeakMap<IFileSystem, number>()

/** What the native side has to know of an injected file system. */
function describeFileSystem(fileSystem: IFileSystem, prefix: string): NativeFileSystem {
  let scope = scopes.get(fileSystem)
  if (scope === undefined) {
    scope = newScope()
    scopes.set(fileSystem, scope)
  }
  return {
    scope,
    prefix,
    canRename: isMethod(fileSystem, 'rename'),
    canAppend: isMethod(fileSystem, 'appendFile'),
    canChmod: isMethod(fileSystem, 'chmod'),
  }
}

function checkFileSystem(value: IFileSystem, name: string): IFileSystem {
  checkObject(value, name)
  for (const method of REQUIRED_METHODS) {
    if (!isMethod(value, method)) {
      throw invalidArgument(`${name}.${method}`, 'a function', (value as unknown as Record<string, unknown>)[method])
    }
  }
  return value
}

/** A whole number from 0 up; `Infinity` means no bound. */
function count(value: number | null | undefined, name: string, byDefault: number): number {
  const given = value ?? byDefault
  if (given !== Number.POSITIVE_INFINITY && !(Number.isSafeInteger(given) && given >= 0)) {
    throw invalidArgument(name, 'a whole number from 0 up, or Infinity', given)
  }
  return given
}

/** Milliseconds of `'7d'`. */
function duration(value: string, name: string): number {
  const match = typeof value === 'string' ? /^(\d+(?:\.\d+)?)\s*(ms|s|m|h|d|w)$/.exec(value.trim()) : null
  const unit = UNITS[match?.[2] ?? '']
  if (match === null || unit === undefined) {
    throw invalidArgument(name, "a duration such as '12h' or '7d'", value)
  }
  return Math.round(Number(match[1]) * unit)
}

/** The directory as the caller spells it, absolute, and what its contexts' paths begin with. */
function resolveDirectory(path: string, fileSystem: IFileSystem | undefined): { directory: string; prefix: string } {
  if (fileSystem === undefined) {
    const directory = resolve(expandHome(path))
    return { directory, prefix: directory.endsWith(sep) ? directory : directory + sep }
  }
  const directory = fileSystem.resolvePath(path)
  if (typeof directory !== 'string' || directory === '' || directory.includes('\0')) {
    throw invalidArgument('fileSystem.resolvePath', 'a function that gives a path', directory)
  }
  // How this file system joins is learnt once: it must not be called from elsewhere later.
  const probe = 'context.json'
  const joined = fileSystem.joinPath(directory, probe)
  const isSimple = typeof joined === 'string' && joined.endsWith(probe) && !joined.includes('\0')
  return { directory, prefix: isSimple ? joined.slice(0, -probe.length) : `${directory}/` }
}

function expandHome(path: string): string {
  if (path !== '~' && !path.startsWith('~/') && !path.startsWith(`~${sep}`)) {
    return path
  }
  let home: string
  try {
    home = homedir()
  } catch (cause) {
    throw noHome(path, cause)
  }
  if (home === '') {
    throw noHome(path)
  }
  return home + path.slice(1)
}

function noHome(path: string, cause?: unknown): Error {
  return contextError(
    'ERR_CONTEXT_INVALID_ARGUMENT',
    `contextDir ${path} needs a home directory and there is none; set HOME or pass an absolute contextDir`,
    cause,
  )
}

/** A limit on results: a whole number from 0 up, -1 when absent. */
export function checkLimit(value: number | null | undefined): number {
  if (value === undefined || value === null) {
    return -1
  }
  if (!(Number.isSafeInteger(value) && value >= 0)) {
    throw invalidArgument('limit', 'a whole number from 0 up', value)
  }
  return value
}
