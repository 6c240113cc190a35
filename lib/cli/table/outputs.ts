/** Commands on stored tool outputs. */

import type { CommandRow } from '../command-types.ts'

const OUTPUT = { name: 'output', description: 'a handle (ctx_…), a file name of the directory, or a path' } as const

/** The same call with the same result has the same handle in every session. */
const SESSION = { name: 'session', description: 'the output that this session has behind the handle' } as const

export const OUTPUT_COMMANDS: readonly CommandRow[] = [
  {
    name: 'list',
    summary: 'List stored outputs, newest first',
    details: 'All sessions of the directory, unless --session names one.',
    options: ['dir', 'session', 'tool', 'since', 'until', 'failed', { name: 'limit', fallback: '50' }],
    output: 'items',
    examples: [
      ['list --tool npm_test --since 2h', 'outputs of one tool from the last two hours'],
      ['list --limit all --json', 'everything, for a program'],
    ],
    load: () => import('../commands/list.ts'),
  },
  {
    name: 'show',
    summary: 'Show what is known about an output, and its beginning',
    arguments: [OUTPUT],
    options: ['dir', SESSION],
    output: 'document',
    examples: [['show ctx_1f2e3d4c5b6a7988', 'the call, its outcome, and the first lines of the result']],
    load: () => import('../commands/show.ts'),
  },
  {
    name: 'read',
    summary: 'Read a part of an output',
    details:
      'Without a slice, the first 32 KB. What controls a terminal is shown as an escape such as \\e, unless --raw is given. Patterns are of the linear-time kind, without look-around and back references.',
    arguments: [OUTPUT],
    options: [
      'dir',
      SESSION,
      'lines',
      'bytes',
      'grep',
      'ignoreCase',
      'context',
      'before',
      'after',
      'jsonPath',
      'maxBytes',
      'whole',
      'raw',
    ],
    output: 'document',
    examples: [
      ['read ctx_1f2e3d4c5b6a7988 --lines 120:180', 'some lines'],
      ["read ctx_1f2e3d4c5b6a7988 -e 'error|warn' -i -C 2", 'lines that match, with two lines around each'],
      ["read ctx_1f2e3d4c5b6a7988 --json-path '$.orders[*].id'", 'values of a JSON result'],
      ['read ctx_1f2e3d4c5b6a7988 --whole --raw > output.txt', 'the result, byte for byte'],
    ],
    load: () => import('../commands/read.ts'),
  },
  {
    name: 'search',
    summary: 'Search the texts of stored outputs',
    details:
      'Words (any may match), "exact phrases", prefix*, -excluded, tool:name, after:2026-11-01, before:2026-11-01. Put -- before a query that begins with -. Exits with 1 when nothing is found.',
    arguments: [{ name: 'words', description: 'what to look for', isVariadic: true }],
    options: ['dir', 'session', 'tool', 'since', 'until', { name: 'limit', fallback: '20' }, 'explain'],
    output: 'items',
    examples: [
      ['search connection refused', 'outputs with any of the words, the best first'],
      [`search '"connection refused" retry* -flaky'`, 'an exact phrase, a prefix, without a word'],
    ],
    load: () => import('../commands/search.ts'),
  },
  {
    name: 'offload',
    summary: 'Store standard input as an output, print what the conversation gets',
    details:
      'A large output is replaced by a placeholder with its shape, its beginning, its end and a handle; a small one is printed unchanged. Secrets are taken out before anything is stored.',
    options: [
      'dir',
      'session',
      { name: 'tool', description: 'the tool that made the output; needed' },
      'args',
      'threshold',
    ],
    output: 'document',
    examples: [
      ['offload --tool npm_test < test.log', 'the placeholder of a log'],
      [
        `offload --tool grep --args '{"pattern":"TODO"}' --threshold 2048 < hits.txt`,
        'with arguments and another threshold',
      ],
    ],
    load: () => import('../commands/offload.ts'),
  },
  {
    name: 'forget',
    summary: 'Remove one output, or all that meet conditions',
    details:
      'Without an output, at least one condition is needed; an output has to meet all of them. What belongs to sessions that are live or paused stays, and is refused by name: end the session first.',
    arguments: [{ ...OUTPUT, isOptional: true }],
    options: ['dir', 'session', 'tool', 'since', 'until'],
    output: 'document',
    isDestructive: true,
    examples: [
      ['forget ctx_1f2e3d4c5b6a7988 --yes', 'removes it without asking'],
      ['forget --tool npm_test --until 30d --dry-run', 'what one tool left a month ago or earlier'],
    ],
    load: () => import('../commands/forget.ts'),
  },
]
