import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { type Case, KEPT, leaks, readCases, scoreCases, share } from '../bench/redaction-cases.ts'
import { inDirectory, PATIENT } from './support/processes.ts'

interface Run {
  code: number | string | null | undefined
  output: string
  errors: string
}

const SCRIPT = fileURLToPath(new URL('../bench/redaction.ts', import.meta.url))

/** As `npm run bench:redaction` does, without what would have to be installed; Bun runs TypeScript itself. */
function runBench(...parameters: string[]): Promise<Run> {
  const loader = process.versions['bun'] === undefined ? ['--import', 'tsx'] : []
  const words = [...loader, SCRIPT, '--without-peers', '--only', 'quality', ...parameters]
  return new Promise((resolve) => {
    execFile(process.execPath, words, (error, output, errors) => {
      resolve({ code: error === null ? 0 : error.code, output, errors })
    })
  })
}

const SECRET = 'hunter2-and-more'

const CASES: readonly Case[] = [
  { id: 'p0', text: `DB_PASSWORD=${SECRET}`, secret: SECRET, label: 1, tier: 'core', source: 'one', keep: [] },
  // A secret that no contender finds.
  { id: 'p1', text: `they say ${SECRET}`, secret: SECRET, label: 1, tier: 'core', source: 'two', keep: ['they'] },
  { id: 'n0', text: 'wombats dig', secret: '', label: 0, tier: 'clean', source: 'one', keep: ['dig'] },
  { id: 'n1', text: 'DB_PASSWORD=hunter3', secret: '', label: 0, tier: 'nearmiss', source: 'one', keep: ['hunter3'] },
]

const asLines = (cases: readonly Case[]): string => cases.map((one) => `${JSON.stringify(one)}\n`).join('')

describe('npm run bench:redaction', () => {
  test(
    'tells recall by tier and source, what was altered and what was kept',
    PATIENT,
    inDirectory(async (folder) => {
      writeFileSync(join(folder, 'a.jsonl'), asLines(CASES.slice(0, 2)))
      writeFileSync(join(folder, 'b.jsonl.gz'), gzipSync(asLines(CASES.slice(2))))
      const json = join(folder, 'figures.json')
      const { code, output, errors } = await runBench(folder, '--failed', '--json', json)
      assert.deepEqual({ code, errors }, { code: 0, errors: '' })
      assert.match(output, /^recall, core +2 +50\.0 /m)
      assert.match(output, /^recall, core: p1$/m, 'the case that failed')
      const figures = JSON.parse(readFileSync(json, 'utf8')) as { case: string; contender: string; values: object }[]
      const ours = figures.filter(({ contender }) => contender === 'agent-context')
      assert.deepEqual(
        ours.map((figure) => [figure.case, figure.values]),
        [
          ['recall, core', { percent: 50 }],
          ['recall, core: one', { percent: 100 }],
          ['recall, core: two', { percent: 0 }],
          ['altered, clean', { percent: 0 }],
          ['altered, nearmiss', { percent: 100 }],
          [KEPT, { percent: (100 * 2) / 3 }],
        ],
      )
    }),
  )

  test(
    'refuses folders without cases in one line',
    PATIENT,
    inDirectory(async (folder) => {
      const expected = { code: 1, output: '', errors: `bench:redaction: no labelled cases in ${folder}\n` }
      assert.deepEqual(await runBench(folder), expected)
      const missing = join(folder, 'missing')
      const { code, errors } = await runBench(missing)
      assert.deepEqual({ code, errors }, { code: 1, errors: `bench:redaction: there is no folder ${missing}\n` })
    }),
  )
})

describe('a labelled case', () => {
  test('leaks when half of its secret is left, and eight characters at least', () => {
    const long = 'abcdefghijklmnopqrstuvwxyz'
    assert.equal(leaks(long, `x ${long.slice(5, 18)} y`), true)
    assert.equal(leaks(long, `x ${long.slice(5, 17)} y`), false)
    assert.equal(leaks('short secret', 'x ort secr y'), true)
    assert.equal(leaks('short secret', 'x ort sec y'), false)
    assert.equal(leaks('tiny', 'a tiny one'), true)
    assert.equal(leaks('tiny', 'a tin'), false)
  })

  test('counts in its tier and source, or as altered', async () => {
    const scores = await scoreCases(CASES, (text) => text.replace('=hunter', '=[REDACTED]'))
    const told = [...scores].map(([group, score]) => [group, share(score), score.failed])
    assert.deepEqual(told, [
      ['recall, core', 0, ['p0', 'p1']],
      ['recall, core: one', 0, ['p0']],
      ['recall, core: two', 0, ['p1']],
      ['altered, clean', 0, []],
      ['altered, nearmiss', 100, ['n1']],
      [KEPT, (100 * 2) / 3, ['n1']],
    ])
  })

  test(
    'is read from all files of a folder, packed or not',
    inDirectory(async (folder) => {
      writeFileSync(join(folder, 'b.jsonl'), asLines(CASES.slice(2)))
      writeFileSync(join(folder, 'a.jsonl.gz'), gzipSync(asLines(CASES.slice(0, 2))))
      writeFileSync(join(folder, 'README.md'), 'no cases')
      assert.deepEqual(readCases(folder), CASES)
    }),
  )
})
