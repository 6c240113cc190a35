/**
 * What appends to a history in PostgreSQL cost, from several processes at once and over slow networks.
 * `npm run bench:fleet [-- --seconds 10 --entries 1000000]`
 *
 * `--faults [--runs 20]`: runs in which writers are killed, connections are cut and the server is stopped as by a loss of power. They count
 * acknowledged writes of all classes that are lost, doubled or out of order, and what ended processes left behind; any of it fails.
 */

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { hasPostgres, type PostgresServer, startPostgres } from '../__test__/support/postgres.ts'
import { ContextHistory } from '../dist/index.js'
import { runFaults } from './fleet-faults.ts'
import type { FleetJob, FleetReport } from './fleet-process.ts'
import { type DelayingProxy, startProxy } from './fleet-proxy.ts'
import { loadLine } from './machine.ts'

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

const quantile = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
const ascending = (numbers: readonly number[]): number[] => [...numbers].sort((one, other) => one - other)

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

async function measureAppends(proxy: DelayingProxy): Promise<void> {
  console.log('added latency   writers   appends/s       p50       p99   failed')
  for (const latency of LATENCIES) {
    for (const [processes, callers] of [
      [1, 1],
      [PROCESSES, CALLERS],
    ] as const) {
      proxy.setLatency(latency)
      const path = `/bench/${latency}/${processes}`
      const writers = Array.from({ length: processes }, (_, writer) =>
        startWriter({ url: urlOf(proxy.port), path, writer, callers, bytes: LINE, seconds }),
      )
      const reports = await Promise.all(writers.map(reportOf))
      const latencies = ascending(reports.flatMap((report) => report.latencies))
      const failed = reports.reduce((sum, report) => sum + report.failed, 0)
      const figures = [
        `${latency} ms`.padStart(13),
        `${processes} x ${callers}`.padStart(9),
        (latencies.length / seconds).toFixed(0).padStart(11),
        `${quantile(latencies, 0.5).toFixed(1)} ms`.padStart(9),
        `${quantile(latencies, 0.99).toFixed(1)} ms`.padStart(9),
        String(failed).padStart(8),
      ]
      console.log(figures.join(' '))
    }
  }
}

/** Reads the end of a long log, warm. */
async function measureRead(server: PostgresServer, proxy: DelayingProxy): Promise<void> {
  const history = new ContextHistory({ path: '/long', storage: urlOf(proxy.port) })
  const sample = `{"tool_name":"grep","params":{},"result":"${'r'.repeat(180)}","success":true,"id":"`
  server.sql(`INSERT INTO agent_context.entry (namespace, lane, n, at, tool, success, line)
    SELECT '/long', '00000000-0000-4000-8000-000000000000', n, n, 'grep', true, convert_to('${sample}' || n || '"}', 'UTF8')
    FROM generate_series(1, ${Number(values.entries)}) AS n`)
  server.sql('VACUUM ANALYZE agent_context.entry')
  for (const latency of LATENCIES) {
    proxy.setLatency(latency)
    await history.read(20)
    const times: number[] = []
    for (let round = 0; round < 50; round++) {
      const start = performance.now()
      const entries = await history.read(20)
      times.push(performance.now() - start)
      if (entries.length !== 20) {
        throw new Error('read(20) did not give 20 entries')
      }
    }
    console.log(
      `read(20) of ${values.entries} entries at ${latency} ms: ${quantile(ascending(times), 0.5).toFixed(1)} ms`,
    )
  }
  await history.close()
}

if (hasPostgres()) {
  console.log(loadLine())
  const server = await startPostgres()
  const proxy = await startProxy(server.port)
  try {
    if (values.faults) {
      process.exitCode = (await runFaults({ server, proxy, runs: Number(values.runs), seconds })) ? 0 : 1
    } else {
      await measureAppends(proxy)
      await measureRead(server, proxy)
    }
  } finally {
    proxy.close()
    server.remove()
  }
}
