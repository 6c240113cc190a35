/** Finding among many pointers: filters and relevance. */

import { performance } from 'node:perf_hooks'
import type { ContextManager, ContextPointer } from '../dist/index.js'
import { naiveOverlap } from './keyword-overlap.ts'
import type { Peers } from './peer-packages.ts'
import {
  COMMON_QUERY,
  memoryManager,
  POINTERS_PER_QUERY,
  populate,
  queryIdOf,
  RARE_QUERY,
} from './pointer-population.ts'
import { figure, type Report, ratio } from './report.ts'
import { collectGarbage, median } from './statistics.ts'
import { threadClock, threadTimeSince } from './thread-time.ts'
import type { Workspace } from './workspace.ts'

const COUNTS = [1000, 10_000, 100_000, 1_000_000]
const QUICK_COUNTS = [1000, 10_000]
/** Above it MiniSearch takes minutes. */
const MAX_MINISEARCH = 100_000
const BUDGET = 400 // ms per figure
const MIN_RUNS = 3
const MAX_RUNS = 1000
const LIMIT = 10
/** So many calls are timed together, as one takes about a microsecond. */
const GROUP = 50

export const pointersCase = (count: number): string => `${count} pointers`
export const FILTER_OURS = 'getPointersForQuery'

interface Timing {
  /** µs. */
  readonly wall: number
  readonly cpu: number
}

interface Row extends Timing {
  readonly name: string
  /** The row it is compared with; absent in ours. */
  readonly against?: string
}

export async function benchPointers(
  report: Report,
  peers: Peers,
  workspace: Workspace,
  isQuick: boolean,
): Promise<void> {
  report.heading('Finding among pointers')
  report.lines([
    'µs per call, the median; main: CPU time of the JavaScript thread; ×: peer ÷ ours.',
    `rare: ${JSON.stringify(RARE_QUERY)}; common: ${JSON.stringify(COMMON_QUERY)}`,
  ])
  for (const count of isQuick ? QUICK_COUNTS : COUNTS) {
    const manager = memoryManager(workspace.fresh())
    const start = performance.now()
    await populate(manager, 0, count)
    const saving = ((performance.now() - start) * 1000) / count
    const rows = await benchCount(manager, count, saving, peers)
    tell(report, count, rows)
    await manager.clear()
  }
}

async function benchCount(manager: ContextManager, count: number, saving: number, peers: Peers): Promise<Row[]> {
  const rows: Row[] = []
  let pointers: ContextPointer[] = []
  const add = async (name: string, against: string | undefined, group: number, run: () => unknown): Promise<void> => {
    const timing = await time(run, group)
    rows.push(against === undefined ? { name, ...timing } : { name, against, ...timing })
  }
  let call = 0
  const nextQuery = (): string => queryIdOf((call++ * 7919) % count)
  const expectTen = (found: readonly unknown[]): void => {
    if (found.length !== POINTERS_PER_QUERY) {
      throw new Error(`${found.length} pointers of a query instead of ${POINTERS_PER_QUERY}`)
    }
  }
  await add(FILTER_OURS, undefined, GROUP, () => expectTen(manager.getPointersForQuery(nextQuery())))
  await add('getAllPointers', undefined, 1, () => {
    pointers = manager.getAllPointers()
  })
  await add('pointers.filter(…)', FILTER_OURS, 1, () => {
    const queryId = nextQuery()
    expectTen(pointers.filter((pointer) => pointer.queryId === queryId))
  })
  for (const [kind, query] of [
    ['rare', RARE_QUERY],
    ['common', COMMON_QUERY],
  ] as const) {
    const ours = `selectRelevantContexts, ${kind}`
    const limited = `selectContexts, limit ${LIMIT}, ${kind}`
    await add(ours, undefined, 1, () => manager.selectRelevantContexts(query, pointers))
    await add(limited, undefined, 1, () => manager.selectContexts(query, { limit: LIMIT }))
    await add(`keyword overlap in a loop, ${kind}`, ours, 1, () => naiveOverlap(query, pointers))
  }
  const MiniSearch = peers.get('minisearch')?.default
  if (MiniSearch !== undefined && count <= MAX_MINISEARCH) {
    const documents = pointers.map(({ filepath, toolName, toolDescription, args }) => {
      return { id: filepath, toolName, toolDescription, args: JSON.stringify(args) }
    })
    const index = new MiniSearch<(typeof documents)[number]>({ fields: ['toolName', 'toolDescription', 'args'] })
    const start = performance.now()
    index.addAll(documents)
    const building = ((performance.now() - start) * 1000) / count
    for (const [kind, query] of [
      ['rare', RARE_QUERY],
      ['common', COMMON_QUERY],
    ] as const) {
      const ours = `selectContexts, limit ${LIMIT}, ${kind}`
      await add(`MiniSearch, ${kind}`, ours, 1, () => index.search(query).slice(0, LIMIT))
    }
    rows.push({ name: 'save in memory and index, per pointer', wall: saving, cpu: Number.NaN })
    const against = 'save in memory and index, per pointer'
    rows.push({ name: 'MiniSearch addAll, per pointer', against, wall: building, cpu: building })
  }
  return rows
}

/** The median of as many runs as fit the budget. */
async function time(run: () => unknown, group: number): Promise<Timing> {
  const walls: number[] = []
  let runs = 0
  collectGarbage()
  await run()
  const cpuStart = threadClock.read()
  const start = performance.now()
  do {
    const groupStart = performance.now()
    for (let index = 0; index < group; index++) {
      const pending = run()
      if (pending instanceof Promise) {
        await pending
      }
    }
    walls.push(((performance.now() - groupStart) * 1000) / group)
    runs += group
  } while (walls.length < MIN_RUNS || (performance.now() - start < BUDGET && walls.length < MAX_RUNS))
  return { wall: median(walls), cpu: threadTimeSince(cpuStart) / runs }
}

function tell(report: Report, count: number, rows: readonly Row[]): void {
  const byName = new Map(rows.map((row) => [row.name, row]))
  const cells = rows.map((row) => {
    report.measure({
      section: 'pointers',
      case: pointersCase(count),
      contender: row.name,
      values: { wall: row.wall, cpu: row.cpu },
    })
    const ours = row.against === undefined ? undefined : byName.get(row.against)
    const compared = (key: 'wall' | 'cpu'): string => (ours === undefined ? '' : ratio(row[key], ours[key]))
    return [row.name, figure(row.wall), compared('wall'), figure(row.cpu), compared('cpu'), row.against ?? '']
  })
  const columns = ['', 'wall µs', '×', 'main µs', '×', 'against']
  report.table({ title: `${count.toLocaleString('en')} pointers`, columns, rows: cells })
}
