/** Secrets for tests. Whole ones stand nowhere in the repository: hosting services refuse such pushes. */

import { randomInt } from 'node:crypto'

const LETTERS_AND_DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

/** A text that no rule knows, as long as something else does not tell that it is secret. */
export function randomText(length: number): string {
  return Array.from({ length }, () => LETTERS_AND_DIGITS[randomInt(LETTERS_AND_DIGITS.length)]).join('')
}

/** What a well-known rule finds by its form alone: a token of GitHub, as <https://docs.github.com> describes it. */
export function makeToken(): string {
  return ['gh', 'p_', randomText(36)].join('')
}
