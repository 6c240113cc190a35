/** Builds pointers from the native side's rows, and recognises pointers of a manager. */

import type { TaskId } from '../arguments/types.ts'
import type { ContextPointer } from './types.ts'

/** A constructor that returns its argument, so that a subclass adds its private fields to that object. */
class Given {
  constructor(object: object) {
    // biome-ignore lint/correctness/noConstructorReturn: the point of this class
    return object
  }
}

/**
 * Tags a pointer with its manager. The tag consists of private fields, which are not properties, are not copied by a spread, and
 * leave the pointer a plain object. A copy of a pointer is recognised by its path instead, which takes longer.
 */
class Mark extends Given {
  #manager: object
  #sequence: number

  private constructor(pointer: object, manager: object, sequence: number) {
    super(pointer)
    this.#manager = manager
    this.#sequence = sequence
  }

  static put(pointer: object, manager: object, sequence: number): void {
    new Mark(pointer, manager, sequence)
  }

  static read(pointer: object, manager: object): number {
    return #manager in pointer && pointer.#manager === manager ? pointer.#sequence : -1
  }
}

/** The values that all pointers of one manager share. */
export interface PointerOrigin {
  /** The directory with a separator at its end. */
  readonly prefix: string
  readonly session: string
}

/** A pointer in the form of the native side, see `Pointer::write_row` in `crates/core/src/context/pointer.rs`. */
export type Row<Task> = [
  filename: string,
  toolName: string,
  toolDescription: string,
  args: Record<string, unknown>,
  taskId: Task | null,
  queryId: string | null,
  timestamp: number,
  sizeBytes: number,
  success: boolean | null,
  argsTruncated: boolean,
  sourceUrls: string[] | null,
  handle?: string | null,
  call?: CallDetails,
]

/** Details of a call and its outcome that few calls have. */
type CallDetails = Pick<
  ContextPointer,
  | 'error'
  | 'message'
  | 'callId'
  | 'durationMs'
  | 'exitCode'
  | 'mediaType'
  | 'cut'
  | 'redactions'
  | 'outputBytes'
  | 'shownBytes'
>

/** Builds the pointers of a JSON array of rows. */
export function readRows<Task extends TaskId>(text: string, origin: PointerOrigin): ContextPointer<Task>[] {
  return (JSON.parse(text) as Row<Task>[]).map((row) => fromRow(row, origin))
}

/** Builds the pointers of a JSON array of rows, tagged with the numbers of their calls. */
export function readPointers<Task extends TaskId>(
  text: string,
  origin: PointerOrigin,
  sequences: Float64Array,
  manager: object,
): ContextPointer<Task>[] {
  const pointers = readRows<Task>(text, origin)
  for (let index = 0; index < pointers.length; index++) {
    Mark.put(pointers[index] as object, manager, sequences[index] as number)
  }
  return pointers
}

/** Builds the pointer of a row. */
export function fromRow<Task extends TaskId>(row: Row<Task>, { prefix, session }: PointerOrigin): ContextPointer<Task> {
  const [filename, toolName, toolDescription, args, taskId, queryId, timestamp, sizeBytes, success] = row
  return build(
    prefix + filename,
    filename,
    toolName,
    toolDescription,
    args,
    taskId ?? undefined,
    queryId ?? undefined,
    session,
    timestamp,
    sizeBytes,
    success ?? undefined,
    row[9],
    row[10] ?? undefined,
    row[11] ?? undefined,
    row[12],
  )
}

/** Sets each member separately, because tagging an object that was made by a spread is forty times as slow. */
function build<Task extends TaskId>(
  filepath: string,
  filename: string,
  toolName: string,
  toolDescription: string,
  args: Record<string, unknown>,
  taskId: Task | undefined,
  queryId: string | undefined,
  sessionId: string | undefined,
  timestamp: number,
  sizeBytes: number,
  success: boolean | undefined,
  argsTruncated: boolean | undefined,
  sourceUrls: string[] | undefined,
  handle: string | undefined,
  call: CallDetails | undefined,
): ContextPointer<Task> {
  const pointer = { filepath, filename, toolName, toolDescription, args } as ContextPointer<Task>
  if (taskId !== undefined) {
    pointer.taskId = taskId
  }
  if (queryId !== undefined) {
    pointer.queryId = queryId
  }
  if (sessionId !== undefined) {
    pointer.sessionId = sessionId
  }
  pointer.timestamp = timestamp
  pointer.sizeBytes = sizeBytes
  if (success !== undefined) {
    pointer.success = success
  }
  if (call?.error !== undefined) {
    pointer.error = call.error
  }
  if (call?.message !== undefined) {
    pointer.message = call.message
  }
  if (argsTruncated === true) {
    pointer.argsTruncated = true
  }
  if (sourceUrls !== undefined) {
    pointer.sourceUrls = sourceUrls
  }
  if (handle !== undefined) {
    pointer.handle = handle
  }
  if (call?.callId !== undefined) {
    pointer.callId = call.callId
  }
  if (call?.durationMs !== undefined) {
    pointer.durationMs = call.durationMs
  }
  if (call?.exitCode !== undefined) {
    pointer.exitCode = call.exitCode
  }
  if (call?.mediaType !== undefined) {
    pointer.mediaType = call.mediaType
  }
  if (call?.cut === true) {
    pointer.cut = true
  }
  if (call?.redactions !== undefined) {
    pointer.redactions = call.redactions.map(({ rule, count }) => ({ rule, count }))
  }
  if (call?.shownBytes !== undefined) {
    pointer.outputBytes = call.outputBytes as number
    pointer.shownBytes = call.shownBytes
  }
  return pointer
}

/** The number of the call of a pointer of this manager, -1 for any other. */
export function sequenceOf(pointer: object, manager: object): number {
  return Mark.read(pointer, manager)
}

/** The largest number of cached groups, and of pointers in one group. */
const MAXIMUM_GROUPS = 64
const MAXIMUM_GROUP_LENGTH = 64

interface Group<Task extends TaskId> {
  readonly pointers: readonly ContextPointer<Task>[]
  readonly sequences: Float64Array
}

/**
 * A cache of the small groups of pointers that were requested last, so that a repeated request costs a copy instead of a parse.
 * It is valid until any pointer changes.
 */
export class PointerCache<Task extends TaskId> {
  #generation = -1
  readonly #groups = new Map<string, Group<Task>>()

  /** Deep copies of a group's pointers, if they are cached. */
  get(generation: number, key: string, manager: object): ContextPointer<Task>[] | undefined {
    if (generation !== this.#generation) {
      this.#groups.clear()
      this.#generation = generation
      return undefined
    }
    const group = this.#groups.get(key)
    return group?.pointers.map((pointer, index) => {
      const copy = copyPointer(pointer)
      Mark.put(copy, manager, group.sequences[index] as number)
      return copy
    })
  }

  /** Caches a copy of a group that was just read. `generation` was read before the group. */
  set(generation: number, key: string, pointers: readonly ContextPointer<Task>[], sequences: Float64Array): void {
    if (pointers.length > MAXIMUM_GROUP_LENGTH || generation !== this.#generation) {
      return
    }
    if (this.#groups.size >= MAXIMUM_GROUPS) {
      this.#groups.clear()
    }
    this.#groups.set(key, {
      pointers: pointers.map(copyPointer),
      sequences: sequences.slice(0, pointers.length),
    })
  }
}

function copyPointer<Task extends TaskId>(pointer: ContextPointer<Task>): ContextPointer<Task> {
  return build(
    pointer.filepath,
    pointer.filename,
    pointer.toolName,
    pointer.toolDescription,
    copyJson(pointer.args) as Record<string, unknown>,
    pointer.taskId,
    pointer.queryId,
    pointer.sessionId,
    pointer.timestamp,
    pointer.sizeBytes,
    pointer.success,
    pointer.argsTruncated,
    pointer.sourceUrls?.slice(),
    pointer.handle,
    pointer,
  )
}

/** Arguments have at most 4 KB of JSON, which bounds the recursion. */
function copyJson(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) {
    return value
  }
  if (Array.isArray(value)) {
    return value.map(copyJson)
  }
  const copy: Record<string, unknown> = { ...value }
  for (const key of Object.keys(copy)) {
    const member = copy[key]
    if (typeof member === 'object' && member !== null) {
      // Not by assignment, which treats `__proto__` specially.
      Object.defineProperty(copy, key, {
        value: copyJson(member),
        enumerable: true,
        configurable: true,
        writable: true,
      })
    }
  }
  return copy
}
