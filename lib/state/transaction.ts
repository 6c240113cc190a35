/** Optimistic transactions: a function that reads and writes, and is called again if other writers changed what it read. */

import { setTimeout } from 'node:timers/promises'
import { isUint8Array } from 'node:util/types'
import { optional, readSignal } from '../arguments/checks.ts'
import { contextError, invalidArgument } from '../arguments/errors.ts'
import type { ContextError } from '../arguments/types.ts'
import type { CheckOperation, CrossingOperation } from './batch.ts'
import { stateTransactionOptions, stateValueOptions } from './option-names.ts'
import type {
  StateItem,
  StateOperation,
  StateTransactionOptions,
  StateValue,
  StateValueOptions,
  StateView,
} from './types.ts'

const DEFAULT_ATTEMPTS = 20
/** The longest pause before the next attempt, in ms; the pause doubles up to this. */
const LONGEST_PAUSE = 64

/** The methods of the store that a transaction uses. */
export interface TransactionStore {
  get(namespace: readonly string[], key: string): Promise<StateItem | undefined>
  check(operations: readonly (StateOperation | CheckOperation)[]): CrossingOperation[]
  run(operations: readonly CrossingOperation[]): Promise<unknown[]>
}

export async function runTransaction<T>(
  store: TransactionStore,
  change: (view: StateView) => T | PromiseLike<T>,
  options: StateTransactionOptions | null | undefined,
): Promise<T> {
  const given = optional(options, 'options', stateTransactionOptions) ?? {}
  const attempts = optional(given.attempts, 'attempts', checkAttempts) ?? DEFAULT_ATTEMPTS
  const signal = readSignal(given)
  for (let attempt = 1; ; attempt++) {
    signal?.throwIfAborted()
    const view = new View(store)
    const result = await change(view)
    signal?.throwIfAborted()
    try {
      await store.run(view.finish())
      return result
    } catch (error) {
      if ((error as Partial<ContextError> | null)?.code !== 'ERR_CONTEXT_CONFLICT' || attempt === attempts) {
        throw error
      }
    }
    const pause = Math.random() * Math.min(2 ** attempt, LONGEST_PAUSE)
    await setTimeout(pause, undefined, signal === undefined ? {} : { signal })
  }
}

function checkAttempts(value: number, name: string): number {
  if (!(Number.isSafeInteger(value) && value >= 1)) {
    throw invalidArgument(name, 'a whole number from 1 up', value)
  }
  return value
}

class View implements StateView {
  readonly #store: TransactionStore
  /** The items that were read from the store, by place. */
  readonly #reads = new Map<string, { readonly check: CheckOperation; readonly item: StateItem | undefined }>()
  /** The pending writes, by place. */
  readonly #writes = new Map<
    string,
    { readonly operation: CrossingOperation; readonly read: () => StateItem | undefined }
  >()
  #isFinished = false

  constructor(store: TransactionStore) {
    this.#store = store
  }

  async get(namespace: readonly string[], key: string): Promise<StateItem | undefined> {
    const [{ place } = fail()] = this.#store.check([{ type: 'get', namespace, key }])
    const written = this.#writes.get(place)
    if (written !== undefined) {
      return written.read()
    }
    const known = this.#reads.get(place)
    if (known !== undefined) {
      return known.item
    }
    const item = await this.#store.get(namespace, key)
    // If two concurrent reads return different items, the first one is used: the commit then detects the conflict.
    const first = this.#reads.get(place)
    if (first === undefined) {
      const check: CheckOperation = {
        type: 'check',
        namespace: [...namespace],
        key,
        ifRevision: item?.revision ?? null,
      }
      this.#reads.set(place, { check, item })
      return item
    }
    return first.item
  }

  put(namespace: readonly string[], key: string, value: StateValue, options?: StateValueOptions | null): void {
    const given = optional(options, 'options', stateValueOptions)
    const operation = this.#write({ type: 'put', namespace, key, value, ...given })
    const { item, content } = operation
    const now = new Date().toISOString()
    this.#writes.set(operation.place, {
      operation,
      read: () => ({
        namespace: item.namespace,
        key,
        value: isUint8Array(content) ? content : (JSON.parse(content as string) as StateValue),
        revision: '',
        createdAt: now,
        updatedAt: now,
        ...(item.mediaType === undefined ? {} : { mediaType: item.mediaType }),
      }),
    })
  }

  delete(namespace: readonly string[], key: string): void {
    const operation = this.#write({ type: 'delete', namespace, key })
    this.#writes.set(operation.place, { operation, read: () => undefined })
  }

  #write(operation: StateOperation): CrossingOperation {
    if (this.#isFinished) {
      throw contextError('ERR_CONTEXT_INVALID_ARGUMENT', 'the transaction is over: its view takes no more changes')
    }
    const [checked = fail()] = this.#store.check([operation])
    const { content } = checked
    // The bytes are copied now: changes before the commit have no effect.
    return isUint8Array(content) ? { ...checked, content: content.slice() } : checked
  }

  /** Returns the operations of the commit: first the checks of what was read, then the writes. */
  finish(): readonly CrossingOperation[] {
    this.#isFinished = true
    const checks = this.#store.check([...this.#reads.values()].map(({ check }) => check))
    return [...checks, ...[...this.#writes.values()].map(({ operation }) => operation)]
  }
}

/** Unreachable: a batch of one operation has one result. */
function fail(): never {
  throw contextError('ERR_CONTEXT_INTERNAL', 'an operation was lost; please report it')
}
