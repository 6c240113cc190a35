/** Vectors of contexts: computed by the caller's function, and stored on the native side. */

import type { NativeManager } from '#addon'
import { inspect } from '../arguments/errors.ts'
import { callWithin } from '../arguments/signals.ts'
import { cancellable, debug, type Hooks } from '../native/border.ts'
import type { Embed } from './retrieval-types.ts'

/** The number of texts per call of the caller's function. */
const BATCH = 64
/** The number of texts that are fetched from the native side at once. */
const PAGE = 8 * BATCH

/** A request for vectors. */
export interface Embedding {
  readonly native: NativeManager
  readonly hooks: Hooks
  readonly query: string
  /** The filter of the contexts, in the form for the native side. */
  readonly request: string
  readonly embed: Embed
  /** The timeout of each call of `embed`, in ms. */
  readonly timeout: number
  readonly signal: AbortSignal | undefined
}

/** Computes the vectors of one manager's contexts. Concurrent calls share the work; none waits for another's `embed`. */
export class Embeddings {
  /** The numbers of the contexts that concurrent calls are embedding or have embedded. */
  readonly #claimed = new Set<number>()
  #callsUnderWay = 0

  /**
   * Computes the vectors of all contexts that meet the filter and have none, and then the vector of the query.
   *
   * @returns the query's vector; `undefined` after a failure, which is reported to `onDebug`
   */
  async vectorOf(embedding: Embedding): Promise<Float32Array | undefined> {
    const { hooks, query, signal } = embedding
    this.#callsUnderWay++
    try {
      const isComplete = await this.#embedContexts(embedding, true)
      const { numbers } = await ask(embedding, [query.toWellFormed()])
      if (!isComplete) {
        // Contexts that other calls had claimed and have not finished in the meantime are embedded here.
        await this.#embedContexts(embedding, false)
      }
      return numbers
    } catch (error) {
      signal?.throwIfAborted()
      debug(hooks, 'embed failed: selecting without vectors', { error })
      return undefined
    } finally {
      this.#callsUnderWay--
      if (this.#callsUnderWay === 0) {
        this.#claimed.clear()
      }
    }
  }

  /**
   * Computes the vectors of contexts, in batches.
   *
   * @param skipsClaimed whether contexts that other calls have claimed are skipped
   * @returns whether no context was skipped
   */
  async #embedContexts(embedding: Embedding, skipsClaimed: boolean): Promise<boolean> {
    const { native } = embedding
    let expected: number | undefined
    for (;;) {
      const waiting = await withoutVector(embedding)
      let isAnyEmbedded = false
      let isAnyLeftOut = false
      for (let position = 0; position < waiting.length; ) {
        const batch: Waiting[] = []
        for (; position < waiting.length && batch.length < BATCH; position++) {
          const context = waiting[position] as Waiting
          if (skipsClaimed && this.#claimed.has(context.sequence)) {
            isAnyLeftOut = true
          } else {
            batch.push(context)
          }
        }
        if (batch.length > 0) {
          const vectors = await this.#claim(batch, () =>
            ask(
              embedding,
              batch.map(({ text }) => text),
            ),
          )
          expected ??= vectors.length
          if (vectors.length !== expected) {
            throw new Error(`embed gave vectors of ${expected} and of ${vectors.length} numbers`)
          }
          native.addVectors(
            Float64Array.from(batch, ({ sequence }) => sequence),
            vectors.numbers,
          )
          isAnyEmbedded = true
        }
      }
      if (!isAnyEmbedded) {
        return !isAnyLeftOut
      }
    }
  }

  async #claim<T>(batch: readonly Waiting[], work: () => Promise<T>): Promise<T> {
    for (const { sequence } of batch) {
      this.#claimed.add(sequence)
    }
    try {
      return await work()
    } catch (error) {
      for (const { sequence } of batch) {
        this.#claimed.delete(sequence)
      }
      throw error
    }
  }
}

/** A context without a vector. */
interface Waiting {
  readonly sequence: number
  readonly text: string
}

/** The latest contexts that meet the filter and have no vector. */
async function withoutVector({ hooks, native, request, signal }: Embedding): Promise<Waiting[]> {
  const [sequences = '[]', ...texts] = await cancellable(
    hooks,
    native,
    signal,
    (operation) => native.textsWithoutVector(operation, request, PAGE),
    (_, answer) => answer,
  )
  const numbers = JSON.parse(sequences) as number[]
  return texts.map((text, index) => ({ sequence: numbers[index] as number, text }))
}

/** Vectors of equal length, concatenated. */
interface Vectors {
  readonly numbers: Float32Array
  readonly length: number
}

async function ask({ embed, timeout, signal }: Embedding, texts: readonly string[]): Promise<Vectors> {
  const call = (): unknown => embed(texts, signal === undefined ? {} : { signal })
  const vectors = await callWithin(call, { name: 'embed', timeout, signal })
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

/** Copies a vector. Values that are not numbers become `NaN`, which is refused. */
function copy(vector: ArrayLike<number>, numbers: Float32Array, start: number): void {
  for (let index = 0; index < vector.length; index++) {
    const number = vector[index]
    numbers[start + index] = typeof number === 'number' ? number : Number.NaN
  }
}
