/** The parts that a `ContextManager` passes its calls to, made of its options. */

import { NativeManager } from '#addon'
import { optional } from '../arguments/checks.ts'
import { checkCloseTimeout } from '../arguments/timeouts.ts'
import type { TaskId } from '../arguments/types.ts'
import { Embeddings } from '../embedding/embeddings.ts'
import { type Hooks, outbox, registerHooks } from '../native/border.ts'
import { checkRedaction } from '../redaction/redaction.ts'
import { storageOf } from '../storage/storage.ts'
import { AnswerMarks, registerMarks } from './answer-marks.ts'
import { Offloading } from './offload.ts'
import { CheckedPolicy } from './offload-policy.ts'
import { ValueOffloading } from './offload-value.ts'
import { managerOptions } from './option-names.ts'
import { type CheckedOptions, checkOptions } from './options.ts'
import { PointerQueries } from './pointer-queries.ts'
import { Saving } from './saving.ts'
import { Selecting } from './select-contexts.ts'
import { Sessions } from './sessions.ts'
import type { ContextManagerOptions } from './types.ts'

/** The parts of one manager. */
export interface ManagerParts<Task extends TaskId> {
  readonly native: NativeManager
  readonly options: CheckedOptions
  readonly hooks: Hooks
  /** In ms. */
  readonly closeTimeout: number
  readonly saving: Saving
  readonly offloading: Offloading
  readonly valueOffloading: ValueOffloading
  readonly pointers: PointerQueries<Task>
  readonly selecting: Selecting<Task>
  readonly embeddings: Embeddings
  readonly sessions: Sessions
}

/**
 * Checks the options and makes the parts.
 *
 * @param manager the manager that the parts belong to
 * @throws `ERR_CONTEXT_INVALID_ARGUMENT` for an invalid option
 */
export function managerParts<Task extends TaskId>(
  given: ContextManagerOptions | null | undefined,
  manager: object,
): ManagerParts<Task> {
  const wanted = optional(given, 'options', managerOptions) ?? {}
  const redaction = checkRedaction(wanted.redaction, 'redaction')
  const storage = storageOf(wanted)
  const options = checkOptions(wanted, redaction, storage)
  const closeTimeout = checkCloseTimeout(wanted.closeTimeout)
  const hooks: Hooks = {
    fileSystem: wanted.fileSystem ?? undefined,
    onDebug: wanted.onDebug ?? undefined,
    redaction,
    passwords: storage?.passwords,
  }
  const policy = new CheckedPolicy(wanted.offload)
  const native = new NativeManager(
    outbox,
    { ...options, id: registerHooks(hooks) },
    redaction?.redactor.native,
    storage?.native,
  )
  const marks = new AnswerMarks(native, hooks)
  registerMarks(manager, marks)
  const saving = new Saving(native, hooks, options, wanted)
  const embeddings = new Embeddings(hooks, native)
  return {
    native,
    options,
    hooks,
    closeTimeout,
    saving,
    offloading: new Offloading(hooks, policy, marks, saving, options.maxResultBytes),
    valueOffloading: new ValueOffloading(hooks, policy, marks, saving.saveStored),
    pointers: new PointerQueries(native, options, manager),
    selecting: new Selecting(native, hooks, options, embeddings),
    embeddings,
    sessions: new Sessions(native, hooks, options),
  }
}
