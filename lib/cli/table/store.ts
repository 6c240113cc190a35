/** Commands on the context store. */

import type { CommandRow, OptionUse } from '../command-types.ts'
import type { OptionName } from '../options.ts'

const ENTRY = { name: 'entry', description: 'path of the entry, relative to the store or absolute' } as const
const AGENT_FILTER: OptionUse = { name: 'agent', description: 'only entries of this agent' }
const FILTER: readonly (OptionName | OptionUse)[] = ['store', AGENT_FILTER, 'session', 'type', 'tag', 'since', 'until']
const NEW_ENTRY = [
  {
    name: 'type',
    description: 'finding, decision, artifact, reference or summary',
    choices: ['finding', 'decision', 'artifact', 'reference', 'summary'],
  },
  { name: 'slug', description: 'a short name for the file' },
] as const

export const STORE_COMMANDS: readonly CommandRow[] = [
  {
    name: 'store list',
    summary: 'List the entries of the store, latest first',
    options: [...FILTER, { name: 'limit', fallback: '50' }],
    output: 'items',
    examples: [['store --type decision --since 7d', 'what was decided in the last week']],
    load: () => import('../commands/store-list.ts'),
  },
  {
    name: 'store show',
    summary: 'Show an entry whole, with its changelog',
    arguments: [ENTRY],
    options: ['store'],
    output: 'document',
    examples: [['store show code-reviewer/20260221T143022-auth-vulnerability.md', 'the entry']],
    load: () => import('../commands/store-show.ts'),
  },
  {
    name: 'store search',
    summary: 'Search the entries of the store',
    details:
      'Words (all have to match, or one with --ranked), "exact phrases", prefix*, -excluded. Exits with 1 when nothing is found.',
    arguments: [{ name: 'words', description: 'what to look for', isVariadic: true }],
    options: [...FILTER, 'ranked', { name: 'limit', fallback: '50' }],
    output: 'items',
    examples: [['store search session tokens --ranked', 'the best answers first']],
    load: () => import('../commands/store-search.ts'),
  },
  {
    name: 'store write',
    summary: 'Write an entry: Markdown from standard input, or in $EDITOR',
    arguments: NEW_ENTRY,
    options: ['store', 'agent', 'session', 'tag', 'link', 'content'],
    output: 'document',
    examples: [
      ['store write finding slow-login --agent me --tag performance < finding.md', 'prints the path of the entry'],
    ],
    load: () => import('../commands/store-write.ts'),
  },
  {
    name: 'store update',
    summary: 'Change an entry',
    details: 'What is not named stays. The content is replaced with --content, or with standard input when it is "-".',
    arguments: [ENTRY],
    options: [
      'store',
      'agent',
      { name: 'reason', description: 'what changed and why, for the changelog; needed' },
      'content',
      'type',
      'tag',
      'removeTag',
      'link',
      'removeLink',
      'ifRevision',
    ],
    output: 'document',
    examples: [
      ["store update me/20260221T143022-slow-login.md --agent me --tag fixed --reason 'fixed in 4f2a'", 'adds a tag'],
    ],
    load: () => import('../commands/store-update.ts'),
  },
  {
    name: 'store supersede',
    summary: 'Write an entry that takes the place of another',
    arguments: [ENTRY, ...NEW_ENTRY],
    options: [
      'store',
      'agent',
      'session',
      { name: 'reason', description: 'why, for the changelog; needed' },
      'tag',
      'link',
      'content',
    ],
    output: 'document',
    examples: [
      [
        'store supersede me/20260221T143022-slow-login.md finding fast-login --agent me --reason measured < new.md',
        'both happen, or neither',
      ],
    ],
    load: () => import('../commands/store-supersede.ts'),
  },
  {
    name: 'store related',
    summary: 'List the entries that are linked with one',
    arguments: [ENTRY],
    options: ['store', 'depth', 'direction', { name: 'limit', fallback: '100' }],
    output: 'items',
    examples: [['store related me/20260221T143022-slow-login.md --direction backlinks', 'what links to it']],
    load: () => import('../commands/store-related.ts'),
  },
  {
    name: 'store housekeep',
    summary: 'Remove old entries of the store',
    details: 'Entries that others link to stay, unless --include-linked is given.',
    options: [
      'store',
      { name: 'agent', description: 'only entries of this agent' },
      { name: 'olderThan', fallback: '30d' },
      'includeLinked',
    ],
    output: 'document',
    isDestructive: true,
    examples: [['store housekeep --older-than 90d --dry-run', 'what would go']],
    load: () => import('../commands/store-housekeep.ts'),
  },
  {
    name: 'store verify',
    summary: 'Read every entry of the store, and say what is wrong',
    details: 'Exits with 1 when a file is no entry or a link leads nowhere.',
    options: ['store'],
    output: 'document',
    examples: [['store verify', 'damaged entries and dangling links']],
    load: () => import('../commands/store-verify.ts'),
  },
]
