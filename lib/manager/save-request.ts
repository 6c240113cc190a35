/** Types of a save of an offloaded output. */

import type { TaskId } from '../arguments/types.ts'
import type { Encoded } from '../native/snapshot.ts'
import type { OwnSaveOptions, ShownRequest } from './save-details.ts'
import type { SpooledStream } from './spooled-stream.ts'

/** The native side's answer for a stored output. */
export interface Stored {
  readonly path: string
  readonly handle: string
  readonly placeholder: string | null
  /** The placeholders of the requested texts; `null` for one that is not a text in the stored output. */
  readonly leaves: readonly (string | null)[]
  /** The binary parts of the output: the JSON of the path to each, and a description with size, type and dimensions. */
  readonly parts: readonly (readonly [steps: string, description: string])[]
  /** The stored size of a stream in temporary files, in bytes. */
  readonly streamBytes: number | null
}

/** A request for a save that returns a handle and placeholders. */
export interface OffloadRequest {
  readonly encoded: Encoded | undefined
  /** The output (or its member `body`) if it is a stream in temporary files. */
  readonly spooled?: SpooledStream | undefined
  /** The options of the save. */
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
