/** Processes that write to one log at the same time. They stay from round to round. */

import { type ChildProcess, fork } from 'node:child_process'
import { join } from 'node:path'
import type { Durability } from './history-contenders.ts'

/** What one writer is to do. */
export interface WriterJob {
  readonly contender: string
  readonly durability: Durability
  readonly directory: string
  /** Of an entry. */
  readonly bytes: number
  readonly writer: number
  /** Entries of this writer. */
  readonly count: number
  readonly inFlight: number
}

/** Prepare a job, or begin with it. */
export type WriterOrder = WriterJob | 'go'

/** What one writer did. */
export interface WriterReport {
  /** ms since 1970. */
  readonly start: number
  readonly end: number
  /** µs of the JavaScript thread. */
  readonly cpu: number
  /** Longest time an append took, in ms. */
  readonly longestWait: number
}

/** What all of them did together. */
export interface WritersSample {
  /** µs per entry, from the first's start to the last's end. */
  readonly wall: number
  /** µs of a writer's JavaScript thread per entry. */
  readonly cpu: number
  /** Longest time an append took, in ms. */
  readonly longestWait: number
}

export class Writers {
  readonly #processes: readonly ChildProcess[]

  private constructor(processes: readonly ChildProcess[]) {
    this.#processes = processes
  }

  static async start(count: number): Promise<Writers> {
    const script = join(import.meta.dirname, 'history-process.ts')
    const execArgv = ['--expose-gc', '--import', 'tsx']
    const processes = Array.from({ length: count }, () => fork(script, { execArgv }))
    await Promise.all(processes.map((one) => answer(one)))
    return new Writers(processes)
  }

  async sample(job: Omit<WriterJob, 'writer'>): Promise<WritersSample> {
    // One after the other: several that make the same SQLite file would be refused.
    for (const [writer, one] of this.#processes.entries()) {
      await ask(one, { ...job, writer })
    }
    const reports = (await Promise.all(this.#processes.map((one) => ask(one, 'go')))) as WriterReport[]
    const total = reports.length * job.count
    const start = Math.min(...reports.map((report) => report.start))
    const end = Math.max(...reports.map((report) => report.end))
    return {
      wall: ((end - start) * 1000) / total,
      cpu: reports.reduce((sum, report) => sum + report.cpu, 0) / total,
      longestWait: Math.max(...reports.map((report) => report.longestWait)),
    }
  }

  stop(): void {
    for (const one of this.#processes) {
      one.disconnect()
    }
  }
}

function ask(one: ChildProcess, order: WriterOrder): Promise<unknown> {
  const answered = answer(one)
  one.send(order)
  return answered
}

/** The next message of a process; rejects when it ends instead. */
function answer(one: ChildProcess): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const onExit = (code: number | null): void => reject(new Error(`a writer ended with ${code}`))
    one.once('exit', onExit)
    one.once('message', (message) => {
      one.off('exit', onExit)
      resolve(message)
    })
  })
}
