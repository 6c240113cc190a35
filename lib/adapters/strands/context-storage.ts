/** `ContextStorage`: a storage of Strands Agents over `StateStore`. */

import { checkText, optional } from '../../arguments/checks.ts'
import { invalidArgument } from '../../arguments/errors.ts'
import { knownOptions } from '../../arguments/known-options.ts'
import type { StateStore } from '../../index.ts'
import { allItems, checkState } from '../state-items.ts'

/** Options of `new ContextStorage()`. An option that is `undefined` or `null` has its default. */
export interface ContextStorageOptions {
  /**
   * A prefix of all keys in the store, which separates the storages of agents that share a file.
   * @default ''
   */
  namespace?: string | null | undefined
}

/** A result of `search`. */
export interface StorageHit {
  key: string
  score: number
  data: Uint8Array
}

const ROOT = 'strands'
/** The largest number of results. */
const HITS = 100
/** Marks the storage as one whose keys already have a prefix; otherwise Strands adds one. */
const NAMESPACED: unique symbol = Symbol.for('strands.storage.namespaced') as never

const storageOptions = knownOptions<ContextStorageOptions>('ContextStorageOptions', { namespace: true })

/**
 * Stores the data of Strands: outputs of its `ContextOffloader`, snapshots of its `SessionManager`, and the data of memory stores. Any number of
 * processes of one machine may share the store's file.
 *
 * `search` ranks by words, in data that is UTF-8 text. Bytes are read back unchanged: a `StateStore` does not redact by default.
 *
 * @example
 * ```ts
 * const storage = new ContextStorage(state)
 * const sessionManager = new SessionManager({ sessionId: 'conversation-1', storage })
 * const agent = new Agent({ model, tools, sessionManager, plugins: [new ContextOffloader({ storage })] })
 * ```
 */
export class ContextStorage {
  readonly #state: StateStore
  /** The segments that precede all keys. */
  readonly #root: readonly string[]

  constructor(state: StateStore, options?: ContextStorageOptions | null) {
    this.#state = checkState(state)
    const { namespace } = optional(options, 'options', storageOptions) ?? {}
    optional(namespace, 'namespace', checkText)
    this.#root = [ROOT, ...segmentsOf(namespace ?? '', 'namespace')]
  }

  async write(key: string, data: Uint8Array): Promise<void> {
    await this.#state.put(...this.#placeOf(key), data)
  }

  async read(key: string): Promise<Uint8Array | null> {
    const item = await this.#state.get(...this.#placeOf(key))
    return item === undefined ? null : (item.value as Uint8Array)
  }

  async delete(key: string): Promise<void> {
    await this.#state.delete(...this.#placeOf(key))
  }

  /** The keys that begin with a prefix, sorted. */
  async list(prefix: string): Promise<string[]> {
    const segments = segmentsOf(prefix, 'prefix')
    const isWhole = prefix.endsWith('/') && segments.length > 0
    const text = segments.join('/') + (isWhole ? '/' : '')
    const keys: string[] = []
    for await (const item of allItems(this.#state, [...this.#root, ...segments.slice(0, isWhole ? undefined : -1)])) {
      const key = this.#keyOf(item)
      if (key.startsWith(text)) {
        keys.push(key)
      }
    }
    return keys.sort()
  }

  /** The items that match a query best, best first. */
  async search(query: string): Promise<StorageHit[]> {
    const hits = await this.#state.search(this.#root, query, { limit: HITS })
    return hits.map((hit) => ({ key: this.#keyOf(hit), score: hit.score, data: hit.value as Uint8Array }))
  }

  /** A storage of only the items whose keys begin with a prefix, with keys without the prefix. Searches are limited to these items. */
  namespace(prefix: string): ContextStorage {
    const namespace = [...this.#root.slice(1), ...segmentsOf(prefix, 'prefix')].join('/')
    return Object.assign(new ContextStorage(this.#state, { namespace }), { [NAMESPACED]: true })
  }

  #placeOf(key: string): [namespace: string[], key: string] {
    const segments = segmentsOf(key, 'key')
    const name = segments.pop()
    if (name === undefined) {
      throw invalidArgument('key', 'a non-empty string', key)
    }
    return [[...this.#root, ...segments], name]
  }

  #keyOf({ namespace, key }: { namespace: readonly string[]; key: string }): string {
    return [...namespace.slice(this.#root.length), key].join('/')
  }
}

/** Splits a path by the rules of Strands' storages. */
function segmentsOf(path: string, parameter: string): string[] {
  const segments = typeof path === 'string' && !path.includes('\\') ? path.split('/').filter(Boolean) : ['..']
  if (segments.includes('..')) {
    throw invalidArgument(parameter, "a path without '..' and backslashes", path)
  }
  return segments
}
