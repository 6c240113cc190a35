/** The tests of buckets, and those of outputs, findings and memories with a bucket, once more on SeaweedFS: `just fleet` installs it. */

import { after, before, describe, test } from 'node:test'
import { BUCKET, type BucketServer, hasSeaweedfs, startSeaweedfs } from './support/buckets.ts'
import {
  hasPostgres,
  ONE_RUNTIME,
  type PostgresServer,
  passesOnDatabase,
  passesWith,
  startPostgres,
  testDatabase,
} from './support/postgres.ts'
import { MANAGER_SUITES, MEMORY_SUITES, STORE_SUITES } from './support/suites.ts'

const KEYS = { AWS_ACCESS_KEY_ID: 'any', AWS_SECRET_ACCESS_KEY: 'any' }

describe('with a bucket on SeaweedFS', {
  skip: testDatabase !== undefined || !hasPostgres() || !hasSeaweedfs(),
}, () => {
  let server: PostgresServer
  let bucket: BucketServer
  before(async () => {
    server = await startPostgres()
    bucket = await startSeaweedfs()
  })
  after(async () => {
    await bucket.stop()
    server.remove()
  })

  const passes = (suites: readonly string[], least: number): Promise<void> => {
    const blobs = { url: `s3://${BUCKET}/suites`, endpoint: bucket.endpoint }
    return passesOnDatabase(server.url, suites, least, { ...KEYS, AGENT_CONTEXT_TEST_BLOBS: JSON.stringify(blobs) })
  }

  test('the tests of buckets pass', ONE_RUNTIME, () =>
    passesWith({ AGENT_CONTEXT_TEST_BUCKET: 'seaweedfs' }, ['fleet.blobs'], 11),
  )
  test('the tests of outputs on disk pass', ONE_RUNTIME, () => passes(MANAGER_SUITES, 380))
  test('the tests of findings on disk pass', ONE_RUNTIME, () => passes(STORE_SUITES, 85))
  test('the tests of memories on disk pass', ONE_RUNTIME, () => passes(MEMORY_SUITES, 105))
})
