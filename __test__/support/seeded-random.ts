/** Chance that is the same in every run. */

const DIGITS = '0123456789'
const LOWERCASE = 'abcdefghijklmnopqrstuvwxyz'
const UPPERCASE = LOWERCASE.toUpperCase()

export class SeededRandom {
  #state: number

  constructor(seed: number) {
    this.#state = seed
  }

  /** A whole number from 0 up to, not including, `limit`: mulberry32. */
  below(limit: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * limit)
  }

  of<T>(items: readonly T[]): T {
    return items[this.below(items.length)] as T
  }

  text(letters: string, length: number): string {
    return Array.from({ length }, () => letters[this.below(letters.length)]).join('')
  }

  hex(length: number): string {
    return this.text(`${DIGITS}abcdef`, length)
  }

  digits(length: number): string {
    return this.text(DIGITS, length)
  }

  uppercase(length: number): string {
    return this.text(UPPERCASE + DIGITS, length)
  }

  lowercase(length: number): string {
    return this.text(LOWERCASE + DIGITS, length)
  }

  letters(length: number): string {
    return this.text(LOWERCASE + UPPERCASE + DIGITS, length)
  }

  /** The text of so many bytes, a multiple of three: no padding. */
  base64(bytes: number): string {
    return this.text(`${LOWERCASE}${UPPERCASE}${DIGITS}+/`, (bytes / 3) * 4)
  }

  /** What people choose: letters with digits and a sign, at least eight in all. */
  password(): string {
    const sign = this.of(['!', '_', '.', '-'])
    return `${this.text(UPPERCASE, 1)}${this.lowercase(4 + this.below(8))}${sign}${this.letters(2)}${this.digits(2)}`
  }
}
