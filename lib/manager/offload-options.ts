/** Reads the options of one offloaded output. */

import { checkBoolean, checkTask, checkText, count, optional, readSignal } from '../arguments/checks.ts'
import { invalidArgument } from '../arguments/errors.ts'
import type { TaskId } from '../arguments/types.ts'
import type { ContextKind, OffloadOptions } from './offload-types.ts'
import { offloadOptions } from './option-names.ts'
import { checkPrefix } from './tool-names.ts'
import type { SaveOptions } from './types.ts'

const KINDS: readonly ContextKind[] = ['output', 'message', 'arguments']
/** `type/subtype`, perhaps with parameters. */
const MEDIA_TYPE = /^[\w!#$&^.+-]{1,60}\/[\w!#$&^.+-]{1,60}(?:;[ \w!#$&^.+=-]{1,60})?$/

/** The options of one output, checked. */
export interface CheckedOffload {
  readonly taskId: TaskId | undefined
  readonly queryId: string | undefined
  readonly threshold: number | undefined
  readonly maxTokens: number | undefined
  readonly kind: ContextKind
  readonly prefix: string | undefined
  readonly signal: AbortSignal | undefined
  /** The options of the save. */
  readonly saved: SaveOptions | undefined
}

/** @param prefix the beginning of the options' names in messages */
export function readOffloadOptions(
  given: OffloadOptions | null | undefined,
  name: string,
  prefix: string,
): CheckedOffload {
  const options = optional(given, name, offloadOptions) ?? {}
  const queryId = options.queryId ?? undefined
  optional(queryId, `${prefix}queryId`, checkText)
  const { threshold, maxTokens } = options
  return {
    taskId: optional(options.taskId, `${prefix}taskId`, checkTask),
    queryId,
    threshold: optional(threshold, `${prefix}threshold`, checkCount),
    maxTokens: optional(maxTokens, `${prefix}maxTokens`, checkCount),
    kind: optional(options.kind, `${prefix}kind`, checkKind) ?? 'output',
    prefix: optional(options.prefix, `${prefix}prefix`, checkPrefix),
    signal: readSignal(options),
    saved: readSaveOptions(options, prefix),
  }
}

function readSaveOptions(options: OffloadOptions, prefix: string): SaveOptions | undefined {
  const { callId, ifAbsent, outcome, mediaType } = options
  optional(callId, `${prefix}callId`, checkText)
  optional(ifAbsent, `${prefix}ifAbsent`, checkBoolean)
  optional(mediaType, `${prefix}mediaType`, checkMediaType)
  optional(outcome, `${prefix}outcome`, checkPlain)
  const hasAny = (callId ?? ifAbsent ?? outcome ?? mediaType ?? undefined) !== undefined
  return hasAny ? { ...outcome, callId, ifAbsent, mediaType } : undefined
}

function checkCount(value: number, name: string): number {
  return count(value, name, 0)
}

function checkPlain<T>(value: T, name: string): T {
  if (typeof value !== 'object' || Array.isArray(value)) {
    throw invalidArgument(name, 'an object such as { success: false, error: … }', value)
  }
  return value
}

function checkKind(kind: ContextKind, name: string): ContextKind {
  if (!KINDS.includes(kind)) {
    throw invalidArgument(name, "'output', 'message' or 'arguments'", kind)
  }
  return kind
}

/** @throws `ERR_CONTEXT_INVALID_ARGUMENT` */
export function checkMediaType(value: string, name: string): string {
  if (typeof value !== 'string' || !MEDIA_TYPE.test(value)) {
    throw invalidArgument(name, "a media type such as 'text/csv'", value)
  }
  return value
}
