/** An agent at work: eight saves of 8 KB every 10 ms, whether or not the last ones are done. */

import { performance } from 'node:perf_hooks'
import { setTimeout } from 'node:timers/promises'
import { watchLoopDelay } from './loop-delay.ts'
import { makeRecord, type ToolRecord } from './payloads.ts'
import type { Peers } from './peer-packages.ts'
import { figure, type Report, ratio } from './report.ts'
import { OURS, processContenders, type SaveContender } from './save-contenders.ts'
import { collectGarbage, median, rotated } from './statistics.ts'
import { threadClock, threadTimeSince } from './thread-time.ts'
import type { Workspace } from './workspace.ts'

const SAVES = 8
const BYTES = 8000
const PERIOD = 10 // ms
const SECONDS = 3
const ROUNDS = 3
const POOL = 128
const IDLE: SaveContender = {
  name: 'the timer alone',
  isSynchronous: true,
  open: () => ({ save: () => undefined, close: () => undefined }),
}
const COMPARED = ['fs.writeFileSync', 'fs.promises.writeFile', 'write-file-atomic']

interface Load {
  /** Percent of the JavaScript thread. */
  readonly share: number
  /** Longest event-loop delay in ms. */
  readonly delay: number
}

export const OPEN_LOOP_CASE = 'eight 8 KB saves every 10 ms'

export async function benchOpenLoop(
  report: Report,
  peers: Peers,
  workspace: Workspace,
  isQuick: boolean,
): Promise<void> {
  report.heading('Open loop')
  const contenders = [
    ...processContenders(peers).filter(({ name }) => name === OURS || COMPARED.some((start) => name.startsWith(start))),
    IDLE,
  ]
  const records = Array.from({ length: POOL }, (_, seed) => makeRecord('hits', BYTES, seed))
  const loads = new Map<string, Load[]>(contenders.map(({ name }) => [name, []]))
  for (let round = 0; round < (isQuick ? 1 : ROUNDS); round++) {
    for (const contender of rotated(contenders, round)) {
      loads.get(contender.name)?.push(await drive(contender, records, workspace, isQuick ? 1 : SECONDS))
    }
  }
  const result = new Map(
    [...loads].map(([name, list]): [string, Load] => [
      name,
      { share: median(list.map(({ share }) => share)), delay: median(list.map(({ delay }) => delay)) },
    ]),
  )
  tell(report, result)
}

async function drive(
  contender: SaveContender,
  records: readonly ToolRecord[],
  workspace: Workspace,
  seconds: number,
): Promise<Load> {
  const store = contender.open(workspace.fresh())
  await Promise.all(records.slice(0, SAVES).map((record, index) => store.save(`warm-up-${index}`, record)))
  collectGarbage()
  const pending: PromiseLike<unknown>[] = []
  const ticks = Math.round((seconds * 1000) / PERIOD)
  const stopWatching = await watchLoopDelay()
  const cpuStart = threadClock.read()
  const start = performance.now()
  for (let tick = 0; tick < ticks; tick++) {
    for (let index = tick * SAVES; index < (tick + 1) * SAVES; index++) {
      const saved = store.save(`search_text-${index}`, records[index % records.length] as ToolRecord)
      if (saved !== undefined) {
        pending.push(saved)
      }
    }
    await setTimeout(Math.max(0, start + (tick + 1) * PERIOD - performance.now()))
  }
  const wall = performance.now() - start
  const cpu = threadTimeSince(cpuStart)
  const delay = await stopWatching()
  await Promise.all(pending)
  await store.close()
  return { share: cpu / (wall * 10), delay }
}

function tell(report: Report, loads: ReadonlyMap<string, Load>): void {
  const idle = loads.get(IDLE.name)?.share ?? 0
  const ours = loads.get(OURS)
  const rows = [...loads].map(([contender, { share, delay }]) => {
    const net = Math.max(0, share - idle)
    report.measure({ section: 'open-loop', case: OPEN_LOOP_CASE, contender, values: { share, net, delay } })
    const isCompared = contender !== OURS && contender !== IDLE.name && ours !== undefined
    const compared = isCompared ? ratio(net, ours.share - idle) : ''
    return [contender, figure(share), figure(net), compared, figure(delay)]
  })
  const columns = ['', 'share of the thread %', 'without the timer %', '×', 'delay ms']
  report.table({ title: OPEN_LOOP_CASE, columns, rows })
}
