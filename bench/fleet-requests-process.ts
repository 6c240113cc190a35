/** A process of `fleet-requests.ts`, in which nothing is in memory: resumes a session, or reads a part of an output. */

import { performance } from 'node:perf_hooks'
import process from 'node:process'
import { type BlobsOptions, ContextManager } from '../dist/index.js'

/** The connections of a process: the default of `pool`. */
const CONNECTIONS = 4

export interface RequestsJob {
  readonly url: string
  readonly blobs?: BlobsOptions
  readonly contextDir: string
  /** The session to resume. */
  readonly resume?: string
  /** The output to read, and the bytes of it. */
  readonly read?: { readonly path: string; readonly from: number; readonly to: number }
}

export interface RequestsReport {
  readonly milliseconds: number
  /** Statements, without those that open connections. */
  readonly requests: number
  /** The bytes of rows. */
  readonly received: number
  /** How many contexts were resumed, or how many bytes were read. */
  readonly found: number
}

async function measure({ url, blobs, contextDir, resume, read }: RequestsJob): Promise<RequestsReport> {
  const where = { storage: url, contextDir, ...(blobs === undefined ? {} : { blobs }) }
  // Opens the connections: statements that are sent at the same time have one each.
  const others = Array.from(
    { length: CONNECTIONS },
    (_, number) => new ContextManager({ ...where, contextDir: `${contextDir}-other-${number}` }),
  )
  await Promise.all(others.map((other) => other.listContexts()))
  const before = others[0]?.stats().storage
  const start = performance.now()
  const manager = new ContextManager({ ...where, ...(resume === undefined ? {} : { sessionId: resume, resume: true }) })
  let found: number
  if (read === undefined) {
    await manager.resume()
    found = manager.getAllPointers().length
  } else {
    found = (await manager.readContext(read.path, { bytes: { from: read.from, to: read.to } })).text.length
  }
  const milliseconds = performance.now() - start
  const after = manager.stats().storage
  await Promise.all([manager, ...others].map((opened) => opened.close()))
  return {
    milliseconds,
    requests: (after?.requests ?? 0) - (before?.requests ?? 0),
    received: (after?.bytesReceived ?? 0) - (before?.bytesReceived ?? 0),
    found,
  }
}

process.on('message', (job: RequestsJob) => {
  measure(job).then((report) => process.send?.(report, () => process.exit(0)))
})
