/** Vectors of contexts: made by the caller's function, kept on the native side. */

import type { NativeManager } from '../native.js'
import type { Embed } from '../retrieval.d.ts'
import { cancellable, debug, type Hooks } from './border.ts'
import { inspect } from './errors.ts'
import { untilAborted } from './signals.ts'

/** Texts that the caller's function is given at once. */
const BATCH = 64
/** Texts fetched at once. */
const PAGE = 8 * BATCH

/** What is embedded, and how. */
export interface Embedding {
  readonly native: NativeManager
  readonly hooks: Hooks
  readonly query: string
  /** Which contexts come into question, as the native side is told. */
  readonly request: string
  readonly embed: Embed
  readonly signal: AbortSignal | undefined
}

/** Sees to it that no context is embedded by two calls at once. */
export class Embeddings {
  #turn: Promise<void> = Promise.resolve()

  /**
   * Has every context in question embedded that has no vector yet, and then the query.
   *
   * @returns the query's vector; `undefined` when something went wrong, which `onDebug` is told
   */
  async vectorOf(embedding: Embedding): Promise<Float32Array | undefined> {
    const { hooks, query, signal } = embedding
    try {
      await this.#inTurn(() => embedContexts(embedding), signal)
      return (await ask(embedding, [query.toWellFormed()])).numbers
    } catch (error) {
      signal?.throwIfAborted()
      debug(hooks, 'embed failed: the ranker chooses alone', { error })
      return undefined
    }
  }

  /** Waits until the calls before are through. */
  async #inTurn(work: () => Promise<void>, signal: AbortSignal | undefined): Promise<void> {
    const before = this.#turn
    let leave = (): void => {}
    const over = new Promise<void>((resolve) => {
      leave = resolve
    })
    this.#turn = before.then(() => over)
    try {
      await untilAborted(before, signal)
      await work()
    } finally {
      leave()
    }
  }
}

async function embedContexts(embedding: Embedding): Promise<void> {
  const { native, hooks, request, signal } = embedding
  let expected: number | undefined
  for (;;) {
    const [sequences = '[]', ...texts] = await cancellable(
      hooks,
      native,
      signal,
      (operation) => native.textsWithoutVector(operation, request, PAGE),
      (_, answer) => answer,
    )
    if (texts.length === 0) {
      return
    }
    const numbers = Float64Array.from(JSON.parse(sequences) as number[])
    for (let start = 0; start < texts.length; start += BATCH) {
      const vectors = await ask(embedding, texts.slice(start, start + BATCH))
      expected ??= vectors.length
      if (vectors.length !== expected) {
        throw new Error(`embed gave vectors of ${expected} and of ${vectors.length} numbers`)
      }
      native.addVectors(numbers.slice(start, start + BATCH), vectors.numbers)
    }
  }
}

/** Vectors of one length, one after the other. */
interface Vectors {
  readonly numbers: Float32Array
  readonly length: number
}

async function ask({ embed, signal }: Embedding, texts: readonly string[]): Promise<Vectors> {
  signal?.throwIfAborted()
  const asked = new Promise<unknown>((resolve) => resolve(embed(texts, signal === undefined ? {} : { signal })))
  const vectors = await untilAborted(asked, signal)
  if (!Array.isArray(vectors) || vectors.length !== texts.length) {
    const given = Array.isArray(vectors) ? `${vectors.length} vectors` : inspect(vectors)
    throw new Error(`embed must give ${texts.length} vectors, not ${given}`)
  }
  const length = lengthOf(vectors[0])
  const numbers = new Float32Array(length * vectors.length)
  for (const [index, vector] of vectors.entries()) {
    if (lengthOf(vector) !== length) {
      throw new Error('embed must give vectors of one length')
    }
    copy(vector as ArrayLike<number>, numbers, index * length)
  }
  if (!numbers.every(Number.isFinite)) {
    throw new Error('embed gave something that is no finite number')
  }
  return { numbers, length }
}

function lengthOf(vector: unknown): number {
  const length = (vector as Partial<ArrayLike<number>> | null | undefined)?.length
  if (typeof vector !== 'object' || !Number.isSafeInteger(length) || length === 0) {
    throw new Error(`embed must give arrays of numbers, not ${inspect(vector)}`)
  }
  return length as number
}

/** Nothing is coerced: what is no number becomes `NaN`, which is refused. */
function copy(vector: ArrayLike<number>, numbers: Float32Array, start: number): void {
  for (let index = 0; index < vector.length; index++) {
    const number = vector[index]
    numbers[start + index] = typeof number === 'number' ? number : Number.NaN
  }
}
