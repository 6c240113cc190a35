/** Sends planted secrets through memories of repositories, and shows a sweep all that comes back. */

import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type RedactionOptions, RepoMemory, type RepoMemoryOptions } from '../../dist/index.js'
import { inDirectory } from './fixtures.ts'
import type { Planted } from './planted-secrets.ts'
import { inBatches, listeners, outcome } from './planted-work.ts'
import type { SecretSweep } from './secret-sweep.ts'

type MemoryOptions = Pick<RepoMemoryOptions, 'durability'> & { root: string; redaction: false | RedactionOptions }

/** More than there are. */
const ALL = 100_000
const LONGEST_LINE = 300

/** A value in running text. */
const worded = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

/** What can stand in a title, a tag or a path. */
const isLine = (text: string): boolean => !/[\r\n]/.test(text) && Buffer.byteLength(text) <= LONGEST_LINE

/** A repository whose remote, branch and source files hold secrets. */
function plantRepository(workspace: string, planted: readonly Planted[]): void {
  const git = join(workspace, '.git')
  mkdirSync(join(git, 'refs'), { recursive: true })
  mkdirSync(join(git, 'objects'))
  writeFileSync(join(git, 'HEAD'), 'ref: refs/heads/main\n')
  const [first] = planted.filter(({ text }) => /^[\w-]+$/.test(text))
  const user = first === undefined ? '' : `planter:${first.text}@`
  writeFileSync(join(git, 'config'), `[remote "origin"]\n\turl = https://${user}example.com/planted/repository.git\n`)
  for (const [number, { text }] of planted.entries()) {
    // The longer the name, the later the secret begins: somewhere a signature is cut in the middle of one.
    const name = `planted_${'x'.repeat(number % 200)}`
    writeFileSync(
      join(workspace, `planted_${number}.py`),
      `PLANTED = """${text}"""\ndef use(value="""${text}"""):\n  pass\n`,
    )
    // In prose nothing looks behind escapes.
    if (/^[^'\\\r\n]*$/.test(text)) {
      writeFileSync(
        join(workspace, `planted-${number}.ts`),
        `export const ${name} = '${text}'\nexport const after = 1\n`,
      )
    }
  }
}

/** All ways into a repository's memory, and all ways out of it. */
export async function rememberThings(
  planted: readonly Planted[],
  sweep: SecretSweep,
  options: MemoryOptions,
  look: () => void,
): Promise<void> {
  // Durable writes hold the same text, and take long.
  const common = { ...options, ...listeners(sweep, options.redaction), durability: 'process' as const }
  await inDirectory(async (workspace) => {
    plantRepository(workspace, planted)
    const memory = await RepoMemory.open({ ...common, workspace, maxSummaries: ALL, maxSummaryBytes: Infinity })
    const keep = async (plant: Planted): Promise<void> => {
      const { text } = plant
      const value = worded(plant.value)
      const lines = [text, value].filter(isLine)
      const convention = { title: lines[0] ?? 'a title', content: `${text}\n\n${value}`, tags: lines }
      const before = structuredClone(convention)
      await outcome(sweep, 'conventions', memory.upsertConvention(convention))
      assert.deepEqual(convention, before, 'what was passed is changed')
      const decision = { summary: `We took\n${text}`, rationale: `because\n${value}`, impactedPaths: lines }
      await outcome(sweep, 'decisions', memory.upsertDecision(decision))
      await outcome(sweep, 'notes', memory.upsertNote({ content: `It is\n${text}\nand\n${value}` }))
      const [run = 'run', step = 'step'] = lines
      await outcome(sweep, 'step summaries', memory.appendSummary(run, step, `Done:\n${text}\n${value}`, lines))
      await memory.workflow('planted').step('step', () => ({ happened: `Did\n${text}`, outputs: [text] }))
    }
    await inBatches(planted, keep, look)
    await outcome(sweep, 'memories', memory.getRepoMemory())
    await outcome(sweep, 'packs', memory.buildContextFromMemory(Infinity, { latestSummaries: ALL, repoMap: false }))
    await outcome(sweep, 'maps', memory.repoMap({ maxChars: Infinity }))
    look()
    for (const plant of planted.slice(0, 20)) {
      const value = worded(plant.value)
      await outcome(sweep, 'packs asked for', memory.buildContextFromMemory(3000, { query: value }))
      // What cannot be done is said without naming secrets.
      await outcome(sweep, 'nothing', memory.upsertConvention({ title: value }))
      await outcome(sweep, 'nothing', memory.symbols(value))
      await outcome(sweep, 'nothing', memory.remove('note', value))
    }
    await memory.close()
  })
  look()
}
