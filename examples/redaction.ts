/**
 * An agent reads a configuration with credentials: no stored file contains them, and a model that reads the stored output sees where they were.
 *
 *   npm run example:redaction
 */

import { randomBytes } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
// In your project: import { ContextHistory, ContextManager, redact } from 'agent-context'
import { ContextHistory, ContextManager, type RedactionReport, redact } from '../dist/index.js'

/** Generated at run time, so that this file contains no secret, whole or in part. */
const password = randomBytes(12).toString('base64url')
const token = ['gh', 'p_', randomBytes(27).toString('hex').slice(0, 36)].join('')

const CONFIGURATION = `# deploy.env of the shop
HOST=shop.example.com
DATABASE_URL=postgres://shop:${password}@db.example.com:5432/shop
GITHUB_TOKEN=${token}
RETRIES=3
`

async function main(): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'agent-context-redaction-'))
  try {
    await work(directory)
  } finally {
    await rm(directory, { recursive: true })
  }
}

async function work(directory: string): Promise<void> {
  const reports: RedactionReport[] = []
  const redaction = { onRedaction: (report: RedactionReport) => void reports.push(report) }
  const contextDir = join(directory, 'contexts')
  await using manager = new ContextManager({ contextDir, redaction })
  await using history = new ContextHistory({ path: join(directory, 'history.jsonl'), redaction })

  // Outputs of tools are passed to the store unchanged.
  const path = await manager.saveContext('read_file', { path: 'deploy.env' }, CONFIGURATION)
  await history.append({ toolName: 'git_push', params: { remote: `https://${token}@github.com/shop/shop` } })

  show('Stored', (await manager.loadContext<string>(path)).result)
  show('Recorded', JSON.stringify((await history.read(1))[0]?.params))
  for (const { kind, toolName, findings } of reports) {
    show('Reported', `${kind} of ${toolName}: ${findings.map(({ rule, count }) => `${count} × ${rule}`).join(', ')}`)
  }
  show('Counted', `${manager.stats().redactions} secrets were replaced by this manager`)
  show('On disk', `${await countOnDisk(directory)} of 2 secrets`)

  // For texts that go elsewhere, such as a log or a prompt.
  const { text, findings } = redact(`curl -H "Authorization: Bearer ${token}" https://api.github.com/user`)
  show('A text', `${text} (${findings.length} rule)`)
}

/** Counts the secrets that occur in any stored file. */
async function countOnDisk(directory: string): Promise<number> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  const texts = await Promise.all(files.map((file) => readFile(file, 'latin1')))
  const all = [...files, ...texts].join('\n')
  return [password, token].filter((secret) => all.includes(secret)).length
}

function show(title: string, text: string): void {
  console.log(`${title.padEnd(9)} ${text.trimEnd().replaceAll('\n', `\n${' '.repeat(10)}`)}`)
}

await main()
