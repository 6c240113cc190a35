/** A writer of `fleet-faults.ts`: several callers write to all classes, and what was acknowledged is noted at once. */

import { openSync, writeSync } from 'node:fs'
import { performance } from 'node:perf_hooks'
import process from 'node:process'
import { type BlobsOptions, ContextHistory, ContextManager, ContextStore, StateStore } from '../dist/index.js'

export interface FaultJob {
  readonly url: string
  /** Where long contexts are. */
  readonly blobs: BlobsOptions
  /** The path of all stores in the database. */
  readonly path: string
  readonly writer: number
  readonly seconds: number
  /** Where what was acknowledged is noted: a line of kind, id and, of a context, its handle. */
  readonly acknowledged: string
}

/** What is written: entries of a history, contexts, items of a state store with `put`, `batch` and `transaction`, entries of a store. */
export type Kind = 'entry' | 'context' | 'put' | 'batch' | 'transaction' | 'finding'

/** The callers of each kind in a process. */
const CALLERS: Readonly<Record<Kind, number>> = { entry: 32, context: 2, put: 4, batch: 1, transaction: 1, finding: 1 }
/** Of so many contexts of a caller, one has this length: rows of the database, an object, and an object that is uploaded in parts. */
const ROUND = 10
const SHORT = 1500
const LONG = 300_000
const IN_PARTS = 17_000_000
/** The context of some writers that is uploaded in parts. */
const IN_PARTS_AT = ROUND - 1
const IN_PARTS_EVERY = 4

/** The content that belongs to an id. */
export function contentOf(id: string): string {
  const parts = id.split('-')
  const [writer, caller, number] = [Number(parts[0]), Number(parts[2]), Number(parts.at(-1))]
  const isInParts = number === IN_PARTS_AT && caller === 0 && writer % IN_PARTS_EVERY === 0
  const length = isInParts ? IN_PARTS : number % ROUND === ROUND - 1 ? LONG : SHORT
  return `${id} `.repeat(Math.ceil(length / (id.length + 1)))
}

async function write(job: FaultJob): Promise<void> {
  const where = { path: job.path, storage: job.url }
  const retention = { maxAge: '30d', maxFiles: Number.POSITIVE_INFINITY, maxBytes: Number.POSITIVE_INFINITY } as const
  const history = new ContextHistory({ ...where, redaction: false })
  const manager = new ContextManager({
    contextDir: job.path,
    storage: job.url,
    blobs: job.blobs,
    sessionId: `writer-${job.writer}`,
    retention,
    redaction: false,
  })
  const state = new StateStore({ ...where, redaction: false })
  const store = new ContextStore({ ...where, agent: `writer-${job.writer}`, redaction: false })
  const calls: Readonly<Record<Kind, (id: string, caller: string) => Promise<unknown>>> = {
    entry: (id) => history.append({ toolName: 'write', summary: id, result: 'r'.repeat(140) }),
    context: (id) => manager.saveContext('write', { id }, contentOf(id)),
    put: async (id, caller) => {
      await state.put(['put', caller], id, { id })
    },
    batch: (id, caller) =>
      state.batch([
        { type: 'put', namespace: ['batch', caller], key: id, value: { id } },
        { type: 'put', namespace: ['latest'], key: caller, value: { id } },
      ]),
    transaction: (id, caller) =>
      state.transaction(
        async (view) => {
          const counted = (await view.get(['count'], caller))?.value as { count: number } | undefined
          view.put(['count'], caller, { count: (counted?.count ?? 0) + 1 })
          view.put(['transaction', caller], id, { id })
        },
        { attempts: 1000 },
      ),
    finding: (id) => store.write({ type: 'finding', slug: 'fault', content: id }),
  }
  const file = openSync(job.acknowledged, 'a')
  const end = performance.now() + job.seconds * 1000
  let entries = 0
  const run = async (kind: Kind, caller: string): Promise<void> => {
    for (let number = 0; performance.now() < end; number++) {
      // Entries have the order of the process's calls, not only of one caller's.
      const id = kind === 'entry' ? `${job.writer}-entry-${entries++}` : `${caller}-${number}`
      try {
        const answer = await calls[kind](id, caller)
        writeSync(file, `${kind} ${id} ${typeof answer === 'string' ? answer : ''}\n`)
      } catch (error) {
        writeSync(file, `failed ${kind}:${id} ${(error as { code?: string }).code}\n`)
      }
    }
  }
  const kinds = Object.entries(CALLERS) as [Kind, number][]
  await Promise.all(
    kinds.flatMap(([kind, callers]) =>
      Array.from({ length: callers }, (_, number) => run(kind, `${job.writer}-${kind}-${number}`)),
    ),
  )
  await Promise.all([history.close(), manager.close(), state.close(), store.close()])
}

process.on('message', (job: FaultJob) => {
  write(job).then(() => process.exit(0))
})
