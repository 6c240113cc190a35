/**
 * Passes the saves of one run of synchronous code to the native side in one call, because a call and waking a thread cost more than
 * a small save. Values are copied when they are added, so that later changes have no effect.
 */

import type { NativeManager } from '#addon'
import { asContextError } from '../arguments/errors.ts'
import { abandon, sendLater, sendNow } from '../native/border.ts'
import type { Encoded } from '../native/snapshot.ts'

/** A save, without binary data. */
export interface BatchedSave {
  readonly operation: number
  readonly toolName: string
  readonly startedAt: number
  readonly query: string | undefined
  readonly task: string | undefined
  /** JSON. */
  readonly details: string | undefined
}

/** The saves that are passed at once. */
const MAXIMUM_SAVES = 64
/** Saves with more units of text are sent by themselves, because the text would be copied once more. */
const MAXIMUM_UNITS = 8192
/** From 128 KB, a concatenated string is a large object for V8, which is several times as expensive. */
const CHUNK_UNITS = 32_768
/** See `Head` in `src/save_batch.rs`. */
const HEAD_FIELDS = 12
const INITIAL_OPERATIONS = 1 << 13
const ABSENT = -1

const heads = new Float64Array(MAXIMUM_SAVES * HEAD_FIELDS)
let operations = new Int32Array(INITIAL_OPERATIONS)
let native: NativeManager | undefined
let count = 0
let length = 0
let open = ''
let closed: string[] = []

/** Whether a save is small enough for a batch. */
export function isBatched(args: ArgumentsOf, result: Encoded): boolean {
  const size = args.text.length + result.text.length
  return result.taken === undefined && result.chunks.length === 0 && size <= MAXIMUM_UNITS
}

/** Arguments that are kept while the result is encoded, which reuses the operations. */
export interface ArgumentsOf {
  readonly kind: number
  readonly text: string
  readonly operations: readonly number[]
}

/** Adds a save; it is sent at the end of the current run of synchronous code, or before the next operation starts. */
export function addSave(manager: NativeManager, save: BatchedSave, args: ArgumentsOf, result: Encoded): void {
  if (native !== manager || count === MAXIMUM_SAVES) {
    sendNow()
    native = manager
    sendLater(send)
  }
  const used = args.operations.length + result.length
  if (length + used > operations.length) {
    grow(length + used)
  }
  for (let index = 0; index < args.operations.length; index++) {
    operations[length + index] = args.operations[index] as number
  }
  length += args.operations.length
  for (let index = 0; index < result.length; index++) {
    operations[length + index] = result.operations[index] as number
  }
  length += result.length
  let field = count * HEAD_FIELDS
  heads[field++] = save.operation
  heads[field++] = save.startedAt
  heads[field++] = addText(save.toolName)
  heads[field++] = save.query === undefined ? ABSENT : addText(save.query)
  heads[field++] = save.task === undefined ? ABSENT : addText(save.task)
  heads[field++] = save.details === undefined ? ABSENT : addText(save.details)
  heads[field++] = args.kind
  heads[field++] = args.operations.length
  heads[field++] = addText(args.text)
  heads[field++] = result.kind
  heads[field++] = result.length
  heads[field] = addText(result.text)
  count++
}

function addText(text: string): number {
  if (open.length + text.length > CHUNK_UNITS) {
    closed.push(open)
    open = text
  } else {
    open += text
  }
  return text.length
}

function grow(needed: number): void {
  const previous = operations
  operations = new Int32Array(Math.max(needed, previous.length * 2))
  operations.set(previous)
}

/** Passes the saves to the native side, which copies them before it returns. */
function send(): void {
  try {
    native?.saveAll(count, heads, operations, length, open, closed)
  } catch (error) {
    for (let index = 0; index < count; index++) {
      abandon(heads[index * HEAD_FIELDS] as number, asContextError(error, 'saveContext', 'result'))
    }
  }
  native = undefined
  count = 0
  length = 0
  open = ''
  if (closed.length > 0) {
    closed = []
  }
  if (operations.length > INITIAL_OPERATIONS) {
    operations = new Int32Array(INITIAL_OPERATIONS)
  }
}
