/** Commands on the history. */

import type { CommandRow } from '../command-types.ts'

export const HISTORY_COMMANDS: readonly CommandRow[] = [
  {
    name: 'history list',
    summary: 'List the latest entries of the history, oldest first',
    details: 'With a condition that nothing meets it exits with 1.',
    options: [
      'history',
      'session',
      'tool',
      'since',
      'until',
      'failed',
      'text',
      'ranked',
      { name: 'limit', fallback: '20' },
    ],
    output: 'items',
    examples: [
      ['history --failed -n 10', 'the last ten calls that failed'],
      ['history list --text login --ranked', 'the entries that answer best'],
    ],
    load: () => import('../commands/history-list.ts'),
  },
  {
    name: 'history tail',
    summary: 'Print the end of the history, and what comes after it',
    details:
      'With --follow it goes on while the file is compacted or replaced, and ends with Ctrl+C; JSON comes as one object for each entry.',
    options: ['history', 'follow', 'afterId', { name: 'limit', fallback: '10' }],
    output: 'items',
    examples: [
      ['history tail -f --jsonl', 'every entry from now on, for a program'],
      ['history tail -f --jsonl --after-id ID', 'goes on behind the last entry that the program has seen'],
    ],
    load: () => import('../commands/history-tail.ts'),
  },
  {
    name: 'history compact',
    summary: 'Remove old entries of the history',
    details: 'Safe beside programs that write. At least one of --keep-last, --max-age and --max-bytes is needed.',
    options: ['history', 'keepLast', 'maxAge', 'maxBytes'],
    output: 'document',
    isDestructive: true,
    examples: [['history compact --keep-last 1000 --dry-run', 'how many entries would go']],
    load: () => import('../commands/history-compact.ts'),
  },
]
