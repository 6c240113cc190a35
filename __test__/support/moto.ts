/** Buckets for tests: moto, a server of S3's protocol on loopback. */

import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import process from 'node:process'
import { freePort } from './postgres.ts'

const { CI } = process.env
const PROGRAM = 'moto_server'

export interface BucketServer {
  /** For the option `blobs`. */
  readonly endpoint: string
  /** The keys of all objects of the bucket, and their sizes. */
  objects(): Promise<Map<string, number>>
  /** Removes an object behind the package's back. */
  removeObject(key: string): Promise<void>
  /** How many uploads in parts have not ended. */
  uploads(): Promise<number>
  stop(): void
}

/** The bucket of the server. */
export const BUCKET = 'agents'

/** Any credentials: the server does not check them. */
export const credentials = (): { accessKeyId: string; secretAccessKey: string } => ({
  accessKeyId: 'any',
  secretAccessKey: 'any',
})

/** Whether moto is installed. If not, says so; in CI, throws. */
export function hasMoto(): boolean {
  if (spawnSync(PROGRAM, ['--help'], { stdio: 'ignore' }).status === 0) {
    return true
  }
  if (CI) {
    throw new Error("moto is not installed: pip install 'moto[server]'")
  }
  console.error("SKIPPED: moto is not installed (pip install 'moto[server]')")
  return false
}

/** Starts a server with an empty bucket. Call `hasMoto` before. */
export async function startMoto(): Promise<BucketServer> {
  const port = await freePort()
  const endpoint = `http://127.0.0.1:${port}`
  const server = spawn(PROGRAM, ['-H', '127.0.0.1', '-p', String(port)], { stdio: 'ignore' })
  try {
    await created(`${endpoint}/${BUCKET}`, server)
  } catch (error) {
    server.kill('SIGKILL')
    throw error
  }
  const bucket = `${endpoint}/${BUCKET}`
  return {
    endpoint,
    objects: async () => {
      const text = await (await fetch(`${bucket}?list-type=2`)).text()
      const found = text.matchAll(/<Contents>.*?<Key>([^<]*)<\/Key>.*?<Size>(\d+)<\/Size>.*?<\/Contents>/gs)
      return new Map(Array.from(found, ([, key = '', size]) => [key, Number(size)]))
    },
    removeObject: async (key) => {
      // Signatures are not verified, but must be there.
      const authorization =
        'AWS4-HMAC-SHA256 Credential=any/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=any'
      const answer = await fetch(`${bucket}/${key}`, { method: 'DELETE', headers: { authorization } })
      if (!answer.ok) {
        throw new Error(`moto did not remove ${key}: ${answer.status}`)
      }
    },
    uploads: async () => {
      const text = await (await fetch(`${bucket}?uploads`)).text()
      return text.split('<UploadId>').length - 1
    },
    stop: () => {
      server.kill('SIGKILL')
    },
  }
}

/** Creates the bucket as soon as the server answers. */
async function created(bucket: string, server: ChildProcess): Promise<void> {
  const deadline = Date.now() + 60_000
  for (;;) {
    const answer = await fetch(bucket, { method: 'PUT' }).catch(() => undefined)
    if (answer?.ok) {
      return
    }
    if (server.exitCode !== null || Date.now() > deadline) {
      throw new Error('moto did not start')
    }
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}
