/** A writer of `history-writers.ts`: opens a log and appends entries when its parent requests it, and reports the times. */

import { performance } from 'node:perf_hooks'
import process from 'node:process'
import { setImmediate } from 'node:timers/promises'
import { appendContenders } from './history-contenders.ts'
import { makeEntry } from './history-entries.ts'
import type { WriterJob, WriterOrder, WriterReport } from './history-writers.ts'
import { Peers } from './peer-packages.ts'
import { collectGarbage } from './statistics.ts'
import { threadClock, threadTimeSince } from './thread-time.ts'

const WARM_UP = 8
const peers = await Peers.load()
/** Begins the appends of the job that was prepared. */
let begin: (() => Promise<WriterReport>) | undefined

async function prepare(job: WriterJob): Promise<() => Promise<WriterReport>> {
  const contender = appendContenders(peers, job.durability).find(({ name }) => name === job.contender)
  if (contender === undefined) {
    throw new Error(`no contender ${job.contender}`)
  }
  const entries = Array.from({ length: job.count }, (_, number) =>
    makeEntry(job.bytes, job.writer * job.count + number),
  )
  const log = await contender.open(job.directory, job.writer)
  for (const entry of entries.slice(0, WARM_UP)) {
    await log.append(entry)
  }
  collectGarbage()
  return async () => {
    let next = 0
    let longestWait = 0
    async function append(): Promise<void> {
      for (let entry = entries[next++]; entry !== undefined; entry = entries[next++]) {
        const start = performance.now()
        await log.append(entry)
        longestWait = Math.max(longestWait, performance.now() - start)
        if (contender?.isSynchronous && next % job.inFlight === 0) {
          await setImmediate()
        }
      }
    }
    const cpu = threadClock.read()
    const start = performance.timeOrigin + performance.now()
    await Promise.all(Array.from({ length: contender.isSynchronous ? 1 : job.inFlight }, append))
    const end = performance.timeOrigin + performance.now()
    const report = { start, end, cpu: threadTimeSince(cpu), longestWait }
    await log.close()
    return report
  }
}

process.on('message', async (order: WriterOrder) => {
  if (order !== 'go') {
    begin = await prepare(order)
    process.send?.('ready')
  } else if (begin !== undefined) {
    process.send?.(await begin())
  }
})
process.once('disconnect', () => process.exit())
process.send?.('ready')
