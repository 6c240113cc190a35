/** Managers of tests, on disk or, where the run has a test database, in that. */

import { type ContextManagerOptions, ContextManager as Manager, type TaskId } from '../../dist/index.js'
import { inTestPlace } from './postgres.ts'

/** A `ContextManager` that is in the test database, if there is one, in the namespace of its directory. */
export class ContextManager<Task extends TaskId = number> extends Manager<Task> {
  constructor(options?: ContextManagerOptions | null) {
    super(typeof options?.contextDir === 'string' ? { ...options, ...inTestPlace(options) } : options)
  }
}
