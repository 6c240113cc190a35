/** What several test files need: temporary directories, a file system in memory, and the errors of this package. */

import assert from 'node:assert/strict'
import { Buffer, isUtf8 } from 'node:buffer'
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ContextError, ContextErrorCode, ContextManager, ContextPointer, IFileSystem } from '../../dist/index.js'
import * as stored from './stored-files.ts'

/** Runs `work` in a directory of its own, which is gone afterwards. */
export async function inDirectory<T>(work: (directory: string) => Promise<T> | T): Promise<T> {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'agent-context-')))
  try {
    return await work(directory)
  } finally {
    removeDirectory(directory)
  }
}

/** Removes a directory in which a cache may still be written in the background: `maxRetries` lists it only once. */
export function removeDirectory(directory: string): void {
  for (let attempt = 1; ; attempt += 1) {
    try {
      rmSync(directory, { recursive: true, force: true, maxRetries: 5 })
      return
    } catch (error) {
      if (attempt === 5 || (error as NodeJS.ErrnoException).code !== 'ENOTEMPTY') {
        throw error
      }
    }
  }
}

/**
 * The names in a context directory, without what the package keeps beside contexts: leases, sessions, the table of handles, and the bytes of
 * contexts that are there.
 */
export function filesIn(directory: string): string[] {
  const names = stored.readdirSync(directory)
  const isBytes = (name: string): boolean => name.endsWith('.bin') && names.includes(name.replace(/bin$/, 'json'))
  return names.filter((name) => !/^\.([0-9a-f]+\.(lease|session)|handles)$/.test(name) && !isBytes(name)).sort()
}

/** Asserts that a directory contains only contexts and leases, and no temporary or unknown file. */
export function assertNoTemporaryFile(directory: string): void {
  const strays = filesIn(directory).filter((name) => !name.endsWith('.json'))
  assert.deepEqual(strays, [], 'files that are no contexts')
}

/** Passes a value of the wrong type where the types forbid it. */
export const wrong = <T>(value: unknown): T => value as T

/** The one element of an array. */
export function only<T>(values: readonly T[]): T {
  assert.equal(values.length, 1)
  return values[0] as T
}

/** The pointer of a context. */
export function pointerOf(manager: ContextManager, filepath: string): ContextPointer {
  return only(manager.getAllPointers().filter((pointer) => pointer.filepath === filepath))
}

/** The text of a stored context's result, to the byte. */
export function resultText(file: string): string {
  // A string would hold the first `,"result":` too, but with escaped quotes.
  const start = file.indexOf(',"result":')
  assert.ok(start > 0 && file.endsWith('}'), file.slice(0, 200))
  // After a long result comes the table of its blocks.
  const end = /,"resultBlocks":\[[\d,]*\]\}$/.exec(file.slice(-64 * 1024))?.[0].length ?? 1
  return file.slice(start + ',"result":'.length, -end)
}

/** As `resultText`, from disk. */
export function storedResult(filepath: string): string {
  return resultText(stored.readFileSync(filepath, 'utf8'))
}

function assertContextError(
  error: unknown,
  code: ContextErrorCode,
  pattern: RegExp | undefined,
): asserts error is ContextError {
  assert.ok(error instanceof Error, `not an Error: ${String(error)}`)
  assert.equal((error as ContextError).code, code, error.stack ?? error.message)
  if (pattern !== undefined) {
    assert.match(error.message, pattern)
  }
}

/** The error with which a call rejects. It must not throw. */
export async function rejectsWith(
  call: () => Promise<unknown>,
  code: ContextErrorCode,
  pattern?: RegExp,
): Promise<ContextError> {
  let promise: Promise<unknown>
  try {
    promise = call()
  } catch (error) {
    assert.fail(`threw instead of rejecting: ${String(error)}`)
  }
  assert.ok(promise instanceof Promise, 'no promise')
  let value: unknown
  try {
    value = await promise
  } catch (error) {
    assertContextError(error, code, pattern)
    return error
  }
  assert.fail(`resolved with ${typeof value === 'string' ? value.slice(0, 200) : typeof value} instead of ${code}`)
}

/** The error that a call throws. */
export function throwsWith(call: () => unknown, code: ContextErrorCode, pattern?: RegExp): ContextError {
  try {
    call()
  } catch (error) {
    assertContextError(error, code, pattern)
    return error
  }
  assert.fail(`did not throw ${code}`)
}

/** A debug callback that remembers. */
export interface DebugLog {
  (message: string, data?: unknown): void
  readonly entries: { message: string; data: unknown }[]
  readonly messages: string[]
}

export function debugLog(): DebugLog {
  const entries: { message: string; data: unknown }[] = []
  const log = (message: string, data?: unknown): void => {
    entries.push({ message, data })
  }
  return Object.defineProperties(log, {
    entries: { value: entries },
    messages: { get: () => entries.map(({ message }) => message) },
  }) as DebugLog
}

/** The `deletedCount` values that were reported. */
export function deletedCounts(log: DebugLog): number[] {
  return log.entries.flatMap(({ data }) => {
    const count = (data as { deletedCount?: number } | undefined)?.deletedCount
    return count === undefined ? [] : [count]
  })
}

/** A promise to be settled from outside. */
export function deferred(): { promise: Promise<void>; resolve: () => void } {
  let resolve: () => void = () => {}
  const promise = new Promise<void>((settle) => {
    resolve = settle
  })
  return { promise, resolve }
}

/** Any depth, sorted keys. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) {
    return `[${value.map(canonical).join()}]`
  }
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1))
    return `{${entries.map(([key, entry]) => `${JSON.stringify(key)}:${canonical(entry)}`).join()}}`
  }
  return JSON.stringify(value)
}

/** Nested `depth` levels deep. */
export function nested(depth: number, wrap: (inner: unknown) => unknown): unknown {
  let value: unknown = 'core'
  for (let level = 0; level < depth; level++) {
    value = wrap(value)
  }
  return value
}

/** The depth of the chain of first children, and the value at its end; without recursion. */
export function unwrap(value: unknown): { depth: number; core: unknown } {
  let depth = 0
  let core = value
  while (typeof core === 'object' && core !== null) {
    core = Object.values(core)[0]
    depth++
  }
  return { depth, core }
}

function missing(path: string): Error {
  return Object.assign(new Error(`ENOENT: no such file or directory, '${path}'`), { code: 'ENOENT' })
}

/** A file system in memory as users write one for their tests: a class with a map, no `rename`. */
export class MemoryFileSystem implements IFileSystem {
  readonly files = new Map<string, string>()
  readonly directories = new Set<string>(['/'])
  readonly modes = new Map<string, number>()
  /** Every call: the method's name and its arguments. */
  readonly calls: [string, ...unknown[]][] = []

  async readFile(...parameters: [string]): Promise<string> {
    this.calls.push(['readFile', ...parameters])
    const content = this.files.get(parameters[0])
    if (content === undefined) {
      throw missing(parameters[0])
    }
    return content
  }

  async writeFile(...parameters: [string, string]): Promise<void> {
    this.calls.push(['writeFile', ...parameters])
    const [path, content] = parameters
    if (!this.directories.has(this.dirname(path))) {
      throw missing(path)
    }
    this.files.set(path, content)
  }

  async exists(...parameters: [string]): Promise<boolean> {
    this.calls.push(['exists', ...parameters])
    return this.files.has(parameters[0]) || this.directories.has(parameters[0])
  }

  async mkdir(...parameters: [string]): Promise<void> {
    this.calls.push(['mkdir', ...parameters])
    for (let path = parameters[0]; path !== '/'; path = this.dirname(path)) {
      this.directories.add(path)
    }
  }

  async chmod(...parameters: [string, number]): Promise<void> {
    this.calls.push(['chmod', ...parameters])
    this.modes.set(...parameters)
  }

  async unlink(...parameters: [string]): Promise<void> {
    this.calls.push(['unlink', ...parameters])
    if (!this.files.delete(parameters[0])) {
      throw missing(parameters[0])
    }
  }

  async readdir(...parameters: [string]): Promise<string[]> {
    this.calls.push(['readdir', ...parameters])
    const [directory] = parameters
    if (this.files.has(directory)) {
      throw Object.assign(new Error(`ENOTDIR: not a directory, '${directory}'`), { code: 'ENOTDIR' })
    }
    if (!this.directories.has(directory)) {
      throw missing(directory)
    }
    return [...this.files.keys(), ...this.directories]
      .filter((path) => path !== '/' && this.dirname(path) === directory)
      .map((path) => path.slice(directory === '/' ? 1 : directory.length + 1))
  }

  resolvePath(...parameters: [string]): string {
    this.calls.push(['resolvePath', ...parameters])
    const [path] = parameters
    if (path === '~' || path.startsWith('~/')) {
      return this.getHomeDir() + path.slice(1)
    }
    return path.startsWith('/') ? path : `${this.getCwd()}/${path}`
  }

  joinPath(...segments: string[]): string {
    this.calls.push(['joinPath', ...segments])
    return segments.join('/')
  }

  getHomeDir(): string {
    return '/virtual-home'
  }

  getCwd(): string {
    return '/virtual-cwd'
  }

  dirname(filePath: string): string {
    return filePath.slice(0, filePath.lastIndexOf('/')) || '/'
  }

  /** The calls of one method, without its name. */
  argumentsOf(method: keyof IFileSystem): unknown[][] {
    return this.calls.filter(([name]) => name === method).map(([, ...parameters]) => parameters)
  }
}

/** As `MemoryFileSystem`, with `rename`. */
export class RenamingFileSystem extends MemoryFileSystem {
  async rename(...parameters: [string, string]): Promise<void> {
    this.calls.push(['rename', ...parameters])
    const [from, to] = parameters
    const content = this.files.get(from)
    if (content === undefined) {
      throw missing(from)
    }
    this.files.delete(from)
    this.files.set(to, content)
  }
}

export const NOBODY = 65_534

/** Whether this process may change its user id. */
export const isRoot = process.getuid?.() === 0

/**
 * Runs a script that may use the classes, `fs` and `report(value)`, in a process of its own with this runtime.
 *
 * @returns what it reported
 */
export function runScript(
  body: string,
  options: { env?: Record<string, string>; uid?: number; input?: unknown } = {},
): Promise<unknown> {
  return inDirectory((directory) => {
    chmodSync(directory, 0o755)
    const script = join(directory, 'script.mjs')
    // Another user may reach neither the repository nor the runtime: it gets copies.
    installPackage(directory)
    const runtime = options.uid === undefined ? process.execPath : reachableRuntime(directory, options.uid)
    writeFileSync(
      script,
      `import { writeSync } from 'node:fs'
import * as fs from 'node:fs'
import { ContextHistory, ContextManager, ContextStore, RepoMemory } from 'agent-context'
const input = JSON.parse(process.argv[2])
const report = (value) => writeSync(1, JSON.stringify(value))
const failure = (error) => ({ code: error.code, message: error.message, cause: error.cause?.code })
${body}
`,
      { mode: 0o644 },
    )
    const isDeno = 'Deno' in globalThis
    const ran = spawnSync(runtime, [...(isDeno ? ['run', '-A'] : []), script, JSON.stringify(options.input ?? null)], {
      encoding: 'utf8',
      cwd: directory,
      env: {
        ...(options.env ?? { ...process.env, NODE_OPTIONS: '' }),
        // Deno does not start without a folder for its cache.
        ...(isDeno ? { DENO_DIR: join(directory, 'deno') } : {}),
      },
      ...(options.uid === undefined ? {} : { uid: options.uid, gid: options.uid }),
    })
    assert.equal(ran.status, 0, `${ran.signal ?? ''} ${ran.error?.message ?? ''} ${ran.stderr}`)
    return JSON.parse(ran.stdout) as unknown
  })
}

/** Installs the files that an import of the package needs, in a folder that all users can read. */
function installPackage(directory: string): void {
  const repository = fileURLToPath(new URL('../..', import.meta.url))
  // Deno reads the `imports` of an installed package, below a package.json.
  writeFileSync(join(directory, 'package.json'), '{ "private": true }', { mode: 0o644 })
  const copy = join(directory, 'node_modules', 'agent-context')
  mkdirSync(copy, { recursive: true })
  chmodSync(dirname(copy), 0o755)
  const isNeeded = (name: string): boolean =>
    ['dist', 'native.cjs', 'package.json'].includes(name) || name.endsWith('.node')
  for (const name of readdirSync(repository).filter(isNeeded)) {
    cpSync(join(repository, name), join(copy, name), { recursive: true })
  }
  for (const name of readdirSync(copy, { recursive: true, encoding: 'utf8' })) {
    const path = join(copy, name)
    chmodSync(path, statSync(path).isDirectory() ? 0o755 : 0o644)
  }
  chmodSync(copy, 0o755)
}

/** This runtime, or a copy of it where the user cannot reach it. */
function reachableRuntime(directory: string, uid: number): string {
  if (spawnSync(process.execPath, ['--version'], { uid, gid: uid, cwd: directory }).status === 0) {
    return process.execPath
  }
  const copy = join(directory, 'runtime')
  copyFileSync(process.execPath, copy)
  chmodSync(copy, 0o755)
  return copy
}

/** A replacer for `JSON.stringify`: bytes that are UTF-8 text with a visible character are stored as that text. */
export function bytesAsText(_key: string, member: unknown): unknown {
  const text = member instanceof Uint8Array && isUtf8(member) ? Buffer.from(member).toString() : ''
  return /\P{Cc}/u.test(text) ? text : member
}
