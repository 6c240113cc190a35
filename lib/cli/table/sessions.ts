/** Commands on the sessions of a context directory, and on what they leave. */

import type { CommandRow } from '../command-types.ts'

export const SESSION_COMMANDS: readonly CommandRow[] = [
  {
    name: 'sessions list',
    summary: 'List the sessions of the directory, the latest used first',
    details:
      'live: a process holds the session. paused: no process does, and its outputs are kept for when it is resumed. ended: its outputs stay within the bounds of the retention.',
    options: ['dir', { name: 'limit', fallback: 'all' }],
    output: 'items',
    examples: [['sessions', 'who has outputs in the directory, and how many bytes']],
    load: () => import('../commands/sessions-list.ts'),
  },
  {
    name: 'sessions end',
    summary: 'End a session that will not be resumed',
    details: 'Removes nothing by itself: what the session left is then kept within the bounds of the retention.',
    arguments: [{ name: 'id', description: 'the id of the session' }],
    options: ['dir'],
    output: 'document',
    examples: [['sessions end nightly-run', 'lets a later sweep remove what it left']],
    load: () => import('../commands/sessions-end.ts'),
  },
  {
    name: 'sweep',
    summary: 'Remove what ended sessions left beyond the bounds of the retention',
    details:
      'Without options, the bounds of the library: 7d, 10 000 outputs, 1 GiB. Outputs of sessions that are live or paused stay.',
    options: [
      'dir',
      { name: 'maxAge', fallback: '7d' },
      { name: 'maxFiles', fallback: '10000' },
      { name: 'maxBytes', fallback: '1 GiB' },
    ],
    output: 'document',
    isDestructive: true,
    examples: [['sweep --max-age 1d --dry-run', 'each output that would go, and why']],
    load: () => import('../commands/sweep.ts'),
  },
]
