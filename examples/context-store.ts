/**
 * Several agents share knowledge through a store, without a model and without a network: a reviewer writes a finding, a fixer
 * finds, changes and links it, a summarizer supersedes outdated entries, and housekeeping removes old ones.
 *
 *   npm run example:store
 */

import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
// In your project: import { ContextStore, contextStoreTools } from 'agent-context'
import { ContextStore, contextStoreTools } from '../dist/index.js'

const FINDING = `# Session tokens are compared with ==

\`src/auth.ts\` line 40: the comparison ends at the first character that differs, and so tells how much of a token is right.
Use \`timingSafeEqual\`.`

async function main(): Promise<void> {
  // The default, ~/.local/share/single-file-agents/context, is what your agents share.
  const path = await mkdtemp(join(tmpdir(), 'agent-context-store-'))
  try {
    await work(path)
  } finally {
    await rm(path, { recursive: true })
  }
}

async function work(path: string): Promise<void> {
  const sessionId = 'a1b2c3d4'
  await using reviewer = new ContextStore({ agent: 'code-reviewer', path, sessionId })
  const finding = await reviewer.write({
    type: 'finding',
    slug: 'Auth vulnerability',
    content: FINDING,
    tags: ['security', 'authentication'],
  })
  show('Written', finding.path)
  show('On disk', (await readFile(finding.filePath, 'utf8')).split('\n').slice(0, 7).join('\n'))

  // Another agent, perhaps on another day.
  await using fixer = new ContextStore({ agent: 'code-fixer', path, sessionId })
  const [found] = await fixer.search({ query: 'token comparison', type: 'finding', ranked: true })
  show('Found', `${found?.path}: ${found?.tags.join(', ')}`)
  const fix = await fixer.write({
    type: 'artifact',
    slug: 'constant-time',
    content: 'Tokens are compared with `timingSafeEqual` since 4f2a.',
    links: [finding.path],
  })
  const { revision } = await fixer.read(finding.path)
  await fixer.update(finding.path, { addTags: ['fixed'], links: [fix.path] }, 'Fixed in 4f2a', { ifRevision: revision })
  const conflict = await reviewer
    .update(finding.path, { addTags: ['open'] }, 'Still open', { ifRevision: revision })
    .catch((error: { code?: string }) => error.code)
  show('Too late', String(conflict))

  await using summarizer = new ContextStore({ agent: 'summarizer', path, sessionId })
  const { old, replacement } = await summarizer.supersede(
    finding.path,
    { type: 'summary', slug: 'auth', content: 'Tokens are compared in constant time.', tags: ['authentication'] },
    'it is fixed',
  )
  show('Changes', old.changelog.map(({ agent, description }) => `${agent}: ${description}`).join('\n'))
  const related = await summarizer.related(replacement.path, { depth: 2 })
  show('Related', related.map((entry) => entry.path).join('\n'))

  // What a model would call:
  const [, , read] = contextStoreTools(summarizer)
  const { value } = await read.execute({ path: replacement.path })
  show('Tool', `${read.name}\n${value}`)

  show('For a log', JSON.stringify({ meta: { contextFiles: summarizer.contextFiles() } }))
  const { removed, keptLinked } = await summarizer.housekeep({ olderThan: '30d', dryRun: true })
  show('Tidied', `${removed.length} entries are older than 30 days, ${keptLinked.length} of them linked`)
  const { entries, problems, danglingLinks } = await summarizer.verify()
  show('Verified', `${entries} entries, ${problems.length} problems, ${danglingLinks.length} dangling links`)
}

function show(title: string, text: string): void {
  console.log(`${title.padEnd(10)} ${text.trimEnd().replaceAll('\n', `\n${' '.repeat(11)}`)}`)
}

await main()
