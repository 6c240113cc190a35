/**
 * What appends to a history in PostgreSQL cost, from several processes at once and over slow networks.
 * `npm run bench:fleet [-- --seconds 10 --entries 1000000]`
 *
 * `--faults` is a run in which writers are killed, connections are cut and the server is stopped as by a loss of power; it counts
 * acknowledged entries that are lost, doubled or out of order, and fails if there is one.
 */

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { hasPostgres, type PostgresServer, startPostgres } from '../__test__/support/postgres.ts'
import { ContextHistory } from '../dist/index.js'
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

/** Disturbs the writers until `end`; returns what was done. */
async function disturb(
  server: PostgresServer,
  proxy: DelayingProxy,
  writers: ChildProcess[],
  start: (number: number) => ChildProcess,
  end: number,
): Promise<string> {
  let [killed, cuts, stops] = [0, 0, 0]
  for (let round = 1; Date.now() < end; round++) {
    await setTimeout(700)
    proxy.cut()
    cuts++
    if (round % 4 === 0) {
      // Half of the writers; others take their place.
      for (let place = round % 8 === 0 ? 0 : 1; place < PROCESSES; place += 2) {
        writers[place]?.kill('SIGKILL')
        killed++
        writers[place] = start(PROCESSES + killed)
      }
    }
    if (round % 7 === 0 && stops < 2) {
      server.stop('immediate')
      server.start()
      stops++
    }
  }
  return `${killed} writers killed, ${cuts} times all connections cut, ${stops} times the server stopped as by a loss of power`
}

async function runFaults(server: PostgresServer, proxy: DelayingProxy): Promise<boolean> {
  const directory = mkdtempSync(join(tmpdir(), 'agent-context-fleet-'))
  const end = Date.now() + seconds * 1000
  const files: string[] = []
  const start = (writer: number): ChildProcess => {
    const acknowledged = join(directory, String(writer))
    files.push(acknowledged)
    const left = Math.max(0.1, (end - Date.now()) / 1000)
    const job = { url: urlOf(proxy.port), path: '/faults', callers: CALLERS, bytes: LINE, seconds: left }
    return startWriter({ ...job, writer, acknowledged })
  }
  const writers = Array.from({ length: PROCESSES }, (_, writer) => start(writer))
  const done = await disturb(server, proxy, writers, start, end)
  await Promise.all(writers.map((writer) => (writer.exitCode === null ? once(writer, 'exit') : undefined)))
  const acknowledged = files.filter(existsSync).flatMap((file) => readFileSync(file, 'utf8').split('\n').slice(0, -1))
  const history = new ContextHistory({ path: '/faults', storage: server.url })
  const entries = (await history.read(Number.MAX_SAFE_INTEGER)).filter(({ toolName }) => toolName === 'grep')
  const ids = entries.map(({ summary }) => summary ?? '')
  const known = new Set(ids)
  const lost = acknowledged.filter((id) => !known.has(id)).length
  const doubled = ids.length - known.size
  const last = new Map<string, number>()
  const disordered = ids.filter((id) => {
    const [writer = '', number = ''] = id.split('-')
    const before = last.get(writer) ?? -1
    last.set(writer, Number(number))
    return Number(number) <= before
  }).length
  console.log(done)
  console.log(
    `${acknowledged.length} acknowledged, ${ids.length} in the log; lost ${lost}, doubled ${doubled}, out of order ${disordered}`,
  )
  rmSync(directory, { recursive: true, force: true })
  return lost + doubled + disordered === 0
}

if (hasPostgres()) {
  console.log(loadLine())
  const server = await startPostgres()
  const proxy = await startProxy(server.port)
  try {
    if (values.faults) {
      process.exitCode = (await runFaults(server, proxy)) ? 0 : 1
    } else {
      await measureAppends(proxy)
      await measureRead(server, proxy)
    }
  } finally {
    proxy.close()
    server.remove()
  }
}
