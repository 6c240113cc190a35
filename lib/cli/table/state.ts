/** Commands on the state store. */

import type { CommandRow } from '../command-types.ts'

const NAMESPACE = {
  name: 'namespace',
  description: 'segments with slashes between them, or a JSON array where a segment holds one',
} as const
const KEY = { name: 'key', description: 'the key' } as const

export const STATE_COMMANDS: readonly CommandRow[] = [
  {
    name: 'state list',
    summary: 'List the items of the state store, by namespace and key',
    arguments: [{ ...NAMESPACE, isOptional: true }],
    options: ['state', 'keyPrefix', { name: 'limit', fallback: '100' }],
    output: 'items',
    examples: [
      ['state', 'the first hundred items'],
      ['state list threads/a1 --json', 'everything below a namespace, with values'],
    ],
    load: () => import('../commands/state-list.ts'),
  },
  {
    name: 'state get',
    summary: 'Print the value of an item',
    details: 'JSON is printed as JSON. Of binary data --raw gives the bytes; elsewhere they are shown in Base64.',
    arguments: [NAMESPACE, KEY],
    options: ['state', { name: 'raw', description: 'a string without quotes, binary data as bytes' }],
    output: 'document',
    examples: [['state get threads/a1 checkpoint', 'the value']],
    load: () => import('../commands/state-get.ts'),
  },
  {
    name: 'state put',
    summary: 'Write an item: JSON from --content or standard input',
    arguments: [NAMESPACE, KEY],
    options: [
      'state',
      { name: 'content', description: 'the value as JSON; otherwise standard input' },
      { name: 'raw', description: 'standard input is stored as binary data' },
      'ttl',
      'ifRevision',
    ],
    output: 'document',
    examples: [
      [`state put threads/a1 settings --content '{"step":3}'`, 'prints the revision'],
      ['state put files report --raw --ttl 7d < report.pdf', 'binary data that expires'],
    ],
    load: () => import('../commands/state-put.ts'),
  },
  {
    name: 'state delete',
    summary: 'Remove an item',
    arguments: [NAMESPACE, KEY],
    options: ['state', 'ifRevision'],
    output: 'document',
    isDestructive: true,
    examples: [['state delete threads/a1 settings', 'asks first']],
    load: () => import('../commands/state-delete.ts'),
  },
  {
    name: 'state watch',
    summary: 'Print changes as they happen, until Ctrl+C',
    details: 'JSON comes as one object for each change, with --json as well. --cursor goes on after an earlier change.',
    arguments: [{ ...NAMESPACE, isOptional: true }],
    options: ['state', 'cursor', { name: 'limit', description: 'end after so many changes', fallback: 'all' }],
    output: 'items',
    examples: [['state watch threads --jsonl', 'every change below a namespace, for a program']],
    load: () => import('../commands/state-watch.ts'),
  },
]
