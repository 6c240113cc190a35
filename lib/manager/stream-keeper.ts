/** What is kept of a stream: in memory while it is short, in files beyond that. */

import { Collected } from './collected-chunks.ts'
import type { OpenStream, SpooledStream } from './spooled-stream.ts'

/** A stream whose JSON takes more bytes is kept in files. */
export const SHORT_STREAM = 1024 * 1024

/** How a long stream is kept in files. */
export interface LongStreams {
  readonly open: OpenStream
  /** Whether the stream may leave memory, given what has come of it. Called again when twice as much has come. */
  readonly mayOpen?: (soFar: unknown) => boolean
}

/** What was kept. */
export interface Kept {
  /** The whole result, where it is in memory. */
  readonly result: unknown
  /** The files, where it is there. */
  readonly spooled: SpooledStream | undefined
  readonly isCut: boolean
}

/** Keeps what comes of a stream. */
export class StreamKeeper {
  readonly #maxBytes: number
  readonly #long: LongStreams | undefined
  #collected: Collected | undefined
  #spooled: SpooledStream | undefined
  /** From how many bytes on files are asked for. */
  #short = SHORT_STREAM
  /** The chunk that is on its way. */
  #adding: Promise<void> | undefined
  #failure: { readonly error: unknown } | undefined

  /** @param long without it, all is kept in memory */
  constructor(maxBytes: number, long: LongStreams | undefined) {
    this.#maxBytes = maxBytes
    this.#long = long
    this.#collected = new Collected(maxBytes)
  }

  /** Adds a chunk. The next should come when the promise has settled; it never rejects. */
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

  /** What was in memory goes to files. */
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

  /** A stream is read on when it cannot be kept. */
  #fail(error: unknown): void {
    this.#failure ??= { error }
    this.#collected = undefined
    this.#spooled?.discard()
  }

  /** What was kept, once the stream is over. Rejects when it could not be kept. */
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
