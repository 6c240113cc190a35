/** `RepoMemory.migrate`: moves a repository's memory to its current hash. */

import { migrateRepoMemory } from '#addon'
import { optional } from '../arguments/checks.ts'
import { contextError } from '../arguments/errors.ts'
import { operate, outbox } from '../native/border.ts'
import { checkRedaction } from '../redaction/redaction.ts'
import { repoMigration } from './option-names.ts'
import { checkBranchScope, checkChanges, checkRepoHash, checkWorkspace, reading } from './options.ts'
import type { MigrateReport, RepoMemoryMigration } from './types.ts'

export function migrate(options: RepoMemoryMigration): Promise<MigrateReport> {
  const { request, redaction } = reading('migrate', () => ({
    request: JSON.stringify(checkMigration(options)),
    redaction: checkRedaction(options.redaction, 'redaction'),
  }))
  redaction?.redactor.refresh()
  return operate(
    { fileSystem: undefined, onDebug: undefined, redaction },
    (operation) => migrateRepoMemory(outbox, operation, request, redaction?.redactor.native),
    (_, [text = '']) => ({ moved: JSON.parse(text) as MigrateReport['moved'] }),
  )
}

function checkMigration(options: RepoMemoryMigration): object {
  const { fromWorkspace, fromRepoHash, workspace } = repoMigration(options, 'options')
  const from = {
    fromWorkspace: optional(fromWorkspace, 'fromWorkspace', checkWorkspace),
    fromRepoHash: optional(fromRepoHash, 'fromRepoHash', checkRepoHash),
  }
  if ((from.fromWorkspace === undefined) === (from.fromRepoHash === undefined)) {
    throw contextError('ERR_CONTEXT_INVALID_ARGUMENT', 'either fromWorkspace or fromRepoHash is needed, and not both')
  }
  return {
    ...from,
    ...checkChanges(options),
    workspace: checkWorkspace(workspace, 'workspace'),
    branchScope: checkBranchScope(options.branchScope),
  }
}
