/** Public types of embeddings. */

/** Returns an embedding vector for each text, in order; all vectors have the same length. */
export type Embed = (
  texts: readonly string[],
  options: { signal?: AbortSignal },
) => readonly ArrayLike<number>[] | Promise<readonly ArrayLike<number>[]>

/** An embedding model. */
export interface Embedder {
  /**
   * The name of the model, under which its vectors are stored in files and are shared by processes. Include in it whatever changes the
   * vectors: the version, the number of dimensions, a prefix of the texts.
   */
  model: string
  /** Returns the vectors of texts. */
  embed: Embed
}

/** The options of searches that use embeddings. */
export interface EmbedOptions {
  /**
   * Also finds what means the same in other words: an embedding model, or only its function. The cosine similarity of the vectors
   * is combined with the score by words, so that a text that shares no word with the query can be found. The function is called
   * with batches of up to 64 texts without a vector (the beginning of each, 2 000 characters), latest first, and then with the query. If
   * it fails, the search works without vectors and `onDebug` reports it. Concurrent calls share the work and do not wait for
   * each other's `embed`; a text may be embedded twice.
   *
   * Up to 64 MiB of vectors (8 bits a number) are cached; the least recently used are evicted first. With a model's name, they are
   * also stored in a file per model beside the stored data, which later processes use; another name never gets them. With only a
   * function, they stay in memory until the object that searches is garbage-collected: use one embedding model per object
   * then. With an injected `fileSystem`, vectors stay in memory, too.
   */
  embed?: Embed | Embedder | null | undefined
  /**
   * Timeout of each call of `embed`, in ms; `Infinity` disables it. When it expires, the search works without vectors.
   * @default 10000
   */
  embedTimeout?: number | null | undefined
}
