/**
 * What appends to a history in PostgreSQL cost, from several processes at once and over slow networks, and how many requests and bytes
 * single calls need.
 * `npm run bench:fleet [-- --seconds 10 --entries 1000000]`
 *
 * `--faults [--runs 20]`: runs in which writers are killed, connections are cut, the server is stopped as by a loss of power, and 5 % of the
 * uploads to a bucket are refused and 5 % lose their answer. They count acknowledged writes of all classes that are lost, doubled or out of
 * order, and what ended processes left behind; any of it fails.
 */

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { hasBucketServer, startBucketServer } from '../__test__/support/buckets.ts'
import { type DelayingProxy, startProxy } from '../__test__/support/database-proxy.ts'
import { hasPostgres, type PostgresServer, startPostgres } from '../__test__/support/postgres.ts'
import { startBucketProxy } from './fleet-bucket.ts'
import { runFaults } from './fleet-faults.ts'
import type { FleetJob, FleetReport } from './fleet-process.ts'
import { measureAppend, measureRange, measureRead, measureResume } from './fleet-requests.ts'
import { loadLine } from './machine.ts'
import { percentile } from './statistics.ts'

const PROCESSES = 8
const CALLERS = 16
const LINE = 300
const LATENCIES = [0, 2, 20]
const WRITER = fileURLToPath(new URL('./fleet-process.ts', import.meta.url))

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '10' },
    entries: { type: 'string', default: '1000000' },
    faults: { type: 'boolean', default: false },
    runs: { type: 'string', default: '1' },
  },
})
const seconds = Number(values.seconds)

function startWriter(job: FleetJob): ChildProcess {
  const writer = fork(WRITER, { execArgv: ['--import', 'tsx'] })
  writer.send(job)
  return writer
}

async function reportOf(writer: ChildProcess): Promise<FleetReport> {
  const [report] = (await once(writer, 'message')) as [FleetReport]
  return report
}

const urlOf = (port: number): string => `postgres://agent@127.0.0.1:${port}/postgres`

async function measureAppends(server: PostgresServer, proxy: DelayingProxy): Promise<void> {
  console.log('added latency   writers   appends/s       p50       p99   failed')
  for (const latency of LATENCIES) {
    for (const [processes, callers] of [
      [1, 1],
      [PROCESSES, CALLERS],
    ] as const) {
      proxy.setLatency(latency)
      const path = `/bench/${latency}/${processes}`
      // Without a delay, the proxy would only take time of the processor.
      const url = latency === 0 ? server.url : urlOf(proxy.port)
      const writers = Array.from({ length: processes }, (_, writer) =>
        startWriter({ url, path, writer, callers, bytes: LINE, seconds }),
      )
      const reports = await Promise.all(writers.map(reportOf))
      const latencies = reports.flatMap((report) => report.latencies)
      const failed = reports.reduce((sum, report) => sum + report.failed, 0)
      const figures = [
        `${latency} ms`.padStart(13),
        `${processes} x ${callers}`.padStart(9),
        (latencies.length / seconds).toFixed(0).padStart(11),
        `${percentile(latencies, 50).toFixed(1)} ms`.padStart(9),
        `${percentile(latencies, 99).toFixed(1)} ms`.padStart(9),
        String(failed).padStart(8),
      ]
      console.log(figures.join(' '))
    }
  }
}

/** Runs with faults. Returns whether nothing was lost, doubled, out of order or left behind. */
async function measureFaults(server: PostgresServer, proxy: DelayingProxy): Promise<boolean> {
  const bucket = await startBucketServer()
  const bucketProxy = await startBucketProxy(bucket.port)
  try {
    return await runFaults({ server, proxy, bucket, bucketProxy, runs: Number(values.runs), seconds })
  } finally {
    bucketProxy.close()
    await bucket.stop()
  }
}

/** What single calls cost. */
async function measureRequests(server: PostgresServer, proxy: DelayingProxy): Promise<void> {
  proxy.setLatency(0)
  const entries = Number(values.entries)
  const measured = { server, proxy, url: urlOf(proxy.port), latencies: LATENCIES }
  await measureAppend(measured)
  await measureRead(measured, entries)
  await measureResume(measured)
  await measureRange(measured, undefined)
  if (hasBucketServer()) {
    const bucket = await startBucketServer()
    const bucketProxy = await startBucketProxy(bucket.port)
    try {
      await measureRange(measured, { server: bucket, proxy: bucketProxy })
    } finally {
      bucketProxy.close()
      await bucket.stop()
    }
  }
}

if (hasPostgres()) {
  // The servers of buckets do not check them.
  Object.assign(process.env, { AWS_ACCESS_KEY_ID: 'any', AWS_SECRET_ACCESS_KEY: 'any' })
  console.log(loadLine())
  const server = await startPostgres({ fsync: true })
  const proxy = await startProxy(server.port)
  try {
    if (!values.faults) {
      await measureAppends(server, proxy)
      await measureRequests(server, proxy)
    } else if (hasBucketServer()) {
      process.exitCode = (await measureFaults(server, proxy)) ? 0 : 1
    }
  } finally {
    proxy.close()
    server.remove()
  }
}
