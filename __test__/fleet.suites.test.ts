/** The public tests of `ContextManager`, `ContextStore` and `RepoMemory` once more, with `storage`, and with an injected `fileSystem`. */

import { after, before, describe, test } from 'node:test'
import {
  hasPostgres,
  ONE_RUNTIME,
  type PostgresServer,
  passesOnDatabase,
  passesWith,
  startPostgres,
  testDatabase,
} from './support/postgres.ts'
import { INJECTED_SUITES, MANAGER_SUITES, MEMORY_SUITES, STORE_SUITES } from './support/suites.ts'

describe('on a database', { skip: testDatabase !== undefined || !hasPostgres() }, () => {
  let server: PostgresServer
  before(async () => {
    server = await startPostgres()
  })
  after(() => server.remove())

  test('the tests of outputs on disk pass', ONE_RUNTIME, () => passesOnDatabase(server.url, MANAGER_SUITES, 380))
  test('the tests of findings on disk pass', ONE_RUNTIME, () => passesOnDatabase(server.url, STORE_SUITES, 85))
  test('the tests of memories on disk pass', ONE_RUNTIME, () => passesOnDatabase(server.url, MEMORY_SUITES, 105))
})

test('the tests of outputs, findings and memories pass on an injected file system', ONE_RUNTIME, () =>
  passesWith({ AGENT_CONTEXT_TEST_FILE_SYSTEM: 'disk' }, INJECTED_SUITES, 215),
)
