/**
 * The command table. Parser, help, completions and manual page are made from it; a command is one row here and one module
 * in `commands/`.
 */

import type { CommandRow } from './command-types.ts'
import { CLIENT_COMMANDS } from './table/clients.ts'
import { HISTORY_COMMANDS } from './table/history.ts'
import { MAINTENANCE_COMMANDS } from './table/maintenance.ts'
import { MEMORY_COMMANDS } from './table/memory.ts'
import { OUTPUT_COMMANDS } from './table/outputs.ts'
import { SESSION_COMMANDS } from './table/sessions.ts'
import { STATE_COMMANDS } from './table/state.ts'
import { STORE_COMMANDS } from './table/store.ts'
import { TEXT_COMMANDS } from './table/texts.ts'

/** A first word that commands share; without a second one the standard command runs. */
export interface CommandGroup {
  readonly name: string
  readonly summary: string
  readonly standard: string
}

export const GROUPS: readonly CommandGroup[] = [
  { name: 'sessions', summary: 'Who made the outputs of a directory, and what is kept for whom', standard: 'list' },
  { name: 'history', summary: 'The log of tool calls and decisions', standard: 'list' },
  { name: 'store', summary: 'Findings, decisions and more that agents share', standard: 'list' },
  { name: 'state', summary: 'Keyed documents: checkpoints, threads, agent state', standard: 'list' },
  { name: 'memory', summary: 'What is known about a repository', standard: 'list' },
]

export const COMMANDS: readonly CommandRow[] = [
  ...OUTPUT_COMMANDS,
  ...SESSION_COMMANDS,
  ...HISTORY_COMMANDS,
  ...STORE_COMMANDS,
  ...STATE_COMMANDS,
  ...MEMORY_COMMANDS,
  ...MAINTENANCE_COMMANDS,
  ...CLIENT_COMMANDS,
  ...TEXT_COMMANDS,
]
