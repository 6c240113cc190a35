/** Vectors of stored texts: computed by the caller's function, and cached on the native side. */

import type { NativeEmbedded, NativeVectors } from '#addon'
import { inspect } from '../arguments/errors.ts'
import { callWithin } from '../arguments/signals.ts'
import { cancellable, debug, type Hooks, operate } from '../native/border.ts'
import type { CheckedEmbedder } from './options.ts'

/** The number of texts per call of the caller's function. */
const BATCH = 64
/** The number of texts that are fetched from the native side at once. */
const PAGE = 8 * BATCH
/** The largest number of dimensions that the native side takes. */
const MAXIMUM_DIMENSIONS = 65_536

/** The native object of a class that searches with embeddings. */
interface Native {
  vectors(model?: string): NativeVectors
  cancel(operation: number): void
}

/**
 * Starts a native operation that answers with the query's text, as JSON (`null` if there is nothing to embed), and with at most
 * `limit` of the texts that the search admits and that have no vector.
 */
export type StartTexts = (operation: number, vectors: NativeVectors, limit: number) => void

/** A request for the vector of a query. */
interface Request extends CheckedEmbedder {
  readonly start: StartTexts
  readonly signal: AbortSignal | undefined
}

/** Computes the vectors for the searches of one object. Concurrent calls share the work; none waits for another's `embed`. */
export class Embeddings {
  readonly #hooks: Hooks
  readonly #native: Native
  readonly #models = new Map<string | undefined, Model>()

  constructor(hooks: Hooks, native: Native) {
    this.#hooks = hooks
    this.#native = native
  }

  /**
   * Computes the vectors of all texts that a search admits and that have none, and then the vector of the query.
   *
   * @returns the query's vector; `undefined` without a text to embed, and after a failure, which is reported to `onDebug`
   */
  async queryOf(
    embedder: CheckedEmbedder,
    signal: AbortSignal | undefined,
    start: StartTexts,
  ): Promise<NativeEmbedded | undefined> {
    signal?.throwIfAborted()
    let model = this.#models.get(embedder.model)
    if (model === undefined) {
      model = new Model(this.#hooks, this.#native, embedder.model)
      this.#models.set(embedder.model, model)
    }
    return model.queryOf({ ...embedder, start, signal })
  }
}

/** The vectors of one model. */
class Model {
  readonly #hooks: Hooks
  readonly #native: Native
  readonly #vectors: NativeVectors
  /** The texts that concurrent calls are embedding or have embedded. */
  readonly #claimed = new Set<string>()
  #callsUnderWay = 0

  constructor(hooks: Hooks, native: Native, name: string | undefined) {
    this.#hooks = hooks
    this.#native = native
    this.#vectors = native.vectors(name)
  }

  async queryOf(request: Request): Promise<NativeEmbedded | undefined> {
    this.#callsUnderWay++
    try {
      const { query, isComplete } = await this.#embedTexts(request, true)
      if (query === null) {
        return undefined
      }
      const { numbers } = await ask(request, [query.toWellFormed()])
      if (!isComplete) {
        // Texts that other calls had claimed and have not finished in the meantime are embedded here.
        await this.#embedTexts(request, false)
      }
      return this.#vectors.query(numbers) ?? undefined
    } catch (error) {
      request.signal?.throwIfAborted()
      debug(this.#hooks, 'embed failed: searching without vectors', { error })
      return undefined
    } finally {
      this.#callsUnderWay--
      if (this.#callsUnderWay === 0) {
        this.#claimed.clear()
      }
    }
  }

  /**
   * Computes the vectors of texts, in batches.
   *
   * @param skipsClaimed whether texts that other calls have claimed are skipped
   * @returns the query's text, and whether no text was skipped
   */
  async #embedTexts(request: Request, skipsClaimed: boolean): Promise<{ query: string | null; isComplete: boolean }> {
    const embedded = new Set<string>()
    let expected: number | undefined
    for (;;) {
      const { query, texts } = await this.#textsWithoutVector(request)
      const isClaimed = (text: string): boolean => skipsClaimed && this.#claimed.has(text)
      // A text that this call has embedded lacks its vector only if the cache is in use by too many other texts.
      const waiting = texts.filter((text) => !embedded.has(text))
      let isAnyEmbedded = false
      let isAnyLeftOut = false
      for (let position = 0; position < waiting.length; ) {
        const batch: string[] = []
        for (; position < waiting.length && batch.length < BATCH; position++) {
          const text = waiting[position] as string
          if (isClaimed(text)) {
            isAnyLeftOut = true
          } else {
            batch.push(text)
          }
        }
        if (batch.length > 0) {
          const vectors = await this.#claim(batch, () => ask(request, batch))
          expected ??= vectors.length
          if (vectors.length !== expected) {
            throw new Error(`embed gave vectors of ${expected} and of ${vectors.length} numbers`)
          }
          await this.#add(batch, vectors.numbers)
          for (const text of batch) {
            embedded.add(text)
          }
          isAnyEmbedded = true
        }
      }
      if (!isAnyEmbedded) {
        return { query, isComplete: !isAnyLeftOut }
      }
    }
  }

  async #textsWithoutVector({ start, signal }: Request): Promise<{ query: string | null; texts: readonly string[] }> {
    const [query = 'null', ...texts] = await cancellable(
      this.#hooks,
      this.#native,
      signal,
      (operation) => start(operation, this.#vectors, PAGE),
      (_, answer) => answer,
    )
    return { query: JSON.parse(query) as string | null, texts }
  }

  async #add(texts: string[], numbers: Float32Array): Promise<void> {
    await operate(
      this.#hooks,
      (operation) => this.#vectors.add(operation, texts, numbers),
      () => undefined,
    )
  }

  async #claim<T>(batch: readonly string[], work: () => Promise<T>): Promise<T> {
    for (const text of batch) {
      this.#claimed.add(text)
    }
    try {
      return await work()
    } catch (error) {
      for (const text of batch) {
        this.#claimed.delete(text)
      }
      throw error
    }
  }
}

/** Vectors of equal length, concatenated. */
interface Vectors {
  readonly numbers: Float32Array
  readonly length: number
}

async function ask({ embed, timeout, signal }: Request, texts: readonly string[]): Promise<Vectors> {
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
  if ((length as number) > MAXIMUM_DIMENSIONS) {
    throw new Error(`embed must give vectors of at most ${MAXIMUM_DIMENSIONS} numbers, not ${length}`)
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
