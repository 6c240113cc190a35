import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { confidence, confidenceOfMean, mean, pairedDifference, score } from '../bench/retrieval-scores.ts'
import { inDirectory, PATIENT } from './support/processes.ts'

interface Run {
  code: number | string | null | undefined
  output: string
  errors: string
}

const SCRIPT = fileURLToPath(new URL('../bench/retrieval.ts', import.meta.url))
const OVERLAP = 'keyword overlap (specification)'

/** As `npm run bench:retrieval` does, without what would have to be installed; Bun runs TypeScript itself. */
function runBench(...parameters: string[]): Promise<Run> {
  const loader = process.versions['bun'] === undefined ? ['--import', 'tsx'] : []
  return new Promise((resolve) => {
    execFile(process.execPath, [...loader, SCRIPT, '--without-peers', ...parameters], (error, output, errors) => {
      resolve({ code: error === null ? 0 : error.code, output, errors })
    })
  })
}

function writeSet(folder: string, rows: object[], queries: object[], grades: string[][]): void {
  mkdirSync(folder)
  const lines = (values: object[]): string => values.map((value) => `${JSON.stringify(value)}\n`).join('')
  writeFileSync(join(folder, 'corpus.jsonl'), lines(rows))
  writeFileSync(join(folder, 'queries.jsonl'), lines(queries))
  const labels = [['query_id', 'doc_id', 'grade'], ...grades].map((cells) => `${cells.join('\t')}\n`)
  writeFileSync(join(folder, 'qrels.tsv'), labels.join(''))
  writeFileSync(join(folder, 'meta.json'), JSON.stringify({ relThreshold: 1 }))
}

function toolCall(group: string, seq: number, toolName: string, subject: string): object {
  const id = `${group}/${seq}`
  return { id, group, seq, toolName, toolDescription: `${toolName} ${subject}`, args: { subject }, result: subject }
}

/** One query has a relevant row; the relevant row of the other query is saved later. A ranker that respects the order scores 0.5. */
function writeHalf(folder: string): void {
  const rows = [
    toolCall('one', 2, 'fetch_page', 'invoice totals'),
    toolCall('one', 0, 'read_file', 'login password'),
    toolCall('one', 1, 'read_file', 'parser tables'),
    toolCall('two', 0, 'fetch_page', 'login password'),
  ]
  const queries = [
    { id: 'q0', group: 'one', query: 'Where is the login password checked?' },
    { id: 'q1', group: 'one', query: 'invoice totals', beforeSeq: 2, values: { '17.5': ['one/2'] } },
  ]
  writeSet(folder, rows, queries, [
    ['q0', 'one/0', '1'],
    ['q1', 'one/2', '1'],
  ])
}

/** Turns and documents in one set, which every ranker gets right. */
function writeWhole(folder: string): void {
  const time = '2023-01-20T16:04:00'
  const rows = [
    { id: 't0', group: 'turns', seq: 0, session: 1, timestamp: time, speaker: 'Gina', text: 'Hello there!' },
    { id: 't1', group: 'turns', seq: 1, session: 1, timestamp: time, speaker: 'Jonathan', text: 'Hello to you too!' },
    { id: 'd0', group: 'documents', seq: 0, title: 'boiler insulation', text: 'of pipes' },
    { id: 'd1', group: 'documents', seq: 1, title: 'wing flutter', text: 'in a slipstream' },
  ]
  const queries = [
    { id: 'q0', group: 'turns', query: 'jonathan' },
    { id: 'q1', group: 'documents', query: 'wing flutter' },
  ]
  writeSet(folder, rows, queries, [
    ['q0', 't1', '1'],
    ['q1', 'd1', '2'],
  ])
}

const lastLine = ({ output }: Run): string | undefined => output.trimEnd().split('\n').at(-1)

describe('npm run bench:retrieval', () => {
  test(
    'ends with the mean over the sets, and writes the figures',
    PATIENT,
    inDirectory(async (folder) => {
      writeHalf(join(folder, 'half'))
      writeWhole(join(folder, 'whole'))
      const json = join(folder, 'figures.json')
      const run = await runBench(folder, '--json', json)
      assert.deepEqual({ code: run.code, errors: run.errors }, { code: 0, errors: '' })
      assert.equal(lastLine(run), 'mean nDCG@10 of agent-context: 0.7500')
      assert.match(run.output, /^half +0\.500 +0\.500 +0\.250$/m, 'the set of all systems')
      const figures = JSON.parse(readFileSync(json, 'utf8')) as { case: string; contender: string; values: object }[]
      assert.deepEqual(
        figures.map((figure) => [figure.case, figure.contender]),
        ['half', 'whole'].flatMap((set) => ['agent-context', OVERLAP, 'last N'].map((system) => [set, system])),
      )
      const values = { ndcg10: 0.5, recall5: 0.5, recall10: 0.5, reciprocalRank: 0.5, coverage3: 0, low: 0, high: 1 }
      const evidence = { evidence500: 0.5, evidence1000: 0.5, evidence4000: 0.5, evidence16000: 0.5 }
      assert.deepEqual(figures[0]?.values, { ...values, ...evidence })
    }),
  )

  test(
    'says how far it is from others and from an earlier run on the same queries',
    PATIENT,
    inDirectory(async (folder) => {
      writeHalf(join(folder, 'half'))
      writeWhole(join(folder, 'whole'))
      const scores = join(folder, 'scores.json')
      const first = await runBench(folder, '--scores', scores)
      assert.match(first.output, /^half +\+0\.000 \(\+0\.000 to \+0\.000\) +\+0\.250 \(\+0\.000 to \+0\.500\)$/m)
      assert.deepEqual(JSON.parse(readFileSync(scores, 'utf8')), { half: [1, 0], whole: [1, 1] })
      writeFileSync(scores, JSON.stringify({ half: [1, 0.5], whole: [0.5, 0.5] }))
      const second = await runBench(folder, '--baseline', scores)
      assert.match(second.output, /^half +−0\.250 \(−0\.500 to \+0\.000\) /m)
      assert.match(second.output, /^whole +\+0\.500 \(\+0\.500 to \+0\.500\) /m)
      assert.match(second.output, /^mean +\+0\.125 \(\+0\.000 to \+0\.250\) /m)
      assert.equal(lastLine(second), 'mean nDCG@10 of agent-context: 0.7500')
      writeFileSync(scores, JSON.stringify({ half: [1], whole: [1, 1] }))
      const { code, errors } = await runBench(folder, '--baseline', scores)
      const message = 'bench:retrieval: other queries were asked: the rankings cannot be compared\n'
      assert.deepEqual({ code, errors }, { code: 1, errors: message })
    }),
  )

  test(
    'measures vectors beside the same ranking without them',
    PATIENT,
    inDirectory(async (folder) => {
      writeHalf(join(folder, 'half'))
      const module = join(folder, 'embed.mjs')
      writeFileSync(module, 'export default (texts) => texts.map((text) => [text.length, 1])\n')
      const run = await runBench(folder, '--embed', module)
      assert.equal(run.errors, '')
      assert.match(run.output, /^agent-context without vectors +0\.500 /m)
      assert.match(run.output, /^ +agent-context without vectors +keyword overlap \(specification\) +last N$/m)
      assert.match(String(lastLine(run)), /^mean nDCG@10 of agent-context: \d\.\d{4}$/)
    }),
  )

  test(
    'ends with the error of a function that gives no vectors',
    PATIENT,
    inDirectory(async (folder) => {
      writeHalf(join(folder, 'half'))
      const module = join(folder, 'embed.mjs')
      writeFileSync(module, "export default () => { throw new Error('no model') }\n")
      const { code, errors } = await runBench(folder, '--embed', module)
      assert.deepEqual({ code, errors }, { code: 1, errors: 'bench:retrieval: no model\n' })
      writeFileSync(module, 'export default (texts) => texts.map(() => [Number.NaN])\n')
      const invalid = await runBench(folder, '--embed', module)
      const message = 'bench:retrieval: embed gave something that is no finite number\n'
      assert.deepEqual({ code: invalid.code, errors: invalid.errors }, { code: 1, errors: message })
    }),
  )

  test(
    'takes some of the sets, or one by its own folder',
    PATIENT,
    inDirectory(async (folder) => {
      writeHalf(join(folder, 'half'))
      writeWhole(join(folder, 'whole'))
      assert.equal(lastLine(await runBench(folder, '--set', 'whole')), 'mean nDCG@10 of agent-context: 1.0000')
      assert.equal(lastLine(await runBench(join(folder, 'half'))), 'mean nDCG@10 of agent-context: 0.5000')
    }),
  )

  test(
    'refuses folders without a set in one line',
    PATIENT,
    inDirectory(async (folder) => {
      assert.deepEqual(await runBench(folder), {
        code: 1,
        output: '',
        errors: `bench:retrieval: no labelled set in ${folder}\n`,
      })
      const missing = join(folder, 'missing')
      const { code, errors } = await runBench(missing)
      assert.deepEqual({ code, errors }, { code: 1, errors: `bench:retrieval: there is no folder ${missing}\n` })
    }),
  )
})

describe('the scores of a ranking', () => {
  const grades = new Map([
    ['a', 2],
    ['b', 1],
    ['c', 1],
  ])

  test('grades, depths and thresholds count', () => {
    const values = { flight: ['a', 'x'], price: ['c'] }
    const scores = score(['b', 'a', 'x'], { grades, values }, 2)
    assert.deepEqual(scores, {
      ndcg10: (1 + 3 / Math.log2(3)) / (3 + 1 / Math.log2(3) + 1 / 2),
      recall5: 1,
      recall10: 1,
      reciprocalRank: 1 / 2,
      coverage3: 1 / 2,
    })
    const deep = score(['1', '2', '3', '4', '5', '6', 'a', '8', '9', '10', 'b'], { grades }, 1)
    assert.deepEqual(deep, {
      ndcg10: 3 / Math.log2(8) / (3 + 1 / Math.log2(3) + 1 / 2),
      recall5: 0,
      recall10: 1 / 3,
      reciprocalRank: 1 / 7,
      coverage3: undefined,
    })
  })

  test('a query that nothing answers has no recall', () => {
    const scores = score(['a'], { grades: new Map() }, 1)
    assert.deepEqual([scores.ndcg10, scores.recall5, scores.reciprocalRank], [0, undefined, 0])
  })

  test('the interval holds the mean, and narrows with more queries', () => {
    const few = [0, 1, 0.5, 0.25, 0.75, 1, 0, 0.5]
    const many = Array.from({ length: 50 }, () => few).flat()
    const [[low, high], [lowOfMany, highOfMany]] = [confidence(few), confidence(many)]
    assert.ok(low < lowOfMany && lowOfMany < mean(few) && mean(few) < highOfMany && highOfMany < high, 'not nested')
  })

  test('paired differences are narrower than the scores, and each set counts as much as any other', () => {
    const ours = Array.from({ length: 40 }, (_, query) => (query % 10) / 10 + 0.1)
    const others = ours.map((score, query) => score - 0.1 - (query % 3) / 100)
    const { mean: difference, low, high } = pairedDifference([ours], [others])
    assert.ok(Math.abs(difference - 0.10975) < 1e-9, String(difference))
    assert.ok(low <= difference && difference <= high && high - low < 0.01, `${low} to ${high}`)
    const [lowest, highest] = confidence(ours)
    assert.ok(highest - lowest > 10 * (high - low), 'the scores differ more than the differences do')
    assert.deepEqual(pairedDifference([[1], [0, 0, 0]], [[0], [0, 0, 0]]), { mean: 0.5, low: 0.5, high: 0.5 })
    assert.deepEqual(confidence(ours), confidenceOfMean([ours]))
    assert.throws(() => pairedDifference([[1]], [[1, 1]]), /other queries/)
  })
})
