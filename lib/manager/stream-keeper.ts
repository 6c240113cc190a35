/** Stores a stream while it is read: in memory while it is short, then in temporary files. */

import { Collected } from './collected-chunks.ts'
import type { OpenStream, SpooledStream } from './spooled-stream.ts'

/** The size of a stream's JSON in bytes above which it is kept in temporary files. */
export const SHORT_STREAM = 1024 * 1024

/** The options for keeping a long stream in temporary files. */
export interface LongStreams {
  readonly open: OpenStream
  /** Whether the stream may be moved to files, judged by the part that was read. If not, it is called again after twice as much was read. */
  readonly mayOpen?: (soFar: unknown) => boolean
}

/** The stored part of a stream. */
export interface Kept {
  /** The result, if it is in memory. */
  readonly result: unknown
  /** The stream in temporary files, if it is there. */
  readonly spooled: SpooledStream | undefined
  readonly isCut: boolean
}

/** Stores the chunks of one stream. */
export class StreamKeeper {
  readonly #maxBytes: number
  readonly #long: LongStreams | undefined
  #collected: Collected | undefined
  #spooled: SpooledStream | undefined
  /** The size in bytes from which `mayOpen` is called. */
  #short = SHORT_STREAM
  /** The pending `add` of a chunk. */
  #adding: Promise<void> | undefined
  #failure: { readonly error: unknown } | undefined

  /** @param long without it, the whole stream is kept in memory */
  constructor(maxBytes: number, long: LongStreams | undefined) {
    this.#maxBytes = maxBytes
    this.#long = long
    this.#collected = new Collected(maxBytes)
  }

  /** Adds a chunk. The caller should wait for the promise before it adds the next one. The promise never rejects. */
  add(chunk: unknown): Promise<void> | undefined {
    if (this.#adding !== undefined) {
      return this.#track(this.#adding.then(() => this.#add(chunk)))
    }
    const adding = this.#add(chunk)
    return adding === undefined ? undefined : this.#track(adding)
  }

  #track(adding: Promise<void>): Promise<void> {
    const tracked: Promise<void> = adding
      .catch((error: unknown) => this.#fail(error))
      .finally(() => {
        if (this.#adding === tracked) {
          this.#adding = undefined
        }
      })
    this.#adding = tracked
    return tracked
  }

  #add(chunk: unknown): Promise<void> | undefined {
    if (this.#failure !== undefined) {
      return undefined
    }
    try {
      if (this.#spooled !== undefined) {
        return this.#spooled.add(chunk)
      }
      this.#collected?.add(chunk)
      return this.#collected !== undefined && this.#collected.bytes > this.#short ? this.#openFiles() : undefined
    } catch (error) {
      this.#fail(error)
      return undefined
    }
  }

  /** Moves the chunks in memory to files. */
  #openFiles(): Promise<void> | undefined {
    const { open, mayOpen } = this.#long ?? {}
    const soFar = this.#collected
    if (open === undefined || soFar === undefined || soFar.isCut) {
      return undefined
    }
    if (mayOpen?.(soFar.result(false)) === false) {
      this.#short *= 2
      return undefined
    }
    this.#collected = undefined
    this.#spooled = open(this.#maxBytes)
    return move(soFar, this.#spooled)
  }

  /** Remembers the error. The stream is read further even if it cannot be stored. */
  #fail(error: unknown): void {
    this.#failure ??= { error }
    this.#collected = undefined
    this.#spooled?.discard()
  }

  /** Returns the stored part after the stream has ended. Rejects if it could not be stored. */
  async finish(): Promise<Kept> {
    await this.#adding
    if (this.#failure === undefined) {
      try {
        await this.#spooled?.finish()
      } catch (error) {
        this.#fail(error)
      }
    }
    if (this.#failure !== undefined) {
      throw this.#failure.error
    }
    const kept = this.#spooled ?? this.#collected
    return { result: this.#collected?.result(), spooled: this.#spooled, isCut: kept?.isCut === true }
  }
}

async function move(from: Collected, to: SpooledStream): Promise<void> {
  for (const chunk of from.take()) {
    await to.add(chunk)
  }
}
