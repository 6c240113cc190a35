/** Histories of tests, in files or, where the run has a test database, in that. */

import { readFileSync } from 'node:fs'
import { type ContextHistoryOptions, ContextHistory as History } from '../../dist/index.js'
import { onDisk, testDatabase } from './postgres.ts'
import { query } from './stored-files.ts'

/** The options of tests that look at files; they are skipped where histories are in a database. */
export const onFiles = onDisk('files')

/** The lines of a history, each with its newline character. */
export function textOf(path: string): string {
  if (testDatabase === undefined) {
    return readFileSync(path, 'utf8')
  }
  const name = path.replaceAll("'", "''")
  return query(
    `SELECT convert_from(line, 'UTF8') FROM agent_context.entry WHERE namespace = '${name}' ORDER BY NOT is_record, at`,
  )
}

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
