/** The public tests of `ContextManager`, `ContextStore` and `RepoMemory` once more, with `storage`. */

import { after, before, describe, test } from 'node:test'
import {
  hasPostgres,
  ONE_RUNTIME,
  type PostgresServer,
  passesOnDatabase,
  startPostgres,
  testDatabase,
} from './support/postgres.ts'

const MANAGER = [
  'context-manager',
  'context-manager.clear',
  'context-manager.load',
  'context-manager.pointers',
  'context-manager.save',
  'context-manager.tiers',
  'bytes',
  'evidence',
  'import-record',
  'offload',
  'offload.failures',
  'offload.options',
  'read-context',
  'search',
  'search.explain',
  'sessions',
  'sessions.resume',
  'stored-notes',
  'streams',
]
const STORE = [
  'context-store',
  'context-store-tools',
  'context-store.file-paths',
  'context-store.grep',
  'context-store.housekeeping',
  'context-store.location',
  'context-store.paths',
  'context-store.processes',
  'context-store.properties',
  'context-store.redaction',
]
const MEMORY = [
  'repo-memory.identity',
  'repo-memory.map',
  'repo-memory.pack',
  'repo-memory.processes',
  'repo-memory.records',
  'repo-memory.redaction',
  'repo-memory.step-summary',
  'repo-memory.summaries',
  'repo-memory.workflow',
]

describe('on a database', { skip: testDatabase !== undefined || !hasPostgres() }, () => {
  let server: PostgresServer
  before(async () => {
    server = await startPostgres()
  })
  after(() => server.remove())

  test('the tests of outputs on disk pass', ONE_RUNTIME, () => passesOnDatabase(server.url, MANAGER, 380))
  test('the tests of findings on disk pass', ONE_RUNTIME, () => passesOnDatabase(server.url, STORE, 85))
  test('the tests of memories on disk pass', ONE_RUNTIME, () => passesOnDatabase(server.url, MEMORY, 105))
})
