/** How many requests and bytes single calls need on a database, and how long they take over slow networks. */

import { fork } from 'node:child_process'
import { once } from 'node:events'
import { performance } from 'node:perf_hooks'
import { fileURLToPath } from 'node:url'
import { BUCKET, type BucketServer } from '../__test__/support/buckets.ts'
import type { DelayingProxy } from '../__test__/support/database-proxy.ts'
import type { PostgresServer } from '../__test__/support/postgres.ts'
import { type BlobsOptions, ContextHistory, ContextManager } from '../dist/index.js'
import type { BucketProxy } from './fleet-bucket.ts'
import type { RequestsJob, RequestsReport } from './fleet-requests-process.ts'
import { median } from './statistics.ts'

const PROCESS = fileURLToPath(new URL('./fleet-requests-process.ts', import.meta.url))
const APPENDS = 1000
const READS = 50
const ENTRIES_READ = 20
const CONTEXTS = 10_000
/** The contexts that are saved at the same time. */
const SAVES_AT_ONCE = 64
/** The latency whose effect on a call shows its round trips, in ms. */
const SLOW = 1000
const LONG = 100_000_000
const RANGE = { from: 50_000_000, to: 50_000_000 + 32 * 1024 }

export interface Measured {
  readonly server: PostgresServer
  readonly proxy: DelayingProxy
  /** The URL of the database through the proxy. */
  readonly url: string
  /** The added latencies, in ms. */
  readonly latencies: readonly number[]
}

/** Appends, one after the other. */
export async function measureAppend({ url }: Measured): Promise<void> {
  const history = new ContextHistory({ path: '/single', storage: url })
  await history.append({ toolName: 'warm-up' })
  const before = requestsOf(history)
  for (let number = 0; number < APPENDS; number++) {
    await history.append({ toolName: 'grep', params: { number }, result: 'one line' })
  }
  console.log(`append: ${(requestsOf(history) - before) / APPENDS} round trips of one caller`)
  await history.close()
}

/** Reads the end of a long log, warm. */
export async function measureRead({ server, proxy, url, latencies }: Measured, entries: number): Promise<void> {
  const history = new ContextHistory({ path: '/long', storage: url })
  await history.read(1)
  const sample = `{"tool_name":"grep","params":{},"result":"${'r'.repeat(180)}","success":true,"id":"`
  server.sql(`INSERT INTO agent_context.entry (namespace, lane, n, at, tool, success, line)
    SELECT '/long', '00000000-0000-4000-8000-000000000000', n, n, 'grep', true, convert_to('${sample}' || n || '"}', 'UTF8')
    FROM generate_series(1, ${entries}) AS n`)
  server.sql('VACUUM ANALYZE agent_context.entry')
  for (const latency of latencies) {
    proxy.setLatency(latency)
    await history.read(ENTRIES_READ)
    const before = requestsOf(history)
    const times: number[] = []
    for (let round = 0; round < READS; round++) {
      const start = performance.now()
      const found = await history.read(ENTRIES_READ)
      times.push(performance.now() - start)
      if (found.length !== ENTRIES_READ) {
        throw new Error(`read(${ENTRIES_READ}) did not give ${ENTRIES_READ} entries`)
      }
    }
    const requests = (requestsOf(history) - before) / READS
    console.log(
      `read(${ENTRIES_READ}) of ${entries} entries at ${latency} ms: ${requests} round trips, ${median(times).toFixed(1)} ms`,
    )
  }
  proxy.setLatency(0)
  await history.close()
}

/** Resumes a session with many contexts in another process. */
export async function measureResume({ proxy, url }: Measured): Promise<void> {
  const [contextDir, sessionId] = ['/resumed', 'many']
  const manager = new ContextManager({ storage: url, contextDir, sessionId, resume: true, persist: 'all' })
  let next = 0
  const save = async (): Promise<void> => {
    for (let number = next++; number < CONTEXTS; number = next++) {
      await manager.saveContext('tool', { number }, `A text of context ${number}. `.repeat(20))
    }
  }
  await Promise.all(Array.from({ length: SAVES_AT_ONCE }, save))
  await manager.close()
  const times: number[] = []
  let contexts = 0
  for (const latency of [0, SLOW]) {
    proxy.setLatency(latency)
    const { milliseconds, found } = await inProcess({ url, contextDir, resume: sessionId })
    times.push(milliseconds)
    contexts = found
  }
  // Statements cannot be counted: those that read texts for the index begin in the background.
  const [fast = 0, slow = 0] = times
  const roundTrips = ((slow - fast) / SLOW).toFixed(1)
  console.log(`resume of ${contexts} contexts: ${roundTrips} round trips, ${fast.toFixed(0)} ms without a delay`)
  proxy.setLatency(0)
}

/** A bucket, and the proxy in front of it that counts what is read. */
export interface MeasuredBucket {
  readonly server: BucketServer
  readonly proxy: BucketProxy
}

/** Reads a part of a long output in another process, from the database or from a bucket. */
export async function measureRange({ url }: Measured, bucket: MeasuredBucket | undefined): Promise<void> {
  const contextDir = bucket === undefined ? '/range' : '/range-in-bucket'
  const blobsAt = (endpoint: string | undefined): { blobs?: BlobsOptions } =>
    endpoint === undefined ? {} : { blobs: { url: `s3://${BUCKET}/range`, endpoint } }
  // What the saving manager reads for its index does not pass the proxy.
  const manager = new ContextManager({
    storage: url,
    contextDir,
    ...blobsAt(bucket?.server.endpoint),
    redaction: false,
    retention: { maxResultBytes: 2 * LONG },
  })
  const line = 'a line of a long text, which has 50 characters in all\n'
  const path = await manager.saveContext('tool', {}, line.repeat(Math.ceil(LONG / line.length)))
  const before = bucket?.proxy.counts()
  const read = { path, ...RANGE }
  const { requests, received, found } = await inProcess({ url, contextDir, ...blobsAt(bucket?.proxy.endpoint), read })
  const after = bucket?.proxy.counts()
  const fetched = (after?.fetched ?? 0) - (before?.fetched ?? 0)
  const ofBucket =
    bucket === undefined
      ? ''
      : `, and ${(after?.requests ?? 0) - (before?.requests ?? 0)} requests and ${mebibytes(fetched)} of the bucket`
  console.log(
    `readContext of ${found} bytes of ${LONG}: ${requests} statements and ${mebibytes(received)} of the database${ofBucket}`,
  )
  await manager.clear()
  await manager.close()
}

const requestsOf = (history: ContextHistory): number => history.stats().storage?.requests ?? 0

const mebibytes = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(2)} MiB`

async function inProcess(job: RequestsJob): Promise<RequestsReport> {
  const child = fork(PROCESS, { execArgv: ['--import', 'tsx'] })
  child.send(job)
  const [report] = (await once(child, 'message')) as [RequestsReport]
  return report
}
