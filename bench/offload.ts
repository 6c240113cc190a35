/** What a conversation takes of outputs of 1 KB to 5 MB: a placeholder, beside the beginning and the end in as many bytes. */

import { Buffer } from 'node:buffer'
import { headAndTail } from '../__test__/support/failing-outputs.ts'
import { ContextManager } from '../dist/index.js'
import { makeRecord } from './payloads.ts'
import type { Report } from './report.ts'
import { median } from './statistics.ts'
import type { Workspace } from './workspace.ts'

const KB = 1000
const SIZES = [1 * KB, 20 * KB, 100 * KB, 500 * KB, 5000 * KB]
/** Small outputs stay as they are; these are all offloaded. */
const THRESHOLD = 1
const OURS = 'offload'
const TRUNCATION = 'beginning and end'

/** In the middle of an output, where cutting loses it. */
const NEEDLE = 'the line that is looked for'

export async function benchOffload(report: Report, workspace: Workspace, isQuick: boolean): Promise<void> {
  report.heading('Offloading')
  const manager = new ContextManager({ contextDir: workspace.fresh(), offload: { threshold: THRESHOLD } })
  const rounds = isQuick ? 3 : 15
  const rows: string[][] = []
  for (const size of SIZES) {
    const times = { [OURS]: [] as number[], [TRUNCATION]: [] as number[] }
    let shown = 0
    let found = 0
    for (let round = 0; round < rounds; round += 1) {
      const output = outputOf(size, round)
      const begin = performance.now()
      const { text, handle = '' } = await manager.offload('read_file', { round, size }, output)
      const between = performance.now()
      const truncated = headAndTail(output, Buffer.byteLength(text))
      times[OURS].push(between - begin)
      times[TRUNCATION].push(performance.now() - between)
      shown = Buffer.byteLength(text)
      const { text: matches } = await manager.readContext(handle, { grep: NEEDLE })
      found += Number(matches.includes(NEEDLE)) - Number(truncated.includes(NEEDLE))
    }
    const name = `${size / KB} KB`
    for (const contender of [OURS, TRUNCATION] as const) {
      const values = { shownBytes: shown, wall: median(times[contender]) }
      report.measure({ section: 'offload', case: name, contender, values })
    }
    const ms = (contender: typeof OURS | typeof TRUNCATION): string => median(times[contender]).toFixed(3)
    rows.push([name, String(shown), (size / shown).toFixed(1), ms(OURS), ms(TRUNCATION), `${found} of ${rounds}`])
  }
  report.table({
    title: 'an output of text, replaced',
    columns: ['output', 'bytes shown', 'times smaller', 'ms stored', 'ms cut', 'middle read back, lost by cutting'],
    rows,
  })
  await manager.clear()
}

/** Text of about so many bytes with a line in its middle. */
function outputOf(size: number, seed: number): string {
  const record = JSON.stringify(makeRecord('text', size, seed), null, 1)
  const text = record.slice(0, size - NEEDLE.length)
  const middle = Math.floor(text.length / 2)
  return `${text.slice(0, middle)}\n${NEEDLE}\n${text.slice(middle)}`
}
