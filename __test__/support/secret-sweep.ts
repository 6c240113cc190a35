/** Looks for pieces of planted secrets in everything it is shown. */

import { Buffer } from 'node:buffer'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Planted } from './planted-secrets.ts'

/** Shorter pieces are none. */
const SHORTEST = 8
const FILTER_BITS = 18
const BASE = 0x01000193
/** `BASE` to the power of `SHORTEST`: what the oldest byte of a window counts. */
const OLDEST = Array.from({ length: SHORTEST }).reduce<number>((power) => Math.imul(power, BASE), 1)

interface Secret {
  /** The number of the plant. */
  readonly plant: number
  readonly bytes: Buffer
  /** A piece of so many bytes is a leak. */
  readonly least: number
}

/** Upper and lower case are the same: an index keeps words in lower case. */
const FOLDED = Uint8Array.from({ length: 256 }, (_, byte) => (byte >= 0x41 && byte <= 0x5a ? byte + 0x20 : byte))

function fold(bytes: Buffer): Buffer {
  return Buffer.from(bytes.map((byte) => FOLDED[byte] as number))
}

/** Finds windows of half of a secret, at least eight bytes long, in whatever case. */
class Windows {
  readonly #filter = new Uint8Array(1 << FILTER_BITS)
  /** The places in secrets of eight bytes, by their hash. */
  readonly #places = new Map<number, [secret: Secret, at: number][]>()

  constructor(secrets: readonly (readonly [plant: number, secret: string])[]) {
    for (const [plant, text] of secrets) {
      const bytes = fold(Buffer.from(text))
      const secret = { plant, bytes, least: Math.max(SHORTEST, Math.floor(bytes.length / 2)) }
      for (let at = 0; at + SHORTEST <= bytes.length; at++) {
        const hash = bytes.subarray(at, at + SHORTEST).reduce((hash, byte) => (Math.imul(hash, BASE) + byte) | 0, 0)
        const places = this.#places.get(hash) ?? []
        places.push([secret, at])
        this.#places.set(hash, places)
        this.#filter[slot(hash)] = 1
      }
    }
  }

  /** Calls back for every planted secret of which a part occurs in the bytes, with its position. */
  find(given: Buffer, report: (plant: number, at: number) => void): void {
    const filter = this.#filter
    let hash = 0
    // Where what was reported ends.
    let covered = 0
    for (let index = 0; index < given.length; index++) {
      hash = (Math.imul(hash, BASE) + (FOLDED[given[index] as number] as number)) | 0
      if (index >= SHORTEST) {
        hash = (hash - Math.imul(FOLDED[given[index - SHORTEST] as number] as number, OLDEST)) | 0
      }
      if (filter[slot(hash)] === 1 && index >= covered + SHORTEST - 1) {
        for (const [secret, at] of this.#places.get(hash) ?? []) {
          const piece = pieceAt(given, index + 1 - SHORTEST, secret, at)
          if (piece !== undefined) {
            report(secret.plant, piece[0])
            covered = piece[1]
          }
        }
      }
    }
  }
}

/** Start and end of the piece of a secret that holds the eight bytes, if it is long enough. */
function pieceAt(
  given: Buffer,
  start: number,
  { bytes, least }: Secret,
  at: number,
): readonly [start: number, end: number] | undefined {
  const isSame = (offset: number): boolean => FOLDED[given[start + offset] ?? 0] === bytes[at + offset]
  let [from, to] = [0, 0]
  while (at + to < bytes.length && isSame(to)) {
    to++
  }
  if (to < SHORTEST) {
    return undefined
  }
  while (at + from > 0 && isSame(from - 1)) {
    from--
  }
  return to - from >= least ? [start + from, start + to] : undefined
}

function slot(hash: number): number {
  return (hash ^ (hash >>> 15)) & ((1 << FILTER_BITS) - 1)
}

const lettersAndDigits = (text: string): string => text.replaceAll(/[^0-9A-Za-z]/g, '')

/** What was found where. */
export class SecretSweep {
  readonly #planted: readonly Planted[]
  readonly #windows: Windows
  /** In names of files other characters are replaced. */
  readonly #inNames: Windows
  /** By place: the planted secrets that were found there, with the text around one of them. */
  readonly found = new Map<string, Map<number, string>>()

  constructor(planted: readonly Planted[]) {
    this.#planted = planted
    const secrets = planted.flatMap(({ secrets }, plant) => secrets.map((secret) => [plant, secret] as const))
    this.#windows = new Windows(secrets)
    const bare = secrets.map(([plant, secret]) => [plant, lettersAndDigits(secret)] as const)
    this.#inNames = new Windows(bare.filter(([, secret]) => secret.length >= SHORTEST))
  }

  /** Looks at a text, or at anything as JSON. */
  look(where: string, shown: unknown): void {
    const text = typeof shown === 'string' || Buffer.isBuffer(shown) ? shown : (JSON.stringify(shown) ?? '')
    this.#look(where, typeof text === 'string' ? Buffer.from(text) : text, this.#windows)
  }

  /** Looks at names of files. */
  lookAtName(where: string, name: string): void {
    this.look(where, name)
    this.#look(where, Buffer.from(lettersAndDigits(name)), this.#inNames)
  }

  #look(where: string, bytes: Buffer, windows: Windows): void {
    const plants = this.found.get(where) ?? new Map<number, string>()
    this.found.set(where, plants)
    windows.find(bytes, (plant, at) => {
      if (!plants.has(plant)) {
        plants.set(plant, bytes.toString('utf8', Math.max(0, at - 60), at + 24))
      }
    })
  }

  /** How many plants were found in a place. */
  count(where: string): number {
    return this.found.get(where)?.size ?? 0
  }

  /** Kind, place and surroundings of what was found: a line for each kind in each place. */
  leaks(): string[] {
    const lines = new Map<string, string>()
    for (const [where, plants] of this.found) {
      for (const [plant, surroundings] of plants) {
        const kind = `${this.#planted[plant]?.kind}, in ${where}`
        lines.set(kind, lines.get(kind) ?? `${kind}: ${JSON.stringify(surroundings)}`)
      }
    }
    return [...lines.values()]
  }
}

/** Looks at a directory again and again: at every file that is new or has changed, and at every name. */
export class DirectoryWatch {
  readonly #directory: string
  readonly #sweep: SecretSweep
  readonly #seen = new Map<string, string>()

  constructor(directory: string, sweep: SecretSweep) {
    this.#directory = directory
    this.#sweep = sweep
  }

  /** Looks once; files that go meanwhile are gone. */
  look(): void {
    this.#lookBelow(this.#directory)
  }

  #lookBelow(directory: string): void {
    for (const entry of unlessGone(() => readdirSync(directory, { withFileTypes: true })) ?? []) {
      const path = join(directory, entry.name)
      const stats = unlessGone(() => statSync(path))
      const state = stats === undefined ? '' : `${stats.size} ${stats.mtimeMs} ${stats.ino}`
      if (this.#seen.get(path) === undefined) {
        this.#sweep.lookAtName('names of files', entry.name)
      }
      if (entry.isDirectory()) {
        this.#lookBelow(path)
      } else if (this.#seen.get(path) !== state) {
        this.#sweep.look('files', unlessGone(() => readFileSync(path)) ?? '')
      }
      this.#seen.set(path, state)
    }
  }
}

function unlessGone<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    if ((error as { code?: string }).code === 'ENOENT') {
      return undefined
    }
    throw error
  }
}
