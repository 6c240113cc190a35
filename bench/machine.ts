/** What the figures were measured on. */

import { availableParallelism, cpus, loadavg, release, totalmem, type } from 'node:os'
import process from 'node:process'
import type { Peers } from './peer-packages.ts'
import { threadClock } from './thread-time.ts'

const GIB = 2 ** 30

export function describeMachine(peers: Peers): string[] {
  const peerNames = [...peers.versions].map(([name, version]) => `${name} ${version}`)
  const lines = [
    `${cpus()[0]?.model ?? 'unknown processor'}, ${availableParallelism()} cores, ${(totalmem() / GIB).toFixed(0)} GiB; ${type()} ${release()} ${process.arch}`,
    `Node ${process.versions.node} (V8 ${process.versions.v8})`,
    `peers: ${peerNames.join(', ') || 'none'}`,
    ...[...peers.skipped].map(([name, reason]) => `skipped: ${name}: ${reason}`),
    `CPU time from ${threadClock.source}`,
    loadLine(),
  ]
  return lines
}

export function loadLine(): string {
  const load = loadavg().map((value) => value.toFixed(2))
  return `load average ${load.join(' ')} (this run adds about 1)`
}
