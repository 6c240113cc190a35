/** What the tests of all adapters need. */

import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ContextManager, type ContextManagerOptions, type ContextPointer } from 'agent-context'
import { afterAll, expect } from 'vitest'
import { LARGE } from './large.ts'

export { LARGE }

const here = fileURLToPath(new URL('..', import.meta.url))
const directories: string[] = []

afterAll(() => {
  for (const directory of directories.splice(0)) {
    rmSync(directory, { recursive: true, force: true })
  }
})

export function newDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'agent-context-adapters-'))
  directories.push(directory)
  return directory
}

export function newManager(options: ContextManagerOptions = {}): ContextManager {
  return new ContextManager({ contextDir: newDirectory(), ...options })
}

export const LARGE_TEXT = JSON.stringify(LARGE)
/** A pixel. */
export const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

/** A token of GitHub's form, made here. */
export const SECRET = ['ghp', randomBytes(27).toString('base64').replace(/[+/]/g, 'x')].join('_')

export const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value))

/** The handle in a text. */
export function handleIn(text: string): string {
  const [handle] = /ctx_[0-9a-f]{16}/.exec(text) ?? []
  expect(handle, text.slice(0, 300)).toBeDefined()
  return handle as string
}

/** What is recorded of calls, in their order. */
export function recordsOf(manager: ContextManager) {
  return manager
    .getAllPointers()
    .map(({ toolName, args, callId, success, durationMs, queryId, taskId }: ContextPointer) => {
      return { toolName, args, callId, success, isTimed: typeof durationMs === 'number', queryId, taskId }
    })
}

/** Runs a script of this folder in a process of its own; gives what it prints. */
export function runScript(
  script: string,
  parameters: readonly string[] = [],
  home = newDirectory(),
  cwd = here,
): string {
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, ...parameters], {
    cwd,
    encoding: 'utf8',
    env: { ...process.env, HOME: home, USERPROFILE: home, NODE_NO_WARNINGS: '1' },
  })
  expect(status, stderr.slice(-3000)).toBe(0)
  return stdout
}

/**
 * Runs the code of a guide, all of its TypeScript as one module, beside the modules that the guide takes for granted.
 *
 * @param modules their names and sources
 */
export function runGuide(framework: string, modules: Record<string, string>): string {
  const text = readFileSync(join(here, '../../docs/guides', `${framework}.md`), 'utf8')
  const blocks = [...text.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, code]) => code)
  expect(blocks.length).toBeGreaterThan(0)
  const folder = join(here, '.guides', framework)
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  for (const [name, source] of Object.entries({ ...modules, 'guide.ts': blocks.join('\n') })) {
    writeFileSync(join(folder, name), source)
  }
  // What a guide stores in its working directory goes with that.
  const home = newDirectory()
  return runScript(join(folder, 'guide.ts'), [], home, home)
}
