/** The targets of the design (`notes/performance.md`), and how far this run is from them. */

import { coldCase, READ_SYNC, recentCase } from './load.ts'
import { OPEN_LOOP_CASE } from './open-loop.ts'
import type { PayloadKind } from './payloads.ts'
import { FILTER_OURS, pointersCase } from './pointers.ts'
import { figure, type Report } from './report.ts'
import { DURABLE_CASE, saveCase } from './save.ts'
import { FLOOR, OURS } from './save-contenders.ts'
import { FOUND_CASE } from './save-indexed.ts'
import { buildCase, INDEXING, searchCase } from './search.ts'
import { FTS5, MINISEARCH, SELECT } from './search-contenders.ts'

interface Target {
  readonly what: string
  /** The bound and the goal: ratios peer ÷ ours unless `isCost`. */
  readonly must: number | undefined
  readonly aim: number
  /** A cost: less is better. */
  readonly isCost?: boolean
  readonly measured: number | undefined
}

type Figure = 'wall' | 'cpu' | 'allThreads' | 'p50'

const PROMISE = 'fs.promises.writeFile'
const SYNC = 'fs.writeFileSync(…, null, 2)'
const ATOMIC = 'write-file-atomic, fsync: false'

export function tellTargets(report: Report): void {
  const quotient = (section: string, name: string, peer: string, key: Figure, own = OURS): number | undefined => {
    const [theirs, ours] = [report.find(section, name, peer)?.[key], report.find(section, name, own)?.[key]]
    return theirs === undefined || ours === undefined ? undefined : theirs / ours
  }
  const save = (
    peer: string,
    size: string,
    kind: PayloadKind,
    key: Figure,
    [must, aim]: readonly [number | undefined, number],
    inFlight = 64,
  ): Target => ({
    what: `save ${key === 'cpu' ? 'main' : key}, ${saveCase(size, kind, inFlight)}: ${peer}`,
    must,
    aim,
    measured: quotient('save', saveCase(size, kind, inFlight), peer, key),
  })
  const durable = (peer: string, must: number | undefined, aim: number): Target => ({
    what: `save wall, ${DURABLE_CASE}: ${peer}`,
    must,
    aim,
    measured: quotient('save', DURABLE_CASE, peer, 'wall'),
  })
  const load = (name: string, key: Figure, must: number, aim: number): Target => ({
    what: `load ${key === 'cpu' ? 'main' : key}, ${name}: ${READ_SYNC}`,
    must,
    aim,
    measured: quotient('load', name, READ_SYNC, key),
  })
  const searched = (peer: string, must: number, aim: number): Target => ({
    what: `query p50, ${searchCase(10_000)}: ${peer}`,
    must,
    aim,
    measured: quotient('search', searchCase(10_000), peer, 'p50', SELECT),
  })
  const indexed = (peer: string, must: number, aim: number): Target => ({
    what: `CPU time of indexing, ${searchCase(10_000)}: ${peer}`,
    must,
    aim,
    measured: quotient('search', buildCase(10_000), peer, 'allThreads', INDEXING),
  })
  const floor = (size: string): Target => {
    const measured = quotient('save', saveCase(size, 'hits', 64), FLOOR, 'wall')
    return {
      what: `save wall ÷ floor, ${saveCase(size, 'hits', 64)}`,
      must: 1.6,
      aim: 1.2,
      isCost: true,
      measured: measured === undefined ? undefined : 1 / measured,
    }
  }
  const targets: Target[] = [
    save(PROMISE, '1 KB', 'hits', 'cpu', [2, 8]),
    save(PROMISE, '32 KB', 'hits', 'cpu', [1.3, 3]),
    save(PROMISE, '32 KB', 'text', 'cpu', [1.3, 17]),
    save(SYNC, '1 KB', 'hits', 'cpu', [2, 8]),
    save(SYNC, '32 KB', 'hits', 'cpu', [1.5, 3.5]),
    save(SYNC, '32 KB', 'text', 'cpu', [1.5, 17]),
    save(PROMISE, '1 KB', 'hits', 'wall', [0.7, 1.1]),
    save(PROMISE, '32 KB', 'hits', 'wall', [1.2, 2.4]),
    save(PROMISE, '256 KB', 'hits', 'wall', [1, 1.5]),
    save(ATOMIC, '1 KB', 'hits', 'wall', [3, 5]),
    save(ATOMIC, '32 KB', 'hits', 'wall', [3, 5]),
    save('cacache', '1 KB', 'hits', 'wall', [4, 7]),
    save('cacache', '32 KB', 'hits', 'wall', [4, 7]),
    save(PROMISE, '1 KB', 'hits', 'p50', [1, 2.5], 1),
    save(PROMISE, '32 KB', 'hits', 'p50', [1, 2.5], 1),
    {
      what: 'saves found by their results right after, %',
      must: 100,
      aim: 100,
      measured: report.find('save', FOUND_CASE, OURS)?.['percent'],
    },
    floor('1 KB'),
    floor('32 KB'),
    durable('write-file-atomic (fsync)', 1.5, 25),
    durable('lmdb, flushed', undefined, 3.5),
    durable('better-sqlite3 (WAL, synchronous=FULL)', 3, 17),
    load(recentCase('1 KB hits'), 'wall', 1.2, 3),
    load(recentCase('32 KB hits'), 'wall', 1.2, 4),
    load(recentCase('32 KB text'), 'wall', 1.5, 8),
    load(coldCase('32 KB hits'), 'cpu', 1.2, 3.4),
    load(coldCase('32 KB text'), 'cpu', 1.2, 3.4),
    cost(
      'getPointersForQuery among 1 000 000, µs',
      5,
      1,
      report.find('pointers', pointersCase(1_000_000), FILTER_OURS)?.['wall'],
    ),
    searched(FTS5, 20, 80),
    searched(MINISEARCH, 40, 130),
    indexed(MINISEARCH, 8, 15),
    indexed(FTS5, 1.5, 2.4),
    cost('open loop, % of the thread', 3, 0.5, report.find('open-loop', OPEN_LOOP_CASE, OURS)?.['net']),
  ]
  const rows = targets.flatMap((target) => (target.measured === undefined ? [] : [cells(target, target.measured)]))
  if (rows.length === 0) {
    return
  }
  report.heading('Targets')
  report.table({ title: 'peer ÷ ours, or a cost', columns: ['', 'must', 'aim', 'measured', ''], rows })
}

function cost(what: string, must: number, aim: number, measured: number | undefined): Target {
  return { what, must, aim, isCost: true, measured }
}

function cells({ what, must, aim, isCost }: Target, measured: number): string[] {
  const sign = isCost ? '≤ ' : '≥ '
  const reaches = (bound: number): boolean => (isCost ? measured <= bound : measured >= bound)
  const bound = must === undefined ? '–' : reaches(must) ? 'must' : 'MISSED'
  const verdict = reaches(aim) ? 'aim' : bound
  return [what, must === undefined ? '–' : sign + must, sign + aim, figure(measured), verdict]
}
