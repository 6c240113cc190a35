/** What 1 000 calls cost in a database: requests, rows and bytes, one call after the other and all at once. */

import process from 'node:process'
import { hasPostgres, startPostgres } from '../__test__/support/postgres.ts'
import { ContextHistory, ContextManager, StateStore, type StorageStats } from '../dist/index.js'

const CALLS = 1000
const TABLES: Readonly<Record<string, readonly string[]>> = {
  outputs: ['file', 'part'],
  history: ['entry'],
  state: ['document', 'document_chunk', 'document_change'],
}

interface Workload {
  readonly name: string
  readonly tables: readonly string[]
  open(storage: { url: string; schema: string }): {
    call(index: number): Promise<unknown>
    stats(): StorageStats | undefined
    close(): Promise<unknown>
  }
}

/** A text of 1 KB that compresses about as well as logs do. */
const text = (index: number): string =>
  Array.from(
    { length: 16 },
    (_, line) => `${index}:${line} GET /orders/${index * 31 + line} 200 in ${line * 7} ms, cache miss`,
  )
    .join('\n')
    .slice(0, 1024)

const WORKLOADS: readonly Workload[] = [
  {
    name: '`saveContext` of 1 KB',
    tables: TABLES['outputs'] ?? [],
    open(storage) {
      const manager = new ContextManager({ storage, contextDir: 'cost', sessionId: 'cost', persist: 'all' })
      return {
        call: (index) => manager.saveContext('tool', { index }, text(index)),
        stats: () => manager.stats().storage,
        close: () => manager.close(),
      }
    },
  },
  {
    name: '`append` of 1 KB',
    tables: TABLES['history'] ?? [],
    open(storage) {
      const history = new ContextHistory({ storage, path: 'cost' })
      return {
        call: (index) => history.append({ toolName: 'tool', params: { index }, result: text(index) }),
        stats: () => history.stats().storage,
        close: () => history.close(),
      }
    },
  },
  {
    name: '`put` of 1 KB',
    tables: TABLES['state'] ?? [],
    open(storage) {
      const state = new StateStore({ storage, path: 'cost' })
      let latest: StorageStats | undefined
      return {
        call: async (index) => {
          await state.put(['cost'], `${index}`, text(index))
        },
        stats: () => latest,
        async close() {
          latest = (await state.stats()).storage
          await state.close()
        },
      }
    },
  },
]

if (!hasPostgres()) {
  process.exit(1)
}
const server = await startPostgres({ fsync: true })
const number = (value: number): string => Math.round(value).toLocaleString('en-US').replaceAll(',', ' ')
const rows: string[] = []
try {
  for (const [at, workload] of WORKLOADS.entries()) {
    for (const isAtOnce of [false, true]) {
      const schema = `cost_${at}_${isAtOnce}`
      const opened = workload.open({ url: server.url, schema })
      // Creates the tables.
      await opened.call(-1)
      const before = opened.stats()
      if (isAtOnce) {
        await Promise.all(Array.from({ length: CALLS }, (_, index) => opened.call(index)))
      } else {
        for (let index = 0; index < CALLS; index++) {
          await opened.call(index)
        }
      }
      const during = opened.stats()
      await opened.close()
      const after = during ?? opened.stats()
      const sum = (what: string): number =>
        workload.tables.reduce((total, table) => total + Number(server.sql(what.replace('$', `${schema}.${table}`))), 0)
      const requests = (after?.requests ?? 0) - (before?.requests ?? 0)
      const sent = (after?.bytesSent ?? 0) - (before?.bytesSent ?? 0)
      const received = (after?.bytesReceived ?? 0) - (before?.bytesReceived ?? 0)
      const stored = [sum('SELECT count(*) FROM $'), sum("SELECT pg_total_relation_size('$')") / 1024]
      const cells = [requests, ...stored, sent / 1024, received / 1024].map(number)
      rows.push(`| ${workload.name}, ${isAtOnce ? 'at once' : 'one after the other'} | ${cells.join(' | ')} |`)
    }
  }
} finally {
  server.remove()
}
process.stdout.write(
  `| 1 000 calls | requests | rows | KB in tables and indexes | KB sent | KB received |\n|---|--:|--:|--:|--:|--:|\n${rows.join('\n')}\n`,
)
