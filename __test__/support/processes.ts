/** Directories, child processes and what to ask of a context directory, for the tests that need them. */

import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, realpathSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { removeDirectory } from './fixtures.ts'
import { isOnDisk } from './postgres.ts'
import { query, readdirSync, readFileSync } from './stored-files.ts'

/** A fixed upper bound for tests that start processes: Bun's default of 5 s is short on a busy machine. */
export const PATIENT = { timeout: 360_000 }
/** A child that has not ended by then hangs: several times what it takes beside two other runtimes on two cores. */
const HANGS_AFTER = 300_000

const CONTEXT_NAME = /^[\w-]+_[0-9a-f]{12}_\d+_\d+_[0-9a-f]{16}\.json$/

/**
 * `assert.ok` with a message always: without one, Node looks for the expression in the source to show it, which takes
 * minutes in the one long line that tsx makes of a file.
 */
export function holds(value: unknown, message = 'a condition does not hold'): asserts value {
  assert.ok(value, message)
}

/** A test body with a directory of its own, which goes with it. */
export function inDirectory(body: (directory: string) => Promise<void>): () => Promise<void> {
  return async () => {
    const directory = realpathSync(mkdtempSync(join(tmpdir(), 'agent-context-test-')))
    try {
      await body(directory)
    } finally {
      removeDirectory(directory)
    }
  }
}

/** The names in a directory, sorted; none when it is not there. */
export function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory).sort()
  } catch {
    return []
  }
}

/** The names of the contexts in a directory. */
export const contextsIn = (directory: string): string[] => namesIn(directory).filter((name) => CONTEXT_NAME.test(name))

/** The names of the lease files in a directory. */
export const leasesIn = (directory: string): string[] =>
  namesIn(directory).filter((name) => /^\.[0-9a-f]{16}\.lease$/.test(name))

/** The names of the temporary files in a directory. */
export const temporariesIn = (directory: string): string[] =>
  namesIn(directory).filter((name) => /^\.[0-9a-f]{16}-\d+\.tmp$/.test(name))

/**
 * In a database, ends the locks that processes have in a directory, or on one file of it: those of processes that are gone, without the
 * seconds until the server notices. On disk, their locks have ended with them.
 */
export function endLocksIn(directory: string, name = '%'): void {
  if (!isOnDisk) {
    query(`UPDATE agent_context.lock_owner SET until = 0 WHERE id IN (SELECT l.owner FROM agent_context.lock AS l
      JOIN agent_context.file AS f ON f.id = l.file WHERE f.directory = '${directory}' AND f.name LIKE '${name}')`)
  }
}

/** A file's record; throws when it is not whole JSON. */
export function recordIn(path: string): { toolName: string; result: unknown; args: Record<string, unknown> } {
  return JSON.parse(readFileSync(path, 'utf8')) as ReturnType<typeof recordIn>
}

/** How a child ended. */
export interface Ended {
  code: number | null
  signal: string | null
  stdout: string
  stderr: string
}

/** A child under way. */
export interface Child {
  process: ChildProcess
  /** The next whole line it prints; rejects when it ends before. */
  line(): Promise<string>
  /** Writes a line to its standard input. */
  send(line: string): void
  ended: Promise<Ended>
}

/** The path of `__test__/children/<script>`. */
export const scriptOf = (script: string): string => fileURLToPath(new URL(`../children/${script}`, import.meta.url))

/** What a runtime wants in front of a script's path. */
export function runtimeParameters(executable: string): string[] {
  return basename(executable).startsWith('deno') ? ['run', '-A'] : []
}

export interface ChildOptions {
  readonly flags?: readonly string[]
  readonly executable?: string
  /** Variables beside those of this process. */
  readonly environment?: Readonly<Record<string, string>>
}

/** Starts `__test__/children/<script>` on this runtime, or on another. */
export function start(
  script: string,
  parameters: readonly (string | number)[] = [],
  { flags = [], executable = process.execPath, environment = {} }: ChildOptions = {},
): Child {
  const path = scriptOf(script)
  const started = spawn(
    executable,
    [...runtimeParameters(executable), ...flags, path, ...parameters.map((parameter) => String(parameter))],
    { stdio: ['pipe', 'pipe', 'pipe'], env: { ...process.env, ...environment } },
  )
  let stdout = ''
  let stderr = ''
  let taken = 0
  let waiting: (() => void) | undefined
  let isOver = false
  started.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
    waiting?.()
  })
  started.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  started.stdin.on('error', () => {}) // it may have ended
  const ended = new Promise<Ended>((resolve, reject) => {
    const hangs = setTimeout(() => {
      stderr += `\n${script} did not end and was killed`
      started.kill('SIGKILL')
    }, HANGS_AFTER)
    started.on('error', reject)
    started.on('close', (code, signal) => {
      clearTimeout(hangs)
      isOver = true
      waiting?.()
      resolve({ code, signal, stdout, stderr })
    })
  })
  return {
    process: started,
    ended,
    send: (line) => void started.stdin.write(`${line}\n`),
    async line() {
      for (;;) {
        const end = stdout.indexOf('\n', taken)
        if (end >= 0) {
          const line = stdout.slice(taken, end)
          taken = end + 1
          return line
        }
        if (isOver) {
          throw new Error(`${script} ended before it said so:\n${stdout}\n${stderr}`)
        }
        await new Promise<void>((resolve) => {
          waiting = resolve
        })
      }
    },
  }
}

/** Runs a child to its end; throws unless it ends well. Returns the lines that it printed. */
export async function run(
  script: string,
  parameters: readonly (string | number)[] = [],
  options: ChildOptions = {},
): Promise<string[]> {
  const child = start(script, parameters, options)
  child.process.stdin?.end()
  const { code, signal, stdout, stderr } = await child.ended
  if (code !== 0) {
    throw new Error(`${script} ended with ${signal ?? code}:\n${stdout}\n${stderr}`)
  }
  return stdout.split('\n').slice(0, -1)
}

/** The whole lines of what a child printed. */
export const linesOf = (ended: Ended): string[] => ended.stdout.split('\n').slice(0, -1)
