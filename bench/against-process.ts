/**
 * The process behind `against.ts`: `against-process.ts PACKAGE WORK DIRECTORY` runs one piece of work on one build of
 * the package, and prints what it cost for each call as JSON (`Cost`).
 */

import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import process from 'node:process'
import { pathToFileURL } from 'node:url'
import type * as Library from '../dist/index.js'
import { makeEntry } from './history-entries.ts'
import { makeRecord, type PayloadKind } from './payloads.ts'
import { makeOutput, makeQueries } from './search-outputs.ts'
import { collectGarbage } from './statistics.ts'
import { threadClock, threadTimeSince } from './thread-time.ts'

/** µs for each call. */
export interface Cost {
  /** Of all threads. */
  readonly cpu: number
  /** Of the JavaScript thread. */
  readonly main: number
  readonly wall: number
}

interface Work {
  readonly calls: number
  /** Before what is measured. */
  readonly warmUp: number
  readonly inFlight: number
  readonly call: (number: number) => Promise<unknown>
  /** Ends what the calls left to do in the background, which is measured as well. */
  readonly settle?: () => Promise<unknown>
}

type Prepare = (library: typeof Library, directory: string) => Work | Promise<Work>

/** The outputs that `search` searches. */
const OUTPUTS = 5000
const ENTRY_BYTES = 300

const saves =
  (kind: PayloadKind, bytes: number, calls: number): Prepare =>
  ({ ContextManager }, directory) => {
    const manager = new ContextManager({ contextDir: directory })
    const records = Array.from({ length: 128 }, (_, seed) => makeRecord(kind, bytes, seed))
    const call = (number: number): Promise<unknown> => {
      const { toolName, args, result } = records[number % records.length] ?? makeRecord(kind, bytes, number)
      return manager.saveContext(toolName, args, result)
    }
    return { calls, warmUp: 64, inFlight: 64, call }
  }

export const WORKS: Readonly<Record<string, Prepare>> = {
  'save 1 KB hits': saves('hits', 1000, 1024),
  'save 32 KB hits': saves('hits', 32_000, 256),
  'save 32 KB text': saves('text', 32_000, 256),
  'save 850 B and index it': ({ ContextManager }, directory) => {
    const manager = new ContextManager({ contextDir: directory })
    const outputs = Array.from({ length: 2048 + 64 }, (_, number) => makeOutput(number))
    return {
      calls: 2048,
      warmUp: 64,
      inFlight: 64,
      call: (number) => {
        const { toolName, args, result } = outputs[number] ?? makeOutput(number)
        return manager.saveContext(toolName, args, result)
      },
      settle: () => manager.search('zero'),
    }
  },
  'load 1 KB, saved lately': async ({ ContextManager }, directory) => {
    const manager = new ContextManager({ contextDir: directory })
    const records = Array.from({ length: 256 }, (_, seed) => makeRecord('hits', 1000, seed))
    const paths = await Promise.all(records.map((one) => manager.saveContext(one.toolName, one.args, one.result)))
    return {
      calls: 4096,
      warmUp: 256,
      inFlight: 64,
      call: (number) => manager.loadContext(paths[number % paths.length] ?? ''),
    }
  },
  'append 300 B': ({ ContextHistory }, directory) => {
    const history = new ContextHistory({ path: join(directory, 'history.jsonl') })
    return {
      calls: 4096,
      warmUp: 64,
      inFlight: 64,
      call: (number) => history.append(makeEntry(ENTRY_BYTES, number)),
    }
  },
  'search 5 000 outputs': async ({ ContextManager }, directory) => {
    const manager = new ContextManager({ contextDir: directory })
    await Promise.all(
      Array.from({ length: OUTPUTS }, (_, number) => {
        const { toolName, args, result } = makeOutput(number)
        return manager.saveContext(toolName, args, result)
      }),
    )
    const queries = makeQueries(200, OUTPUTS, 2)
    await manager.search('zero')
    return {
      calls: 1000,
      warmUp: 50,
      inFlight: 1,
      call: (number) => manager.search(queries[number % queries.length]?.text ?? ''),
    }
  },
}

async function run({ call, inFlight, settle }: Work, from: number, calls: number): Promise<void> {
  let next = from
  const end = from + calls
  async function worker(): Promise<void> {
    while (next < end) {
      await call(next++)
    }
  }
  await Promise.all(Array.from({ length: inFlight }, worker))
  await settle?.()
}

async function measure(work: Work): Promise<Cost> {
  await run(work, 0, work.warmUp)
  collectGarbage()
  const [all, main, start] = [process.cpuUsage(), threadClock.read(), performance.now()]
  await run(work, work.warmUp, work.calls)
  const wall = (performance.now() - start) * 1000
  const mainTime = threadTimeSince(main)
  const { user, system } = process.cpuUsage(all)
  return { cpu: (user + system) / work.calls, main: mainTime / work.calls, wall: wall / work.calls }
}

const [, script = '', packageDirectory = '', name = '', directory = ''] = process.argv
const prepare = WORKS[name]
if (import.meta.url === pathToFileURL(script).href && prepare !== undefined) {
  const library = (await import(pathToFileURL(join(packageDirectory, 'dist/index.js')).href)) as typeof Library
  console.log(JSON.stringify(await measure(await prepare(library, directory))))
  // What closes at the end is not measured, and not waited for.
  process.exit(0)
}
