/** Histories of tests, in files or, where the run has a test database, in that. */

import { type ContextHistoryOptions, ContextHistory as History } from '../../dist/index.js'
import { testDatabase } from './postgres.ts'

/** The options of tests that look at files; they are skipped where histories are in a database. */
export const onFiles = { skip: testDatabase === undefined ? false : 'about files' }

const FILE_OPTIONS = ['durability', 'trustLocks', 'allowShared', 'lockTimeout']

/** A `ContextHistory` that is in the test database, if there is one, under the name of its path. */
export class ContextHistory extends History {
  constructor(options?: ContextHistoryOptions | null) {
    super(inDatabase(options))
  }
}

function inDatabase(options: ContextHistoryOptions | null | undefined): ContextHistoryOptions | null | undefined {
  const isFile = testDatabase === undefined || (options?.fileSystem ?? undefined) !== undefined
  if (isFile || typeof options?.path !== 'string') {
    return options
  }
  const kept = Object.entries(options).filter(([name]) => !FILE_OPTIONS.includes(name))
  return { ...(Object.fromEntries(kept) as ContextHistoryOptions), storage: testDatabase }
}
