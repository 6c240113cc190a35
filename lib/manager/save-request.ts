/** A save of an output that a conversation refers to. */

import type { TaskId } from '../arguments/types.ts'
import type { Encoded } from '../native/snapshot.ts'
import type { OwnSaveOptions, ShownRequest } from './save-details.ts'
import type { SpooledStream } from './spooled-stream.ts'

/** What the native side says of an output that it stored. */
export interface Stored {
  readonly path: string
  readonly handle: string
  readonly placeholder: string | null
  /** The placeholders of the leaves asked for; `null` for one that is no text in what is stored. */
  readonly leaves: readonly (string | null)[]
  /** The bytes within it: the JSON of the steps that lead to them; size, type and dimensions in words. */
  readonly parts: readonly (readonly [steps: string, description: string])[]
  /** Bytes of what was kept of a stream in files. */
  readonly streamBytes: number | null
}

/** Asks a save for a handle and placeholders. */
export interface OffloadRequest {
  readonly encoded: Encoded | undefined
  /** The output, or its member `body`, where it is a stream that is kept in files. */
  readonly spooled?: SpooledStream | undefined
  /** What is stored beside the output. */
  readonly saved: OwnSaveOptions | undefined
  readonly shown: ShownRequest
}

/** Saves an output. */
export type SaveStored = (
  toolName: string,
  args: Record<string, unknown>,
  result: unknown,
  taskId: TaskId | undefined,
  queryId: string | undefined,
  request: OffloadRequest,
) => Promise<Stored>
