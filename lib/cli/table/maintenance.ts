/** Commands that count, check and move what is stored. */

import type { CommandRow } from '../command-types.ts'

export const MAINTENANCE_COMMANDS: readonly CommandRow[] = [
  {
    name: 'stats',
    summary: 'Count the stored outputs and their bytes',
    details:
      'With --savings, outputs that placeholders replaced and the calls whose outputs hooks stored: their bytes, and those that the conversation got.',
    options: ['dir', 'history', 'session', 'tool', 'since', 'until', { name: 'by', fallback: 'tool' }, 'savings'],
    output: 'items',
    examples: [
      ['stats --by day --since 7d', 'a row for each day of the last week'],
      ['stats --savings', 'for each tool, what the conversation was spared'],
    ],
    load: () => import('../commands/stats.ts'),
  },
  {
    name: 'disk',
    summary: 'Say where everything is, and how much room it takes',
    options: ['dir', 'history', 'store', 'state', 'workspace', 'memory', 'branchScope'],
    output: 'items',
    examples: [['disk', 'a row for each place']],
    load: () => import('../commands/disk.ts'),
  },
  {
    name: 'verify',
    summary: 'Read everything that is stored, and say what is damaged',
    details:
      'Exits with 1 when something is. Changes nothing, except that --fix-index rebuilds the index of the history.',
    options: ['dir', 'history', 'store', 'state', 'workspace', 'memory', 'branchScope', 'fixIndex'],
    output: 'document',
    examples: [['verify', 'outputs, history, store, memory and state']],
    load: () => import('../commands/verify.ts'),
  },
  {
    name: 'doctor',
    summary: 'Check the set-up: runtime, addon, directories, permissions, locks, space',
    details: 'Exits with 1 when something does not work. Each problem comes with its remedy.',
    options: ['dir', 'history', 'store', 'state', 'workspace', 'memory'],
    output: 'document',
    examples: [['doctor', 'a line for each check']],
    load: () => import('../commands/doctor.ts'),
  },
  {
    name: 'copy',
    summary: 'Copy what is stored between directories and databases',
    details:
      'A place is a folder or the URL of a database; the one that is not given is the database of --storage. Names of places are the same on both sides: in a folder they are paths below it, which ~ stands for, or absolute ones. Without options that name places, those that the library uses by itself. What was written is read back. Running it again copies what is missing; what differs there is skipped and reported, and the exit code is 4.',
    options: [
      { name: 'from', description: 'a folder, or the URL of a database' },
      { name: 'to', description: 'a folder, or the URL of a database' },
      'dir',
      'history',
      'store',
      'state',
      'memory',
      'overwrite',
      'dryRun',
    ],
    output: 'items',
    examples: [
      ['copy --from ~ --to postgres://agents@db.example/agents', 'what is stored in the home directory'],
      [
        'copy --from . --history .wink/context.jsonl',
        'the history of this folder, to the database of AGENT_CONTEXT_STORAGE',
      ],
      ['copy --to ~/backup --state team/state --dry-run', 'what would be copied out of the database'],
    ],
    load: () => import('../commands/copy.ts'),
  },
  {
    name: 'export',
    summary: 'Write outputs, history, store, memory and state to one file',
    details: 'JSON Lines. With options that name places, only those places.',
    options: ['dir', 'history', 'store', 'state', 'workspace', 'memory', 'branchScope', 'out'],
    output: 'text',
    examples: [
      ['export -o backup.jsonl', 'everything'],
      ['export --dir ~/.agent/context | ssh other agent-context import -', 'only outputs, to another machine'],
    ],
    load: () => import('../commands/export.ts'),
  },
  {
    name: 'import',
    summary: 'Read what export wrote into the places of this machine',
    details:
      'Secrets are taken out, except of state, which stays to the byte. What is there already stays; what differs from it is skipped and reported, and the exit code is 4.',
    arguments: [{ name: 'file', description: 'the file, or - for standard input' }],
    options: ['dir', 'history', 'store', 'state', 'workspace', 'memory', 'branchScope', 'dryRun'],
    output: 'document',
    examples: [['import backup.jsonl --dry-run', 'what would be written']],
    load: () => import('../commands/import.ts'),
  },
]
