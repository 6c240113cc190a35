/** The process behind `history-long.ts`: `history-long-process.ts PATH TOOL COUNT`; prints a `LongHistory` as JSON. */

import { monitorEventLoopDelay, performance } from 'node:perf_hooks'
import process from 'node:process'
import { ContextHistory } from '../dist/index.js'
import { median } from './statistics.ts'

/** Times in ms, memory in MB. */
export interface LongHistory {
  readonly first: number
  readonly later: number
  /** The first search after more entries were appended. */
  readonly appended: number
  /** The event loop's longest delay. */
  readonly delay: number
  readonly rss: number
}

const LATER = 20
const APPENDED = 1000
const KILOBYTES = 1000
const NANOSECONDS = 1e6

const [path = '', toolName = '', count = '0'] = process.argv.slice(2)
const history = new ContextHistory({ path })
const delays = monitorEventLoopDelay({ resolution: 1 })
delays.enable()

async function search(): Promise<number> {
  const start = performance.now()
  const found = await history.search({ toolName, limit: Number(count) + 1 })
  const elapsed = performance.now() - start
  if (found.length !== Number(count)) {
    throw new Error(`found ${found.length} entries, not ${count}`)
  }
  return elapsed
}

const first = await search()
const searches: number[] = []
for (let round = 0; round < LATER; round++) {
  searches.push(await search())
}
const entry = { toolName: 'tool_0', params: { path: 'src/index.ts' }, result: 'a match', success: true }
await Promise.all(Array.from({ length: APPENDED }, () => history.append(entry)))
const appended = await search()
delays.disable()
const measured: LongHistory = {
  first,
  later: median(searches),
  appended,
  delay: delays.max / NANOSECONDS,
  rss: process.resourceUsage().maxRSS / KILOBYTES,
}
process.stdout.write(`${JSON.stringify(measured)}\n`)
