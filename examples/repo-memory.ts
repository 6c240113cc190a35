/**
 * A repository memory, without a model and without a network: lasting conventions and decisions, a run whose steps append
 * summaries, a map of the source files, and a text with the most useful of these within a budget.
 *
 *   npm run example:memory
 */

import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
// In your project: import { RepoMemory, type StepSummary } from 'agent-context'
import { RepoMemory, type StepSummary } from '../dist/index.js'

const FILES: Record<string, string> = {
  'src/login.ts': `import { hash } from './hash'
export class LoginForm {
  submit(user: string, password: string): boolean {
    return hash(password) === known(user)
  }
}
`,
  'src/hash.ts': 'export function hash(text: string): string {\n  return text\n}\n',
  'src/invoice.ts': 'export const total = (rows: number[]): number => rows.length\n',
}

async function main(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'agent-context-memory-'))
  try {
    const workspace = join(folder, 'shop')
    for (const [path, text] of Object.entries(FILES)) {
      await mkdir(dirname(join(workspace, path)), { recursive: true })
      await writeFile(join(workspace, path), text)
    }
    // The default, ~/.codex-toolloop, is what your agents share.
    await work(workspace, join(folder, 'memories'))
  } finally {
    await rm(folder, { recursive: true })
  }
}

async function work(workspace: string, root: string): Promise<void> {
  await using memory = await RepoMemory.open({ workspace, root })
  await memory.upsertConvention({ title: 'Tests', content: 'node:test, no mocks of our own code', tags: ['testing'] })
  await memory.upsertDecision({
    summary: 'Passwords are compared in constant time',
    rationale: 'a comparison that ends early tells how much was right',
    impactedPaths: ['src/login.ts'],
  })
  const token = ['gh', 'p_', 'A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8'].join('')
  const note = await memory.upsertNote({ content: `CI pushes with ${token}`, source: 'agent' })
  show('Stored', note.content)

  // A run: every step appends a summary, and gets those of earlier steps in its context.
  const workflow = memory.workflow('run-42')
  await workflow.step('plan', () => 'Compare passwords in LoginForm.submit with timingSafeEqual.')
  const built = await workflow.step('build', async ({ context }) =>
    model(await context(2000, { query: 'compare passwords at login' })),
  )
  show('Built', built.happened)
  await workflow.step('test', () => Promise.reject(new Error('1 of 3 tests failed'))).catch(() => {})
  const { summaries } = await memory.getRepoMemory()
  show('Summaries', summaries.map(({ stepId, summary }) => `${stepId}: ${summary.split('\n')[0]}`).join('\n'))

  const prompt = await memory.buildContextFromMemory(700, { query: 'why do tests fail?' })
  show('Context', prompt)
  show('Length', `${prompt.length} of 700 characters`)
  const symbols = await memory.symbols('src/login.ts')
  show('Symbols', symbols.map(({ kind, name, line }) => `${kind} ${name}, line ${line}`).join('\n'))
  show('On disk', (await readFile(join(memory.directory, 'memory.json'), 'utf8')).split('\n').slice(0, 12).join('\n'))
}

/** A placeholder for a model that has read its context. */
function model(context: string): StepSummary {
  return {
    happened: context.includes('timingSafeEqual') ? 'Used timingSafeEqual, as planned.' : 'Did not know what to do.',
    outputs: ['src/login.ts'],
    followUps: ['Run the tests'],
  }
}

function show(title: string, text: string): void {
  console.log(`${title.padEnd(10)} ${text.trimEnd().replaceAll('\n', `\n${' '.repeat(11)}`)}`)
}

await main()
