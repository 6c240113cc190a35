/** What the tests of context stores share: the environment kept away, entries as other programs write them. */

import { dirname, join } from 'node:path'
import process from 'node:process'
import { ContextStore, type ContextStoreOptions, type NewStoreEntry } from '../../dist/index.js'
import { inTestPlace } from './postgres.ts'
import { mkdirSync, readdirSync, writeFileSync } from './stored-files.ts'

const VARIABLES = ['SFA_CONTEXT_STORE', 'SFA_SESSION_ID']
// The user who runs the tests may have set them.
for (const name of VARIABLES) {
  delete process.env[name]
}

/** Runs `work` with these variables, and puts back what was there. `undefined`: not set. */
export async function withEnvironment<T>(
  variables: Readonly<Record<string, string | undefined>>,
  work: () => Promise<T> | T,
): Promise<T> {
  const before = Object.keys(variables).map((name): [string, string | undefined] => [name, process.env[name]])
  set(Object.entries(variables))
  try {
    return await work()
  } finally {
    set(before)
  }
}

function set(variables: readonly [string, string | undefined][]): void {
  for (const [name, value] of variables) {
    if (value === undefined) {
      delete process.env[name]
    } else {
      process.env[name] = value
    }
  }
}

/** A store that is quick: what survives the loss of power is tested elsewhere. */
export function storeIn(path: string, options: Partial<ContextStoreOptions> = {}): ContextStore {
  return new ContextStore({ agent: 'code-reviewer', path, durability: 'process', ...inTestPlace(options), ...options })
}

/** A new entry of which nothing matters. */
export function entry(more: Partial<NewStoreEntry> = {}): NewStoreEntry {
  return { type: 'finding', slug: 'auth-vulnerability', content: 'Tokens are compared with `==`.', ...more }
}

/** The text of an entry as another program might write it. */
export function entryText({
  agent = 'code-fixer',
  sessionId = 'a1b2c3d4',
  timestamp = '2026-02-21T14:30:22Z',
  type = 'finding',
  tags = [] as readonly string[],
  links = [] as readonly string[],
  content = 'Text.',
} = {}): string {
  const linkLines = links.length === 0 ? [] : ['links:', ...links.map((link) => `  - ${link}`)]
  return [
    '---',
    `agent: ${agent}`,
    `sessionId: ${sessionId}`,
    `timestamp: ${timestamp}`,
    `type: ${type}`,
    `tags: [${tags.join(', ')}]`,
    ...linkLines,
    '---',
    '',
    content,
    '',
  ].join('\n')
}

/** Writes a file of a store past the store. */
export function plant(store: string, path: string, text: string): string {
  const file = join(store, path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
  return path
}

/** Every file below a directory, relative, `/` between the parts; without what the store keeps for itself. */
export function filesBelow(directory: string, prefix = ''): string[] {
  return (
    readdirSync(join(directory, prefix), { withFileTypes: true })
      .flatMap((found) => {
        const path = `${prefix}${found.name}`
        return found.isDirectory() ? filesBelow(directory, `${path}/`) : [path]
      })
      // Also what is about to replace its cache, which it writes in the background.
      .filter((path) => !/^\.{1,2}context-store\./.test(path))
      .sort()
  )
}

/** ISO 8601, so many days ago. */
export function daysAgo(days: number): string {
  return new Date(Date.now() - days * 86_400_000).toISOString()
}
