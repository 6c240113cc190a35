/** The table of samples that several sections share, and its figures. */

import { figure, type Report, ratio } from './report.ts'
import type { Sample } from './sampling.ts'
import { OURS } from './save-contenders.ts'

/** The least that delays can be told apart by. */
const DELAY_RESOLUTION = 0.1 // ms

/** Prints one case: the contenders with their samples, each compared with `OURS`. */
export function tellSamples(
  report: Report,
  section: string,
  name: string,
  title: string,
  samples: ReadonlyMap<string, Sample>,
): void {
  const ours = samples.get(OURS)
  const rows: string[][] = []
  for (const [contender, one] of samples) {
    report.measure({ section, case: name, contender, values: { ...one } })
    const row = [contender]
    for (const key of ['wall', 'cpu', 'p50', 'p99', 'delay'] as const) {
      const least = key === 'delay' ? DELAY_RESOLUTION : 0
      const quotient = ratio(Math.max(one[key], least), Math.max(ours?.[key] ?? Number.NaN, least))
      row.push(figure(one[key]), contender === OURS ? '' : quotient)
    }
    rows.push(row)
  }
  const columns = ['', 'wall µs', '×', 'main µs', '×', 'p50 µs', '×', 'p99 µs', '×', 'delay ms', '×']
  report.table({ title, columns, rows })
}
