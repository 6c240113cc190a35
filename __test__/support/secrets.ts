/** Secrets for tests. Whole ones stand nowhere in the repository: hosting services refuse such pushes. */

import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { join } from 'node:path'
import type { MemoryFileSystem } from './fixtures.ts'
import { readdirSync, readFileSync } from './stored-files.ts'

const LETTERS_AND_DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

/** Letters and digits, which are no secret as long as nothing beside them says so. */
export function randomText(length: number): string {
  return Array.from({ length }, () => LETTERS_AND_DIGITS[randomInt(LETTERS_AND_DIGITS.length)]).join('')
}

/** Secrets that were planted, to be looked for afterwards. */
export class Canaries {
  readonly #planted: string[] = []

  /** A secret that is recognised only by its form: a token as GitHub documents them. */
  token(): string {
    return this.plant(['gh', 'p_', randomText(36)].join(''))
  }

  plant(secret: string): string {
    this.#planted.push(secret)
    return secret
  }

  get count(): number {
    return this.#planted.length
  }

  /** Asserts that a text contains none of them. */
  assertAbsent(text: string, where: string): void {
    for (const [number, secret] of this.#planted.entries()) {
      // What is left of a secret that was cut is one as well.
      const half = secret.slice(0, Math.ceil(secret.length / 2))
      const at = text.indexOf(half)
      assert.ok(at < 0, `secret ${number} in ${where}: ${text.slice(Math.max(0, at - 200), at + 10)}…`)
    }
  }

  /** All of them stand in a text. */
  assertPresent(text: string, where: string): void {
    for (const [number, secret] of this.#planted.entries()) {
      assert.ok(text.includes(secret), `secret ${number} is not in ${where}`)
    }
  }
}

/** Every name and every byte below a directory, hidden files included. */
export function everythingBelow(directory: string): string {
  const parts: string[] = []
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name)
    parts.push(path, entry.isDirectory() ? everythingBelow(path) : readFileSync(path, 'latin1'))
  }
  return parts.join('\n')
}

/** Everything that an injected file system was ever told. */
export function everythingTold(fileSystem: MemoryFileSystem): string {
  return fileSystem.calls.map((call) => call.join('\n')).join('\n')
}
