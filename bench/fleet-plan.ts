/** What the runs of `fleet-faults.ts` work on. */

import { BUCKET, type BucketServer } from '../__test__/support/buckets.ts'
import type { DelayingProxy } from '../__test__/support/database-proxy.ts'
import type { PostgresServer } from '../__test__/support/postgres.ts'
import type { BlobsOptions } from '../dist/index.js'
import type { BucketProxy } from './fleet-bucket.ts'

export interface FaultPlan {
  readonly server: PostgresServer
  readonly proxy: DelayingProxy
  readonly bucket: BucketServer
  readonly bucketProxy: BucketProxy
  readonly runs: number
  readonly seconds: number
}

/** The bucket behind the proxy of a plan. The credentials are those of the environment. */
export const blobsOf = ({ bucketProxy }: FaultPlan): BlobsOptions => ({
  url: `s3://${BUCKET}/faults`,
  endpoint: bucketProxy.endpoint,
})

/** The path of all stores of a run. */
export const pathOf = (run: number): string => `/faults/${run}`
