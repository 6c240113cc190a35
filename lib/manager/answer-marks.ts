/**
 * Signatures of the context tools' answers. A framework passes an answer back to the manager as the output of a tool, possibly
 * under another name. The last line of an answer is a MAC of the text before it, by which the manager recognises it. The random
 * key is stored in the context directory.
 */

import { Buffer } from 'node:buffer'
import type * as Crypto from 'node:crypto'
import type { NativeManager } from '#addon'
import { debug, type Hooks, operate } from '../native/border.ts'

const BEGINNING = '\n[Answer of the context tools, signed '
const SIGNED = /\n\[Answer of the context tools, signed ([0-9a-f]{32})\]$/
const DIGITS = 32
/** The length of a signature in bytes. */
export const SIGNATURE_BYTES = Buffer.byteLength(BEGINNING) + DIGITS + 1
/** The largest size of what a framework wraps around an answer (ids, types, a message), in UTF-16 code units. */
const MAXIMUM_WRAPPING = 2048
/** The longest text that is checked for a signature, in UTF-16 code units. */
const MAXIMUM_LENGTH = 16 * 1024 * 1024
/** The deepest nesting of JSON in JSON strings, such as an MCP result in the text of a message. */
const MAXIMUM_NESTING = 3

/** Loads the module on first use: loading takes 4 ms, and most processes sign no answers. */
const loadCrypto = (): Promise<typeof Crypto> => import('node:crypto')

/** Signs answers, and recognises signed answers. */
export class AnswerMarks {
  readonly #hooks: Hooks
  readonly #native: NativeManager
  #key: Promise<string> | undefined

  constructor(native: NativeManager, hooks: Hooks) {
    this.#native = native
    this.#hooks = hooks
  }

  /** Appends a signature to an answer. */
  async sign(answer: string): Promise<string> {
    this.#key ??= this.#make()
    return `${answer}${BEGINNING}${macOf(await loadCrypto(), await this.#key, answer)}]`
  }

  /** Whether a text may be a signed answer. This cheap check spares most outputs the wait for the key. */
  mayBeAnswer(text: string): boolean {
    // Inside JSON the line break is escaped.
    return text.length <= MAXIMUM_LENGTH && text.includes(BEGINNING.slice(1))
  }

  /** Whether an output is a signed answer, possibly wrapped by a framework. `text` is the output itself or its JSON. */
  async isAnswer(text: string): Promise<boolean> {
    if (!this.mayBeAnswer(text)) {
      return false
    }
    const key = await (this.#key ?? this.#existing())
    return key !== '' && unsignedLength(await loadCrypto(), text, key, MAXIMUM_NESTING) <= MAXIMUM_WRAPPING
  }

  /** Reads the key as hexadecimal digits; empty if there is none and `creates` is `false`. */
  #readKey(creates: boolean): Promise<string> {
    return operate(
      this.#hooks,
      (operation) => this.#native.answerKey(operation, creates),
      (key) => key,
    )
  }

  async #existing(): Promise<string> {
    try {
      const key = await this.#readKey(false)
      if (key !== '') {
        this.#key = Promise.resolve(key)
      }
      return key
    } catch (error) {
      debug(this.#hooks, 'Failed to read the key of answers: they are taken for outputs', { error })
      return ''
    }
  }

  async #make(): Promise<string> {
    try {
      return await this.#readKey(true)
    } catch (error) {
      debug(this.#hooks, 'Failed to make the key of answers: only this manager recognises them', { error })
      const { randomBytes } = await loadCrypto()
      return randomBytes(32).toString('hex')
    }
  }
}

function macOf({ createHmac }: typeof Crypto, key: string, answer: string): string {
  return createHmac('sha256', Buffer.from(key, 'hex')).update(answer, 'utf8').digest('hex').slice(0, DIGITS)
}

/** The length of the part of a text that is not signed; `Infinity` if no part is signed. */
function unsignedLength(crypto: typeof Crypto, text: string, key: string, nesting: number): number {
  const mac = SIGNED.exec(text)?.[1]
  if (mac !== undefined) {
    const expected = macOf(crypto, key, text.slice(0, -SIGNATURE_BYTES))
    return crypto.timingSafeEqual(Buffer.from(mac), Buffer.from(expected)) ? 0 : Number.POSITIVE_INFINITY
  }
  const value = nesting > 0 && /^\s*[[{"]/.test(text) ? parse(text) : undefined
  if (value === undefined) {
    return Number.POSITIVE_INFINITY
  }
  let hasAnswer = false
  let length = 0
  const pending: unknown[] = [value]
  while (pending.length > 0) {
    const part = pending.pop()
    if (typeof part === 'string') {
      const isCandidate = part.includes(BEGINNING.slice(1))
      const unsigned = isCandidate ? unsignedLength(crypto, part, key, nesting - 1) : part.length
      hasAnswer ||= isCandidate && unsigned !== Number.POSITIVE_INFINITY
      length += Math.min(unsigned, part.length)
    } else if (typeof part === 'object' && part !== null) {
      for (const [name, member] of Object.entries(part)) {
        length += name.length
        pending.push(member)
      }
    } else {
      length += String(part).length
    }
  }
  return hasAnswer ? length : Number.POSITIVE_INFINITY
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const marksOfManagers = new WeakMap<object, AnswerMarks>()

/** Registers the signatures of a manager, so that tools can sign with its key. */
export function registerMarks(manager: object, marks: AnswerMarks): void {
  marksOfManagers.set(manager, marks)
}

/** The signatures of a manager; `undefined` for any other object. */
export function marksOf(manager: object): AnswerMarks | undefined {
  return marksOfManagers.get(manager)
}
