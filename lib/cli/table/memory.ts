/** Commands on what is known about a repository. */

import type { CommandRow, OptionUse } from '../command-types.ts'
import type { OptionName } from '../options.ts'

const PLACE: readonly (OptionName | OptionUse)[] = ['workspace', 'memory', 'branchScope']
const KIND = {
  name: 'kind',
  description: 'convention, decision or note',
  choices: ['convention', 'decision', 'note'],
} as const

export const MEMORY_COMMANDS: readonly CommandRow[] = [
  {
    name: 'memory list',
    summary: 'List conventions, decisions and notes',
    options: PLACE,
    output: 'items',
    examples: [['memory', 'what is known about the repository of this folder']],
    load: () => import('../commands/memory-list.ts'),
  },
  {
    name: 'memory add',
    summary: 'Add a record, or change one',
    details:
      'The text is --content, standard input, or what $EDITOR saves. A convention needs --title; one with the same title is changed.',
    arguments: [KIND],
    options: [...PLACE, 'title', 'content', 'tag', 'rationale', 'path', 'source', 'id'],
    output: 'document',
    examples: [
      ["memory add convention --title Tests --content 'node:test, no mocks' --tag testing", 'a convention'],
      ["memory add decision --content 'Tokens stay in cookies' --rationale 'no script reads them'", 'a decision'],
    ],
    load: () => import('../commands/memory-add.ts'),
  },
  {
    name: 'memory remove',
    summary: 'Remove a record',
    arguments: [KIND, { name: 'id', description: 'the id of the record' }],
    options: PLACE,
    output: 'document',
    isDestructive: true,
    examples: [['memory remove note 188fb14d-1b99-44f5-af64-cd4104433242', 'asks first']],
    load: () => import('../commands/memory-remove.ts'),
  },
  {
    name: 'memory summaries',
    summary: 'List the summaries of steps, oldest first',
    options: [...PLACE, { name: 'limit', fallback: 'all' }],
    output: 'items',
    examples: [['memory summaries -n 5', 'the last five']],
    load: () => import('../commands/memory-summaries.ts'),
  },
  {
    name: 'memory migrate',
    summary: 'Move what is known about a repository whose folder moved',
    options: [...PLACE, { name: 'from', description: 'the folder where it was; needed' }],
    output: 'document',
    examples: [['memory migrate --from ~/old/shop', 'to the repository of this folder']],
    load: () => import('../commands/memory-migrate.ts'),
  },
  {
    name: 'pack',
    summary: 'Print the most useful of what is known about a repository, within a budget',
    details:
      'Markdown for a model. --map also shows the files that matter most; in a large repository the first map takes a while.',
    options: [...PLACE, { name: 'maxChars', fallback: '8000' }, 'query', 'summaries', 'map', 'focus'],
    output: 'document',
    examples: [["pack --max-chars 4000 --query 'add a login'", 'what answers the query comes first']],
    load: () => import('../commands/pack.ts'),
  },
  {
    name: 'map',
    summary: 'Print a map of the repository: the files that matter most, and what they define',
    options: [...PLACE, { name: 'maxChars', fallback: '8000' }, 'focus'],
    output: 'document',
    examples: [['map --focus src/login --max-chars 3000', 'drawn around a folder']],
    load: () => import('../commands/map.ts'),
  },
]
