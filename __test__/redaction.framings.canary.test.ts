/** Each of hundreds of secrets is stored in every framing that tools give it. No piece of it may be on disk. */

import assert from 'node:assert/strict'
import { join } from 'node:path'
import process from 'node:process'
import { after, before, describe, it } from 'node:test'
import { ContextHistory, ContextManager, type RedactionOptions } from '../dist/index.js'
import { inDirectory } from './support/fixtures.ts'
import { FRAMINGS, SPLIT_LINES } from './support/framings.ts'
import { plantSecrets } from './support/planted-secrets.ts'
import { inBatches } from './support/planted-work.ts'
import { PATIENT } from './support/processes.ts'
import { DirectoryWatch, SecretSweep } from './support/secret-sweep.ts'

const COUNT = 500
const SEED = 7
const { planted, variables, patterns } = plantSecrets(COUNT, SEED)

/**
 * Secrets that are found by two lines. Where each line is a member, or a record, of its own, they are split, which the README
 * lists among what passes.
 */
const FOUND_BY_TWO_LINES: ReadonlySet<string> = new Set([
  'password in a property list',
  'password of netrc on lines',
  'key in YAML',
])

function framingsOf(kind: string): [name: string, frame: (lines: readonly string[]) => unknown][] {
  const all = Object.entries(FRAMINGS)
  return FOUND_BY_TWO_LINES.has(kind) ? all.filter(([name]) => !SPLIT_LINES.has(name)) : all
}

/** Every secret in every framing, as the entries of a history and the contexts of a manager; looks at all files. */
async function sweepFramings(redaction: false | RedactionOptions): Promise<SecretSweep> {
  const sweep = new SecretSweep(planted)
  await inDirectory(async (directory) => {
    const history = new ContextHistory({ path: join(directory, 'history.jsonl'), redaction })
    const manager = new ContextManager({ contextDir: join(directory, 'contexts'), redaction })
    await inBatches(planted, async ({ kind, text }, index) => {
      const lines = text.split('\n')
      const framings = framingsOf(kind)
      const [framing, frame] = framings[index % framings.length] as (typeof framings)[number]
      // The files of contexts cost more than the lines of a history: each framing has some.
      await manager.saveContext('read_file', { framing }, frame(lines))
      for (const [framing, frame] of framings) {
        await history.append({ toolName: 'read_file', params: { framing }, result: frame(lines) })
      }
    })
    await history.close()
    await manager.close()
    new DirectoryWatch(directory, sweep).look()
  })
  return sweep
}

describe(`500 secrets, each in ${Object.keys(FRAMINGS).length} framings`, () => {
  before(() => {
    Object.assign(process.env, variables)
  })
  after(() => {
    for (const name of Object.keys(variables)) {
      delete process.env[name]
    }
  })

  it('are at least 25 framings of each', () => {
    assert.ok(planted.every(({ kind }) => framingsOf(kind).length >= 25))
  })

  it('are nowhere on disk', PATIENT, async () => {
    const leaks = (await sweepFramings({ patterns })).leaks()
    assert.ok(leaks.length === 0, `pieces of secrets are left:\n${leaks.join('\n')}`)
  })

  it('are found by the same sweep when redaction is switched off', PATIENT, async () => {
    assert.equal((await sweepFramings(false)).count('files'), COUNT)
  })
})
