/** A writer of `fleet.ts`: appends to a history in a database from several callers at once, and reports what was acknowledged. */

import { performance } from 'node:perf_hooks'
import process from 'node:process'
import { ContextHistory } from '../dist/index.js'

export interface FleetJob {
  readonly url: string
  readonly path: string
  readonly writer: number
  readonly callers: number
  /** The size of a line. */
  readonly bytes: number
  readonly seconds: number
}

export interface FleetReport {
  /** The latency of each append, in ms. */
  readonly latencies: readonly number[]
  readonly failed: number
}

/** What a line has beside its result. */
const OVERHEAD = 160

async function append(job: FleetJob): Promise<FleetReport> {
  const history = new ContextHistory({ path: job.path, storage: job.url, redaction: false })
  const result = 'r'.repeat(job.bytes - OVERHEAD)
  await history.append({ toolName: 'warm-up' })
  const latencies: number[] = []
  let failed = 0
  let next = 0
  const end = performance.now() + job.seconds * 1000
  const call = async (): Promise<void> => {
    while (performance.now() < end) {
      const id = `${job.writer}-${next++}`
      const start = performance.now()
      try {
        await history.append({ toolName: 'grep', summary: id, result })
        latencies.push(performance.now() - start)
      } catch {
        failed++
      }
    }
  }
  await Promise.all(Array.from({ length: job.callers }, call))
  await history.close()
  return { latencies, failed }
}

process.on('message', (job: FleetJob) => {
  append(job).then((report) => process.send?.(report, () => process.exit(0)))
})
